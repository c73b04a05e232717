"""The pair term's inner loops for learning, compiled by Numba; arrays only, as in `cooccur.kernels`.

W is CSR by source item: `starts` (n + 1,), `columns` (ascending within a row), `weights`. Parallel loops own what they
write (a record its row of the block, an item its row of W), so the result is the same at any number of threads.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]


@numba.njit(parallel=True, cache=True, nogil=True)
def count_neighbours(
    indptr: Ints, indices: Ints, item_starts: Ints, item_records: Ints, workers: int
) -> npt.NDArray[np.int64]:
    """For each item, how many other items share a record with it. Cost: sum over records of length squared.

    `indptr`, `indices` list the items of each record, `item_starts`, `item_records` the records of each item.
    """
    n = len(item_starts) - 1
    counts = np.zeros(n, dtype=np.int64)
    for worker in numba.prange(workers):
        seen = np.full(n, -1, dtype=np.int32)  # the item for which a neighbour was last counted
        for i in range(worker, n, workers):
            seen[i] = i
            for p in range(item_starts[i], item_starts[i + 1]):
                r = item_records[p]
                for q in range(indptr[r], indptr[r + 1]):
                    t = indices[q]
                    if seen[t] != i:
                        seen[t] = i
                        counts[i] += 1
    return counts


@numba.njit(parallel=True, cache=True, nogil=True)
def add_rows_at(
    block: Floats, indptr: Ints, indices: Ints, starts: Ints, columns: Ints, weights: Floats, slot: Ints
) -> None:
    """block[r, slot[t]] += sum over items i of record r of W[i, t], for the items t that have a slot (not -1)."""
    for r in numba.prange(len(indptr) - 1):
        row = block[r]
        for p in range(indptr[r], indptr[r + 1]):
            i = indices[p]
            for q in range(starts[i], starts[i + 1]):
                at = slot[columns[q]]
                if at >= 0:
                    row[at] += weights[q]


@numba.njit(parallel=True, cache=True, nogil=True)
def inside(indptr: Ints, indices: Ints, starts: Ints, columns: Ints, weights: Floats) -> Floats:
    """For each occurrence (record, t): the sum of W[i, t] over the record's other items i. Bisection in each row."""
    out = np.zeros(len(indices), dtype=weights.dtype)
    for r in numba.prange(len(indptr) - 1):
        for p in range(indptr[r], indptr[r + 1]):
            i = indices[p]
            first, last = starts[i], starts[i + 1]
            for other in range(indptr[r], indptr[r + 1]):
                t = indices[other]
                low, high = first, last
                while low < high:
                    middle = (low + high) // 2
                    if columns[middle] < t:
                        low = middle + 1
                    else:
                        high = middle
                if low < last and columns[low] == t:
                    out[other] += weights[low]
                first = low  # both lists ascend
    return out


@numba.njit(parallel=True, cache=True, nogil=True)
def row_gradients(
    out: Floats, delta: Floats, items: Ints, item_starts: Ints, item_rows: Ints, starts: Ints, columns: Ints,
    slot: Ints, out_starts: Ints,
) -> None:  # fmt: skip
    """out = the gradient of the rows of W of the batch's distinct `items`: sum of delta[r, t] over the records r with
    item i.

    Row j of it lies at out_starts[j]; `item_rows` lists the batch's records of each item. With an empty `slot`
    delta has a column for every item, else column slot[t] for item t (-1: none).
    """
    for j in numba.prange(len(items)):
        first, last = starts[items[j]], starts[items[j] + 1]
        g = out[out_starts[j] : out_starts[j + 1]]
        g[:] = 0
        for p in range(item_starts[j], item_starts[j + 1]):
            row = delta[item_rows[p]]
            if len(slot):
                for q in range(last - first):
                    at = slot[columns[first + q]]
                    if at >= 0:
                        g[q] += row[at]
            else:
                for q in range(last - first):
                    g[q] += row[np.uint32(columns[first + q])]  # without a sign: see `kernels.add_rows`


@numba.njit(parallel=True, cache=True, nogil=True)
def step_rows(
    gradient: Floats, items: Ints, out_starts: Ints, starts: Ints, weights: Floats, squares: Floats, anchor: Floats,
    rate: float, decay: float, adaptive: bool,
) -> None:  # fmt: skip
    """One step uphill on the rows of `items`: w += rate g; adaptive: over sqrt(sum g^2). g less decay (w - anchor)."""
    for j in numba.prange(len(items)):
        first, last = starts[items[j]], starts[items[j] + 1]
        g, w, squared = gradient[out_starts[j] : out_starts[j + 1]], weights[first:last], squares[first:last]
        if decay:
            for q in range(len(g)):
                g[q] -= decay * (w[q] - (anchor[first + q] if len(anchor) else 0))
        if adaptive:
            for q in range(len(g)):
                slope = np.float64(g[q])
                squared[q] += slope * slope
                w[q] += rate * slope / np.sqrt(squared[q] + 1e-8)
        else:
            for q in range(len(g)):
                w[q] += rate * g[q]


LANES, FACTORS = (
    64,
    32,
)  # so many products side by side, each of so many factors: (1e-7)^32 is far above float64's least


@numba.njit(parallel=True, cache=True, nogil=True)
def negatives(
    p: Floats, indptr: Ints, slots: Ints, record_weights: Floats, column_weights: Floats
) -> npt.NDArray[np.float64]:
    """Turn probabilities of absent items into gradients, in place: p -> -w_r u_t p, and 0 where the item is present.

    `slots` holds the columns of each record's own items (-1: none). Returns each record's -sum u_t ln(1 - p).
    """
    loss = np.zeros(len(p))
    one, least = p.dtype.type(1), p.dtype.type(1e-7)
    for r in numba.prange(len(p)):
        row, weight = p[r], record_weights[r]
        for q in range(indptr[r], indptr[r + 1]):
            if slots[q] >= 0:
                row[slots[q]] = 0
        total = 0.0
        if len(column_weights):
            for t in range(len(row)):
                total -= column_weights[t] * np.log(max(1 - row[t], 1e-7))
                row[t] *= -weight * column_weights[t]
        else:  # one logarithm for many factors, in lanes that are multiplied at once
            product = np.empty(LANES)
            for start in range(0, len(row), LANES * FACTORS):
                product[:] = 1.0
                for first in range(start, min(start + LANES * FACTORS, len(row)), LANES):
                    some = row[first : first + LANES]
                    for k in range(len(some)):
                        absent = one - some[k]
                        product[k] *= absent if absent > least else least
                        some[k] *= -weight
                for k in range(LANES):
                    total -= np.log(product[k])
        loss[r] = total
    return loss


@numba.njit(parallel=True, cache=True, nogil=True)
def take(block: Floats, indptr: Ints, indices: Ints) -> Floats:
    """The entries block[r, t] for each occurrence (r, t)."""
    out = np.empty(len(indices), dtype=block.dtype)
    for r in numba.prange(len(indptr) - 1):
        for q in range(indptr[r], indptr[r + 1]):
            out[q] = block[r, indices[q]]
    return out
