"""The options that several commands share, declared once.

A command that has a parameter of type `Reading` gets all its fields as options of its own by `@unfolded`.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from cooccur import memory
from cooccur.errors import CooccurError


def _option(metavar: str | None, help: str, **more: Any) -> Any:  # noqa: A002
    return typer.Option(metavar=metavar, help=help, **more)


def _number(help: str) -> Any:  # noqa: A002
    return _option("N", help, min=0, show_default=False)


@dataclass(frozen=True)
class Reading:
    """How to read a file, what to keep of it, and where the public datasets are."""

    format: Annotated[
        str | None, _option("FORMAT", "lines, pairs, ratings, wide, csv, parquet or jsonl; guessed if left out.")
    ] = None
    separator: Annotated[str | None, _option("TEXT", "Between the fields of a line: ',' '::' tab space ...")] = None
    header: Annotated[bool | None, _option(None, "Whether the first line names the columns.")] = None
    record: Annotated[str | None, _option("COLUMN", "The record's column: a name, or a number from 0.")] = None
    item: Annotated[str | None, _option("COLUMN", "The item's column, or that of the list of items.")] = None
    rating: Annotated[str | None, _option("COLUMN", "The rating's column.")] = None
    threshold: Annotated[str | None, _option("RULE", "Which ratings count, as in '>= 4'.")] = None
    missing: Annotated[str | None, _option("CODE", "In a wide file, the code of a missing value.")] = None
    first: Annotated[int, _number("In a wide file, pass over the first N columns.")] = 0
    comment: Annotated[str, _option("TEXT", "What comment lines start with; '' if there are none.")] = "#"
    encoding: Annotated[str, _option("NAME", "The file's encoding.")] = "utf-8"
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad lines out and count them.")] = False
    top_items: Annotated[int | None, _number("Keep only the N most frequent items.")] = None
    min_frequency: Annotated[int, _number("Keep only items in at least N records.")] = 0
    min_length: Annotated[int, _number("Keep only records of at least N items.")] = 0
    max_length: Annotated[int | None, _number("Keep only records of at most N items.")] = None
    data_home: Annotated[Path | None, _option("FOLDER", "Folder of the public datasets.", envvar="COOCCUR_DATA")] = None

    FILTERS: ClassVar = ("top_items", "min_frequency", "min_length", "max_length")

    def reader(self) -> dict[str, Any]:
        """What goes to `cooccur.read`."""
        other = (*self.FILTERS, "data_home")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in other} | {
            "comment": self.comment or None
        }

    def filters(self) -> dict[str, Any]:
        """What goes to `Baskets.filter`."""
        return {name: getattr(self, name) for name in self.FILTERS}

    def told(self) -> list[str]:
        """The reader's options that were given, spelled as on the command line."""
        names = [f.name for f in fields(self) if f.name in self.reader() and getattr(self, f.name) != f.default]
        return ["--" + name.replace("_", "-") for name in names]


def unfolded(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a dataclass type by its fields, so that typer makes options of them."""
    own = inspect.signature(command, eval_str=True).parameters
    folded: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for name, p in own.items() if name not in folded]
    for kind in folded.values():
        hints = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
            for f in fields(kind)
        ]

    @functools.wraps(command)
    def merged(**given: Any) -> None:
        for name, kind in folded.items():
            given[name] = kind(**{f.name: given.pop(f.name) for f in fields(kind)})
        command(**given)

    merged.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    merged.__annotations__ = {p.name: p.annotation for p in parameters}
    return merged


def _set_threads(number: int | None) -> None:
    """Before numpy and numba are imported the environment decides; afterwards only numba can still be told."""
    if number is None:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if number > cores:
        print(f"note: --threads {number}, but there are {cores} cores; using {cores}", file=sys.stderr)
        number = cores
    if "numba" in sys.modules:
        import numba

        most: int = vars(numba.config)["NUMBA_NUM_THREADS"]
        if number > most:
            raise CooccurError(f"--threads {number}: this process was started with {most}")
        numba.set_num_threads(number)
        return
    for library in ("NUMBA", "OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = str(number)


def _set_memory(size: str | None) -> None:
    memory.LIMIT.set(None if size is None else memory.parse(size))


def examples(*lines: str) -> str:
    """The end of a command's help; the backspace asks click to keep the line breaks."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A dataset's name, a file (plain, gzip or zstd), or - for standard input.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="FILE", help="A model file made by `cooccur fit`.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Many = Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many items to suggest.")]
Home = Annotated[
    Path | None, typer.Option("--data-home", metavar="FOLDER", help="Folder of the datasets.", envvar="COOCCUR_DATA")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Use N threads; all cores if left out.", callback=_set_threads),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE", callback=_set_memory,
        help="What the process may take, as in 8G; 80 % of what is free if left out.",
    ),
]  # fmt: skip
