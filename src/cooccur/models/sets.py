"""Sets of two items as inputs beside the items themselves: u = {i, j} is in a record where i and j both are.

R0 then has a row for each item and, behind these, one for each set: what both together add to the log-odds of t.
`sets` (m, 2) has the rarer item of each in front, and rises. To see which of them a record holds, each of its items is
asked for those that it is in front of: there are few of the frequent items, which are in most records.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

NONE = np.zeros((0, 2), dtype=np.int32)
BLOCK = 2**20  # candidates, sets whose front item is there, looked at at once


def with_sets(
    sets: npt.NDArray[np.integer], n_items: int, indptr: Ints, indices: npt.NDArray[np.integer]
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Records whose rows hold, behind their own items, n_items + u for each set u that is in them.

    >>> sets = np.array([[0, 1], [0, 2], [1, 2]])
    >>> with_sets(sets, 4, np.array([0, 2, 3]), np.array([0, 2, 1]))
    (array([0, 3, 4]), array([0, 2, 5, 1], dtype=int32))
    """
    if not len(sets):
        return indptr, indices.astype(np.int32, copy=False)
    first = np.searchsorted(sets[:, 0], indices)
    sizes = np.searchsorted(sets[:, 0], indices, side="right") - first
    before = np.concatenate(([0], np.cumsum(sizes)))
    blocks = np.flatnonzero(np.diff(before[indptr[:-1]] // BLOCK, prepend=-1))  # few enough candidates at a time
    held, joined = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for start, stop in itertools.pairwise([*blocks, len(indptr) - 1]):
        own = slice(indptr[start], indptr[stop])
        rows = np.repeat(np.arange(stop - start), np.diff(indptr[start : stop + 1]))
        places = rows * n_items + indices[own]  # they rise
        found = np.arange(before[own.start], before[own.stop]) + np.repeat(first[own] - before[own], sizes[own])
        row = np.repeat(rows, sizes[own])
        wanted = row * n_items + sets[found, 1]
        there = places[np.minimum(np.searchsorted(places, wanted), len(places) - 1)] == wanted
        found, row = found[there], row[there]
        order = np.argsort(np.concatenate((rows, row)), kind="stable")
        joined.append(np.concatenate((indices[own], n_items + found)).astype(np.int32)[order])
        held.append(np.bincount(row, minlength=stop - start))
    return indptr + np.cumsum(np.concatenate(held)), np.concatenate(joined)


def in_order(sets: npt.NDArray[np.integer], frequencies: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """These sets (m, 2), the rarer item in front, rising.

    >>> in_order(np.array([[0, 2], [0, 1]]), np.array([9, 5, 3])).tolist()
    [[1, 0], [2, 0]]
    """
    rare = np.argsort(frequencies[sets], axis=1, kind="stable")
    sets = np.take_along_axis(sets, rare, axis=1)
    return sets[np.lexsort(sets.T[::-1])].astype(np.int32)


def check(sets: npt.NDArray[np.int32]) -> None:
    """A ValueError where these are not sets in their order."""
    size = int(sets.max(initial=0)) + 1
    one, other = (pairs.astype(np.int64) @ [size, 1] for pairs in (sets, np.sort(sets, axis=1)))
    if (sets[:, 0] == sets[:, 1]).any() or (np.diff(one) <= 0).any() or len(np.unique(other)) < len(other):
        raise ValueError("sets_ are not different pairs of two items, rising")
