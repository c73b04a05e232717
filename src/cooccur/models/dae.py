"""The denoising autoencoder (Lk): the whole record from a part of it, through a narrow hidden layer.

    h_1 = sigmoid(sum_{i in I_v, i not dropped} E_i + B_1)      h_i = sigmoid(W_i h_{i-1} + B_i)      i = 2 .. k
    p(t in v) = sigmoid(z_t)                                    z_t = b_t + R_t . h_k

While learning, each item is dropped from the input with probability c (`corruption`), anew at each step, what is left
is scaled by 1 / (1 - c), and the record is to be found again: cross-entropy over all N items, in which an item that was
not dropped, and so has only to be copied, counts `kept`. The score is z with the whole basket as input, unscaled.
See `training/dae_learner.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import layers
from cooccur.models.arrays import IN_AND_OUT, Array
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.parameters import parameter
from cooccur.models.trained import Trained

if TYPE_CHECKING:
    from cooccur.training.dae_learner import DaeLearner
    from cooccur.training.learner import Learner


@dataclass(eq=False, kw_only=True)
class Dae(Trained):
    """Sigmoid units in, sigmoid units out.

    >>> baskets = [["milk", "bread"], ["milk", "bread", "jam"], ["tea", "mint"], ["tea", "mint", "lemon"]] * 4
    >>> Dae(hidden="4", rate=0.1).fit(baskets).complete(["mint"], k=1).items
    ['tea']
    """

    name: ClassVar[str] = "dae"
    level: ClassVar[str] = "Lk"
    score_is: ClassVar[str] = "log-odds that the basket's record has it"
    arrays: ClassVar[Mapping[str, Array]] = IN_AND_OUT

    hidden: str = parameter(
        "64", "widths of the hidden layers, as in 64x32", search=["32", "64", "128", "256", "64x64"]
    )
    corruption: float = parameter(
        0.35, "share of the items dropped from the input while learning", low=0, high=0.95, search=(0.1, 0.8)
    )
    kept: float = parameter(
        0.1, "what an item that was not dropped counts in the loss, beside 1 for the dropped", low=0
    )
    negatives: int = parameter(2000, "absent items drawn in a step; 0: all of them, exactly", low=0)
    rate: float = parameter(0.02, "learning rate (Adam)", low=1e-6, high=10, search=(0.002, 0.1))

    def widths(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        return layers.widths(self.name, self.hidden)

    def check_parameters(self) -> None:
        Model.check_parameters(self)
        if not self.widths():
            raise ParameterError(f"dae: hidden = {self.hidden!r}; expected a hidden layer at least, such as 64")

    # -- learning -----------------------------------------------------------------------------------

    def _weights_an_item(self, n_items: int) -> int:
        return self.widths()[0] + self.widths()[-1]

    def _learner(self, baskets: Baskets, fresh: bool, progress: Progress) -> Learner:
        from cooccur.training.dae_learner import DaeLearner

        return DaeLearner(self, baskets, fresh=fresh)

    def _keep(self, learner: Learner) -> None:
        kept: DaeLearner = learner  # type: ignore[assignment]
        dae = kept.dae
        self.E_: Floats = dae.E.detach().numpy()
        self.layers_: Floats = np.concatenate([part.detach().numpy().ravel() for part in kept.inner])
        self.sizes_: npt.NDArray[np.int64] = np.array([len(B) for _, B in dae.layers], dtype=np.int64)
        self.R_: Floats = dae.R.numpy()
        self.b_: Floats = dae.b.numpy()

    def _check_learned(self) -> None:
        sizes = self.widths()
        if tuple(self.sizes_.tolist()) != sizes:
            raise ValueError(f"sizes_ are {self.sizes_.tolist()}, expected {self.hidden}")
        layers.check(self, sizes[0], layers.count(sizes), sizes[-1])

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        a = ops.sum_rows(self.E_, baskets.indptr, baskets.indices)
        return np.asarray(layers.activations(a, self.layers_, self.sizes_)[-1] @ self.R_.T + self.b_)
