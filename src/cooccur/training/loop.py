"""The one training loop: epochs of mini-batches, validation by the protocol's own question, the best epoch kept.

A learner brings what differs between models: a step on a batch, and its arrays. The loop brings the
order of the records, the schedule of the rate, early stopping, progress, and a clean end on Ctrl-C: what is kept is the
best epoch so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import Removals, rank_block
from cooccur.training.batches import Batch, batches, record_weights

DROP, LEAST_SCALE = 0.2, 0.1  # "plateau": the rates fall to a fifth, and once more
Scores = Callable[[Baskets], npt.NDArray[np.float32]]  # (records, n_items) of the model as it stands
Arrays = list[Any]  # numpy arrays, or torch tensors on another device


class Learner(Protocol):
    """What a model brings to the loop."""

    def step(self, batch: Batch, rate: float) -> float:
        """One update, its rates multiplied by `rate`; the batch's summed loss."""

    def arrays(self) -> Arrays:
        """The arrays that are learned, themselves and not copies."""


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave: `loss` is the mean over records; `top1`, `top10` in percent, None without validation;
    `likelihood`, where that chooses the epoch, is the mean pseudo-log-likelihood of the held-out records."""

    epoch: int
    loss: float
    top1: float | None
    top10: float | None
    likelihood: float | None
    seconds: float
    records_per_second: float


@dataclass(frozen=True)
class Plan:
    """How long and how: see the parameters of `models.trained.Trained`."""

    epochs: int
    batch: int
    patience: int
    schedule: str
    length: float
    seed: int


@dataclass
class History:
    """The epochs, which of them was kept, and whether Ctrl-C ended the training."""

    epochs: list[Epoch]
    best: int
    interrupted: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def train(
    learner: Learner, baskets: Baskets, plan: Plan, scores: Scores, removals: Removals | None,
    progress: Callable[[float, str], None],
    callbacks: Sequence[Callable[[Epoch], bool | None]] = (), likelihood: Callable[[], float] | None = None,
) -> History:  # fmt: skip
    """Run the epochs. With `removals` the epoch with the best Top@1 + Top@10 on them is kept (or, where it is given,
    with the best `likelihood`), and `patience` epochs without a better one end the training; with the schedule
    "plateau" it first goes back to the best and on from there with smaller steps, twice. Without `removals` the last
    epoch is kept. A callback that returns True ends it too.
    """
    rng = np.random.default_rng([plan.seed, 3])
    weights = record_weights(baskets, plan.length)
    history = History([], -1, False)
    best_value, best_arrays = -math.inf, _copies(learner)
    patience, scale = plan.patience, 1.0
    started = time.perf_counter()
    try:
        for epoch in range(plan.epochs):
            begun = time.perf_counter()
            loss, done = 0.0, 0
            for batch in batches(baskets, weights, plan.batch, rng):
                loss += learner.step(batch, scale * _rate(plan, (epoch + done / len(baskets)) / plan.epochs))
                done += len(batch)
                _show(progress, plan, history, epoch, done, len(baskets), loss, started)
            if not math.isfinite(loss):
                raise CooccurError(f"the loss is {loss} in epoch {epoch}; lower the learning rate")
            seconds = time.perf_counter() - begun
            top1, top10 = (None, None) if removals is None else validate(scores, removals)
            fit = likelihood() if likelihood is not None and removals is not None else None
            history.epochs.append(Epoch(epoch, loss / len(baskets), top1, top10, fit, seconds, len(baskets) / seconds))
            value = fit if fit is not None else epoch if top1 is None or top10 is None else top1 + top10
            if value > best_value:
                best_value, history.best = value, epoch
                best_arrays = _copies(learner)
            answers = [callback(history.epochs[-1]) for callback in callbacks]
            patience = plan.patience if history.best == epoch else patience - 1
            if patience == 0 and plan.schedule == "plateau" and scale > LEAST_SCALE:
                scale, patience = scale * DROP, plan.patience
                _restore(learner, best_arrays)
            if any(answers) or patience == 0:
                break
    except KeyboardInterrupt:
        history.interrupted = True
    _restore(learner, best_arrays)
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


def _copies(learner: Learner) -> Arrays:
    return [array.copy() if isinstance(array, np.ndarray) else array.clone() for array in learner.arrays()]


def _restore(learner: Learner, arrays: Arrays) -> None:
    for array, kept in zip(learner.arrays(), arrays, strict=True):
        array[...] = kept


def _rate(plan: Plan, share: float) -> float:
    """What the learning rates are multiplied by when `share` of all epochs is done."""
    if plan.schedule == "linear":
        return 1 - 0.95 * share
    if plan.schedule == "cosine":
        return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * share))
    return 1.0


def _show(
    progress: Callable[[float, str], None], plan: Plan, history: History, epoch: int, done: int, records: int,
    loss: float, started: float,
) -> None:  # fmt: skip
    speed = (epoch * records + done) / (time.perf_counter() - started)
    last = history.epochs[-1].top10 if history.epochs else None
    words = f"epoch {epoch}, loss {loss / done:.3f}, {speed:,.0f} records/s"
    progress(
        (epoch + done / records) / plan.epochs, words + (f", validation Top@10 {last:.2f}" if last is not None else "")
    )
