"""The one training loop: epochs of mini-batches, validation by the protocol's own question, the best epoch kept.

A learner brings what differs between models: a step on a batch, and its arrays. The loop brings the
order of the records, the schedule of the rate, early stopping, progress, checkpoints, and a clean end on Ctrl-C and
when the numbers blow up: what is kept is the best epoch so far.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, is_interrupt
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import Removals, rank_block
from cooccur.training.batches import batches, record_weights
from cooccur.training.history import Epoch, History
from cooccur.training.learner import Learner, home, random_state, set_random_state

if TYPE_CHECKING:
    from cooccur.training.checkpoint import NetFile

DROP, LEAST_SCALE = 0.2, 0.1  # "plateau": the rates fall to a fifth, and once more
INTERRUPTED = "interrupted: the fit is being finished with the best epoch so far; Ctrl-C again gives it up"
Scores = Callable[[Baskets], npt.NDArray[np.float32]]  # (records, n_items) of the model as it stands


@dataclass(frozen=True)
class Plan:
    """How long and how: see the parameters of `models.trained.Trained`."""

    epochs: int
    batch: int
    patience: int
    schedule: str
    length: float
    seed: int
    remedy: str = "lower the learning rate"
    """What to do when the numbers blow up."""


@dataclass
class Place:
    """Where the loop is after an epoch. What follows depends on this, the learner's state, the order of the records
    (`rng`) and the best arrays."""

    history: History
    patience: int
    scale: float = 1.0
    best_value: float = -math.inf
    over: bool = False

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        """The same from a checkpoint."""
        epochs = [Epoch(**epoch) for epoch in kept["history"]["epochs"]]
        return cls(**{**kept, "history": History(**{**kept["history"], "epochs": epochs})})


def train(
    learner: Learner, baskets: Baskets, plan: Plan, scores: Scores, removals: Removals | None,
    progress: Callable[[float, str], None],
    callbacks: Sequence[Callable[[Epoch], bool | None]] = (), likelihood: Callable[[], float] | None = None,
    file: NetFile | None = None,
) -> History:  # fmt: skip
    """Run the epochs. With `removals` the epoch with the best Top@1 + Top@10 on them is kept (or, where it is given,
    with the best `likelihood`), and `patience` epochs without a better one end the training; with the schedule
    "plateau" it first goes back to the best and on from there with smaller steps, twice. Without `removals` the last
    epoch is kept. A callback that returns True ends it too. With a `file` it goes on from there, and keeps there where
    it is.
    """
    rng = np.random.default_rng([plan.seed, 3])
    weights = record_weights(baskets, plan.length)
    place, best = Place(History([], -1, False), plan.patience), learner.copies()
    if file is not None and (kept := file.read()) is not None:
        place, arrays = Place.of(kept[0]), kept[1]
        best = [arrays[f"best.{i}"] for i in range(len(best))]
        if not place.over:
            learner.set_state(arrays)
            set_random_state(rng, arrays["order"])
    history, first, started = place.history, len(place.history.epochs), time.perf_counter()
    try:
        while not place.over:
            epoch, begun = len(history.epochs), time.perf_counter()
            loss, done = 0.0, 0
            for batch in batches(baskets, weights, plan.batch, rng):
                loss += learner.step(batch, place.scale * _rate(plan, (epoch + done / len(baskets)) / plan.epochs))
                _check(loss, "the loss", epoch)
                done += len(batch)
                speed = ((epoch - first) * len(baskets) + done) / (time.perf_counter() - started)
                _show(progress, plan, history, epoch, done, len(baskets), loss, speed)
            _check(0.0 if learner.finite() else math.nan, "a parameter", epoch)
            seconds = time.perf_counter() - begun
            top1, top10 = (None, None) if removals is None else validate(scores, removals)
            fit = likelihood() if likelihood is not None and removals is not None else None
            value = fit if fit is not None else epoch if top1 is None or top10 is None else top1 + top10
            _check(value, "the likelihood of the held-out records", epoch)
            history.epochs.append(Epoch(epoch, loss / len(baskets), top1, top10, fit, seconds, len(baskets) / seconds))
            if value > place.best_value:
                place.best_value, history.best, best = value, epoch, learner.copies()
            answers = [callback(history.epochs[-1]) for callback in callbacks]
            place.patience = plan.patience if history.best == epoch else place.patience - 1
            if place.patience == 0 and plan.schedule == "plateau" and place.scale > LEAST_SCALE:
                place.scale, place.patience = place.scale * DROP, plan.patience
                learner.restore(best)
            place.over = any(answers) or place.patience == 0 or epoch + 1 == plan.epochs
            if file is not None and not place.over and (epoch + 1) % file.every == 0:
                file.write(asdict(place), learner.state() | {"order": random_state(rng)} | _named(best))
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        history.interrupted = True
        warnings.warn(INTERRUPTED, RuntimeWarning, stacklevel=2)
    except FloatingPointError as error:
        history.stopped = f"{error}; {plan.remedy}"
        if history.best < 0:
            raise CooccurError(history.stopped) from None
        place.over = True
    learner.restore(best)
    if file is not None and not (file.over or history.interrupted):
        file.write(asdict(place), _named(best))
    return history


def validate(scores: Scores, removals: Removals) -> tuple[float, float]:
    """Top@1 and Top@10 in percent on removals."""
    hits = np.zeros(2)
    for start in range(0, len(removals), 256):
        part = removals[slice(start, start + 256)]
        block = scores(part.rest)
        ops.mask(block, part.rest.indptr, part.rest.indices)
        ranks = rank_block(block, part)
        hits += top_at(ranks, 1).sum(), top_at(ranks, 10).sum()
    top1, top10 = 100 * hits / len(removals)
    return float(top1), float(top10)


def _named(best: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
    return {f"best.{i}": home(array) for i, array in enumerate(best)}


def _check(value: float, what: str, epoch: int) -> None:
    if not math.isfinite(value):
        raise FloatingPointError(f"{what} is {value} in epoch {epoch}")


def _rate(plan: Plan, share: float) -> float:
    """What the learning rates are multiplied by when `share` of all epochs is done."""
    if plan.schedule == "linear":
        return 1 - 0.95 * share
    if plan.schedule == "cosine":
        return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * share))
    return 1.0


def _show(
    progress: Callable[[float, str], None], plan: Plan, history: History, epoch: int, done: int, records: int,
    loss: float, speed: float,
) -> None:  # fmt: skip
    last = history.epochs[-1].top10 if history.epochs else None
    good = f"loss {loss / done:.3f}" if last is None else f"Top@10 {last:.2f}"
    progress((epoch + done / records) / plan.epochs, f"epoch {epoch}, {speed:,.0f} records/s, {good}")
