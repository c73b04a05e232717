"""`cooccur reproduce`: the paper's tables and figures again, theirs and ours side by side."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cooccur.cli.options import Home, Threads
from cooccur.cli.output import progress, say
from cooccur.errors import CooccurError


class Wanted(StrEnum):
    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    table4 = "table4"
    figure2 = "figure2"
    figure3 = "figure3"
    all = "all"


def reproduce(
    context: typer.Context,
    wanted: Annotated[Wanted, typer.Argument(metavar="WHAT", help="table1 to table4, figure2, figure3, or all.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where tables and finished units go.")
    ] = Path("results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="One fold, a small sample, few epochs: shows that it runs, nothing else.")
    ] = False,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="In how many parts the records are split.")] = 5,
    models: Annotated[
        list[str] | None,
        typer.Option("-m", "--model", "--models", metavar="MODEL", help="Rows of tables 1 to 3; repeat for more."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="DATA", help="Columns of tables 1 to 3, datasets or files; repeat for more."),
    ] = None,
    sweep: Annotated[
        bool,
        typer.Option("--sweep/--no-sweep", help="Choose sizes on validation records, or take the models as spelled."),
    ] = True,
    tune: Annotated[
        int, typer.Option(metavar="N", min=0, help="Rows of tables 1 to 3 once more, tuned by N trials in each fold.")
    ] = 0,
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Run nothing; write the tables of what is finished.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the folds and the removals.")] = 0,
    data_home: Home = None,
    threads: Threads = None,
) -> None:
    """Run the paper's experiments and write its tables, theirs beside ours. Start it again to go on.

    Every finished fold is kept in FOLDER/units and never run twice; several processes may share the work.
    """
    from cooccur.datasets import DATASETS, find
    from cooccur.reproduce import figures, plan, work
    from cooccur.reproduce.report import write
    from cooccur.reproduce.store import Store

    targets = list(plan.TARGETS) if wanted == Wanted.all else [wanted.value]
    for target in targets:
        figures.check(target)
    settings = plan.Settings(folds=folds, seed=seed, sweep=sweep, quick=quick, tune=tune)
    store = Store(output / "units")

    def at_hand(name: str) -> bool:
        return store.holds(plan.identity(name)) or name not in DATASETS or find(name, data_home) is not None

    made = plan.tables(targets, data=data or (), models=models or (), at_hand=at_hand, tune=tune > 0)
    names = [name for table in made for _, name, _ in table.columns if name is not None]
    if not names:
        missing = [name for table in made for _, _, missing in table.columns for name in missing]
        raise CooccurError(
            f"none of the data is at hand ({', '.join(missing)}); see `cooccur datasets`, or name its folder with "
            "--data-home"
        )
    units = plan.units(made, settings)
    command = shlex.join(["cooccur", *context.obj])

    def render() -> list[Path]:
        return write(made, settings, store, output, data_home, command)

    failed: dict[plan.Unit, str] = {}
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CooccurError(f"{output}: cannot be made ({error.strerror}); choose another folder with -o") from None
    if not render_only:
        with progress("reproducing") as shown:
            load = work.Data(names, data_home)
            try:
                failed = work.run(units, load, store, progress=shown, note=say, after_fold=render)
            except KeyboardInterrupt:
                say("what is finished is kept; the same command goes on from there")
                raise
    for path in render():
        say(f"written to {path}")
    left = sum(not store.has(unit.key) for unit in units)
    if failed:
        first, reason = next(iter(failed.items()))
        raise CooccurError(
            f"{len(failed)} of {len(units)} runs failed, first {first.label} on {first.dataset}: {reason}"
        )
    if left:
        say(f"{left} of {len(units)} runs are not finished" + (" (another process is at them)" * (not render_only)))
