"""Which pairs get a weight: all that occur together if they fit the budget, else the most informative of each item.

The count of pairs is known before anything is allocated. Over the budget, item i keeps its share of the room by the
largest C_it^2 / (n_i n_t) (pairs seen together more than their frequencies explain), in blocks of items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.pairs import BYTES_A_PAIR, cooccurrence
from cooccur.training import pair_kernels

Floats = npt.NDArray[np.float32]

PRIOR_SCALE, PRIOR_COUNT = 0.5, 3.0


@dataclass(frozen=True, eq=False)
class Support:
    """CSR by source item: starts (n + 1,), columns (m,), counts (m,) of the kept pairs, of `found` that there are."""

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    found: int


NOTHING = Support(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32), 0)


def estimate(baskets: Baskets) -> npt.NDArray[np.int64]:
    """(n_items,) how many pairs each item has. Cost: sum over records of |I_v|^2; memory: one integer an item.

    >>> estimate(Baskets.from_lists([["a", "b"], ["a", "b", "c"]])).tolist()
    [2, 2, 2]
    """
    import numba

    starts = np.concatenate(([0], np.cumsum(baskets.frequencies)))
    records = np.repeat(np.arange(len(baskets)), baskets.lengths)[np.argsort(baskets.indices, kind="stable")]
    return pair_kernels.count_neighbours(baskets.indptr, baskets.indices, starts, records, numba.get_num_threads())


def in_words(found: int, megabytes: float) -> str:
    """What the pairs will need, before anything is allocated.

    >>> in_words(7_173_594, 4000)
    'pairs: 7,173,594 occur, 143 MB of a budget of 4,000 MB'
    """
    need = found * BYTES_A_PAIR / 1e6
    words = f"pairs: {found:,} occur, {need:,.0f} MB of a budget of {megabytes:,.0f} MB"
    return words if need <= megabytes else f"{words}: the most informative {megabytes / need:.0%} of each item are kept"


def choose(
    baskets: Baskets, megabytes: float, progress: Callable[[float, str], None] = lambda share, words: None
) -> Support:
    """The pairs to learn within a budget of memory; says first what it will need.

    >>> choose(Baskets.from_lists([["a", "b"], ["a", "b", "c"]]), 1).columns.tolist()
    [1, 2, 0, 2, 0, 1]
    """
    sizes = estimate(baskets)
    found, room = int(sizes.sum()), int(megabytes * 1e6 / BYTES_A_PAIR)
    progress(0.0, in_words(found, megabytes))
    if found <= room:
        C = cooccurrence(baskets)
        return Support(C.indptr.astype(np.int64), C.indices.astype(np.int32), C.data, found)
    quota = np.maximum(1, (sizes * (room / found)).astype(np.int64))
    return _most_informative(baskets, np.minimum(quota, sizes), found)


def counts_prior(support: Support, frequencies: npt.NDArray[np.int64], records: int) -> tuple[Floats, Floats]:
    """A weight for each pair from its counts alone, and what a record that was counted must add to forget itself.

        a(C) = PRIOR_SCALE * C / (C + PRIOR_COUNT) * ln( C R / (n_i n_t) )       own = a(C - 1) - a(C),  a(0) = 0

    The log ratio of seen to expected meetings, shrunken where the count is small, scaled down because the items of a
    basket do not speak independently.

    >>> pair = Support(np.array([0, 1, 2]), np.int32([1, 0]), np.float32([1, 1]), 2)
    >>> prior, own = counts_prior(pair, np.array([2, 2]), records=10)
    >>> (prior + own).tolist()
    [0.0, 0.0]
    """
    n = np.maximum(frequencies, 1).astype(np.float64)
    expected = np.repeat(n, np.diff(support.starts)) * n[support.columns] / records

    def weight(C: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ratio = np.log(np.maximum(C, 0.5) / expected)
        return np.where(C > 0, PRIOR_SCALE * C / (C + PRIOR_COUNT) * ratio, 0.0)

    C = support.counts.astype(np.float64)
    prior = weight(C)
    return prior.astype(np.float32), (weight(C - 1) - prior).astype(np.float32)


def _most_informative(baskets: Baskets, quota: npt.NDArray[np.int64], found: int) -> Support:
    V = baskets.matrix
    T = V.T.tocsr()
    n = np.maximum(baskets.frequencies, 1).astype(np.float64)
    columns, counts = [], []
    step = 1024
    for first in range(0, baskets.n_items, step):
        block = (T[first : first + step] @ V).tocsr()
        block.sort_indices()
        for i in range(block.shape[0]):
            row = slice(block.indptr[i], block.indptr[i + 1])
            t, c = block.indices[row], block.data[row]
            other = t != first + i
            t, c = t[other], c[other]
            kept = np.sort(np.argsort(-(c * c / n[t]), kind="stable")[: quota[first + i]])
            columns.append(t[kept].astype(np.int32))
            counts.append(c[kept])
    sizes = [len(row) for row in columns]
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return Support(starts, np.concatenate(columns), np.concatenate(counts).astype(np.float32), found)
