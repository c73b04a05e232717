"""Sets of two items as inputs beside the items themselves: u = {i, j} is in a record where i and j both are.

R0 then has a row for each item and, behind these, one for each set: what both together add to the log-odds of t.
`sets` (m, 2) holds i < j, rising, so that the sets of which an item is the first stand together. To see which of them
a record holds, each of its items is asked for those: cost the sum of their numbers over the record's items.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

NONE = np.zeros((0, 2), dtype=np.int32)


def with_sets(
    sets: npt.NDArray[np.integer], n_items: int, indptr: Ints, indices: npt.NDArray[np.int32]
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Records whose rows hold, behind their own items, n_items + u for each set u that is in them.

    >>> sets = np.array([[0, 1], [0, 2], [1, 2]])
    >>> with_sets(sets, 4, np.array([0, 2, 3]), np.array([0, 2, 1]))
    (array([0, 3, 4]), array([0, 2, 5, 1], dtype=int32))
    """
    if not len(sets):
        return indptr, indices
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    places = rows * n_items + indices  # they rise
    starts = np.searchsorted(sets[:, 0], np.arange(n_items + 1))
    sizes = np.diff(starts)[indices]
    before = np.cumsum(sizes) - sizes
    found = np.arange(sizes.sum()) + np.repeat(starts[indices] - before, sizes)
    row = np.repeat(rows, sizes)
    wanted = row * n_items + sets[found, 1]
    there = places[np.minimum(np.searchsorted(places, wanted), len(places) - 1)] == wanted
    found, row = found[there], row[there]
    order = np.argsort(np.concatenate((rows, row)), kind="stable")
    joined = np.concatenate((indices, n_items + found)).astype(np.int32)[order]
    return indptr + np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(indptr) - 1)))), joined


def check(sets: npt.NDArray[np.int32]) -> None:
    """A ValueError where these are not sets in their order."""
    first, second = sets.T.astype(np.int64)
    key = first * (second.max(initial=0) + 1) + second
    if (first >= second).any() or (np.diff(key) <= 0).any():
        raise ValueError("sets_ are not pairs of two items, rising")
