"""Which pairs get a weight: all that occur together if they fit the budget, else the most informative of each item.

The count of pairs is known before anything is allocated. Over the budget, item i keeps its share of the room by the
largest C_it^2 / (n_i n_t) (pairs seen together more than their frequencies explain), in blocks of items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.pairs import cooccurrence
from cooccur.training import pair_kernels

BYTES_A_PAIR = 20  # column, weight, accumulator, the best epoch's copy, the batch's gradient


@dataclass(frozen=True, eq=False)
class Support:
    """CSR by source item: starts (n + 1,), columns (m,), counts (m,) of the kept pairs, of `found` that there are."""

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    found: int


def estimate(baskets: Baskets) -> npt.NDArray[np.int64]:
    """(n_items,) how many pairs each item has. Cost: sum over records of |I_v|^2; memory: one integer an item.

    >>> estimate(Baskets.from_lists([["a", "b"], ["a", "b", "c"]])).tolist()
    [2, 2, 2]
    """
    import numba

    starts = np.concatenate(([0], np.cumsum(baskets.frequencies)))
    records = np.repeat(np.arange(len(baskets)), baskets.lengths)[np.argsort(baskets.indices, kind="stable")]
    return pair_kernels.count_neighbours(baskets.indptr, baskets.indices, starts, records, numba.get_num_threads())


def choose(baskets: Baskets, megabytes: float) -> Support:
    """The pairs to learn within a budget of memory.

    >>> choose(Baskets.from_lists([["a", "b"], ["a", "b", "c"]]), 1).columns.tolist()
    [1, 2, 0, 2, 0, 1]
    """
    sizes = estimate(baskets)
    found, room = int(sizes.sum()), int(megabytes * 1e6 / BYTES_A_PAIR)
    if found <= room:
        C = cooccurrence(baskets)
        return Support(C.indptr.astype(np.int64), C.indices.astype(np.int32), C.data, found)
    quota = np.maximum(1, (sizes * (room / found)).astype(np.int64))
    return _most_informative(baskets, np.minimum(quota, sizes), found)


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
