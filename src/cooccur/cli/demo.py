"""`cooccur demo`: from baskets to a suggestion with its reasons, in plain words, on the planted shop."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cooccur.cli.options import Json, Threads
from cooccur.cli.output import bar, check_output, console, indented, print_json, progress

if TYPE_CHECKING:
    from cooccur.models.answers import Completion, Reason

MODELS = ("popularity", "lwcvg", "ease", "dem")
RECORDS = 15_000
BASKET = ("flour", "eggs", "coffee filters")


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FILE", help="Keep the learned model in this file.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the baskets and the test.")] = 0,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Watch it learn from a shop's baskets and complete one. Takes less than a minute."""
    if keep:
        check_output(keep)
    with progress(f"filling {RECORDS:,} baskets") as report:
        from cooccur.evaluation.protocol import evaluate
        from cooccur.models import make_model
        from cooccur.synthetic import planted_shop

        baskets = planted_shop().sample(RECORDS, seed=seed)
        result = evaluate(baskets, MODELS, fold=0, seed=seed, dataset="planted shop", progress=report)
        board = sorted(result["summary"], key=lambda row: -row["top1_mean"])
        model = make_model(board[0]["label"]).fit(baskets)
        if model.interrupted:
            raise KeyboardInterrupt
        found = model.complete(BASKET, 3)
        reasons = [model.explain(BASKET, suggestion.item) for suggestion in found]
    if keep:
        model.save(keep)
    if as_json:
        _as_json(board, found, reasons, keep)
    else:
        _tell(baskets, board, result["rows"][0]["n_test"], found, reasons, keep)


def _tell(
    baskets: Any, board: list[dict[str, Any]], tests: int, found: Completion, reasons: list[Reason], keep: Path | None
) -> None:
    out = console()

    def head(words: str) -> None:
        out.print(f"\n{words}", style="bold")

    out.print(
        f"A shop of {baskets.n_items} products, and {len(baskets):,} baskets that customers took home. "
        "The shop is made up, so we know what goes with what in it; the program does not."
    )
    head("1. Three of the baskets")
    for record in range(3):
        indented(out, ", ".join(baskets.names(record)), 3)
    head("2. Which model guesses best?")
    indented(
        out,
        f"The models learn from four fifths of the baskets. From {tests:,} others we hide one product, "
        "and each model says what it would look for. How often it is right:",
        3,
    )
    out.print(f"   {'':12}{'first guess':>12}{'in first ten':>14}", style="dim")
    for row in board:
        share = row["top10_mean"] / 100
        out.print(f"   {row['label']:12}{row['top1_mean']:11.1f}%{row['top10_mean']:13.1f}%  {bar(share)}")
    indented(
        out,
        "lwcvg and ease know which two products meet in a basket. Only dem, the deep one, can see a recipe: in this "
        "shop flour and eggs together call for maple syrup, though neither does alone.",
        3,
    )
    head(f"3. A basket holds {_listed(found.basket)}. What is missing?")
    indented(out, f"{board[0]['label']}, the best at the first guess, says:", 3)
    for rank, (suggestion, reason) in enumerate(zip(found, reasons, strict=True), 1):
        chance = suggestion.probability
        share = suggestion.score / found.suggestions[0].score if chance is None else chance
        out.print(f"   {rank}. {suggestion.item:14}{bar(share)}" + ("" if chance is None else f" {chance:.0%}"))
        indented(out, in_words(reason), 6, "dim")
    head("What to type next")
    if keep:
        ask = ("complete", str(keep), "pasta sauce", "parmesan", "--explain"), ("similar", str(keep), "pasta")
        steps = [(shlex.join(["cooccur", *words]), "") for words in ask]
    else:
        steps = [("cooccur demo --keep shop.model", "keep this model, to ask it more")]
    steps += [
        ("cooccur describe FILE", "look at baskets of your own"),
        ("cooccur evaluate FILE -m lwcvg -m dem", "see which model suits them"),
        ("cooccur --help", "everything else"),
    ]
    for command, what in steps:
        out.print(f"   {command:40}{what}".rstrip(), soft_wrap=True)


def in_words(reason: Reason) -> str:
    """The effects of a reason as a sentence.

    >>> from cooccur.models.answers import Reason
    >>> in_words(Reason("coffee", 0.9, 0.0, (("filters", 0.7), ("milk", 0.2)), 0.0))
    'because filters (+0.70) and milk (+0.20) go with it'
    >>> in_words(Reason("syrup", 2.9, -1.0, (("flour", 0.1),), 3.8, (("flour", 3.0),)))
    'because flour (+3.10) goes with it, in combination'
    >>> in_words(Reason("coffee", 0.2, 0.2, (), 0.0))
    'because many customers buy it'
    """
    strong = [(item, value) for item, value in reason.effects if value > 0.1 * max(abs(v) for _, v in reason.effects)]
    if not strong:
        return "because many customers buy it"
    together = sum(value for _, value in reason.hidden) > sum(value for _, value in reason.shares)
    return (
        f"because {_listed([f'{item} ({value:+.2f})' for item, value in strong])} "
        f"{'go' if len(strong) > 1 else 'goes'} with it" + (", in combination" if together else "")
    )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]


def _as_json(board: list[dict[str, Any]], found: Completion, reasons: list[Reason], keep: Path | None) -> None:
    print_json(
        {
            "leaderboard": [{key: row[key] for key in ("label", "top1_mean", "top10_mean")} for row in board],
            "basket": found.basket,
            "suggestions": [
                {"item": s.item, "score": s.score, "reason": in_words(reason)}
                for s, reason in zip(found, reasons, strict=True)
            ],
            "file": str(keep) if keep else None,
        }
    )
