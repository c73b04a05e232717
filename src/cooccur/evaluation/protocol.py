"""The protocol: k folds, one item removed from each test record, every model asked about the same removals.

For each fold the models learn from the other folds' records (all of them, those with one item too) and rank the removed
items. Items that training never saw stay in the ranking, so such a removal is a miss for all models but those that read
the names of records; figures over the removals that training did see are given beside. Compilation is done before the
clock starts.

With `tune` every model that has ranges to search gets the same number of trials in each fold, on records held out of
that fold's training records (`cooccur.tuning`), and then learns from all of these with the settings that won.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.evaluation.metrics import Ranks, summarise, top_at
from cooccur.evaluation.removal import Removals, fold_numbers, rank, remove_items
from cooccur.evaluation.report import summarise_rows
from cooccur.evaluation.significance import compare
from cooccur.measure import measured, threads, versions
from cooccur.models import make_model
from cooccur.models.base import Progress, part_of, silent
from cooccur.notebook import Evaluation


def evaluate(
    baskets: Baskets, models: Sequence[str], *, folds: int = 5, fold: int | None = None, draws: int = 1,
    ks: Sequence[int] = (1, 10), seed: int = 0, tune: int = 0, dataset: str = "data", command: str = "",
    progress: Progress = silent,
) -> Evaluation:  # fmt: skip
    """The leaderboard of some models (spelled as on the command line) on one dataset, as a dict of plain JSON types.

    `fold` runs one fold alone, `draws` removals are made from each test record, `ks` are the K of Top@K, `tune` is the
    number of trials to choose a model's settings in each fold (0: none); the label of a row says it.
    The dict has `rows` (one a model and fold), `summary` (one a model), `significance` and `run`; `report` renders it.

    >>> shop = Baskets.from_lists([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"], ["tea", "mint"]] * 5)
    >>> result = evaluate(shop, ["popularity", "cvg"], folds=2)
    >>> [(row["label"], round(row["top1_mean"])) for row in result["summary"]]
    [('popularity', 45), ('cvg', 92)]
    """
    specs = ["".join(spec.split()).rstrip(":") for spec in models]
    if len(set(specs)) < len(specs):
        raise ParameterError("the same model twice; give the second other parameters")
    for spec in specs:
        make_model(spec)  # a bad spelling is found before hours of work
    trials = _trials(specs, tune)
    labels = [f"{spec} (tuned, budget {tune})" if trials[spec] else spec for spec in specs]
    numbers = fold_numbers(len(baskets), folds, seed)
    if fold is not None and not 0 <= fold < folds:
        raise ParameterError(f"fold {fold} of {folds}; they count from 0 to {folds - 1}")
    chosen = range(folds) if fold is None else [fold]
    removals = remove_items(baskets, draws, seed)
    of_fold = numbers[removals.record]
    started = datetime.now(UTC).isoformat(timespec="seconds")

    rows: list[dict[str, Any]] = []
    outcomes: dict[tuple[str, int], Ranks] = {}
    for spec in specs:
        compile_model(spec)
    for number in chosen:
        training, test = baskets[numbers != number], removals[of_fold == number]
        for spec, label in zip(specs, labels, strict=True):
            part = 1 / (len(chosen) * len(labels))
            shown = part_of(progress, len(rows) * part, (len(rows) + 1) * part)
            shown(0.0, f"fold {number}, {label}")
            if trials[spec]:
                row, ranks = tuned(spec, trials[spec], seed, training, test, ks, shown)
            else:
                row, ranks = one_fold(spec, training, test, ks, shown)
            rows.append({"dataset": dataset, **row, "label": label, "fold": number})
            outcomes[label, number] = ranks
    progress(1.0, "comparing")

    pooled = np.concatenate([np.flatnonzero(of_fold == number) for number in chosen])
    significance = {}
    for k in ks if len(labels) > 1 else ():
        hits = [np.concatenate([top_at(outcomes[label, number], k) for number in chosen]) for label in labels]
        significance[f"top{k}"] = compare(
            hits, removals.record[pooled], of_fold[pooled], test_share=1 / folds, seed=seed
        )
    run = {
        "command": command, "started": started, "seed": seed, "folds": folds, "fold": fold, "draws": draws,
        "tune": tune, "threads": threads(), "models": labels, "versions": versions(),
        "data": {
            "name": dataset, "sha256": baskets.fingerprint(), "records": len(baskets), "items": baskets.n_items,
            "occurrences": baskets.nnz,
        },
    }  # fmt: skip
    summary = summarise_rows(rows)
    for of_model in summary:  # settings that differ between the folds are those of no row as a whole
        each = [row["params"] for row in rows if row["label"] == of_model["label"]]
        of_model["params"] = {key: value for key, value in each[0].items() if all(p[key] == value for p in each)}
    return Evaluation({"rows": rows, "summary": summary, "significance": significance, "run": run})


def _trials(specs: Sequence[str], tune: int) -> dict[str, int]:
    """How many trials each model gets: as many as asked for, or none if it has no range to search."""
    if tune < 0:
        raise ParameterError(f"tune = {tune}; expected 0 or more trials")
    if not tune:
        return dict.fromkeys(specs, 0)
    from cooccur.tuning import search_space

    return {spec: tune if search_space(spec) else 0 for spec in specs}


def tuned(
    spec: str, trials: int, seed: int, training: Baskets, test: Removals, ks: Sequence[int], progress: Progress
) -> tuple[dict[str, Any], Ranks]:
    """One fold with the settings that do best on records held out of the training records, and how they were found."""
    from cooccur.tuning import tune

    with measured() as cost:
        found = tune(training, spec, budget=trials, seed=seed, progress=part_of(progress, 0, 0.9, f"{spec}: "))
    if found.interrupted:
        raise KeyboardInterrupt
    first, best = found.trials[0], found.best
    row, ranks = one_fold(found.spelling, training, test, ks, part_of(progress, 0.9, 1))
    row["tuned"] = {
        "spelling": found.spelling, "trials": len(found.trials), "held_out": found.held_out,
        "top1": best.top1, "top10": best.top10, "top1_as_spelled": first.top1, "top10_as_spelled": first.top10,
        "seconds": cost.seconds,
    }  # fmt: skip
    return row, ranks


def one_fold(
    label: str, training: Baskets, test: Removals, ks: Sequence[int], progress: Progress
) -> tuple[dict[str, Any], Ranks]:
    """Fit and rank one model on one fold."""
    model = make_model(label)
    with measured() as fitting:
        model.fit(training, progress=part_of(progress, 0, 0.9, f"{label}: "))
    if model.interrupted:
        raise KeyboardInterrupt  # a fit that was cut short is worth keeping, a figure about it is not
    with measured() as ranking:
        ranks = rank(model, test)
    row: dict[str, Any] = {"model": model.name, "label": label, "params": model.get_params()}
    row |= summarise(ranks, model.frequencies_[test.target] > 0, ks)
    row |= {"fit_seconds": fitting.seconds, "predict_seconds": ranking.seconds}
    return row | {"peak_mb": max(fitting.peak_mb, ranking.peak_mb)}, ranks


def compile_model(label: str) -> None:
    """Run the model once on a handful of records, so that compiling is not counted as learning."""
    tiny = Baskets.from_lists([["a", "b"], ["b", "c"], ["a", "b", "c"]] * 4)
    model = make_model(label)
    if "epochs" in model.get_params():
        model.set_params(epochs=1)
    model.fit(tiny)
    if model.interrupted:
        raise KeyboardInterrupt
    rank(model, remove_items(tiny))
