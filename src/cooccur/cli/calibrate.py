"""`cooccur calibration`: do a model's probabilities come true, and do they after calibration?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cooccur.cli.data import load
from cooccur.cli.options import Data, Json, Reading, Threads, unfolded
from cooccur.cli.output import check_output, console, print_json, progress, say
from cooccur.errors import ParameterError

ENDINGS = (".md", ".json")


@unfolded
def calibration(
    context: typer.Context,
    data: Data,
    reading: Reading,
    models: Annotated[
        list[str],
        typer.Option("-m", "--model", metavar="MODEL", help="NAME or NAME:param=value,... whose score is a log-odds."),
    ],
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="In how many parts the records are split.")] = 5,
    fold: Annotated[int, typer.Option(metavar="N", min=0, help="The part to test on; they count from 0.")] = 0,
    share: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the training records, held out to calibrate on.")
    ] = 0.1,
    outputs: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", metavar="FILE", help=f"Report, by its ending {' '.join(ENDINGS)}."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of folds, held-out records and removals.")] = 0,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Check whether what a model calls 30 % comes true three times in ten, before and after calibration."""
    from cooccur.evaluation.calibration import about, check_calibration, render, tables
    from cooccur.files import whole
    from cooccur.models import make_model
    from cooccur.models.calibrated import needs_log_odds

    if len(models) > 1:
        raise ParameterError(f"-m is given {len(models)} times; calibration checks one model at a time")
    for path in outputs or ():
        check_output(path, ENDINGS)
    needs_log_odds(make_model(models[0]))  # found before a large file is read
    baskets = load(data, reading)
    with progress(f"learning {models[0]}") as shown:
        result = check_calibration(
            baskets, models[0], folds=folds, fold=fold, seed=seed, share=share,
            dataset="stdin" if data == "-" else data, command=shlex.join(["cooccur", *context.obj]), progress=shown,
        )  # fmt: skip
    for path in outputs or ():
        with whole(path) as file:
            file.write(render(result, path.suffix.lower()).encode())
    if as_json:
        print_json(result)
    else:
        from rich import box
        from rich.table import Table

        out = console()
        for title, header, rows in tables(result):
            out.print(title)
            table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
            for name in header:
                table.add_column(name, justify="left" if name in ("question", "") else "right")
            for row in rows:
                table.add_row(*row)
            out.print(table)
        out.print(about(result), style="dim")
    for path in outputs or ():
        say(f"written to {path}")
