"""`cooccur map`: all items of a model as points in the plane, in a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cooccur.cli.options import Json, ModelFile
from cooccur.cli.output import check_output, console, print_json, progress, size

ENDINGS = (".html", ".png", ".svg")


def map(  # noqa: A001
    file: ModelFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help=f"Where the map goes: {', '.join(ENDINGS)}.")
    ],
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another seed lays the same items out anew.")] = 0,
    labels: Annotated[int, typer.Option(metavar="N", min=0, help="At most N names at once.")] = 250,
    as_json: Json = False,
) -> None:
    """Draw the items: those that go together lie close. The HTML file needs nothing else, PNG and SVG are for print."""
    check_output(output, ENDINGS)
    from cooccur.maps import make_map
    from cooccur.storage import load

    model = load(file)
    with progress("making the map") as report:
        made = make_map(model, seed=seed, progress=report)
    about = f"{model.name}, {len(model.items_):,} items, learned from {model.n_records_:,} records"
    shown = made.write(output, getattr(model, "titles_", None), labels=labels, heading=file.stem, about=about)
    found: dict[str, Any] = {
        "file": str(output), "model": model.name, "items": len(made.items), "dimensions": made.dimensions,
        "labels": shown, "seed": seed, "bytes": output.stat().st_size,
    }  # fmt: skip
    if as_json:
        print_json(found)
        return
    told = f"{len(made.items):,} items from {made.dimensions} numbers each"
    console().print(f"{told}: {output} ({size(found['bytes'])})", soft_wrap=True)
