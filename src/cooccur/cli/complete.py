"""`cooccur complete` and `cooccur similar`: ask a model file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cooccur.cli import batch
from cooccur.cli.options import Json, Many, Memory, ModelFile, Reading, Threads, unfolded
from cooccur.cli.output import bar, check_output, console, decimals, print_json, say
from cooccur.errors import InputError
from cooccur.near import did_you_mean

if TYPE_CHECKING:
    from cooccur.models.base import Completion, Model, Reason


@unfolded
def complete(
    file: ModelFile,
    reading: Reading,
    items: Annotated[list[str] | None, typer.Argument(metavar="ITEM", help="What the basket holds.")] = None,
    k: Many = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Say why: what each item of the basket adds.")] = False,
    source: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="Complete every record of this file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help=f"Where --input goes: {', '.join(batch.ENDINGS)}."),
    ] = None,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Say what a basket lacks. Each argument is one item's name; quote names with spaces."""
    from cooccur.storage import load as load_model

    batch.check_model(file)
    if source is None and not items:
        raise typer.BadParameter("give at least one item, or --input FILE", param_hint="ITEM")
    if source is None:
        if output:
            raise typer.BadParameter("goes with --input; a single answer is printed", param_hint="-o")
        _complete_one(load_model(file), items or [], k, explain, as_json)
        return
    if items or explain:
        raise typer.BadParameter("goes without items and --explain", param_hint="--input")
    if output is None and not as_json:
        raise typer.BadParameter("say where the answers go: -o FILE, or --json", param_hint="--input")
    if output:
        check_output(output, batch.ENDINGS)
    batch.complete_many(load_model(file), source, reading, k, output, as_json)


def similar(
    file: ModelFile,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The item's name.")],
    k: Many = 10,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Say which items go best with one item, whatever their popularity."""
    from cooccur.storage import load as load_model

    model = load_model(file)
    if item not in model.items_:
        raise InputError(did_you_mean(item, model.items_))
    found = model.similar_items(item, k)
    if as_json:
        rows = [{"rank": rank, "item": s.item, "score": s.score} for rank, s in enumerate(found, 1)]
        print_json({"model": model.name, "item": item, "similar": rows})
        return
    console().print(f"goes with {item}, however popular by itself")
    print_suggestions(found)


def _complete_one(model: Model, items: list[str], k: int, explain: bool, as_json: bool) -> None:
    found = model.complete(items, k)
    for name in found.unknown:
        say(f"warning: {did_you_mean(name, model.items_)}")
    if not found.basket:
        say("warning: no item of the basket is known; this is what the model suggests to an empty one")
    reasons = [model.explain(found.basket, s.item) for s in found] if explain and found.basket else []
    if as_json:
        rows: list[dict[str, Any]] = [{"rank": rank, **asdict(s)} for rank, s in enumerate(found, 1)]
        for row, reason in zip(rows, reasons, strict=False):
            shares = [{"item": item, "share": share} for item, share in reason.shares]
            together = [{"item": item, "share": share} for item, share in reason.hidden]
            row["reason"] = {"prior": reason.prior, "shares": shares, "rest": reason.rest, "hidden": together}
        about = {"model": model.name, "score_is": model.score_is}
        print_json(about | {"basket": found.basket, "unknown": found.unknown, "suggestions": rows})
        return
    chance = all(s.probability is not None for s in found)
    what = f"score: {model.score_is}"
    if chance:
        what = "probability given the basket" + ("; reasons in log-odds" if reasons else "")
    console().print(f"{', '.join(found.basket) or 'an empty basket'} · {what} ({model.name})")
    print_suggestions(found, reasons)


def print_suggestions(found: Completion, reasons: list[Reason] | None = None) -> None:
    """A table with rank, item, score and bar; the reasons of an item below it."""
    from rich.table import Table
    from rich.text import Text

    scores = [s.score for s in found]
    lowest, highest = min([0.0, *scores]), max([0.0, *scores])
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    for justify, style in (("right", "dim"), ("left", ""), ("right", ""), ("left", "cyan")):
        table.add_column(justify=justify, style=style, overflow="fold")  # type: ignore[arg-type]
    digits = decimals(scores)
    for rank, suggestion in enumerate(found, 1):
        share = (suggestion.score - lowest) / (highest - lowest) if highest > lowest else 0.0
        p = suggestion.probability
        table.add_row(
            str(rank), suggestion.item, f"{suggestion.score:,.{digits}f}" if p is None else f"{100 * p:.1f}%",
            bar(share if p is None else p),
        )  # fmt: skip
        for words, value in _parts(reasons[rank - 1]) if reasons else ():
            part = Text(f"{value:+,.{digits}f}", style="dim")
            table.add_row("", Text(f"  {words}", style="dim"), part, bar(abs(value) / (highest - lowest or 1)))
    console().print(table)


def _parts(reason: Reason) -> list[tuple[str, float]]:
    """The score taken apart; what is nothing is left out."""
    parts = [*((f"because of {item}", share) for item, share in reason.shares)]
    parts += [("by itself", reason.prior), ("the items together", reason.rest)]
    parts += [(f"  of it lost without {item}", share) for item, share in reason.hidden]
    return [(words, value) for words, value in parts if abs(value) > 1e-6 * abs(reason.score)]
