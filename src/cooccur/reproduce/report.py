"""From the finished units of one target to its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cooccur.datasets import DATASETS, titles
from cooccur.files import whole
from cooccur.reproduce import figures, overview, picture, render
from cooccur.reproduce.collect import collect
from cooccur.reproduce.plan import Settings, Table, identity
from cooccur.reproduce.store import Store


def write(
    tables: Sequence[Table], settings: Settings, store: Store, folder: Path, home: Path | None = None, command: str = ""
) -> list[Path]:
    """Write the files of these targets, from whatever is finished, and results.md and results.svg with
    all of them; their paths.

    One process at a time reads and writes: another's table, from fewer units, cannot land on top of a later one.
    """
    paths, results = [], []
    with store.alone():
        for table in tables:
            if table.target.name == "figure3":
                paths += _map(table, settings, store, folder, home, command)
                continue
            results.append(collect(table, settings, store, command))
            paths += render.write(results[-1], folder)
            if table.target.name == "figure2" and results[-1]["finished"]:
                paths.append(figures.figure2(results[-1], folder))
        if len(tables) > 1 and not settings.quick:
            paths += [picture.write(results, folder), overview.write(results, folder, command)]
    return paths


def _map(table: Table, settings: Settings, store: Store, folder: Path, home: Path | None, command: str) -> list[Path]:
    [(_, dataset, missing)] = table.columns
    made = None
    if dataset is not None:
        made = store.read(table.unit(identity(dataset), table.rows[0], 0, settings).key)
    if dataset is None or made is None:
        return []
    result = {
        "target": "figure3", "title": table.target.title, "quick": settings.quick, "command": command,
        "columns": [{"printed": "", "dataset": dataset, "missing": list(missing)}],
    }  # fmt: skip
    found, paths = figures.figure3(result, made, titles(dataset, home) if dataset in DATASETS else {}, folder)
    path = folder / f"{render.stem(result)}.json"
    with whole(path) as file:
        file.write((json.dumps({**result, **made, **found}, indent=1) + "\n").encode())
    return [*paths, path]
