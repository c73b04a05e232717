"""`cooccur complete --input`: every record of a file, into another file or one JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooccur import memory
from cooccur.cli.data import check_there, load
from cooccur.cli.options import Reading
from cooccur.cli.output import console, print_json, progress, say

if TYPE_CHECKING:
    from cooccur.baskets import Baskets
    from cooccur.models.base import Model

ENDINGS = (".parquet", ".csv", ".jsonl")


def check_model(file: Path) -> None:
    """Whether the model will fit into memory: its pages, and a copy of its largest array."""
    if file.is_file():
        memory.check(2 * file.stat().st_size, f"{file}: asking this model", lambda room: "raise --memory")


def complete_many(
    model: Model, source: str, reading: Reading, k: int, output: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Complete the records of `source`; with an output file, in pieces where the input allows it."""
    from cooccur.batch import Batch, complete_file, completions
    from cooccur.datasets import DATASETS

    data: str | Baskets = source
    options: dict[str, Any] = {"reading": reading.reader(), "filters": reading.filters()}
    if source in DATASETS:
        data, options = load(source, reading), {}
    else:
        check_there(source, list(DATASETS))
    rows: list[dict[str, Any]] = []
    with progress(f"completing {source}") as shown:
        if output:
            done = complete_file(model, data, output, k, **options, tell=say, progress=shown)
        else:
            done = Batch()

            def take(frame: Any, piece: Any, about: dict[str, Any]) -> None:
                rows.extend(frame.to_dicts())
                done.count(**about)

            done.report = completions(model, data, k, take, **options, progress=shown)
    if done.report is not None:
        say(str(done.report))
    unknown = list(done.unknown)
    if unknown:
        many = f"{len(unknown):,}{' or more' if done.more_unknown else ''} items are"
        say(f"warning: {many} unknown to the model and were left out, such as {unknown[0]!r}")
    if done.empty:
        say(f"warning: {done.empty:,} records have no known item; they get what the model suggests to an empty one")
    about = {"model": model.name, "records": done.records, "empty": done.empty, "rows": done.rows, "unknown": unknown}
    if not as_json:
        empty = f" ({done.empty:,} without a known item)" if done.empty else ""
        console().print(f"{done.records:,} records completed{empty}: {done.rows:,} rows in {output}", soft_wrap=True)
    elif output:
        print_json(about | {"file": str(output), "resumed": done.resumed})
    else:
        print_json(about | {"completions": rows})
