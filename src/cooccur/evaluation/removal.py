"""Missing-item prediction: which records are tested, which item is taken out of each, and where a model ranks it.

One removal is a record without one of its items, chosen uniformly. The removals depend on the data and the seed only,
so every model is asked the same questions. Ranking is among all items that are not in the rest of the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.metrics import Ranks

if TYPE_CHECKING:
    from cooccur.models.base import Floats, Model

Ints = npt.NDArray[np.integer[Any]]

MOST_DRAWS = 1_000_000  # of each record; more would only fill the memory


@dataclass(frozen=True)
class Removals:
    """`rest` (one row a removal), the `target` item taken out, and the `record` it came from (row of the original)."""

    rest: Baskets
    target: npt.NDArray[np.int64]
    record: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, which: Ints | npt.NDArray[np.bool_] | slice) -> Removals:
        return Removals(self.rest[which], self.target[which], self.record[which])

    def complete(self) -> Baskets:
        """The records that items were taken out of, each once, whole again."""
        _, first = np.unique(self.record, return_index=True)
        part = self[first]
        sizes = part.rest.lengths + 1
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        indices = np.insert(part.rest.indices, part.rest.indptr[1:], part.target)
        order = np.lexsort((indices, np.repeat(np.arange(len(part)), sizes)))
        return Baskets(indptr, indices[order], part.rest.items, part.rest.records, numbered=part.rest.numbered)


def fold_numbers(records: int, folds: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """(records,) the fold of each record: a random split into parts whose sizes differ by one at most.

    >>> np.bincount(fold_numbers(11, 5)).tolist()
    [3, 2, 2, 2, 2]
    """
    if not 2 <= folds <= records:
        if records < 2:
            raise ParameterError(
                f"{records} record{'s' * (records != 1)}; at least 2 are needed to learn from one and test another"
            )
        raise ParameterError(f"{folds} folds of {records} records; expected 2 to {records}; say --folds")
    numbers = np.empty(records, dtype=np.int64)
    numbers[np.random.default_rng([seed, 0]).permutation(records)] = np.arange(records) % folds
    return numbers


def remove_items(baskets: Baskets, draws: int = 1, seed: int = 0) -> Removals:
    """Take one item out of each record that has at least two, `draws` times over (each draw from the whole record).

    Rows are ordered by record, so the draws of one record stand together.

    >>> removals = remove_items(Baskets.from_lists([["a", "b", "c"], ["d"]]), draws=2)
    >>> len(removals), removals.rest.lengths.tolist(), removals.record.tolist()
    (2, [2, 2], [0, 0])
    """
    if draws < 1:
        raise ParameterError(f"draws = {draws}; expected 1 or more")
    if draws > MOST_DRAWS:
        raise ParameterError(f"draws = {draws}; expected {MOST_DRAWS} at most")
    record = np.repeat(np.flatnonzero(baskets.lengths >= 2), draws)
    shares = np.random.default_rng([seed, 1]).random(len(record))
    return take_out(baskets, baskets.indptr[record] + (shares * baskets.lengths[record]).astype(np.int64))


def take_out(baskets: Baskets, occurrences: npt.NDArray[np.int64]) -> Removals:
    """Each of these occurrences (places in `baskets.indices`) taken out of its record.

    >>> removals = take_out(Baskets.from_lists([["a", "b", "c"], ["a"]]), np.array([1, 3]))
    >>> list(removals.rest), removals.target.tolist(), removals.record.tolist()
    ([['a', 'c'], []], [1, 0], [0, 1])
    """
    record = np.searchsorted(baskets.indptr, occurrences, side="right") - 1
    copies = baskets[record]
    keep = np.ones(copies.nnz, dtype=bool)
    keep[copies.indptr[:-1] + occurrences - baskets.indptr[record]] = False
    indptr = np.concatenate(([0], np.cumsum(copies.lengths - 1)))
    rest = Baskets(indptr, copies.indices[keep], baskets.items, copies.records, numbered=baskets.numbered)
    return Removals(rest, baskets.indices[occurrences].astype(np.int64), record)


def rank_block(scores: Floats, removals: Removals) -> Ranks:
    """Ranks of the targets given one block of scores in which each record's own items hold NaN."""
    from cooccur import kernels

    if np.isnan(scores[np.arange(len(removals)), removals.target]).any():
        raise CooccurError("the model gave NaN as a score; it has not learned properly")
    greater, equal = kernels.ranks(scores, removals.target)
    return Ranks(greater, equal, scores.shape[1] - removals.rest.lengths)


def rank(model: Model, removals: Removals) -> Ranks:
    """Where the model ranks each removed item. Memory: one block of scores at a time."""
    parts = [rank_block(scores, removals[which]) for which, scores in model.blocks(removals.rest)]
    if not parts:
        raise CooccurError("no test record has two items; nothing can be removed")
    return Ranks(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("greater", "equal", "candidates"))
    )


def hold_out(baskets: Baskets, share: float, seed: int, at_most: int, removals: int = 0) -> tuple[Baskets, Removals]:
    """Split training records for a choice inside `fit`: (the part to learn from, removals from the others).

    At most `at_most` records are held out; each gives one removal, or up to ten, so that there are about `removals`.

    >>> learn, removals = hold_out(Baskets.from_lists([["a", "b"]] * 10), share=0.2, seed=0, at_most=100)
    >>> len(learn), len(removals)
    (8, 2)
    """
    fit = np.flatnonzero(baskets.lengths >= 2)
    rng = np.random.default_rng([seed, 2])
    held = np.sort(rng.permutation(fit)[: min(at_most, round(share * len(fit)))])
    learn = np.ones(len(baskets), dtype=bool)
    learn[held] = False
    draws = min(10, max(1, removals // max(1, len(held))))
    return baskets[learn], remove_items(baskets[held], draws, seed)
