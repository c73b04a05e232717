"""`cooccur evaluate`: the leaderboard of some models on one dataset."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cooccur.cli.data import load
from cooccur.cli.options import Data, Json, Memory, Reading, Threads, unfolded
from cooccur.cli.output import check_output, console, progress, say


@unfolded
def evaluate(
    context: typer.Context,
    data: Data,
    reading: Reading,
    models: Annotated[
        list[str], typer.Option("-m", "--model", metavar="MODEL", help="NAME or NAME:param=value,...; repeat for more.")
    ],
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="In how many parts the records are split.")] = 5,
    fold: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Run this fold alone; they count from 0.")
    ] = None,
    draws: Annotated[
        int, typer.Option(metavar="N", min=1, help="How often an item is removed from each test record.")
    ] = 1,
    top: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, help="K of Top@K; repeat for more (1 and 10 if left out).")
    ] = None,
    tune: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Choose each model's settings in each fold by N trials; 0: as spelled."),
    ] = 0,
    outputs: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", metavar="FILE", help="Report, by its ending .md .tex .csv .json .txt."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the folds and the removals.")] = 0,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Compare models: one item of each test record is hidden; who finds it?"""
    from cooccur.evaluation import report
    from cooccur.evaluation.protocol import evaluate as run
    from cooccur.models import make_model

    for path in outputs or ():
        check_output(path, tuple(report.ENDINGS))
    for model in models:
        make_model(model)
    baskets = load(data, reading)
    for model in models:  # each would ask by itself, but after those before it have learned
        make_model(model).check_memory(baskets)
    command = shlex.join(["cooccur", *context.obj])
    ks = tuple(dict.fromkeys(top or (1, 10)))
    with progress("evaluating") as shown:
        result = run(
            baskets, models, folds=folds, fold=fold, draws=draws, ks=ks, seed=seed, tune=tune,
            dataset="stdin" if data == "-" else data, command=command, progress=shown,
        )  # fmt: skip
    for path in outputs or ():
        report.write(result, path)
    if as_json:
        print(report.render(result, "json"), end="")
    else:
        report.print_table(result, console())
    for path in outputs or ():
        say(f"written to {path}")
