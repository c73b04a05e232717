"""What a model answers: completions, of one basket or of many, and reasons.

Each shows as a table in a notebook (`notebook.py`), by the items' titles where there are any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Names
from cooccur.notebook import BatchView, CompletionView, ReasonView
from cooccur.titles import Titles


@dataclass(frozen=True)
class Suggestion:
    """One suggested item, its score and, where the score is a log-odds, the probability that it belongs there."""

    item: str
    score: float
    probability: float | None = None
    title: str = ""  # what people call it; empty: its name says it


@dataclass(frozen=True)
class Completion(CompletionView):
    """What a basket lacks, best first; iterate over it for the suggestions."""

    basket: tuple[str, ...]
    unknown: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]
    titles: Titles = field(default_factory=Titles, repr=False, compare=False)

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.suggestions)

    def __len__(self) -> int:
        return len(self.suggestions)

    @property
    def items(self) -> list[str]:
        return [suggestion.item for suggestion in self.suggestions]


@dataclass(frozen=True)
class Reason(ReasonView):
    """Why an item has its score: `score = prior + sum of the shares + rest`, the shares largest first."""

    item: str
    score: float
    prior: float
    shares: tuple[tuple[str, float], ...]
    rest: float
    hidden: tuple[tuple[str, float], ...] = ()  # where items combine: what leaving one out takes from `rest`
    titles: Titles = field(default_factory=Titles, repr=False, compare=False)

    @property
    def effects(self) -> tuple[tuple[str, float], ...]:
        """What each item does in all, by itself and in combination, largest first."""
        total = dict(self.hidden)
        found = [(item, share + total.get(item, 0.0)) for item, share in self.shares]
        return tuple(sorted(found, key=lambda effect: -abs(effect[1])))


@dataclass(frozen=True)
class BatchCompletion(BatchView):
    """Completions of many records: item numbers (records, k) int32, best first, -1 where there are no more."""

    items: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    vocabulary: Names
    unknown: tuple[str, ...]
    titles: Titles = field(default_factory=Titles, repr=False, compare=False)

    def names(self, record: int) -> list[str]:
        return [self.vocabulary[item] for item in self.items[record] if item >= 0]
