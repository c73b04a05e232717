"""The inner loops, compiled by Numba: add sparse rows into a block of scores, top-k, rank.

They know arrays and nothing else. All run in parallel over rows and each row is owned by one thread, so there are no
races and the result does not depend on the number of threads. Compiled code is cached beside this file.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.integer[Any]]

BLOCK = 32  # elements that top_k rejects at once


@numba.njit(parallel=True, cache=True, nogil=True)
def add_rows(
    scores: Floats, indptr: Ints, indices: Ints, starts: Ints, columns: Ints, weights: Floats
) -> None:  # fmt: skip
    """scores[r, t] += sum over items i of record r of W[i, t], with W in CSR form (starts, columns, weights).

    Cost: one multiply-add for each neighbour of each item of the record. An index without a sign cannot count from the
    end of the row, which saves the question and a quarter of the time.
    """
    for r in numba.prange(len(indptr) - 1):
        row = scores[r]
        for p in range(indptr[r], indptr[r + 1]):
            i = indices[p]
            for q in range(starts[i], starts[i + 1]):
                row[np.uint32(columns[q])] += weights[q]


@numba.njit(parallel=True, cache=True, nogil=True)
def ranks(scores: Floats, targets: Ints) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each row, how many entries exceed that of its target, and how many equal it (the target too)."""
    greater = np.zeros(len(targets), dtype=np.int64)
    equal = np.zeros(len(targets), dtype=np.int64)
    for r in numba.prange(len(targets)):
        row = scores[r]
        mark = row[targets[r]]
        above = np.int32(0)
        same = np.int32(0)
        for t in range(len(row)):
            above += np.int32(row[t] > mark)
            same += np.int32(row[t] == mark)
        greater[r] = above
        equal[r] = same
    return greater, equal


@numba.njit(cache=True, nogil=True)
def _sink(values: Floats, items: Ints, at: int, size: int) -> None:
    """Restore the heap whose top is its worst entry: lowest score, and among equals the highest item."""
    value, item = values[at], items[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            values[right] < values[child] or (values[right] == values[child] and items[right] > items[child])
        ):
            child = right
        if values[child] > value or (values[child] == value and items[child] < item):
            break
        values[at], items[at] = values[child], items[child]
        at = child
    values[at], items[at] = value, item


@numba.njit(parallel=True, cache=True, nogil=True)
def top_k(scores: Floats, k: int) -> tuple[Ints, Floats]:
    """The k best entries of each row, best first, ties to the lower item. NaN is never chosen.

    Returns items (rows, k) int32 and values (rows, k); where a row has fewer candidates, item -1 and value NaN.

    A heap of k holds the best so far; whole blocks that do not beat its worst are passed over by one vectorised
    comparison, so a row costs little more than one read of it.
    """
    rows, width = scores.shape
    best = np.full((rows, k), -1, dtype=np.int32)
    value = np.full((rows, k), np.nan, dtype=scores.dtype)
    if k == 0:
        return best, value
    for r in numba.prange(rows):
        row, items, values = scores[r], best[r], value[r]
        size = 0
        t = 0
        while t < width and size < k:
            if not np.isnan(row[t]):
                values[size], items[size] = row[t], t
                size += 1
            t += 1
        for at in range(size // 2 - 1, -1, -1):
            _sink(values, items, at, size)
        if size == k:
            while t < width:
                stop = min(t + BLOCK, width)
                beats = np.int32(0)
                worst = values[0]
                for j in range(t, stop):
                    beats += np.int32(row[j] > worst)
                if beats:
                    for j in range(t, stop):
                        if row[j] > values[0]:
                            values[0], items[0] = row[j], j
                            _sink(values, items, 0, k)
                t = stop
        for last in range(size - 1, 0, -1):  # heap sort: the worst goes behind
            values[0], values[last] = values[last], values[0]
            items[0], items[last] = items[last], items[0]
            _sink(values, items, 0, last)
    return best, value


@numba.njit(parallel=True, cache=True, nogil=True)
def spread(columns_in: Floats, starts: Ints, columns: Ints, weights: Floats) -> Floats:
    """W @ X for a CSR matrix W (n, n) and a dense X (n, width); parallel over the rows of W.

    The width is the inner loop, so each weight is read once for all of it and the sums are vectorised.
    """
    n, width = columns_in.shape
    out = np.zeros((n, width), dtype=columns_in.dtype)
    for t in numba.prange(n):
        row = out[t]
        for q in range(starts[t], starts[t + 1]):
            weight = weights[q]
            source = columns_in[columns[q]]
            for j in range(width):
                row[j] += weight * source[j]
    return out


@numba.njit(parallel=True, cache=True, nogil=True)
def sum_rows(rows: Floats, indptr: Ints, indices: Ints) -> Floats:
    """For each record the sum of the rows (n, width) of its items."""
    out = np.zeros((len(indptr) - 1, rows.shape[1]), dtype=rows.dtype)
    for r in numba.prange(len(indptr) - 1):
        for p in range(indptr[r], indptr[r + 1]):
            row = rows[indices[p]]
            for j in range(rows.shape[1]):
                out[r, j] += row[j]
    return out
