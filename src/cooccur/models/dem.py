"""The Deep Embedding Model (Lk), given by its log-odds:

    phi(t, v) = b_t + sum_{i in I_v, i != t} R0_it + R_t . h        h = (h_1, ..., h_k)
    h_1 = sigmoid(sum_{i in I_v, i != t} E_i + B_1)                 h_i = sigmoid(W_i h_{i-1} + B_i)

E_i is column i of the paper's W1 and R_t its R1_t .. Rk_t side by side. Without hidden layers it is the FVBM with
untied pairs; without b and R0 it is the paper's DEM*. Learned by pseudo-likelihood, see `training/likelihood.py`.
R0 lives on pairs that occur together in the training records, see `training/support.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import layers
from cooccur.models.base import Floats, Model, Progress, Reason
from cooccur.models.energy import LogOdds
from cooccur.models.parameters import parameter
from cooccur.models.trained import Trained

if TYPE_CHECKING:
    from cooccur.training.energy_learner import EnergyLearner
    from cooccur.training.loop import Learner


@dataclass(eq=False, kw_only=True)
class PseudoLikelihood(LogOdds, Trained):
    """What FVBM and DEM share: the terms, how they are learned, prediction and exact reasons."""

    score_is: ClassVar[str] = "log-odds given the basket"
    arrays: ClassVar[tuple[str, ...]] = ("b_", "starts_", "columns_", "weights_", "E_", "R_", "layers_", "sizes_")

    rate: float = parameter(0.02, "learning rate of bias and hidden layers (Adam)", low=1e-6, high=10)
    pair_rate: float = parameter(
        5.0, "learning rate of the pairs (AdaGrad), over the mean record length", low=1e-6, high=1000
    )
    caution: float = parameter(10.0, "how much gradient a pair must see before it moves at full rate", low=0)
    pair_decay: float = parameter(0.0, "L2 pull of each pair towards its prior", low=0)
    prior: str = parameter("none", "where the pairs start", choices=("none", "counts"))
    memory: int = parameter(4000, "MB that the pairs may take", low=1)
    negatives: int = parameter(0, "sampled absent items a step; 0: all of them, exactly", low=0)
    sampling: str = parameter("popular", "how they are drawn", choices=("popular", "uniform", "unweighted"))
    sharpness: float = parameter(0.0, "q of (1 - p^q)/q in place of -ln p for present items", low=0, high=1)
    device: str = parameter("cpu", "where torch learns: cpu, cuda, mps ...")
    optimiser: str = parameter("adaptive", "or plain gradient descent", choices=("adaptive", "sgd"))

    def _terms(self) -> tuple[bool, bool, tuple[int, ...], bool, float]:
        """Which terms there are: bias, pairs, widths of the hidden layers, pairs tied, dropout of the input."""
        raise NotImplementedError

    # -- learning -----------------------------------------------------------------------------------

    def _learner(self, baskets: Baskets, fresh: bool, progress: Progress) -> Learner:
        from cooccur.training.energy_learner import EnergyLearner

        return EnergyLearner(self, baskets, fresh=fresh, progress=progress)

    def _keep(self, learner: Learner) -> None:
        kept: EnergyLearner = learner  # type: ignore[assignment]
        learned = kept.learned()
        self.b_: Floats = learned["b_"]
        self.starts_: npt.NDArray[np.int64] = learned["starts_"]
        self.columns_: npt.NDArray[np.int32] = learned["columns_"]
        self.weights_: Floats = learned["weights_"]
        self.E_: Floats = learned["E_"]
        self.R_: Floats = learned["R_"]
        self.layers_: Floats = learned["layers_"]  # W_i, B_i of each hidden layer, one behind the other
        self.sizes_: npt.NDArray[np.int64] = learned["sizes_"]

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        scores = np.zeros((len(baskets), len(self.items_)), dtype=np.float32)
        if len(self.columns_):
            ops.add_rows(scores, baskets.indptr, baskets.indices, self.starts_, self.columns_, self.weights_)
        if self.R_.shape[1]:
            scores += self._hidden(ops.sum_rows(self.E_, baskets.indptr, baskets.indices)) @ self.R_.T
        scores += self.b_
        return scores

    def _hidden(self, a: Floats) -> Floats:
        """(rows, H) all hidden layers side by side, from the summed inputs a (rows, h_1)."""
        return np.concatenate(layers.activations(a, self.layers_, self.sizes_), axis=1)

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: bias, each present item's pair weight, and the hidden part with each item's share by leave-one-out."""
        known, _ = self._known([[name for name in dict.fromkeys(basket) if name != item]])
        t, own = self.number(item), known.row(0)
        names = [str(self.items_[i]) for i in own]
        pairs = [(name, self._pair(int(i), t)) for name, i in zip(names, own, strict=True)]
        hidden, shares = 0.0, []
        if self.R_.shape[1]:
            a = self.E_[own].sum(axis=0)
            parts = self._hidden(np.stack([a, *(a - self.E_[i] for i in own)])) @ self.R_[t]
            hidden = float(parts[0])
            shares = [(name, hidden - float(part)) for name, part in zip(names, parts[1:], strict=True)]
        bias = float(self.b_[t])
        score = bias + sum(value for _, value in pairs) + hidden
        by_size = lambda share: -abs(share[1])  # noqa: E731
        return Reason(item, score, bias, tuple(sorted(pairs, key=by_size)), hidden, tuple(sorted(shares, key=by_size)))

    def _pair(self, i: int, t: int) -> float:
        columns = self.columns_[self.starts_[i] : self.starts_[i + 1]]
        at = int(np.searchsorted(columns, t))
        return float(self.weights_[self.starts_[i] + at]) if at < len(columns) and columns[at] == t else 0.0


@dataclass(eq=False, kw_only=True)
class Dem(PseudoLikelihood):
    """Bias, pairs and hidden layers in one log-odds.

    >>> Dem(hidden="32x16").widths()
    (32, 16)
    """

    name: ClassVar[str] = "dem"
    level: ClassVar[str] = "Lk"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "star": {"bias": False, "pairs": False},
        "paper": {"optimiser": "sgd", "sampling": "unweighted", "negatives": 100, "schedule": "constant", "batch": 16},
    }

    hidden: str = parameter("64", "widths of the hidden layers, as in 32x16; none: no hidden layer")
    bias: bool = parameter(True, "the bias term b")
    pairs: bool = parameter(True, "the pair term R0")
    dropout: float = parameter(0.0, "share of the items left out of the hidden input while learning", low=0, high=0.95)

    def widths(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return layers.widths(self.name, self.hidden)

    def check_parameters(self) -> None:
        Model.check_parameters(self)
        if not (self.widths() or self.pairs or self.bias):
            raise ParameterError("dem: no bias, no pairs and no hidden layer; keep one of them")

    def _terms(self) -> tuple[bool, bool, tuple[int, ...], bool, float]:
        return self.bias, self.pairs, self.widths(), False, self.dropout
