"""The command line: parse, call, print. One file a command; this one puts them together and deals with errors.

    0    done
    2    something the user can mend: one line `error: ...` on stderr
    70   a bug: the traceback
    130  Ctrl-C
    141  the reader of our output has gone (`| head`): silence

Nothing heavy is imported before a command runs, so that `cooccur --help` is instant.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from cooccur.cli import (
    calibrate,
    complete,
    datasets,
    demo,
    describe,
    doctor,
    evaluate,
    fit,
    inspect,
    models,
    reproduce,
    serve,
    shell,
    tune,
)
from cooccur.cli import map as map_command
from cooccur.cli.options import examples
from cooccur.cli.output import say
from cooccur.errors import CooccurError, is_interrupt

# click's, wherever this version of typer keeps it
_ClickException = typer.BadParameter.__mro__[2]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cooccur {version('cooccur')}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=examples(
        "cooccur demo",
        "cooccur describe baskets.csv",
        "cooccur evaluate baskets.csv -m popularity -m lwcvg",
        "cooccur fit baskets.csv -m lwcvg -o shop.model",
        "cooccur complete shop.model pasta 'olive oil'",
    ),
)
def _cooccur(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Learn what goes together from sets of items, and say what is missing from a set, with the reason."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command(epilog=examples("cooccur demo", "cooccur demo --keep shop.model"))(demo.demo)
app.add_typer(datasets.app, name="datasets")
app.command(
    epilog=examples(
        "cooccur describe retail",
        "cooccur describe ratings.csv --threshold '>= 4'",
        "zcat baskets.txt.gz | cooccur describe - --format lines",
    )
)(describe.describe)
app.command(
    epilog=examples(
        "cooccur fit baskets.csv -m lwcvg -o shop.model",
        "cooccur fit retail -m lrw:steps=2 -o retail.model --top-items 5000",
        "cooccur fit retail -m dem -o retail.model --checkpoint retail.run --resume",
    )
)(fit.fit)
app.command(
    epilog=examples(
        "cooccur complete shop.model pasta 'olive oil' -k 5 --explain",
        "cooccur complete shop.model --input new.csv -o answers.parquet",
    )
)(complete.complete)
app.command(epilog=examples("cooccur similar shop.model pasta"))(complete.similar)
app.command(epilog=examples("cooccur shell shop.model", "echo pasta | cooccur shell shop.model"))(shell.shell)
app.command(
    epilog=examples(
        "cooccur serve shop.model",
        "cooccur serve shop.model --host 0.0.0.0 --workers 4 --token-file token",
    )
)(serve.serve)
app.command(epilog=examples("cooccur map shop.model -o map.html", "cooccur map shop.model -o map.png --labels 100"))(
    map_command.map
)
app.command(
    epilog=examples(
        "cooccur evaluate retail -m popularity -m cvg -m lwcvg",
        "cooccur evaluate baskets.csv -m lrw -m lrw:steps=1 --fold 0 --draws 5",
        "cooccur evaluate retail -m cvg -m normcvg -o table.tex -o all.json",
    )
)(evaluate.evaluate)
app.command(epilog=examples("cooccur calibration jester -m fvbm -o jester.md"))(calibrate.calibration)
app.command(epilog=examples("cooccur tune retail -m lwcvg --budget 20", "cooccur tune a.csv -m ease --study a.db"))(
    tune.tune
)
app.command(epilog=examples("cooccur reproduce table2 --quick", "cooccur reproduce all -o results"))(
    reproduce.reproduce
)
app.command(epilog=examples("cooccur inspect shop.model", "cooccur inspect shop.model --json"))(inspect.inspect)
app.command(epilog=examples("cooccur models", "cooccur models lrw"))(models.models)
app.command(epilog=examples("cooccur doctor", "cooccur doctor --json"))(doctor.doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["models", "nothing"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Numba's threads and torch's take turns; those that wait must sleep, not spin on the cores that the others need.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to fail
    command = typer.main.get_command(app)
    try:
        with warnings.catch_warnings(), command.make_context("cooccur", list(given), obj=given) as context:
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except CooccurError as error:
        say(f"error: {' '.join(str(error).splitlines())}")
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 141
    except SystemExit as end:  # rich, when the reader of the help has gone
        return int(end.code or 0)
    except (Exception, KeyboardInterrupt) as error:
        if is_interrupt(error) or isinstance(error, typer.Abort):
            say("interrupted")
            return 130
        if isinstance(error, _ClickException):
            return _misused(error)
        traceback.print_exc()
        say("this is a bug in cooccur; please report it with the lines above and `cooccur doctor`")
        return 70
    return 0


def _misused(error: BaseException) -> int:
    context = getattr(error, "ctx", None)
    words = " ".join(getattr(error, "format_message", error.__str__)().split()).rstrip(".")
    if getattr(context, "info_name", None) in ("complete", "similar") and not getattr(error, "possibilities", True):
        words += "; if it is an item, put -- before the items"
    say(f"error: {words}; see `{context.command_path if context else 'cooccur'} --help`")
    return 2
