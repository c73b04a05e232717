"""Pair terms that need no steps (`linear.py`): W known from counts or in closed form.

    counts    W_it = n_i^-0.7 sum_{v: i, t in I_v} 1/|I_v|                                   `models/graph.py`, lwcvg
    centred   the ridge regression of each item on the others, with an intercept             `models/ease.py`
    dropped   the same on plain data, with items dropped from the input                      `models/edlae.py`

In both closed forms a record of L items weighs L^-1/2: one item is missing from each, however long it is.

The first lives on the pairs that occur together. The closed forms have N^2 weights, of which these pairs matter most;
of the others, mostly small and negative, the largest are kept, at most as many again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.models.base import Progress
from cooccur.models.ease import Ease
from cooccur.models.edlae import Edlae
from cooccur.models.graph import LwCvg
from cooccur.training.linear import TIE_BREAK, Closed, Counted, Linear, Popular
from cooccur.training.support import Support

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = npt.NDArray[np.float32]

LENGTH = 0.5  # records weigh L^-1/2 in the closed forms
CENTRED_L2 = 2  # times the mean length
FEW_ITEMS = 10_000  # up to so many the second closed form is cheap too
SAMPLE = 400  # rows
RARE = 10  # records: below so many, items are much alike in popularity
MOST_ITEMS = 20_000  # of more, only the most frequent take part in a closed form


def names(pairs: str, n_items: int) -> tuple[str, ...]:
    """The rivals that `pairs` stands for.

    >>> names("auto", 100), names("auto", 50_000), names("counts", 100)
    (('counts', 'centred', 'dropped'), ('counts', 'centred'), ('counts',))
    """
    closed = ("centred", "dropped") if n_items <= FEW_ITEMS else ("centred",)
    return {"auto": ("counts", *closed), "closed": closed, "counts": ("counts",)}.get(pairs, ())


def learn(chosen: Sequence[str], baskets: Baskets, support: Support, progress: Progress) -> list[Linear]:
    """Each of the chosen rivals, from these records."""
    found = []
    for number, name in enumerate(chosen):
        progress(number / len(chosen), f"pairs: {name}")
        found.append(_counts(baskets, support) if name == "counts" else _closed(name, baskets, support))
    return found


def popular(baskets: Baskets) -> Linear:
    """How frequent each item is: ln(n + 10), so that all that are rare are much alike, with mean 0 over occurrences."""
    from scipy.sparse import csr_matrix

    n = baskets.frequencies.astype(np.float64)
    c = np.log(n + RARE)
    step = c - np.log(np.maximum(n - 1, 0) + RARE)
    c -= n @ c / max(1.0, n.sum())
    nothing = csr_matrix((len(n), len(n)), dtype=np.float32)
    return Popular(c.astype(np.float32), nothing, step=step.astype(np.float32))


def _counts(baskets: Baskets, support: Support) -> Linear:
    graph = LwCvg().fit(baskets)
    weights = graph.weights_
    if len(weights) != len(support.columns):  # the support was cut to a budget: take its pairs out of all
        places = _keys(support.starts, support.columns)
        weights = weights[np.searchsorted(_keys(graph.starts_, graph.columns_), places)]
    popularity = baskets.frequencies / max(1, baskets.frequencies.max())
    c = np.asarray(TIE_BREAK * popularity, dtype=np.float32)
    return Counted(c, _sparse(support, weights), n=baskets.frequencies, power=graph.source)


def closed_form(name: str, baskets: Baskets) -> Ease:
    """The model that a closed form comes from, not fitted yet."""
    if name == "dropped":
        return Edlae(length=LENGTH, max_items=MOST_ITEMS)
    mean_length = baskets.nnz / max(1, int(np.count_nonzero(baskets.lengths)))
    return Ease(l2=CENTRED_L2 * mean_length, length=LENGTH, max_items=MOST_ITEMS)


def _closed(name: str, baskets: Baskets, support: Support) -> Linear:
    from scipy.sparse import csr_matrix

    model = closed_form(name, baskets).fit(baskets)
    B, kept = model.B_, model.kept_
    together = _sparse(support, np.ones(len(support.columns), dtype=np.bool_))[kept][:, kept].tocsr()
    least = _least(B, together)
    columns, weights, starts = [], [], np.zeros(baskets.n_items + 1, dtype=np.int64)
    for row, i in enumerate(kept):
        met = together.indices[together.indptr[row] : together.indptr[row + 1]]
        keep = (np.abs(B[row]) > least) & (len(met) > 0)  # an item that was always alone says nothing of others
        keep[met] = True
        columns.append(kept[keep])
        weights.append(B[row, keep])
        starts[i + 1] = len(weights[-1])
    shape = (baskets.n_items, baskets.n_items)
    W = csr_matrix((np.concatenate(weights), np.concatenate(columns), np.cumsum(starts)), shape)
    diagonal, means = np.zeros((2, baskets.n_items), dtype=np.float32)
    diagonal[kept] = model.diagonal
    means[kept] = model.means
    scale = 1 / float((np.maximum(baskets.lengths, 1) ** -model.length).mean())
    total = float(len(baskets)) if model.centred else np.inf
    return Closed(model.c_, W, diagonal=diagonal, means=means, length=model.length, scale=scale, total=total)


def _least(B: Floats, together: csr_matrix) -> float:
    """How large a weight must be to be kept although its pair never occurs: such that there are at most as many of
    them as of those that do; found on a sample of rows."""
    rows = np.random.default_rng(0).permutation(len(B))[:SAMPLE]
    others = np.abs(B[rows])
    others[together[rows].nonzero()] = 0
    room = min(1.0, together.nnz / B.size)
    return float(np.quantile(others, 1 - room)) if room < 1 else 0.0


def _sparse(support: Support, values: npt.NDArray[Any]) -> csr_matrix:
    from scipy.sparse import csr_matrix

    n = len(support.starts) - 1
    return csr_matrix((values, support.columns, support.starts), shape=(n, n))


def _keys(starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """(m,) one ascending number for each pair."""
    n = len(starts) - 1
    return np.repeat(np.arange(n, dtype=np.int64), np.diff(starts)) * n + columns
