"""Finished units -> the figures of one table, theirs beside ours, as a dict of plain JSON types.

As in the paper, DEM is what is tested: its rows against the table's reference rows (the paper's four, and EASE), and
every row against our DEM, on the folds that both have: paired permutation test over records, Holm's correction over all
the pairs of a column. A letter behind a figure names a reference that it beats at p < 0.01.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cooccur.errors import CooccurError
from cooccur.evaluation.forms import plain
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.report import ALPHA, summarise_rows
from cooccur.evaluation.significance import compare, holm
from cooccur.reproduce.plan import Column, Settings, Table, identity, printed, row_title, spelling
from cooccur.reproduce.store import Store, unpack
from cooccur.reproduce.work import KS

Document = dict[str, Any]
DRAWS = 200  # signs drawn a pair of models: Holm multiplies the smallest p-value by the number of pairs


def collect(table: Table, settings: Settings, store: Store, command: str = "") -> Document:
    """All that is finished of one table."""
    target = table.target
    columns = [_column(table, settings, store, *column) for column in table.columns]
    result = {
        "target": target.name, "title": target.title, "note": target.note, "quick": settings.quick,
        "folds": len(settings.run), "split": settings.folds, "seed": settings.seed, "sweep": settings.sweep,
        "tune": settings.tune, "command": command, "columns": columns,
        "references": {label: letter for label, letter in target.references.items() if label in table.rows},
        "made": _made(columns), "finished": sum(row["folds"] for column in columns for row in column["rows"]),
        "units": sum(len(column["rows"]) for column in columns if column["dataset"] is not None) * len(settings.run),
    }  # fmt: skip
    document: Document = plain(result)
    return document


def _column(
    table: Table, settings: Settings, store: Store, column: Column, dataset: str | None, missing: Sequence[str]
) -> Document:
    documents: dict[str, dict[int, Document]] = {}
    for label in table.rows if dataset is not None else ():
        assert dataset is not None
        keys = {fold: table.unit(identity(dataset), label, fold, settings).key for fold in settings.run}
        documents[label] = {fold: found for fold, key in keys.items() if (found := store.read(key)) is not None}
    data = _the_data(documents, dataset)
    tests = {f"top{k}": _tests(documents, table.target.references, k, settings) for k in KS}
    letters = {metric: _letters(pairs, table.target.references) for metric, pairs in tests.items()}
    rows = [
        _row(label, documents.get(label, {}), column)
        | {"letters": {metric: letters[metric].get(label, "") for metric in tests}}
        for label in table.rows
        if documents.get(label) or label == spelling(label)  # a tuned row appears when it is there
    ]
    return {
        "printed": column.printed, "dataset": dataset, "missing": list(missing), "data": data, "rows": rows,
        "tests": tests, "sample": settings.quick,
    }  # fmt: skip


def _made(columns: Sequence[Document]) -> dict[str, str]:
    """What the units were made with; several values where they differ."""
    each = [one["made"] for column in columns for row in column["rows"] for one in row["each"]]
    return {name: " / ".join(dict.fromkeys(one[name] for one in each)) for name in (each[0] if each else ())}


def _row(label: str, folds: Mapping[int, Document], column: Column) -> Document:
    theirs = printed(column, label)
    rows = [{**document["row"], "label": label, "fold": fold} for fold, document in folds.items()]
    chosen = Counter(document["chosen"] for document in folds.values() if document["choices"])
    return {
        "label": label, "title": row_title(label), "folds": len(folds), "chosen": dict(chosen.most_common()),
        "theirs": None if theirs is None else {
            "top1": vars(theirs.top1), "top10": vars(theirs.top10), "seconds": theirs.seconds,
        },
        "ours": summarise_rows(rows)[0] if rows else None,
        "each": [
            {
                "fold": fold, "finished": document["finished"], "choices": document["choices"],
                "made": document["versions"] | {"threads": str(document["threads"])}, **document["row"],
            }
            for fold, document in folds.items()
        ],
    }  # fmt: skip


def _the_data(documents: Mapping[str, Mapping[int, Document]], dataset: str | None) -> Document:
    """What the units say about their data, which must be the same for all: they are compared item by item."""
    found = {document["data"]["sha256"]: document for folds in documents.values() for document in folds.values()}
    if len(found) > 1:
        raise CooccurError(f"{dataset}: the finished units were made from different data; use another folder with -o")
    document = next(iter(found.values()), None)
    if document is None:
        return {}
    rows = [one["row"] for folds in documents.values() for one in folds.values()]
    tested, seen = (sum(row[name] for row in rows) for name in ("n_test", "n_seen"))
    return {**document["data"], "unseen": 100 * (1 - seen / tested)}


def _tests(
    documents: Mapping[str, Mapping[int, Document]], references: Mapping[str, str], k: int, settings: Settings
) -> list[Document]:
    """Every pair of a row and a reference: `compare`'s figures, Holm's correction over all of them."""
    hits = {
        label: {fold: top_at(unpack(document["ranks"]), k) for fold, document in folds.items()}
        for label, folds in documents.items()
    }
    pairs = [
        (one, other)
        for one in hits
        for other in references
        if other in hits
        and one != other
        and hits[one].keys() & hits[other].keys()  # the folds that both have
        and "dem" in (_model(one), _model(other))
        and not (one in references and _place(one, hits) > _place(other, hits))  # a pair of references once
    ]
    found: list[Document] = []
    for one, other in pairs:
        folds = [fold for fold in hits[one] if fold in hits[other]]
        a, b = (np.concatenate([hits[label][fold] for fold in folds]) for label in (one, other))
        sizes = [len(hits[one][fold]) for fold in folds]
        [pair] = compare(
            [a, b], np.arange(len(a)), np.repeat(folds, sizes), test_share=1 / settings.folds,
            draws=max(10_000, DRAWS * len(pairs)), seed=settings.seed,
        )  # fmt: skip
        found.append({**pair, "a": one, "b": other, "folds": len(folds)})
    for name in ("p", "p_t"):
        raw = [np.nan if pair[name] is None else pair[name] for pair in found]
        for pair, adjusted in zip(found, holm(raw), strict=True):
            pair[f"{name}_holm"] = None if np.isnan(adjusted) else float(adjusted)
    return found


def _model(label: str) -> str:
    return spelling(label).partition(":")[0]


def _place(label: str, hits: Mapping[str, Any]) -> int:
    return list(hits).index(label)


def _letters(pairs: Sequence[Document], references: Mapping[str, str]) -> dict[str, str]:
    """For each row the letters of the references that it is significantly better than."""
    beaten: dict[str, str] = {}
    for pair in pairs:
        if pair["p_holm"] is not None and pair["p_holm"] < ALPHA and pair["difference"]:
            better, worse = (pair["a"], pair["b"]) if pair["difference"] > 0 else (pair["b"], pair["a"])
            if worse in references:
                beaten[better] = "".join(sorted(beaten.get(better, "") + references[worse]))
    return beaten
