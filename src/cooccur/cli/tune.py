"""`cooccur tune`: the settings of a model that answer best on records held out of the data."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cooccur.cli.data import load
from cooccur.cli.options import Data, Json, Memory, Reading, Threads, unfolded
from cooccur.cli.output import check_output, console, print_json, progress, say

if TYPE_CHECKING:
    from cooccur.tuning import Tuned

SHOWN = 5  # the best trials


@unfolded
def tune(
    context: typer.Context,
    data: Data,
    reading: Reading,
    model: Annotated[
        str,
        typer.Option(
            "-m", "--model", metavar="MODEL", help="NAME or NAME:param=value,...; what is set stays as it is."
        ),
    ],
    budget: Annotated[int, typer.Option(metavar="N", min=1, help="Trials in all, those in --study included.")] = 20,
    study: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the trials in this file, and go on from those in it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The result with all trials, as JSON.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the held-out records and the search.")] = 0,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Search better settings of a model, on records held out of the data."""
    from cooccur.files import whole
    from cooccur.measure import versions
    from cooccur.models import make_model
    from cooccur.tuning import space_to_search
    from cooccur.tuning import tune as search

    for path, endings in ((output, (".json",)), (study, ())):
        if path is not None:
            check_output(path, endings)
    space_to_search(model)  # a misspelt model is found before a large file is read
    baskets = load(data, reading)
    make_model(model).check_memory(baskets)
    with progress(f"tuning {model}") as shown:
        found = search(baskets, model, budget=budget, seed=seed, study=study, progress=shown)
    if found.interrupted:
        kept = f" and kept in {study}" if study else ""
        say(f"interrupted: what {len(found.trials)} of {budget} trials found is shown{kept}")
    for trial in found.trials:
        if trial.state == "failed":
            say(f"trial {trial.number} failed: {trial.error}")
    run = {"command": shlex.join(["cooccur", *context.obj]), "seed": seed, "budget": budget, "versions": versions()}
    about = {"name": data, "sha256": baskets.fingerprint(), "records": len(baskets), "items": baskets.n_items}
    document = {**found.as_dict(), "data": about, "run": run}
    if output:
        with whole(output) as file:
            file.write((json.dumps(document, indent=2, allow_nan=False) + "\n").encode())
    if as_json:
        print_json(document)
    else:
        _tell(found, data, budget)
    if output:
        say(f"written to {output}")


def _tell(found: Tuned, data: str, budget: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from cooccur.tuning.space import spelled
    from cooccur.tuning.trials import STATES

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("trial", "Top@1", "Top@10", "sum", "seconds"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("settings", overflow="fold")
    first, best = found.trials[0], found.best
    done = sorted((trial for trial in found.trials if trial.state == "done"), key=lambda trial: -trial.value)
    shown = done[:SHOWN] + [trial for trial in done[SHOWN:] if trial is first]
    for trial in shown:
        figures = (f"{figure:.2f}" for figure in (trial.top1, trial.top10, trial.value) if figure is not None)
        settings = spelled("", trial.settings).lstrip(":") + (" (as spelled)" if trial is first else "")
        table.add_row(str(trial.number), *figures, f"{trial.seconds:.1f}", Text(settings.replace(",", " ")))
    out = console()
    out.print(table)
    counts = {state: sum(trial.state == state for trial in found.trials) for state in STATES}
    told = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    if len(found.trials) < budget and not found.interrupted:
        told += "; there are no other settings to try"
    out.print(
        f"{len(found.trials)} trials ({told}), each asked {found.removals:,} times about the same {found.held_out:,} "
        "held-out records, which chose the winner: its figures flatter it. `cooccur evaluate --tune` measures.",
        style="dim",
    )
    if best is first:
        out.print("\nNothing beat the settings as spelled.")
    elif first.state == "done":
        out.print(f"\nBest: {best.value - first.value:+.2f} over the settings as spelled.")
    out.print(f"\n{found.spelling}", style="bold", soft_wrap=True)
    out.print(
        f"\nNext: {shlex.join(['cooccur', 'fit', data, '-m', found.spelling, '-o', 'tuned.model'])}", soft_wrap=True
    )
