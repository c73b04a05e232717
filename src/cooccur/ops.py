"""The operations of prediction: numpy for a few records, the compiled kernels for many. Both give the same numbers.

One basket is done before Numba would be imported, so `cooccur complete` answers at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.integer[Any]]

FEW = 2  # records


def add_rows(scores: Floats, indptr: Ints, indices: Ints, starts: Ints, columns: Ints, weights: Floats) -> None:
    """scores[r, t] += sum over items i of record r of W[i, t], with W in CSR form (starts, columns, weights).

    >>> scores = np.zeros((1, 3), dtype=np.float32)
    >>> add_rows(scores, np.array([0, 1]), np.array([0]), np.array([0, 2, 2, 2]), np.array([1, 2]), np.float32([5, 7]))
    >>> scores.tolist()
    [[0.0, 5.0, 7.0]]
    """
    if len(scores) > FEW:
        from cooccur import kernels

        return kernels.add_rows(scores, indptr, indices, starts, columns, weights)
    for r in range(len(scores)):
        for i in indices[indptr[r] : indptr[r + 1]]:
            row = slice(starts[i], starts[i + 1])
            scores[r, columns[row]] += weights[row]
    return None


def sum_rows(rows: Floats, indptr: Ints, indices: Ints) -> Floats:
    """For each record the sum of the rows (n, width) of its items.

    >>> sum_rows(np.float32([[1, 2], [10, 20]]), np.array([0, 2]), np.array([0, 1])).tolist()
    [[11.0, 22.0]]
    """
    if len(indptr) - 1 > FEW:
        from cooccur import kernels

        return kernels.sum_rows(rows, indptr, indices)
    out = np.zeros((len(indptr) - 1, rows.shape[1]), dtype=rows.dtype)
    for r in range(len(out)):
        for i in indices[indptr[r] : indptr[r + 1]]:
            out[r] += rows[i]
    return out


def project(hidden: Floats, rows: Floats) -> Floats:
    """hidden @ rows.T: (records, width) and (n, width) give (records, n).

    For a few records that is one pass over `rows`, and einsum goes through memory twice as fast as BLAS (gemv) does.

    >>> project(np.float32([[1, 2]]), np.float32([[1, 0], [0, 1], [1, 1]])).tolist()
    [[1.0, 2.0, 3.0]]
    """
    if len(hidden) > FEW:
        return np.asarray(hidden @ rows.T)
    return np.stack([np.einsum("nj,j->n", rows, h) for h in hidden]) if len(hidden) else hidden @ rows.T


def mask(scores: Floats, indptr: Ints, indices: Ints) -> None:
    """scores[r, i] = NaN for the items of record r: no comparison holds for NaN, so they are never chosen.

    >>> scores = np.ones((1, 2), dtype=np.float32)
    >>> mask(scores, np.array([0, 1]), np.array([1]))
    >>> scores.tolist()
    [[1.0, nan]]
    """
    scores[np.repeat(np.arange(len(scores)), np.diff(indptr)), indices] = np.nan


def top_k(scores: Floats, k: int) -> tuple[Ints, Floats]:
    """The k best entries of each row, best first, ties to the lower item; -1 and NaN where there are no more.

    >>> items, values = top_k(np.float32([[1, 3, np.nan, 3]]), 4)
    >>> items.tolist(), values.tolist()
    ([[1, 3, 0, -1]], [[3.0, 3.0, 1.0, nan]])
    """
    if len(scores) > FEW:
        from cooccur import kernels

        return kernels.top_k(scores, k)
    items = np.full((len(scores), k), -1, dtype=np.int32)
    values = np.full((len(scores), k), np.nan, dtype=scores.dtype)
    for r, row in enumerate(scores):
        absent = np.isnan(row)
        size = min(k, len(row) - int(absent.sum()))
        if not size:
            continue
        worst = np.partition(np.where(absent, -np.inf, row), len(row) - size)[len(row) - size]
        order = np.flatnonzero(row >= worst)  # the k best, and what equals the last of them; never NaN
        order = order[np.argsort(-row[order], kind="stable")[:size]]
        items[r, : len(order)], values[r, : len(order)] = order, row[order]
    return items, values
