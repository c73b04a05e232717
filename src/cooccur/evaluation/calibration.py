"""Is it true? Of the predictions that say 0.3, three in ten should come true; and of any other group of predictions
that one can name beforehand, as many as they say.

Two questions are checked on records that nothing was learned from:

    given the rest     every (record, item) of predicted p >= 0.01: is the item there? (its own item: left out first)
    the missing one    one item is removed; each of the ten best suggestions: is it the removed one?

Each is looked at in two ways, in twenty groups of equal size: ordered `by prediction`, and ordered `by evidence`,

    evidence(t, rest) = ln (mean over i in rest of p(t | i)) / p(t)         both p from counts of the training records

how much oftener t goes with the basket's items than by itself; where exactly one item is missing, compared with the
other candidates, for what speaks for all of them alike says nothing there. The first way alone is passed by who always
says an item's base rate: right on average, blind to the basket. Given much evidence the item is there oftener than
that, given little less often, so the second finds it out. A true predictor passes both: evidence is known before the
answer is.

The gap of a group is |mean predicted - share that came true|; the gap of a check is their mean, weighted by size. It is
passed by a mean gap below one percentage point with no group off by more than three, both ways: the mean alone is small
for whoever is wrong in one group of twenty only, as base rates are about the items that a basket truly asks for.
Equal predictions stay in one group, so there may be fewer than twenty. Memory: a block of records and some histograms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.removal import Removals, fold_numbers, remove_items
from cooccur.measure import versions
from cooccur.models import make_model
from cooccur.models.base import Progress, part_of, silent
from cooccur.models.calibrated import (
    Calibration,
    Doubles,
    Histogram,
    calibrate,
    given_rest,
    logit,
    needs_log_odds,
    sigmoid,
    split,
)
from cooccur.models.energy import LogOdds
from cooccur.pairs import cooccurrence

GROUPS = 20
LEAST = 0.01  # predictions below this are not looked at: there are too many, and nobody is shown them
SUGGESTIONS = 10
QUESTIONS = {"given_rest": "given the rest", "missing_one": "the missing one"}


@dataclass(frozen=True, eq=False)
class Curve:
    """A reliability curve: of each group the mean prediction, the share that came true, and the size; all (groups,)."""

    predicted: Doubles
    observed: Doubles
    count: Doubles

    @classmethod
    def of(cls, seen: Histogram, groups: int = GROUPS) -> Curve:
        """Groups of equal size in the histogram's order; a cell is never split.

        >>> seen = Histogram()
        >>> seen.add(order=[-1, -1, 2, 2], p=[0.2, 0.2, 0.9, 0.9], hit=[0, 1, 1, 1])
        >>> curve = Curve.of(seen)
        >>> curve.predicted, curve.observed, round(curve.gap, 3), round(curve.largest, 3)
        (array([0.2, 0.9]), array([0.5, 1. ]), 0.2, 0.3)
        """
        full = seen.count > 0
        n = seen.count[full]
        if not len(n):
            raise CooccurError(f"no prediction of {LEAST:g} or more; the model expects nothing of these records")
        middle = np.cumsum(n) - n / 2
        group = (groups * middle / n.sum()).astype(np.int64)
        parts = [np.bincount(group, part[full]) for part in (seen.predicted, seen.hits, seen.count)]
        p, hits, count = (part.astype(np.float64) for part in parts)
        there = count > 0
        return cls(p[there] / count[there], hits[there] / count[there], count[there])

    @property
    def gap(self) -> float:
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.count))

    @property
    def largest(self) -> float:
        return float(np.abs(self.predicted - self.observed).max())

    @property
    def noise(self) -> float:
        """The gap to expect if every prediction were true and independent of the others (within a record few are)."""
        deviation = np.sqrt(self.predicted * (1 - self.predicted) / self.count)
        return float(np.average(np.sqrt(2 / np.pi) * deviation, weights=self.count))

    def as_dict(self) -> dict[str, Any]:
        curve = {name: getattr(self, name).tolist() for name in ("predicted", "observed", "count")}
        return {"gap": self.gap, "largest": self.largest, "noise": self.noise, **curve}


@dataclass(frozen=True, eq=False)
class Check:
    """One question's predictions, seen both ways."""

    by_prediction: Curve
    by_evidence: Curve

    def passes(self, limit: float = 0.01) -> bool:
        return all(curve.gap < limit and curve.largest < 3 * limit for curve in (self.by_prediction, self.by_evidence))

    def as_dict(self) -> dict[str, Any]:
        curves = {"by_prediction": self.by_prediction.as_dict(), "by_evidence": self.by_evidence.as_dict()}
        return {"passes": self.passes(), **curves}


