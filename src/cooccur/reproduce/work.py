"""The work: units in their order, each skipped if it is finished or if another process is at it.

A unit learns from the other folds' records and ranks the removed items of its own fold (`evaluation.protocol`). Where
it has several candidates, each first learns from a part of these training records and is asked about the rest, the
validation records; the best by Top@1 + Top@10 learns from all of them; and so it is with the settings of a tuned row.
Test records have no say in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from cooccur.baskets import Baskets
from cooccur.datasets import DATASETS, load
from cooccur.errors import CooccurError, is_interrupt
from cooccur.evaluation.protocol import compile_model, one_fold, tuned
from cooccur.evaluation.removal import Removals, fold_numbers, hold_out, remove_items
from cooccur.measure import threads, versions
from cooccur.models.base import Progress, part_of, silent
from cooccur.reproduce.plan import Unit, identity
from cooccur.reproduce.store import Store, pack

KS = (1, 10)
VALIDATION, MOST, REMOVALS = 0.1, 2000, 10_000  # share of the training records, at most, and removals from them


class Data:
    """Datasets by their identity, read when they are first asked for."""

    def __init__(self, names: Sequence[str], home: Path | None = None) -> None:
        self._names = {identity(name): name for name in names}
        self._home = home
        self._read: dict[tuple[str, tuple[int, int] | None], Baskets] = {}

    def __call__(self, dataset: str, sample: tuple[int, int] | None = None) -> Baskets:
        if (dataset, sample) not in self._read:
            self._read[dataset, sample] = self._load(dataset) if sample is None else _some(self(dataset), *sample)
        return self._read[dataset, sample]

    def _load(self, dataset: str) -> Baskets:
        name = self._names[dataset]
        if name in DATASETS:
            return load(name, self._home)
        from cooccur.reading import read

        return read(name)


def run(
    units: Sequence[Unit], data: Callable[[str, tuple[int, int] | None], Baskets], store: Store, *,
    progress: Progress = silent, note: Callable[[str], None] = lambda words: None,
    after_fold: Callable[[], object] = lambda: None,
) -> dict[Unit, str]:  # fmt: skip
    """Work until nothing is left that this process could do; the units that failed, with the reason.

    A unit that another process was at is tried again, in case that one was killed.
    """
    failed: dict[Unit, str] = {}
    compiled: set[str] = set()
    ran, fold = True, units[0].fold if units else None
    while ran:
        ran = False
        for unit in units:
            if unit in failed or store.has(unit.key):
                continue
            if ran and (unit.fold or 0) > (fold or 0):
                after_fold()
            fold = unit.fold
            with store.locked(unit.key) as ours:
                if not ours or store.has(unit.key):
                    continue
                done = sum(store.has(other.key) for other in units)

                part = part_of(progress, done / len(units), (done + 1) / len(units), f"{_words(unit)}: ")
                try:
                    document = _unit(unit, data(unit.dataset, unit.sample), store, compiled, part)
                except Exception as error:  # also a bug in one model: the others' hours of work go on
                    if is_interrupt(error):
                        raise KeyboardInterrupt from None
                    named = isinstance(error, CooccurError)
                    failed[unit] = str(error) if named else f"{type(error).__name__}: {error}"
                    note(f"{_words(unit)}: failed, {failed[unit]}")
                    continue
                store.write(unit.key, document)
                ran = True
                note(f"{done + 1} of {len(units)}: {_words(unit)}{_figures(document)}")
    return failed


def _unit(unit: Unit, baskets: Baskets, store: Store, compiled: set[str], progress: Progress) -> dict[str, Any]:
    made = {
        "data": {
            "sha256": baskets.fingerprint(),
            "records": len(baskets),
            "items": baskets.n_items,
            "occurrences": baskets.nnz,
        },
        "versions": versions(),
        "threads": threads(),
    }
    if unit.fold is None:
        from cooccur.reproduce.movies import make_map

        return made | make_map(unit.candidates[0], baskets, unit.seed, progress) | _now()
    numbers = fold_numbers(len(baskets), unit.folds, unit.seed)
    removals = remove_items(baskets, seed=unit.seed)
    training, test = baskets[numbers != unit.fold], removals[numbers[removals.record] == unit.fold]
    for label in set(unit.candidates) - compiled:
        compile_model(label)
        compiled.add(label)
    if unit.tune:
        row, ranks = tuned(unit.candidates[0], unit.tune, unit.seed, training, test, KS, progress)
        return made | {"chosen": row["label"], "choices": [], "row": row, "ranks": pack(ranks, max(KS))} | _now()
    choices = _choices(unit, training, store, progress) if len(unit.candidates) > 1 else []
    chosen = max(choices, key=lambda choice: choice["value"])["label"] if choices else unit.candidates[0]
    parts = len(unit.candidates) + (len(unit.candidates) > 1)
    row, ranks = one_fold(chosen, training, test, KS, part_of(progress, 1 - 1 / parts, 1))
    return made | {"chosen": chosen, "choices": choices, "row": row, "ranks": pack(ranks, max(KS))} | _now()


def _choices(unit: Unit, training: Baskets, store: Store, progress: Progress) -> list[dict[str, Any]]:
    """What each candidate reaches on validation records. Each is kept, so that a killed run goes on from there."""
    learn, removals = hold_out(training, VALIDATION, unit.seed, MOST, REMOVALS)
    if not len(removals):
        raise CooccurError(
            f"{unit.dataset}: no training record has two items, so no size can be chosen; use --no-sweep"
        )
    found, problem = [], None
    for number, label in enumerate(unit.candidates):
        key = unit.key | {"label": label, "candidates": "validation"}
        kept = store.read(key)
        if kept is None:
            parts = len(unit.candidates) + 1
            try:
                kept = _choice(label, learn, removals, part_of(progress, number / parts, (number + 1) / parts))
            except (CooccurError, MemoryError, RuntimeError) as error:  # too large for this machine; others may do
                problem = error
                continue
            store.write(key, kept)
        found.append({name: kept[name] for name in ("label", "value", "top1", "top10", "seconds")})
    if problem is not None and not found:
        raise problem
    return found


def _choice(label: str, learn: Baskets, removals: Removals, progress: Progress) -> dict[str, Any]:
    row, _ = one_fold(label, learn, removals, KS, progress)
    seconds = row["fit_seconds"] + row["predict_seconds"]
    return {
        "label": label, "value": row["top1"] + row["top10"], "top1": row["top1"], "top10": row["top10"],
        "seconds": seconds,
    }  # fmt: skip


def _some(baskets: Baskets, records: int, items: int) -> Baskets:
    """A sample for a quick run: a few records, and of their items the most frequent."""
    rng = np.random.default_rng(0)
    few = np.sort(rng.permutation(np.flatnonzero(baskets.lengths >= 2))[:records])
    return baskets[few].filter(top_items=items, min_frequency=1, min_length=1)


def _words(unit: Unit) -> str:
    return f"{unit.dataset}, {unit.label}" + ("" if unit.fold is None else f", fold {unit.fold}")


def _figures(document: dict[str, Any]) -> str:
    row = document.get("row")
    if row is None:
        return ""
    swept = f", {document['chosen']}" if document["choices"] or "tuned" in row else ""
    return f"{swept}: {row['top1']:.2f} / {row['top10']:.2f} in {row['fit_seconds'] + row['predict_seconds']:.1f} s"


def _now() -> dict[str, str]:
    return {"finished": datetime.now(UTC).isoformat(timespec="seconds")}
