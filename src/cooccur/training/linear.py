"""A pair term s(t) = c_t + sum_{i in I_v} W_it, and what it would say of a record had it not learned from it.

A removal takes item t out of record x and leaves the rest r. With w the record's weight and s(.) the learned scores:

    counts   W_ij = n_i^-a sum_{v: i, j in I_v} 1/|I_v|. Without x each item of r has been seen once less, and of the
             candidates only t was in x:

                 s'(j) = c_j + sum_{i in r} ((n_i - 1)/n_i)^-a W_ij - [j = t] sum_{i in r} (n_i - 1)^-a / |x|

    closed   P = G^-1 and W_ij = -P_ij / P_jj. Without x the means are m' = m - c (x - m), c = w / (T - w) with T the
             weight of all records (c = 0 where nothing is centred, and m = 0), and G loses w' (x - m)(x - m)' with
             w' = (1 + c) w, a change of rank one (Sherman and Morrison). y = P (x - m) is known from the scores of the
             whole record, y_j = P_jj (x_j - s_j(x)), and so, with k = w' / (1 - w' (x - m)'y) and d = x - m,

                 s'(j) = m'_j + (P_jj (s_j(r) - m_j + c d_j) - c y_j - k y_j sum_{i != j} (r_i - m_i + c d_i) y_i)
                                / (P_jj + k y_j^2)

The bias of the counts, the ridge, and the scale that makes the mean weight of a record one are taken as they are: they
move by one record in all of them. So every training record can be asked what is missing from it, at a few passes over
the items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.evaluation.removal import Removals
from cooccur.models.base import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TIE_BREAK = 1e-4  # where no pair speaks, popularity does
LEAST = np.float32(1e-3)  # what is left of a record's own leverage, 1 - w (x - m)'y, should rounding eat it up


@dataclass(frozen=True, eq=False)
class Linear:
    """`c` (n,) and the pair weights `W` (n, n), sparse."""

    c: Floats
    W: csr_matrix

    def scores(self, baskets: Baskets) -> Floats:
        """(records, n) s(t)."""
        found = np.tile(self.c, (len(baskets), 1))
        self._add(found, baskets.indptr, baskets.indices)
        return found

    def unseen(self, removals: Removals) -> Floats:
        """(removals, n) s'(t) of the rests; here, where nothing was learned from the records, s(t)."""
        return self.scores(removals.rest)

    def _add(self, scores: Floats, indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.integer]) -> None:
        ops.add_rows(scores, indptr, indices, self.W.indptr, self.W.indices, self.W.data)


@dataclass(frozen=True, eq=False)
class Counted(Linear):
    """Counts of pairs over n^power; `n` (n,) is in how many records each item was."""

    n: npt.NDArray[np.int64]
    power: float

    def unseen(self, removals: Removals) -> Floats:
        from scipy.sparse import csr_matrix

        rest, n = removals.rest, np.maximum(self.n, 1).astype(np.float64)
        left = np.where(n > 1, np.maximum(n - 1, 1) ** -self.power, 0.0)
        factor = (left * n**self.power).astype(np.float32)
        X = csr_matrix((factor[rest.indices], rest.indices, rest.indptr), shape=(len(rest), rest.n_items))
        scores = self.c + (X @ self.W).toarray()
        rows = np.repeat(np.arange(len(rest)), rest.lengths)
        kept = np.asarray(self.W[rest.indices, removals.target[rows]]).ravel() > 0  # all but those over the budget
        own = np.where(kept, left[rest.indices], 0.0) / (rest.lengths + 1)[rows]
        scores[np.arange(len(rest)), removals.target] -= np.bincount(rows, own, minlength=len(rest)).astype(np.float32)
        return np.asarray(scores, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Popular(Linear):
    """No pairs at all; `step` (n,) is how much less `c` would be, had an item been in one record less."""

    step: Floats

    def unseen(self, removals: Removals) -> Floats:
        scores = self.scores(removals.rest)
        scores[np.arange(len(removals)), removals.target] -= self.step[removals.target]
        return scores


@dataclass(frozen=True, eq=False)
class Closed(Linear):
    """A ridge regression of each item on the others; `diagonal` (n,) of P, 0 where an item takes no part, `means` (n,),
    what a record of L items weighs, scale * L^-length, and `total`, what all weigh that are in the means."""

    diagonal: Floats
    means: Floats
    length: float
    scale: float
    total: float = np.inf

    def unseen(self, removals: Removals) -> Floats:
        rest, target, rows = removals.rest, removals.target, np.arange(len(removals))
        P, m = self.diagonal, self.means
        scores = self.scores(rest)
        whole = scores.copy()
        self._add(whole, np.arange(len(rest) + 1), target)
        y = -P * whole
        own = np.repeat(rows, rest.lengths)
        y[own, rest.indices] += P[rest.indices]
        y[rows, target] += P[target]
        of_rest = np.bincount(own, y[own, rest.indices], minlength=len(rest)) - y @ m
        of_all = of_rest + y[rows, target]
        w = self.scale * (rest.lengths + 1.0) ** -self.length
        moved = w / np.maximum(self.total - w, w)  # c
        gone = (1 + moved) * w
        k = gone / np.maximum(1 - gone * of_all, LEAST)
        c, k, for_all = (each.astype(np.float32)[:, None] for each in (moved, k, of_rest + moved * of_all))
        cd = np.tile(-m, (len(rest), 1))  # c d
        cd[own, rest.indices] += 1
        cd[rows, target] += 1
        cd *= c
        others = for_all + m * y - cd * y
        with np.errstate(invalid="ignore"):  # 0 / 0 where an item takes no part
            without = m - cd + (P * (scores - m + cd) - c * y - k * y * others) / (P + k * y * y)
        return np.where(P > 0, without, scores)


def weighted_sum(parts: Sequence[Linear], strengths: Iterable[float]) -> Linear:
    """One of the kind again; W has as many rows as the one with the most, see `training/sets.py`."""
    kept = [(float(a), part) for a, part in zip(strengths, parts, strict=True) if a]
    rows = max(part.W.shape[0] for _, part in kept)
    c = np.sum([a * part.c for a, part in kept], axis=0)
    W = sum(a * _with_rows(part.W, rows) for a, part in kept)
    W.sort_indices()
    return Linear(c.astype(np.float32), W.astype(np.float32))


def _with_rows(W: csr_matrix, rows: int) -> csr_matrix:
    """The same and empty rows behind, so that there are so many."""
    from scipy.sparse import csr_matrix

    starts = np.pad(W.indptr, (0, rows - W.shape[0]), mode="edge")
    return csr_matrix((W.data, W.indices, starts), shape=(rows, W.shape[1]))
