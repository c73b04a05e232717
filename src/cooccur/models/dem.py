"""The Deep Embedding Model (Lk), given by its log-odds:

    phi(t, v) = b_t + sum_{i in I_v, i != t} R0_it + R_t . h        h = (h_1, ..., h_k)
    h_1 = f(L^-spread sum_{i in I_v, i != t} E_i + B_1)             h_i = f(W_i h_{i-1} + B_i)

L is the number of items summed, E_i column i of the paper's W1, and R_t its R1_t .. Rk_t side by side. Without hidden
layers it is the FVBM with untied pairs; without b and R0 it is the paper's DEM*. Learned by pseudo-likelihood, see
`training/likelihood.py`. The hidden units come from nets that learn by themselves, up to three kinds, `nets` of each:
calm and bold ones with f = tanh and spread = 1/2, free ones with f = relu and spread = 0, see `training/missing.py`.
R0 lives on pairs that occur together in the training records, see `training/support.py`, and where that gains it has
rows for sets of two items as well, i = {j, k} in the sum above if j and k both are in I_v, see `training/sets.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import layers
from cooccur.models.answers import Reason
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Model, Progress, part_of
from cooccur.models.energy import log_odds_alone
from cooccur.models.parameters import parameter
from cooccur.models.pseudo_likelihood import STARTS, PseudoLikelihood, Terms
from cooccur.models.sets import NONE
from cooccur.models.sets import check as check_sets

if TYPE_CHECKING:
    from cooccur.models.calibrated import Calibration

SEVERAL = {"all": ("calm", "bold", "free"), "both": ("calm", "bold")}
FREE, FREE_EPOCHS = layers.Kind("relu", 0.0), 20
AFFORDABLE = 1e10  # records x items that all epochs together go through; where that is less than the epochs asked for:
FEW_EPOCHS, DRAWN = 8, 3000  # so many epochs, and so many absent items a step
NETS = 0.85  # of the work, where there are any
FEWEST = 8  # records that a pair term is chosen on


@dataclass(eq=False, kw_only=True)
class Dem(PseudoLikelihood):
    """Bias, pairs and hidden layers in one log-odds.

    >>> Dem(hidden="32x16").widths()
    (32, 16)
    """

    name: ClassVar[str] = "dem"
    level: ClassVar[str] = "Lk"
    arrays: ClassVar[Mapping[str, Array]] = {
        **PseudoLikelihood.arrays,
        "starts_": Array("int64", "rows+1", low=0),
        "sets_": Array("int32", "sets,2", low=0, below="N", since=5),
        "strengths_": Array("float32", "parts"),
        "free_": Array("int64", "side_by_side", low=0, high=1, since=3),
    }
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "star": {"bias": False, "pairs": "no", "start": "calm", "nets": 1},
        "paper": {
            "pairs": "learned", "units": "sigmoid", "spread": 0.0, "optimiser": "sgd", "sampling": "unweighted",
            "negatives": 300, "schedule": "constant", "patience": 10, "batch": 16, "rate": 0.05, "pair_rate": 0.1,
        },
    }  # fmt: skip

    hidden: str = parameter(
        "128",
        "widths of the hidden layers, as in 32x16; none, or too few records to weigh them: no hidden layer",
        search=["64", "128", "256", "128x64"],
    )
    units: str = parameter("tanh", "f of the hidden units, but for a free start", choices=("tanh", "sigmoid"))
    spread: float = parameter(
        0.5, "the hidden input of a record of L items is divided by L^spread, but for a free start", low=0, high=1
    )
    dropout: float = parameter(
        0.0, "share of the items left out of the hidden input while learning", low=0, high=0.95, search=(0, 0.6)
    )
    bias: bool = parameter(True, "the bias term b")
    pairs: str = parameter(
        "auto", "the pair term R0: learned with the rest; from counts, in closed form, or auto: both as they help; no",
        choices=("auto", "counts", "closed", "learned", "no"),
    )  # fmt: skip
    names: bool = parameter(
        True, "where records bear names of items, as friend lists do: their links as pair terms beside those of auto"
    )
    sets: bool = parameter(
        True, "sets of two items as inputs of the pair term of auto and closed, where that is better"
    )
    start: str = parameter(
        "all", "how the hidden layers start: calm, almost linear; bold, quick to see combinations; free, relu units "
        "that learn which item is missing; both: calm and bold nets; all: nets of each kind",
        choices=("all", "both", "calm", "bold", "free"),
    )  # fmt: skip
    nets: int = parameter(2, "how many nets of each start; their mean is steadier than one", low=1)
    rate: float | None = parameter(
        None, "learning rate of bias and hidden layers (Adam); none: 0.005 (calm), 0.02 (bold), 0.0015 (free)",
        low=1e-6, high=10,
    )  # fmt: skip

    pair_rate: float = parameter(
        5.0, "learning rate of learned pairs (AdaGrad), over the mean record length", low=1e-6, high=1000
    )
    caution: float = parameter(10.0, "how much gradient a learned pair must see before it moves at full rate", low=0)
    negatives: int | None = parameter(
        None, "sampled absent items a step; 0: all of them, exactly; none: all, but 3000 of very many", low=0
    )

    _start = "bold"  # of the net that learns
    _drawn = 0  # absent items a step, where `negatives` leaves it open
    _too_few = False  # records to choose a pair term: it is learned with the rest
    _alone = False  # a net learns by itself
    free_ = np.zeros(0, dtype=np.int64)  # (nets,) of which the units come: 1 where they are free; none: as `units` says

    def widths(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return layers.widths(self.name, self.hidden)

    def check_parameters(self) -> None:
        Model.check_parameters(self)
        if not (self.widths() or self.pairs != "no" or self.bias):
            raise ParameterError("dem: no bias, no pairs and no hidden layer; keep one of them")

    def estimate(self, baskets: Baskets) -> int:
        from cooccur.models.ease import Ease
        from cooccur.models.links import BYTES_A_LINK
        from cooccur.training.sets import bytes_for

        nets = self.nets * len(SEVERAL.get(self.start, (self.start,)))  # each is kept, and then joined to the others
        joined = 8 * nets * self._weights_an_item(baskets.n_items) * baskets.n_items
        closed = Ease().estimate(baskets) if self.pairs in ("auto", "closed") else 0
        if closed and self.sets:
            closed = max(closed, bytes_for(baskets))
        linked = BYTES_A_LINK * baskets.nnz if self.names and self.pairs == "auto" and not baskets.numbered else 0
        return super().estimate(baskets) + joined + closed + linked

    def _terms(self) -> Terms:
        learned, start = self.pairs == "learned" or self._too_few, STARTS[self._start]
        own = layers.Kind(self.units, self.spread)
        kinds = tuple(FREE if free else own for free in self.free_) or (own,)
        which = self._alone and kinds == (FREE,)
        return Terms(self.bias, learned, False, self.widths(), kinds, self.dropout, start, which)

    def _rate(self) -> float:
        return self.rate or STARTS[self._start].rate

    def _negatives(self) -> int:
        return self._drawn if self.negatives is None else self.negatives

    def _begin(self, start: str) -> None:
        """The next net starts like this."""
        self._start, self.free_ = start, np.array([start == "free"], dtype=np.int64)

    def _check_learned(self) -> None:
        super()._check_learned()
        check_sets(self.sets_)
        if len(self.starts_) != len(self.items_) + len(self.sets_) + 1:
            raise ValueError(f"{len(self.starts_) - 1} rows of {len(self.items_)} items and {len(self.sets_)} sets")
        if (self.sizes_ % max(1, len(self.free_))).any():
            raise ValueError(f"hidden layers of {self.sizes_.tolist()} are not those of {len(self.free_)} nets")

    def _scores(self, baskets: Baskets) -> Floats:
        """The sum of parts was weighed on records of which they know something; of the others only the shares of the
        items are known."""
        scores = super()._scores(baskets)
        if (strange := self._strange(baskets)).any():
            scores[strange] = self._shares()
        return scores

    def _strange(self, baskets: Baskets) -> npt.NDArray[np.bool_]:
        """(records,) which are empty or hold no item that has met another; none where there is but one part."""
        if len(self.strengths_) == 1:
            return np.zeros(len(baskets), dtype=bool)
        met = np.diff(self.starts_[: len(self.items_) + 1]) > 0 if len(self.columns_) else self.frequencies_ > 0
        return np.asarray(baskets.totals(met) == 0)

    def _shares(self) -> Floats:
        """(n_items,) the log-odds of each item's share of the records, or what the calibration makes that."""
        odds = log_odds_alone(self.frequencies_, self.n_records_).astype(np.float32)
        calibration: Calibration | None = getattr(self, "calibration_", None)
        return odds if calibration is None else np.interp(odds, *calibration.given_rest[::-1]).astype(np.float32)

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        known = self._rest(basket, item)
        if self._strange(known)[0]:
            share = float(self._shares()[self.number(item)])
            return Reason(item, share, share, tuple((name, 0.0) for name in known.names(0)), 0.0, titles=self.titles_)
        return super().explain(known.names(0), item)

    def _affinity(self, item: int) -> Floats:
        alone = Baskets(np.array([0, 1, 1]), np.array([item]), self.items_)
        present, nothing = super()._scores(alone)  # the sum of the parts, so that what is the same in both goes
        return np.asarray(present - nothing)

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        try:
            self._learn(baskets, progress)
        finally:  # `partial_fit` goes on as it would from the file
            self._start, self._drawn, self._net = type(self)._start, 0, 0

    def _learn(self, baskets: Baskets, progress: Progress) -> None:
        from cooccur.training import sets
        from cooccur.training.assemble import assemble
        from cooccur.training.nets import Net, mean_of

        learn, removals = self._hold_out(baskets)
        chosen = self.pairs not in ("learned", "no")
        self._too_few = chosen and (not self.validation or int((baskets.lengths >= 2).sum()) < FEWEST)
        self.strengths_, self.sets_ = np.ones(1, dtype=np.float32), NONE
        self._net = 0
        starts = SEVERAL.get(self.start, (self.start,))
        nets_too = removals is not None and bool(self.widths())  # there are records to weigh them on
        if self._too_few or not (chosen or (self.pairs == "no" and nets_too)):
            self._begin("bold" if "bold" in starts else self.start)
            super()._fit(baskets, progress)
            return
        epochs, schedule = self.epochs, self.schedule
        many = epochs * len(learn) * learn.n_items > AFFORDABLE and schedule == "plateau"
        lead = -math.inf
        if removals is not None and (many or (self.sets and self.pairs in ("auto", "closed"))):
            lead = sets.lead(learn, removals, part_of(progress, 0, 0.01))
        self._drawn = DRAWN if many else 0
        if many:  # few epochs of one kind of net, whose rate falls to the end of them
            epochs, schedule = min(epochs, FEW_EPOCHS), "linear"
            starts = ("bold",) if "bold" in starts and lead > sets.AHEAD else starts[:1]
        learned: dict[str, list[Net]] = {}
        stopped = None
        nets = starts * self.nets if nets_too else ()
        for number, start in enumerate(nets):
            self._net, self._alone = number, True
            self._begin(start)
            falls = start == "free" and schedule == "plateau"  # what this gains comes with its last epochs
            most = min(epochs, FREE_EPOCHS) if falls else epochs
            self._run(
                learn, removals, _of_net(progress, number, len(nets)), most, fresh=True, callbacks=self._callbacks,
                schedule="linear" if falls else schedule, patience=most if falls else None,
            )  # fmt: skip
            self._alone = False
            learned.setdefault(start, []).append(Net.of(self))
            self.history_.stopped = stopped = stopped or self.history_.stopped
            if self.history_.interrupted:
                break
        means = [mean_of(learned.pop(start)) for start in list(learned)]  # the single nets go
        assemble(self, means, baskets, learn, removals, lead, part_of(progress, NETS if nets else 0.01, 1))


def _of_net(progress: Progress, number: int, nets: int) -> Progress:
    share = (NETS - 0.01) / nets
    return part_of(progress, 0.01 + share * number, 0.01 + share * (number + 1), f"net {number + 1} of {nets}, ")
