"""The trials of a search, and the study file that keeps them.

The file is optuna's SQLite storage, so its other tools read it too. A trial is written when it is finished, in one
transaction: a process that is killed leaves the trials before, and nothing half done. (Optuna's journal file does not
promise that: after a line that was cut in its middle it cannot be read on.) A new file appears whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy import URL
from sqlalchemy.exc import SQLAlchemyError

from cooccur.errors import CooccurError
from cooccur.files import whole_path
from cooccur.tuning.space import Settings, Space, inside

NAME = "cooccur"
STATES = {"done": TrialState.COMPLETE, "ended early": TrialState.PRUNED, "failed": TrialState.FAIL}
BROKEN = (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError, KeyError, TypeError)


@dataclass(frozen=True)
class Trial:
    """One setting that was tried: `state` is done, ended early (it was behind) or failed (`error` says why).

    `top1` and `top10` are percentages on the held-out records, None unless done; `curve` is the sum of the two on the
    records that the model itself held out, after each epoch, for a model that is trained by steps.
    """

    number: int
    settings: Settings
    state: str
    top1: float | None = None
    top10: float | None = None
    seconds: float = 0.0
    error: str = ""
    curve: list[float] = field(default_factory=list)

    @property
    def value(self) -> float:
        """What is searched for: Top@1 + Top@10.

        >>> Trial(0, {}, "done", 10.0, 30.0).value, Trial(1, {}, "failed", error="too few records").value
        (40.0, -inf)
        """
        return -float("inf") if self.top1 is None or self.top10 is None else self.top1 + self.top10


def frozen(trial: Trial, space: Space) -> FrozenTrial:
    """The trial as optuna keeps it; settings outside the ranges are no parameters to optuna."""
    within = inside(space, trial.settings)
    shown: dict[str, BaseDistribution] = space if within else {}
    return create_trial(
        state=STATES[trial.state], value=trial.value if trial.state == "done" else None,
        params=trial.settings if within else {}, distributions=shown, user_attrs={"trial": asdict(trial)},
        intermediate_values=dict(enumerate(trial.curve)),
    )  # fmt: skip


class StudyFile:
    """The finished trials of one search in a file; `add` returns when the trial is on the disk."""

    def __init__(self, path: Path, about: dict[str, Any], space: Space) -> None:
        self.path, self.space = path, space
        ranges = {name: json.loads(distribution_to_json(where)) for name, where in space.items()}
        about = json.loads(json.dumps({**about, "ranges": ranges}))
        if not path.exists() or not path.stat().st_size:
            with whole_path(path) as temporary, _storage(temporary) as storage:
                study = optuna.create_study(storage=storage, study_name=NAME, direction="maximize")
                study.set_user_attr("about", about)
        with self._study() as study:
            kept = study.user_attrs["about"]
            self.trials = [Trial(**each.user_attrs["trial"]) for each in study.trials]
        for key, words in (("model", "the model"), ("data", "data with the sha256"), ("seed", "the seed")):
            if kept[key] != about[key]:
                raise CooccurError(
                    f"{path}: this study is of {words} {kept[key]}, not {about[key]}; give another file to --study"
                )
        if kept != about:
            raise CooccurError(
                f"{path}: this study searched other ranges or began from other defaults; give another file to --study"
            )

    def add(self, trial: Trial) -> None:
        with self._study() as study:
            study.add_trial(frozen(trial, self.space))

    @contextmanager
    def _study(self) -> Iterator[optuna.Study]:
        try:
            with _storage(self.path, skip_table_creation=True) as storage:
                yield optuna.load_study(study_name=NAME, storage=storage)
        except BROKEN as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            raise CooccurError(f"{self.path}: not usable as a study ({cause}); give another file to --study") from None


@contextmanager
def _storage(path: Path, **options: Any) -> Iterator[optuna.storages.RDBStorage]:
    try:
        url = URL.create("sqlite", database=str(path)).render_as_string()
    except UnicodeEncodeError:
        raise CooccurError(f"{path}: not usable as a study (its name is no text); give another file") from None
    storage = optuna.storages.RDBStorage(url, **options)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()
