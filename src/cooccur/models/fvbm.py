"""The fully visible Boltzmann machine (L2), also known as the Ising model:

    E(v) = -b'v - v'Wv / 2,  W symmetric, zero diagonal          phi(t, v) = b_t + sum_{i in I_v, i != t} W_it

Untied (the default) W_it and W_ti are two weights: the conditionals are fitted one by one and no joint energy is
claimed; this is DEM-0. Tied, they are one weight and `energy` exists. Learned by pseudo-likelihood, see
`training/likelihood.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur.errors import ParameterError
from cooccur.models.parameters import parameter
from cooccur.models.pseudo_likelihood import PseudoLikelihood, Terms


@dataclass(eq=False, kw_only=True)
class Fvbm(PseudoLikelihood):
    """Bias and pair weights."""

    name: ClassVar[str] = "fvbm"
    level: ClassVar[str] = "L2"

    tied: bool = parameter(False, "one weight for both directions of a pair, so that a joint energy exists")

    def _terms(self) -> Terms:
        return Terms(tied=self.tied)

    def energy(self, baskets: Any) -> npt.NDArray[np.float64]:
        """(records,) E(v); only for tied weights."""
        if not self.tied:
            raise ParameterError("fvbm: the weights are not tied, so there is no joint energy; fit with tied=yes")
        known, _ = self._known(baskets)
        rows = np.repeat(np.arange(len(known)), known.lengths)
        field = self._scores(known)[rows, known.indices].astype(np.float64)
        bias = self.b_[known.indices].astype(np.float64)
        return np.asarray(-np.bincount(rows, weights=(field + bias) / 2, minlength=len(known)), dtype=np.float64)
