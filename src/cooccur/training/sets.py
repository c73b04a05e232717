"""Sets of two items as inputs (`models/sets.py`): a ridge regression of each item on items and sets, in closed form.

    s(t) = c_t + sum_{i in I_v} W_it + sum_{u in I_v} Q_ut           W_tt = 0, and Q_ut = 0 where t is in u

    z_v = (v, which sets are in v)       G = sum_v w_v (z_v - m)(z_v - m)' + l2 I       P = G^-1
    (W; Q)_t = -P_.S (P_SS)^-1 e_t       S = {t and the sets that hold t}               c_t = m_t - m . (W; Q)_t

S are the inputs that t must not see: with their rows and columns cut out of G what is left is plain ridge regression
(Steck and Liang, 2021), and the inverse of the whole knows the inverse of each such part. It is what a hidden layer
says whose units are on where two items meet, and whose output weights are the best there are; so it is learned like
one, without the held-out records, and weighed on these.

Where records are short and items mean something else together than apart, this says more than any pair term; where
they are long it overfits. So a few sets of the most frequent items are tried first (`lead`), and where these are behind
the same regression without sets none take part; where most items cannot have any, the few must be clearly ahead of it.
Memory: one matrix of (items + sets)^2, time (items + sets)^3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.evaluation.metrics import reciprocal_rank
from cooccur.evaluation.removal import Removals, rank_block
from cooccur.models.base import Floats, Progress
from cooccur.models.ease import gram, invert
from cooccur.models.sets import in_order, with_sets
from cooccur.pairs import cooccurrence
from cooccur.training.batches import record_weights
from cooccur.training.linear import Linear

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_ITEMS, MOST = 10_000, 8000  # of more items, and of more sets, only the most frequent take part
FEW_ITEMS, FEW = 3000, 2000  # of both for the trial
SEEN = 3  # records, at least, that hold a set
L2 = 1.0  # times the mean length
LENGTH = 0.5  # records weigh L^-1/2, as in the other closed forms
BEHIND = 1.0  # standard errors that the trial may be behind
SHARE, AHEAD = 1 / 3, 3.0  # where fewer of the items can take part, it must be so many ahead
ROOM = 10_000_000  # weights that are kept, the largest
SAMPLE = 400  # columns
DENSE, BLOCK = 0.05, 1024  # share of numbers that are not 0; records, or inputs


@dataclass(frozen=True, eq=False)
class WithSets(Linear):
    """`W` (n + m, n) has a row for each item, and behind them one for each of the `sets` (m, 2)."""

    sets: npt.NDArray[np.int32]

    def _add(self, scores: Floats, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.integer]) -> None:
        super()._add(scores, *with_sets(self.sets, len(self.c), indptr, indices))


def bytes_for(baskets: Baskets) -> int:
    """What learning takes at most."""
    n, L = min(baskets.n_items, MOST_ITEMS), baskets.lengths
    most = min(MOST, int((L * (L - 1)).sum()) // (2 * SEEN))
    return 4 * (n + most) * (n + most + 3 * BLOCK) + 16 * min(ROOM, (n + most) * n) if most else 0


def lead(baskets: Baskets, held: Removals, progress: Progress) -> float:
    """By how many standard errors a few sets are ahead of none on the removals, from records that `baskets` do not
    hold; minus infinity where there are none to try."""
    progress(0.0, "sets of two items: trying a few")
    kept = _most_frequent(baskets, FEW_ITEMS)
    some, asked = _among(baskets, kept), _asked_among(held, kept)
    sets = frequent(some, FEW)
    if not len(sets) or not len(asked):
        return -np.inf
    try:
        return _lead(closed_form(sets, some), closed_form(sets[:0], some), asked)
    except ParameterError:  # sets that say the same: their matrix has no inverse
        return -np.inf


def learn(baskets: Baskets, lead: float, room: int, progress: Progress) -> list[WithSets]:
    """The regression on as many sets as are affordable, with at most so many weights, or nothing where a few have such
    a lead that they do not stand the trial."""
    if lead < (-BEHIND if SHARE * baskets.n_items <= MOST_ITEMS else AHEAD):
        return []
    kept = _most_frequent(baskets, MOST_ITEMS)
    some = _among(baskets, kept)
    sets = frequent(some, MOST)
    progress(0.0, f"sets of two items: {len(sets):,}")
    try:
        return [_widened(closed_form(sets, some, min(room, ROOM)), kept, baskets)]
    except ParameterError:
        return []


def frequent(baskets: Baskets, most: int) -> npt.NDArray[np.int64]:
    """(m, 2) the pairs of items that records hold most often, the most frequent first; each record counts 1/L.

    >>> frequent(Baskets.from_lists([["a", "b"]] * 3 + [["a", "b", "c"]] * 3 + [["d", "e"]]), 2).tolist()
    [[0, 1], [0, 2]]
    """
    counts, shares = (cooccurrence(baskets, length).tocoo() for length in (0.0, 1.0))
    kept = np.flatnonzero((counts.row < counts.col) & (counts.data >= SEEN))
    kept = kept[np.argsort(-shares.data[kept], kind="stable")[:most]]
    return np.stack((counts.row[kept], counts.col[kept]), axis=1).astype(np.int64)


def closed_form(sets: npt.NDArray[np.integer], baskets: Baskets, room: int = ROOM) -> WithSets:
    """The regression on the items and these sets, its largest weights."""
    from scipy.sparse import csc_matrix, csr_matrix

    n = baskets.n_items
    ordered = in_order(sets, baskets.frequencies)
    indptr, indices = with_sets(ordered, n, baskets.indptr, baskets.indices)
    Z = csr_matrix((np.ones(len(indices), dtype=np.float32), indices, indptr), (len(baskets), n + len(sets)))
    P, m = _gram(Z, record_weights(baskets, LENGTH))
    mean_length = baskets.nnz / max(1, int(np.count_nonzero(baskets.lengths)))
    P.flat[:: len(P) + 1] += np.float32(L2 * mean_length)
    invert(P, "dem")

    items, member = np.append(np.arange(n), ordered.ravel()), np.append(np.arange(n), n + np.arange(2 * len(sets)) // 2)
    unseen = np.split(member[np.argsort(items, kind="stable")], np.cumsum(np.bincount(items, minlength=n))[:-1])
    some = np.random.default_rng(0).permutation(n)[:SAMPLE]
    least = _least(np.abs([_column(P, unseen[t]) for t in some]), room * len(some) // n)
    c, rows, values = np.zeros(n, dtype=np.float32), [], []
    for t in range(n):
        column = _column(P, unseen[t])
        c[t] = m[t] - m @ column
        rows.append(np.flatnonzero(np.abs(column) > least))
        values.append(column[rows[-1]])
    starts = np.concatenate(([0], np.cumsum([len(kept) for kept in rows])))
    W = csc_matrix((np.concatenate(values), np.concatenate(rows), starts), shape=(len(P), n)).tocsr()
    return WithSets(c, W, sets=ordered)


def _most_frequent(baskets: Baskets, most: int) -> npt.NDArray[np.int64]:
    """So many items, but none that was always alone, ascending."""
    met = baskets[baskets.lengths >= 2].frequencies
    first = np.argsort(-met, kind="stable")[:most]
    return np.sort(first[met[first] > 0])


def _among(baskets: Baskets, kept: npt.NDArray[np.int64]) -> Baskets:
    """What the records hold of these items, in numbers of their own."""
    X = baskets.matrix[:, kept].sorted_indices()
    return Baskets(X.indptr, X.indices, baskets.items[kept])


def _asked_among(held: Removals, kept: npt.NDArray[np.int64]) -> Removals:
    some = held[np.isin(held.target, kept)]
    return Removals(_among(some.rest, kept), np.searchsorted(kept, some.target), some.record)


def _gram(Z: csr_matrix, w: Floats) -> tuple[Floats, Floats]:
    """G and m; by the dense product where most of it is dense anyway."""
    if Z.nnz < DENSE * Z.shape[0] * Z.shape[1]:
        G, _, m = gram(Z, w, centred=True)
        return G, m
    m = (Z.T @ w) / np.float32(len(w))
    G = np.zeros((Z.shape[1], Z.shape[1]), dtype=np.float32)
    for start in range(0, len(w), BLOCK):
        rows = slice(start, start + BLOCK)
        D = Z[rows].toarray() - m
        weighed = w[rows, None] * D
        for first in range(0, len(G), BLOCK):
            G[first : first + BLOCK] += weighed[:, first : first + BLOCK].T @ D
    return G, m


def _widened(part: WithSets, kept: npt.NDArray[np.int64], baskets: Baskets) -> WithSets:
    """The same among all items: those that are not in `kept` say nothing, and get their share of the records."""
    from scipy.sparse import coo_matrix

    n, W = baskets.n_items, part.W.tocoo()
    c = (baskets.frequencies / max(1, len(baskets))).astype(np.float32)
    c[kept] = part.c
    source = np.append(kept, n + np.arange(len(part.sets)))
    shape = (n + len(part.sets), n)
    W = coo_matrix((W.data, (source[W.row], kept[W.col])), shape).tocsr()
    return WithSets(c, W, sets=kept[part.sets].astype(np.int32))


def _column(P: Floats, unseen: npt.NDArray[np.int64]) -> Floats:
    """(inputs,) (W; Q)_t, where t is the first of what it must not see."""
    rows = P[unseen]
    first = np.eye(len(unseen), 1)[:, 0]
    column = np.asarray(-np.linalg.solve(rows[:, unseen].astype(np.float64), first).astype(np.float32) @ rows)
    column[unseen] = 0
    return column


def _least(sizes: Floats, room: int) -> float:
    """How large a weight must be for `room` of these to be kept; any that is not 0 if there is room for all."""
    return float(np.partition(sizes.ravel(), -room)[-room]) if room < sizes.size else 0.0


def _lead(one: Linear, other: Linear, held: Removals) -> float:
    """By how many standard errors, between records, the mean reciprocal rank of the one is above that of the other."""
    gains = np.zeros(len(held))
    for start in range(0, len(held), 256):
        some = held[slice(start, start + 256)]
        for sign, scores in ((1, one.unseen(some)), (-1, other.unseen(some))):
            ops.mask(scores, some.rest.indptr, some.rest.indices)
            ranks = rank_block(scores, some)
            gains[start : start + 256] += sign * reciprocal_rank(ranks)
    _, record = np.unique(held.record, return_inverse=True)
    by_record = np.bincount(record, gains) / np.bincount(record)
    return float(by_record.mean() / max(by_record.std() / len(by_record) ** 0.5, 1e-12))
