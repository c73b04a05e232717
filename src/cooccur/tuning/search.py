"""Search for the settings of a model that answer best on records which it did not learn from.

    value(settings) = Top@1 + Top@10, in percent, of the model learned from L with these settings, on removals from H

H is held out of the data once (at most `AT_MOST` records, each asked several times), L is the rest: every trial learns
from the same records and is asked the same. Trial 0 is the model as it is spelled, so the winner is never behind it on
H; the others are drawn from the declared ranges by optuna's tree-structured Parzen estimator. Trial n depends on the
seed, n and the trials before it and on nothing else, so a search that was cut short goes on as if it had not been.

A model trained by steps is ended early when its best epoch so far is behind the median of the finished trials at the
same epoch. The value of a winner is the largest of many and flatters it: to measure, use records that chose nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.trial import TrialState

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, ParameterError, is_interrupt
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import Removals, hold_out, rank
from cooccur.models import make_model
from cooccur.models.base import Progress, part_of, silent
from cooccur.models.trained import Trained
from cooccur.tuning.space import Settings, Space, cut, inside, space_to_search, spelled
from cooccur.tuning.trials import StudyFile, Trial, frozen

if TYPE_CHECKING:
    from cooccur.training.history import Epoch

SHARE, AT_MOST, REMOVALS = 0.2, 4000, 10_000  # of the held-out records
FIRST = 6  # so many trials are drawn at random before the estimator has something to estimate from
FINISHED, EPOCHS = 4, 4  # nothing is ended early before so many trials are done, nor in its first epochs
ATTEMPTS = 100  # a range of few values is done when so many draws find nothing new


@dataclass(frozen=True)
class Tuned:
    """The trials of a search over `model`, in their order; `interrupted` by Ctrl-C it has fewer than asked for."""

    model: str
    trials: list[Trial]
    held_out: int
    removals: int
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The best trial, of equals the first."""
        return max(self.trials, key=lambda trial: trial.value)

    @property
    def spelling(self) -> str:
        """The model with the settings that won, as `-m` takes it."""
        start = make_model(self.model).get_params()
        return spelled(self.model, {key: value for key, value in self.best.settings.items() if value != start[key]})

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        best = self.best
        return {
            "model": self.model, "spelling": self.spelling, "params": make_model(self.spelling).get_params(),
            "trial": best.number, "value": best.value, "top1": best.top1, "top10": best.top10,
            "held_out": self.held_out, "removals": self.removals, "interrupted": self.interrupted,
            "trials": [asdict(trial) for trial in self.trials],
        }  # fmt: skip


def tune(
    baskets: Baskets, model: str, *, budget: int = 20, seed: int = 0, study: str | Path | None = None,
    progress: Progress = silent,
) -> Tuned:  # fmt: skip
    """Search the ranges of a model, spelled as on the command line, for `budget` trials in all.

    With `study`, a file, finished trials are kept there, and those that are there already count.
    Ctrl-C ends the search; what was found by then is the answer, unless it is nothing.

    >>> shop = Baskets.from_lists([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"], ["tea", "mint"]] * 9)
    >>> found = tune(shop, "normcvg", budget=3)
    >>> found.trials[0].settings, found.best.value >= found.trials[0].value
    ({'by': 'source'}, True)
    """
    if budget < 1:
        raise ParameterError(f"budget = {budget}; expected 1 trial or more")
    model = "".join(model.split()).rstrip(":")
    space = space_to_search(model)
    learn, removals = hold_out(baskets, SHARE, seed, AT_MOST, REMOVALS)
    if not len(removals) or not learn.nnz:
        raise CooccurError(f"{len(baskets)} records are too few to hold some out and learn from the others")
    start = make_model(model).get_params()
    with _quiet():
        ids = "" if baskets.numbered else hashlib.sha256("\n".join(baskets.records).encode()).hexdigest()
        about = {"model": model, "data": baskets.fingerprint(), "ids": ids, "seed": seed, "start": start}
        file = StudyFile(Path(study), about, space) if study is not None else None
        search = _Search(model, space, seed, {name: start[name] for name in space}, learn, removals)
        for trial in file.trials if file else ():
            search.add(trial)
        interrupted = False
        try:
            for number in range(len(search.trials), budget):
                found = search.next(_shown(progress, search.trials, number, budget))
                if found is None:
                    break
                if file:
                    file.add(found)
                search.add(found)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            interrupted = True
            if not search.trials:
                raise
    if all(trial.state == "failed" for trial in search.trials):
        raise CooccurError(f"{model}: no trial could be fitted; the first said: {search.trials[0].error}")
    held_out = len(np.unique(removals.record))
    return Tuned(model, search.trials, held_out, len(removals), interrupted)


