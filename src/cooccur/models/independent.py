"""Independent items: the L1 energy E(v) = -sum_{i in I_v} b_i, whose log-odds look at nothing but the item itself.

    phi(t) = b_t = ln p_t / (1 - p_t)      p_t = (n_t + smoothing) / (R + 2 smoothing)

n_t of the R training records hold t. This is the maximum of the (pseudo-)likelihood with a Beta(smoothing, smoothing)
prior added as so many records with and as many without the item, so that an item in none or in all of the records
still has finite log-odds; the default 1/2 is Jeffreys' prior. The order is that of `popularity`, the score a log-odds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Progress
from cooccur.models.energy import LogOdds
from cooccur.models.parameters import parameter


@dataclass(eq=False, kw_only=True)
class Independent(LogOdds):
    """Each item by itself.

    >>> model = Independent().fit([["milk", "bread"], ["bread"], ["tea", "bread"]])
    >>> [(s.item, round(s.score, 3)) for s in model.complete(["tea"])]
    [('bread', 1.946), ('milk', -0.511)]
    """

    name: ClassVar[str] = "independent"
    level: ClassVar[str] = "L1"
    score_is: ClassVar[str] = "log-odds of the item"
    arrays: ClassVar[Mapping[str, Array]] = {"b_": Array("float32", "N")}

    smoothing: float = parameter(0.5, "records added with the item, and as many without it", low=1e-6)

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        n = baskets.frequencies
        self.b_ = np.log((n + self.smoothing) / (len(baskets) - n + self.smoothing)).astype(np.float32)

    def _scores(self, baskets: Baskets) -> Floats:
        return np.tile(self.b_, (len(baskets), 1))

    def energy(self, baskets: Any) -> npt.NDArray[np.float64]:
        """(records,) E(v)."""
        known, _ = self._known(baskets)
        return np.asarray(-(known.matrix @ self.b_.astype(np.float64)))
