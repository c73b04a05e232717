"""Popularity: s(t) = n_t, how many training records hold t. The same for every basket; what any model must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cooccur.baskets import Baskets
from cooccur.models.base import Floats, Model, Progress


@dataclass(eq=False, kw_only=True)
class Popularity(Model):
    """The most frequent items first.

    >>> Popularity().fit([["milk", "bread"], ["bread"], ["tea", "milk", "bread"]]).complete(["tea"], k=2).items
    ['bread', 'milk']
    """

    name: ClassVar[str] = "popularity"
    level: ClassVar[str] = "L1"
    score_is: ClassVar[str] = "records with the item"

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        """Nothing to learn beyond the frequencies that every model keeps."""

    def _scores(self, baskets: Baskets) -> Floats:
        return np.tile(self.frequencies_.astype(np.float32), (len(baskets), 1))
