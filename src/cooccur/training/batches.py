"""Mini-batches over CSR: some records with their weights, and the same occurrences grouped by item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """`indptr` (B + 1,) and `indices` (P,) list the items of B records; `weights` (B,) is what each record counts."""

    indptr: Ints
    indices: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def rows(self) -> Ints:
        """(P,) the record of each occurrence."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @cached_property
    def distinct(self) -> Ints:
        """The items that occur, ascending."""
        return np.unique(self.indices).astype(np.int64)

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """Where the list of each of the `distinct` items starts, and (P,) the places of its occurrences."""
        order = np.argsort(self.indices, kind="stable")
        return np.append(np.searchsorted(self.indices[order], self.distinct), len(order)), order

    @cached_property
    def by_item(self) -> tuple[Ints, Ints, Ints]:
        """The distinct items, where the list of each starts, and the records that hold it.

        Items are dealt out so that neighbours in this order differ in work: a parallel loop that cuts it into equal
        runs gives every thread its share of the popular ones.
        """
        starts, order = self.places
        counts = np.diff(starts)
        rank = np.argsort(-counts, kind="stable")
        dealt = np.concatenate([rank[k::8] for k in range(8)])
        rows = self.rows[order]
        picked = np.concatenate([rows[starts[j] : starts[j + 1]] for j in dealt]) if len(dealt) else rows
        return self.distinct[dealt], np.concatenate(([0], np.cumsum(counts[dealt]))), picked


def record_weights(baskets: Baskets, power: float) -> npt.NDArray[np.float32]:
    """(records,) |I_v|^-power scaled to mean one; a record of length 0 counts as length 1.

    >>> [round(float(w), 2) for w in record_weights(Baskets.from_lists([["a"], ["a", "b"]]), 1.0)]
    [1.33, 0.67]
    """
    w = np.maximum(baskets.lengths, 1).astype(np.float64) ** -power
    return np.asarray(w / w.mean(), dtype=np.float32)


def batches(baskets: Baskets, weights: npt.NDArray[np.float32], size: int, rng: np.random.Generator) -> Iterator[Batch]:
    """One epoch: all records once, in random order."""
    order = rng.permutation(len(baskets))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        part = baskets[chosen]
        yield Batch(part.indptr, part.indices, weights[chosen])
