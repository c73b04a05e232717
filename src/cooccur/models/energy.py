"""Models of the energy family: p(v) = exp(-E(v)) / Z, asked only through the log-odds of one item given the rest.

    phi(t, v) = ln p(v_t = 1 | v_-t) - ln p(v_t = 0 | v_-t) = E(v_-t) - E(v_+t)         p(v_t = 1 | v_-t) = sigmoid(phi)

For an item in the record the input is the record without it (leave-one-out). A model whose `_scores` are these log-odds
inherits the three functions below; one that has a joint energy adds `energy`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.evaluation.removal import take_out
from cooccur.models.base import Floats, Model

LOO_CELLS = 2**24  # leave-one-out rows are scored in blocks of at most this many cells


def log_odds_alone(frequencies: npt.NDArray[np.integer], records: int) -> npt.NDArray[np.float64]:
    """(n_items,) the log-odds of each item's share of the records, whatever else they hold.

    >>> log_odds_alone(np.array([0, 1, 2]), 2).round(2).tolist()
    [-1.61, 0.0, 1.61]
    """
    share = (frequencies + 0.5) / (records + 1)
    return np.asarray(np.log(share / (1 - share)))


class LogOdds(Model):
    """The score of an item is its log-odds given the rest of the record."""

    def _probability(self, score: float) -> float | None:
        return float(0.5 * (1 + np.tanh(0.5 * score)))

    def log_odds(self, baskets: Any) -> Floats:
        """(records, n_items) phi(t, v) for every item, leave-one-out for a record's own."""
        known, _ = self._known(baskets)
        phi = self._scores(known)
        rows = np.repeat(np.arange(len(known)), known.lengths)
        phi[rows, known.indices] = self._own_log_odds(known)
        return phi

    def probabilities(self, baskets: Any) -> Floats:
        """(records, n_items) p(v_t = 1 | v_-t) for every item; calibrated, where the model is."""
        phi = self.log_odds(baskets)
        if (calibration := getattr(self, "calibration_", None)) is not None:
            phi = calibration.log_odds(phi)
        return np.asarray(0.5 * (1 + np.tanh(0.5 * phi)), dtype=np.float32)

    def pseudo_log_likelihood(self, baskets: Any) -> npt.NDArray[np.float64]:
        """(records,) sum over all items of ln p(v_t | v_-t)."""
        known, _ = self._known(baskets)
        phi = self.log_odds(known).astype(np.float64)
        rows = np.repeat(np.arange(len(known)), known.lengths)
        phi[rows, known.indices] *= -1
        return np.asarray(-np.logaddexp(0, phi).sum(axis=1))

    def _own_log_odds(self, baskets: Baskets) -> Floats:
        """(occurrences,) phi of each record's own items: each is taken out in turn."""
        own = np.empty(baskets.nnz, dtype=np.float32)
        size = max(1, LOO_CELLS // baskets.n_items)
        for start in range(0, baskets.nnz, size):
            stop = min(start + size, baskets.nnz)
            own[start:stop] = self._scores(take_out(baskets, np.arange(start, stop)).rest)[
                np.arange(stop - start), baskets.indices[start:stop]
            ]
        return own
