"""`cooccur complete` and `cooccur similar`: ask a model file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cooccur.cli import batch
from cooccur.cli.options import Json, Many, Memory, ModelFile, Reading, Threads, unfolded
from cooccur.cli.output import check_output, console, print_json, say
from cooccur.cli.suggestions import print_suggestions
from cooccur.cli.titles import resolve

if TYPE_CHECKING:
    from cooccur.models.base import Model


@unfolded
def complete(
    file: ModelFile,
    reading: Reading,
    items: Annotated[
        list[str] | None, typer.Argument(metavar="ITEM", help="What the basket holds, by name or title.")
    ] = None,
    k: Many = 10,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="ITEM", help="Never suggest this one; may be repeated.")
    ] = None,
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
        _complete_one(load_model(file), items or [], exclude or [], k, explain, as_json)
        return
    if items or explain or exclude:
        raise typer.BadParameter("goes without items, --exclude and --explain", param_hint="--input")
    if output is None and not as_json:
        raise typer.BadParameter("say where the answers go: -o FILE, or --json", param_hint="--input")
    if output:
        check_output(output, batch.ENDINGS)
    batch.complete_many(load_model(file), source, reading, k, output, as_json)


def similar(
    file: ModelFile,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The item's name or title.")],
    k: Many = 10,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Say which items go best with one item, whatever their popularity."""
    from cooccur.search import Search
    from cooccur.storage import load as load_model

    model = load_model(file)
    name = model.titles_.title
    item = Search(model).item(item)
    found = model.similar_items(item, k)
    if as_json:
        rows = [
            {"rank": rank, "item": s.item, "title": name(s.item), "score": s.score} for rank, s in enumerate(found, 1)
        ]
        print_json({"model": model.name, "item": item, "title": name(item), "similar": rows})
        return
    console().print(f"goes with {name(item)}, however popular by itself")
    print_suggestions(found)


def _complete_one(model: Model, items: list[str], exclude: list[str], k: int, explain: bool, as_json: bool) -> None:
    from cooccur.search import Search

    name, search = model.titles_.title, Search(model)
    basket, unknown = resolve(search, items)
    found = model.complete(basket, k, exclude=[search.item(item) for item in exclude])
    if not found.basket:
        say("warning: no item of the basket is known; this is what the model suggests to an empty one")
    reasons = [model.explain(found.basket, s.item) for s in found] if explain and found.basket else []
    if as_json:
        rows: list[dict[str, Any]] = [
            {"rank": rank, **asdict(s), "title": name(s.item)} for rank, s in enumerate(found, 1)
        ]
        for row, reason in zip(rows, reasons, strict=False):
            shares, together = (
                [{"item": item, "title": name(item), "share": share} for item, share in part]
                for part in (reason.shares, reason.hidden)
            )
            row["reason"] = {"prior": reason.prior, "shares": shares, "rest": reason.rest, "hidden": together}
        about: dict[str, Any] = {"model": model.name, "score_is": model.score_is, "basket": found.basket}
        about |= {"titles": [name(item) for item in found.basket], "unknown": unknown}
        print_json(about | {"suggestions": rows})
        return
    chance = all(s.probability is not None for s in found)
    what = f"score: {model.score_is}"
    if chance:
        what = "probability given the basket" + ("; reasons in log-odds" if reasons else "")
    console().print(f"{', '.join(map(name, found.basket)) or 'an empty basket'} · {what} ({model.name})")
    print_suggestions(found, reasons)