class Evidence:
    """ln (mean over i in the rest of p(t | i)) / p(t), counted in some records; p(t | i) with one more record at p(t).

    >>> records = Baskets.from_lists([["a", "b"], ["c"]] * 500)
    >>> np.exp(Evidence(records)(records[:2])).round(2)
    array([[2., 2., 0.], [0., 0., 1.]])
    """

    def __init__(self, training: Baskets) -> None:
        self.share = training.frequencies / len(training)
        self.weight = 1 / (training.frequencies + 1.0)
        self.together = cooccurrence(training).multiply(self.weight[:, None]).tocsr()

    def __call__(self, baskets: Baskets) -> Doubles:
        """(records, n_items); a record's own item is never evidence for itself. 0 where there is none."""
        V = baskets.matrix
        own = V.toarray()
        summed = (V @ self.together).toarray()
        weight = (V @ self.weight)[:, None] - own * self.weight
        n = np.maximum(baskets.lengths[:, None] - own, 0)
        summed += weight * self.share
        known = (n > 0) & (self.share > 0)
        ratio = np.divide(summed, n * self.share, out=np.ones(summed.shape), where=known)
        return np.asarray(np.log(np.maximum(ratio, 1e-12)))

    def among_candidates(self, baskets: Baskets) -> Doubles:
        """(records, n_items) the same for shares among the items that are not in the record."""
        evidence = self(baskets)
        share = np.where(baskets.matrix.toarray() > 0, 0, self.share)
        common = (share * np.exp(evidence)).sum(axis=1) / np.maximum(share.sum(axis=1), 1e-12)
        return np.asarray(evidence - np.log(np.maximum(common, 1e-12))[:, None])


class _Seen:
    """The histograms of one predictor on one question."""

    def __init__(self) -> None:
        self.by_prediction, self.by_evidence = Histogram(), Histogram()

    def add(self, z: Doubles, evidence: Doubles, hit: npt.NDArray[np.bool_]) -> None:
        p = sigmoid(z)
        self.by_prediction.add(z, p, hit)
        self.by_evidence.add(evidence, p, hit)

    def check(self) -> Check:
        return Check(Curve.of(self.by_prediction), Curve.of(self.by_evidence))


def check_given_rest(
    model: LogOdds, baskets: Baskets, evidence: Evidence, calibrations: Sequence[Calibration]
) -> list[Check]:
    """Every item given the rest of complete records, under each of some calibrations."""
    seen = [_Seen() for _ in calibrations]
    for which, phi, present in given_rest(model, baskets):
        known = evidence(baskets[which])
        for one, calibration in zip(seen, calibrations, strict=True):
            z = calibration.log_odds(phi)
            likely = z >= logit(LEAST)
            one.add(z[likely], known[likely], present[likely])
    return [one.check() for one in seen]


def check_missing_one(
    model: LogOdds, removals: Removals, evidence: Evidence, calibrations: Sequence[Calibration]
) -> list[Check]:
    """The ten best suggestions for records that lack one item, under each of some calibrations."""
    seen = [_Seen() for _ in calibrations]
    for which, scores in model.blocks(removals.rest):
        known = evidence.among_candidates(removals.rest[which])
        for one, calibration in zip(seen, calibrations, strict=True):
            items, z = calibration.missing(scores, min(SUGGESTIONS, scores.shape[1]))
            there = items >= 0
            hit = items == removals.target[which, None]
            one.add(z[there], np.take_along_axis(known, items.clip(0), axis=1)[there], hit[there])
    return [one.check() for one in seen]


