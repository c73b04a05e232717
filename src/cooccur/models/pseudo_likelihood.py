"""What FVBM and DEM share: one log-odds of three terms, learned by pseudo-likelihood (`training/likelihood.py`).

    phi(t, v) = b_t + sum_{i in I_v, i != t} R0_it + R_t . h        h: the hidden layers, see `layers.py`

R0 lives on pairs that occur together in the training records, see `training/support.py`, and may have rows for sets of
two items, see `sets.py`. `Terms` says which of the three there are, and how the hidden layers start and see the record.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.models import layers
from cooccur.models.answers import Reason
from cooccur.models.arrays import PAIRS, Array
from cooccur.models.base import Floats, Progress
from cooccur.models.energy import LogOdds
from cooccur.models.parameters import parameter
from cooccur.models.sets import NONE, with_sets
from cooccur.models.trained import Trained
from cooccur.pairs import BYTES_A_PAIR, expected_pairs

if TYPE_CHECKING:
    from cooccur.training.energy_learner import EnergyLearner
    from cooccur.training.learner import Learner


class Start(NamedTuple):
    """Standard deviations of the hidden inputs and of the weights R at first; the learning rate."""

    inputs: float
    outputs: float
    rate: float


STARTS = {"calm": Start(0.1, 0.1, 0.005), "bold": Start(1.0, 0.1, 0.02), "free": Start(0.3, 0.01, 0.0015)}


@dataclass(frozen=True)
class Terms:
    """What there is to learn: the bias, the pairs (`tied`: W_it = W_ti), hidden layers and how they see the record.
    `which`: by the question which item is missing, in place of pseudo-likelihood."""

    bias: bool = True
    pairs: bool = True
    tied: bool = False
    widths: tuple[int, ...] = ()
    kinds: tuple[layers.Kind, ...] = ()
    dropout: float = 0.0
    start: Start = STARTS["bold"]
    which: bool = False


@dataclass(eq=False, kw_only=True)
class PseudoLikelihood(LogOdds, Trained):
    """What FVBM and DEM share: the terms, how they are learned, prediction and exact reasons."""

    score_is: ClassVar[str] = "log-odds given the basket"
    arrays: ClassVar[Mapping[str, Array]] = {
        "b_": Array("float32", "N"),
        **PAIRS,
        "E_": Array("float32", "N,first"),
        "R_": Array("float32", "N,all"),
        "layers_": Array("float32", "inner"),
        "sizes_": Array("int64", "depth", low=1),
    }

    rate: float | None = parameter(0.02, "learning rate of the bias (Adam)", low=1e-6, high=10)
    pair_rate: float = parameter(
        5.0, "learning rate of the pairs (AdaGrad), over the mean record length", low=1e-6, high=1000, search=(1, 20)
    )
    caution: float = parameter(
        10.0, "how much gradient a pair must see before it moves at full rate", low=0, search=(1, 100)
    )
    pair_decay: float = parameter(0.0, "L2 pull of each pair towards its prior", low=0)
    decay: float = parameter(0.0, "L2 pull of the hidden layers towards 0", low=0)
    prior: str = parameter("none", "where the pairs start", choices=("none", "counts"))
    memory: int = parameter(4000, "MB that the pairs may take", low=1)
    negatives: int | None = parameter(0, "sampled absent items a step; 0: all of them, exactly", low=0)
    sampling: str = parameter("popular", "how they are drawn", choices=("popular", "uniform", "unweighted"))
    sharpness: float = parameter(0.0, "q of (1 - p^q)/q in place of -ln p for present items", low=0, high=1)
    device: str = parameter("cpu", "where torch learns: cpu, cuda, mps ...")
    optimiser: str = parameter("adaptive", "or plain gradient descent", choices=("adaptive", "sgd"))

    sets_ = NONE  # (m, 2) sets of two items that have rows of R0 behind those of the items, where a model has them

    @abstractmethod
    def _terms(self) -> Terms:
        """Which terms are learned by pseudo-likelihood."""

    def _rate(self) -> float:
        assert self.rate is not None
        return self.rate

    def _negatives(self) -> int:
        return self.negatives or 0

    def _rates(self) -> dict[str, float]:
        return {"rate": self._rate()} | ({"pair_rate": self.pair_rate} if self._terms().pairs else {})

    # -- learning -----------------------------------------------------------------------------------

    def _weights_an_item(self, n_items: int) -> int:
        widths = self._terms().widths
        return sum(widths) + sum(widths[:1])

    def estimate(self, baskets: Baskets) -> int:
        return super().estimate(baskets) + 28 * min(expected_pairs(baskets), self.memory * 1_000_000 // BYTES_A_PAIR)

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

    def _check_learned(self) -> None:
        sizes = self.sizes_.tolist()
        if sizes and not self._terms().kinds:
            raise ValueError(f"hidden layers of {sizes} in a model that has none")
        layers.check(self, sum(sizes[:1]), layers.count(sizes), sum(sizes))

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        scores = np.zeros((len(baskets), len(self.items_)), dtype=np.float32)
        if len(self.columns_):
            rows = with_sets(self.sets_, len(self.items_), baskets.indptr, baskets.indices)
            ops.add_rows(scores, *rows, self.starts_, self.columns_, self.weights_)
        if self.R_.shape[1]:
            sums = ops.sum_rows(self.E_, baskets.indptr, baskets.indices)
            scores += ops.project(self._hidden(sums, baskets.lengths), self.R_)
        scores += self.b_
        return scores

    def _hidden(self, sums: Floats, lengths: npt.NDArray[np.int64]) -> Floats:
        """(rows, H) all hidden layers side by side, from the sums (rows, h_1) over so many items each."""
        kinds = self._terms().kinds
        a = layers.spread_out(sums, lengths, kinds)
        return np.concatenate(layers.activations(a, self.layers_, self.sizes_, [kind.units for kind in kinds]), axis=1)

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: bias, each present item's pair weight, and the hidden part with each item's share by leave-one-out.
        What the hidden layers say of all items alike is no reason for this one and goes to the bias; what they say
        where there is but one item is that item's."""
        known = self._rest(basket, item)
        t, own = self.number(item), known.row(0)
        names = [str(self.items_[i]) for i in own]
        pairs = [(name, self._pair(int(i), t)) for name, i in zip(names, own, strict=True)]
        level, together = self._together(own, t)
        bias, hidden = float(self.b_[t]) + level, float(together[0])
        alone = together[1:] if together.any() else ()
        shares = [(name, hidden - float(part)) for name, part in zip(names, alone, strict=False)]
        score = bias + sum(value for _, value in pairs) + hidden
        if len(own) == 1:
            pairs, hidden, shares = [(names[0], pairs[0][1] + hidden)], 0.0, []
        by_size = lambda share: -abs(share[1])  # noqa: E731
        return Reason(
            item,
            score,
            bias,
            tuple(sorted(pairs, key=by_size)),
            hidden,
            tuple(sorted(shares, key=by_size)),
            titles=self.titles_,
        )

    def _together(self, own: npt.NDArray[np.int32], t: int) -> tuple[float, npt.NDArray[np.float64]]:
        """What the hidden layers say of an item on average, and (1 + items,) what items do to t beyond that in
        combination, by hidden layers and sets: all of them, and all but each."""
        level, found = 0.0, np.zeros(1 + len(own))
        if self.R_.shape[1]:
            a = self.E_[own].sum(axis=0)
            sums = np.stack([a, *(a - self.E_[i] for i in own)])
            hidden = self._hidden(sums, np.array([len(own)] + [len(own) - 1] * len(own)))
            mean = self.R_.mean(axis=0)
            level, found = float(hidden[0] @ mean), found + hidden @ (self.R_[t] - mean)
        n = len(self.items_)
        for row in with_sets(self.sets_, n, np.array([0, len(own)]), own)[1][len(own) :]:
            found += self._pair(int(row), t) * np.append(True, ~np.isin(own, self.sets_[row - n]))
        return level, found

    def _pair(self, i: int, t: int) -> float:
        columns = self.columns_[self.starts_[i] : self.starts_[i + 1]]
        at = int(np.searchsorted(columns, t))
        return float(self.weights_[self.starts_[i] + at]) if at < len(columns) and columns[at] == t else 0.0
