"""Suggestions and their reasons on the terminal: a score taken apart into bars on both sides of an axis.

1  maple syrup            81.3%       +1.47  │██████▋
     by itself                 ▐████  -1.26  │
     flour                           -0.06  │
     the items together               +2.79  │████████████▌
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from cooccur.cli.output import bar, console, decimals

if TYPE_CHECKING:
    from rich.text import Text

    from cooccur.models.answers import Completion, Reason

SHOWN = 5  # items that are named in a reason; the others are added up
WIDEST = 48  # columns of bars
INDENT = 2  # of the parts below an item


def print_suggestions(found: Completion, reasons: list[Reason] | None = None) -> None:
    """A table with rank, item, score and bar; with `reasons`, each score taken apart below it."""
    if reasons:
        _print_reasons(found, reasons)
        return
    from rich.table import Table

    scores = [s.score for s in found]
    lowest, highest = min([0.0, *scores]), max([0.0, *scores])
    digits = decimals(scores)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    for justify, style in (("right", "dim"), ("left", ""), ("right", ""), ("left", "cyan")):
        table.add_column(justify=justify, style=style, overflow="fold")  # type: ignore[arg-type]
    table.columns[3].no_wrap = True
    for rank, suggestion in enumerate(found, 1):
        share = (suggestion.score - lowest) / (highest - lowest) if highest > lowest else 0.0
        p = suggestion.probability
        table.add_row(
            str(rank), suggestion.title or suggestion.item,
            f"{suggestion.score:,.{digits}f}" if p is None else f"{100 * p:.1f}%", bar(share if p is None else p),
        )  # fmt: skip
    console().print(table)


def parts(reason: Reason, width: int = 80, shown: int = SHOWN) -> list[tuple[str, float]]:
    """The score taken apart, in words that mind the width; it is their sum. What is nothing is left out.

    >>> from cooccur.models.answers import Reason
    >>> parts(Reason("syrup", 2.9, -1.0, (("flour", 0.1), ("tea", 0.0)), 3.8, (("flour", 3.0), ("tea", 0.1))))
    [('by itself', -1.0), ('because of flour', 0.1), ('the items together, flour above all', 3.8)]
    """
    title = reason.titles.title
    size = max([abs(reason.prior), abs(reason.rest), *(abs(value) for _, value in reason.shares)])
    items = [(item, value) for item, value in reason.shares if abs(value) > 1e-6 * size]
    few = items if len(items) <= shown + 1 else items[:shown]  # one that is left over may as well be named
    found = [("by itself", reason.prior), *((f"because of {title(item)}", value) for item, value in few)]
    if other := items[len(few) :]:
        found.append((f"because of {len(other)} others", sum(value for _, value in other)))
    strong = [
        title(item) for item, value in reason.hidden if value * reason.rest > 0 and abs(value) >= 0.5 * _largest(reason)
    ]
    # With most of a basket named, the words would say nothing.
    together = f"the items together, {' and '.join(strong)} above all"
    if not strong or len(strong) >= len(reason.hidden) or len(together) > width:
        together = "the items together"
    found.append((together, reason.rest))
    return [(words, value) for words, value in found if abs(value) > 1e-6 * size]


def _largest(reason: Reason) -> float:
    return max(abs(value) for _, value in reason.hidden)


def _print_reasons(found: Completion, reasons: list[Reason]) -> None:
    from rich.text import Text

    out = console()
    widest = max(24, out.width // 2)  # of the words; the bars have the rest
    taken = [parts(reason, widest - INDENT) for reason in reasons]
    values = [value for rows in taken for _, value in rows] + [reason.score for reason in reasons]
    digits = decimals(values) if max(map(abs, values)) < 1 else min(2, decimals(values))
    number = max(len(f"{value:+,.{digits}f}") for value in values)
    taken = [[(what, value) for what, value in rows if round(value, digits)] for rows in taken]  # no bar for 0.00
    rank = len(str(len(found)))
    chances = ["" if s.probability is None else f"  {100 * s.probability:4.1f}%" for s in found]
    heads = [(s.title or s.item, chance) for s, chance in zip(found, chances, strict=True)]
    words = [INDENT + len(words) for rows in taken for words, _ in rows]
    label = min(widest, max(words + [len(name) + len(chance) for name, chance in heads]))
    axis = Axis(min(values), max(values), min(WIDEST, out.width - rank - label - number - 6))
    for place, ((name, chance), reason, rows) in enumerate(zip(heads, reasons, taken, strict=True), 1):
        head = cut(name, label - len(chance)).ljust(label - len(chance)) + chance
        line = Text.assemble((f"{place:>{rank}}  ", "dim"), (f"{head}  {reason.score:+{number},.{digits}f}  ", "bold"))
        lines = [line + axis.bar(reason.score, "bold")]
        for what, value in rows:
            left = " " * (rank + 2 + INDENT) + cut(what, label - INDENT).ljust(label - INDENT)
            lines.append(Text(f"{left}  {value:+{number},.{digits}f}  ") + axis.bar(value))
        out.print(*lines, *([] if place == len(heads) else [""]), sep="\n", soft_wrap=True)


class Axis:
    """Bars to the left of an axis for what is negative, to the right for what is positive, all to one scale.

    >>> axis = Axis(-1.0, 2.0, 7)
    >>> [axis.bar(value).plain for value in (-1.0, 2.0, 0.5)]
    ['██│', '  │████', '  │█']
    """

    def __init__(self, lowest: float, highest: float, width: int) -> None:
        low, high, cells = max(0.0, -lowest), max(0.0, highest), max(2, width - 1)
        left = min(cells - (high > 0), math.ceil(cells * low / (low + high))) if low else 0
        sides = [side / size for side, size in ((left, low), (cells - left, high)) if size]
        self.scale = min(sides, default=0.0)  # columns a unit
        self.left = math.ceil(low * self.scale - 1e-9)

    def bar(self, value: float, style: str = "") -> Text:
        """The axis with one bar, green or red if no style is given."""
        from rich.text import Text

        fancy = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
        columns = abs(value) * self.scale
        left = right = ""
        if value < 0:  # there are half characters for bars that end at the left, and no finer ones
            halves = max(1, round(2 * columns))
            left = "▐" * (halves % 2) + "█" * (halves // 2) if fancy else "-" * math.ceil(halves / 2)
        elif value > 0:
            right = bar(columns / WIDEST, WIDEST) if fancy else "+" * math.ceil(columns)
        middle = "│" if fancy else "|"
        return Text.assemble((left.rjust(self.left), style or "red"), (middle, "dim"), (right, style or "green"))


def cut(text: str, width: int) -> str:
    """The text, shortened to so many characters.

    >>> cut("Toy Story", 6)
    'Toy S…'
    """
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
