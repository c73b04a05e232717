"""`cooccur inspect`: what a model file holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cooccur.cli.options import Json, ModelFile
from cooccur.cli.output import console, print_json, size

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 60  # of the line of epochs


def inspect(file: ModelFile, as_json: Json = False) -> None:
    """Show what a model file holds: model, data, arrays, training; all of it is checked."""
    from cooccur.storage import ModelFile as Opened

    opened = Opened.open(file)
    model = opened.model()
    history = getattr(model, "history_", None)
    found: dict[str, Any] = {
        "file": str(file),
        "bytes": file.stat().st_size,
        "format": opened.header["format"],
        "library": opened.header.get("library"),
        "model": model.name,
        "score_is": model.score_is,
        "params": model.get_params(),
        "records": model.n_records_,
        "items": len(model.items_),
        "fingerprint": model.fingerprint_,
        "calibrated": model.calibration_ is not None,
        "checksum": {"crc32": opened.checksum, "state": "right"}
        if opened.checksum
        else {"crc32": None, "state": "none"},
        "arrays": [
            {"name": name, "dtype": str(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
            for name, array in opened.arrays.items()
        ],
        "history": history.as_dict() if history is not None else None,
        "notes": model.notes_,
    }
    if as_json:
        print_json(found)
        return
    _show(found)


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table

    out = console()
    made = f"format {found['format']}, written by cooccur {found['library']}"
    out.print(f"{found['file']} ({size(found['bytes'])}): {made}", soft_wrap=True)
    checksum = found["checksum"]
    lines = {
        "model": f"{found['model']}; its score is a {found['score_is']}",
        "learned from": f"{found['records']:,} records over {found['items']:,} items",
        "fingerprint": found["fingerprint"],
        "checksum": f"{checksum['crc32']}, right"
        if checksum["crc32"]
        else "none: the file is from before there was one",
        "calibrated": "yes" if found["calibrated"] else "no",
        "parameters": ", ".join(f"{name}={_spelled(value)}" for name, value in found["params"].items()) or "none",
        **_notes(found["notes"]),
    }
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    for name, words in lines.items():
        table.add_row(name, words)
    out.print(table)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name, justify in (("array", "left"), ("type", "left"), ("shape", "right"), ("size", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for array in found["arrays"]:
        shape = " x ".join(f"{n:,}" for n in array["shape"])
        table.add_row(array["name"], array["dtype"], shape, size(array["bytes"]))
    out.print()
    out.print(table)
    if found["history"]:
        _show_history(out, found["history"])


def _show_history(out: Console, history: dict[str, Any]) -> None:
    epochs, best = history["epochs"], history["best"]
    ended = ", interrupted" if history["interrupted"] else ""
    seconds = sum(epoch["seconds"] or 0 for epoch in epochs)
    out.print(f"\ntraining: {len(epochs)} epochs in {seconds:.1f} s{ended}")
    for name, words in (
        ("loss", "loss"), ("top1", "validation Top@1"), ("top10", "validation Top@10"),
        ("likelihood", "validation likelihood"),
    ):  # fmt: skip
        values = [epoch[name] for epoch in epochs]
        if values and None not in values:
            out.print(f"  {words:<22}{values[best]:>9.4g}  {sparkline(values)}", soft_wrap=True)
    if epochs:
        out.print(f"  kept: epoch {best}, whose figures these are", style="dim")


def _notes(notes: Mapping[str, Any]) -> dict[str, str]:
    """What `fit --measure` found in a line, any other notes as they are."""
    if "summary" not in notes:
        return {f"note: {name}": str(value) for name, value in notes.items()}
    rows = [f"{row['label']} {row['top1']:.2f} / {row['top10']:.2f}" for row in notes["summary"]]
    return {"measured": f"Top@1 / Top@10 of {notes['removals']:,} removals: {', '.join(rows)}"}


def _spelled(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """A line of bars, the lowest value the lowest bar; of more than `width` values every so many.

    >>> sparkline([1, 2, 3]), sparkline([5, 5])
    ('▁▅█', '▁▁')
    """
    if not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf"):
        return ""
    shown = values[:: -(-len(values) // width)]
    low, high = min(shown), max(shown)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / (high - low or 1))] for value in shown)