def _shown(progress: Progress, trials: list[Trial], number: int, budget: int) -> Progress:
    """The progress of trial `number` as a part of the whole."""
    best = max((trial.value for trial in trials), default=-np.inf)
    words = f"trial {number} of {budget}" + (f", best {best:.2f}" if np.isfinite(best) else "")
    progress(number / budget, words)
    return part_of(progress, number / budget, (number + 1) / budget, f"{words}: ")


class _Search:
    """Draws settings and tries them. Optuna's study in memory holds what the next draw depends on."""

    def __init__(
        self, model: str, space: Space, seed: int, first: Settings, learn: Baskets, removals: Removals
    ) -> None:
        self.model, self.space, self.seed, self.first = model, space, seed, first
        self.learn, self.removals = learn, removals
        self.trials: list[Trial] = []
        pruner = optuna.pruners.MedianPruner(n_startup_trials=FINISHED, n_warmup_steps=EPOCHS)
        self.study = optuna.create_study(direction="maximize", pruner=pruner)

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        if inside(self.space, trial.settings):  # the estimator takes a trial without parameters for a change of ranges
            self.study.add_trial(frozen(trial, self.space))

    def next(self, progress: Progress) -> Trial | None:
        """Try one more setting; None if there is none."""
        drawn = self._draw() if self.trials else (self.study.ask(), self.first)
        if drawn is None:
            return None
        asked, settings = drawn
        started = time.perf_counter()
        curve: list[float] = []
        state, top1, top10, error = "done", None, None, ""

        def behind(epoch: Epoch) -> bool:
            nonlocal state
            if epoch.top1 is not None and epoch.top10 is not None:
                curve.append(epoch.top1 + epoch.top10)
                asked.report(curve[-1], len(curve) - 1)
                if asked.should_prune():
                    state = "ended early"
            return state == "ended early"

        try:
            model = make_model(self.model, **settings)
            watched: dict[str, Any] = {"callbacks": [behind]} if isinstance(model, Trained) else {}
            model.fit(self.learn, progress=progress, **watched)
            if model.interrupted:
                raise KeyboardInterrupt  # the loop keeps its best epoch, but half a training is no figure
            if state == "done":
                ranks = rank(model, self.removals)
                top1, top10 = (100 * float(top_at(ranks, k).mean()) for k in (1, 10))
        except (CooccurError, MemoryError, np.linalg.LinAlgError) as problem:
            state, error = "failed", str(problem) or type(problem).__name__
        self.study.tell(asked, state=TrialState.FAIL)  # it only drew and watched; what counts is added when finished
        seconds = time.perf_counter() - started
        return Trial(len(self.trials), settings, state, top1, top10, seconds, error, curve)

    def _draw(self) -> tuple[optuna.Trial, Settings] | None:
        """Settings that were not tried before: by the estimator, or at random where that repeats itself."""
        tried = [trial.settings for trial in self.trials]
        for attempt in range(ATTEMPTS):
            state = int(np.random.SeedSequence([self.seed, len(tried), attempt]).generate_state(1)[0])
            self.study.sampler = (
                optuna.samplers.RandomSampler(seed=state)
                if attempt
                else optuna.samplers.TPESampler(seed=state, n_startup_trials=FIRST)
            )
            asked = self.study.ask(self.space)
            settings = cut(self.space, asked.params)
            if settings not in tried:
                return asked, settings
            self.study.tell(asked, state=TrialState.FAIL)
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna tells every trial on stderr unless it is asked not to."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