def check_calibration(
    baskets: Baskets, spec: str, *, folds: int = 5, fold: int = 0, seed: int = 0, share: float = 0.1,
    dataset: str = "data", command: str = "", progress: Progress = silent,
) -> dict[str, Any]:  # fmt: skip
    """Learn and calibrate a model on the training part of a fold, check it on the test records before and after.

    The calibration is learned from `share` of the training part, which the model does not see. A dict of plain JSON
    types: `questions` (of each `before` and `after`), `calibration` (its arrays) and `run`; `render` shows it.
    """
    model = needs_log_odds(make_model(spec))
    if not 0 <= fold < folds:
        raise ParameterError(f"fold {fold} of {folds}; they count from 0 to {folds - 1}")
    numbers = fold_numbers(len(baskets), folds, seed)
    training, test = baskets[numbers != fold], baskets[numbers == fold]
    removals = remove_items(test, seed=seed)
    if not len(removals):
        raise CooccurError("no test record has two items; nothing can be removed")
    learn, held = split(training, share, seed)
    model.fit(learn, progress=part_of(progress, 0, 0.8))
    if model.interrupted:
        raise KeyboardInterrupt
    before = model.calibration_
    progress(0.8, "checking")
    evidence = Evidence(training)
    both = [before or Calibration.identity(), calibrate(model, held, seed=seed).calibration_ or Calibration.identity()]
    checks = {"given_rest": check_given_rest(model, test, evidence, both)}
    progress(0.9, "checking")
    checks["missing_one"] = check_missing_one(model, removals, evidence, both)
    return {
        "questions": {
            name: {"before": before.as_dict(), "after": after.as_dict()} for name, (before, after) in checks.items()
        },
        "calibration": {name: array.tolist() for name, array in both[1].arrays().items()},
        "run": {
            "command": command, "model": spec, "params": model.get_params(), "dataset": dataset, "folds": folds,
            "fold": fold, "seed": seed, "records": {
                "learned": model.n_records_, "held_out": len(training) - model.n_records_, "test": len(test),
                "removals": len(removals),
            },
            "data_sha256": baskets.fingerprint(), "versions": versions(),
        },
    }  # fmt: skip


# -- showing it -------------------------------------------------------------------------------------


def tables(result: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, header and rows of the tables: the gaps, then a reliability curve for each question."""
    gaps = [
        [
            QUESTIONS[name],
            when,
            *(_percent(checked[by][key]) for by, key in _GAPS),
            "yes" if checked["passes"] else "no",
        ]
        for name, question in result["questions"].items()
        for when, checked in question.items()
    ]
    header = ["question", "", "gap", "largest", "noise", "evidence", "largest", "passes"]
    found = [("Gap between what is said and what comes true, in percentage points", header, gaps)]
    for name, question in result["questions"].items():
        curves = [question[when]["by_prediction"] for when in ("before", "after")]
        columns = [
            [form(value) for value in curve[key]]
            for curve in curves
            for key, form in (("predicted", _percent), ("observed", _percent), ("count", "{:,.0f}".format))
        ]
        most = max(map(len, columns))
        rows = [list(row) for row in zip(*(column + [""] * (most - len(column)) for column in columns), strict=True)]
        title = f"{QUESTIONS[name].capitalize()}: predicted, came true (percent) and how many"
        found.append((title, ["before", "true", "count", "after", "true", "count"], rows))
    return found


def render(result: dict[str, Any], ending: str) -> str:
    """The result as text, `.json` or `.md`."""
    if ending == ".json":
        return json.dumps(result, indent=2, allow_nan=False) + "\n"
    run = result["run"]
    parts = [f"# Calibration of `{run['model']}` on {run['dataset']}", about(result)]
    for title, header, rows in tables(result):
        lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
        parts += [f"{title}:", "\n".join(f"| {' | '.join(row)} |" for row in lines)]
    if run["command"]:
        parts.append(f"How to run it again:\n\n```sh\n{run['command']}\n```")
    return "\n\n".join(parts) + "\n"


def about(result: dict[str, Any]) -> str:
    """What was done, in a sentence or two."""
    run, records = result["run"], result["run"]["records"]
    return (
        f"Fold {run['fold']} of {run['folds']}, seed {run['seed']}: learned from {records['learned']:,} records, "
        f"calibrated on {records['held_out']:,} others, checked on {records['test']:,} test records and "
        f"{records['removals']:,} removals. Noise: the gap that true and independent predictions would show. Evidence: "
        "the gap in groups of like evidence. Passes: both gaps below 1, no group off by more than 3."
    )


_GAPS = [("by_prediction", key) for key in ("gap", "largest", "noise")] + [
    ("by_evidence", key) for key in ("gap", "largest")
]


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
