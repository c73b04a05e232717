"""What every model trained by steps shares: its training parameters, the held-out records, `partial_fit`.

A model of this kind says how to make its learner (`_learner`), and how to copy what was learned into its arrays
(`_keep`); `cooccur.training.loop` does the rest. Only learning needs torch: prediction is numpy and the kernels.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from cooccur import memory
from cooccur.baskets import Baskets
from cooccur.errors import InputError, ParameterError
from cooccur.evaluation.removal import Removals, hold_out
from cooccur.models.base import Floats, Model, Progress, as_baskets, silent
from cooccur.models.parameters import parameter

if TYPE_CHECKING:
    from cooccur.training.checkpoint import Checkpoint
    from cooccur.training.history import Epoch
    from cooccur.training.learner import Learner

Callbacks = Sequence[Callable[["Epoch"], bool | None]]


@dataclass(eq=False, kw_only=True)
class Trained(Model):
    """Base of the models that learn by gradient steps."""

    epochs: int = parameter(30, "the most epochs", low=1)
    batch: int | None = parameter(None, "records a step; none: a 160th of them, between 32 and 256", low=1)
    schedule: str = parameter(
        "plateau", "how the rate falls; plateau: when validation stands still",
        choices=("plateau", "constant", "linear", "cosine"),
    )  # fmt: skip
    length: float = parameter(0.0, "a record of L items weighs L^-length", low=0, high=3, search=(0, 1.5))
    validation: float = parameter(0.05, "share of the records held out to choose the epoch; 0: none", low=0, high=0.5)
    patience: int = parameter(
        4, "epochs without a better value on the held-out records before the rate falls, or it ends", low=1
    )
    criterion: str = parameter(
        "accuracy", "what the kept epoch is best at; likelihood: of held-out records, for models with log-odds",
        choices=("accuracy", "likelihood"),
    )  # fmt: skip
    random_state: int = parameter(0, "seed of everything random", low=0)

    _net = 0  # which of a model's nets learns, where it has several

    def _seed(self) -> int:
        return self.random_state + 1000 * self._net

    def _rates(self) -> dict[str, float]:
        """The learning rates by their names: what to lower when the numbers blow up."""
        return {"rate": self.get_params()["rate"]}

    def _weights_an_item(self, n_items: int) -> int:
        """How many numbers the layers hold for each item."""
        return 0

    def _batch(self, baskets: Baskets) -> int:
        """Records a step."""
        return self.batch or min(256, max(32, len(baskets) // 160))

    def estimate(self, baskets: Baskets) -> int:
        """Weights, gradients, the optimiser's two averages, the best epoch and the kept one; and a batch's scores."""
        an_item = 24 * self._weights_an_item(baskets.n_items) + 32 * self._batch(baskets)
        return super().estimate(baskets) + memory.loading("torch", "numba") + an_item * baskets.n_items

    @abstractmethod
    def _learner(self, baskets: Baskets, fresh: bool, progress: Progress) -> Learner:
        """The learner, from nothing (`fresh`) or from the arrays that were learned."""

    @abstractmethod
    def _keep(self, learner: Learner) -> None:
        """Copy what was learned, and is settled, into the model's arrays."""

    def fit(
        self, baskets: Any, *, progress: Progress = silent, callbacks: Callbacks = (),
        checkpoint: Checkpoint | None = None,
    ) -> Self:  # fmt: skip
        """Learn from records. A callback is given every finished `Epoch`; one that returns True ends the training.
        A `checkpoint` (`cooccur.training.checkpoint`) keeps where it is, so that a fit that was killed can go on."""
        self._callbacks, self._checkpoint = callbacks, checkpoint
        vars(self).pop("history_", None)  # of an earlier fit
        try:
            return super().fit(baskets, progress=progress)
        finally:
            self._callbacks, self._checkpoint = (), None

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        self._run(*self._hold_out(baskets), progress, self.epochs, fresh=True, callbacks=self._callbacks)

    def partial_fit(
        self, baskets: Any, epochs: int = 1, *, progress: Progress = silent, callbacks: Callbacks = ()
    ) -> Self:
        """Go on learning for some epochs on these records (of the same vocabulary); a new model is fitted, for as many
        epochs as its parameters say."""
        if not hasattr(self, "items_"):
            return self.fit(baskets, progress=progress, callbacks=callbacks)
        known, unknown = self._known(as_baskets(baskets))
        if unknown:
            raise InputError(
                f"{len(unknown)} items that the model does not know, {unknown[0]!r} among them; fit it anew"
            )
        self.calibration_, self.notes_ = None, {}  # they were made for the model as it was
        self._run(known, None, progress, epochs, fresh=False, callbacks=callbacks)
        return self

    def _run(
        self, learn: Baskets, removals: Removals | None, progress: Progress, epochs: int, *, fresh: bool,
        callbacks: Callbacks, schedule: str | None = None, patience: int | None = None,
    ) -> None:  # fmt: skip
        """Learn from `learn`, choosing the epoch on the removals. What is not given is as the parameters say."""
        from cooccur.training.loop import Plan, train
        from cooccur.training.threads import enough_for

        log_likelihood = getattr(self, "pseudo_log_likelihood", None)
        if self.criterion == "likelihood" and log_likelihood is None:
            raise ParameterError(f"{self.name}: it has no pseudo-likelihood; use criterion=accuracy")
        held = removals.complete() if removals is not None else None
        size = self._batch(learn)
        rates = " or ".join(f"{name} ({value:g})" for name, value in self._rates().items())
        plan = Plan(
            epochs,
            size,
            patience or self.patience,
            schedule or self.schedule,
            self.length,
            self._seed(),
            f"lower {rates} of {self.name}",
        )
        file = self._checkpoint.net(self, self._net) if fresh and self._checkpoint is not None else None
        with enough_for(size * learn.n_items):
            learner = self._learner(learn, fresh, progress)

            def keep() -> None:
                learner.settled()
                self._keep(learner)

            def scores(baskets: Baskets) -> Floats:
                keep()
                return self._scores(baskets)

            def likelihood() -> float:
                keep()
                return float(log_likelihood(held).mean())  # type: ignore[misc]

            chooses = likelihood if self.criterion == "likelihood" else None
            self.history_ = train(learner, learn, plan, scores, removals, progress, callbacks, chooses, file)
            keep()
        if self.history_.stopped:
            kept = f"the training has ended and epoch {self.history_.best} is kept"
            warnings.warn(f"{self.history_.stopped}; {kept}", RuntimeWarning, stacklevel=2)

    def _hold_out(self, baskets: Baskets) -> tuple[Baskets, Removals | None]:
        """The share asked for, but 200 records if a fifth of all allows it; below 50 the last epoch is kept."""
        fit = int((baskets.lengths >= 2).sum())
        share = min(max(self.validation, 200 / max(1, fit)), max(self.validation, 0.2))
        if not self.validation or share * fit < 50:
            return baskets, None
        return hold_out(baskets, share, self.random_state, at_most=3000, removals=10_000)
