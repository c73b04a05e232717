"""How the cells of all tables are written: Markdown, LaTeX, plain text, JSON.

>>> print(pipes(["model", "Top@1"], [[code("cvg"), "13.50"]], left=1))
| model | Top@1 |
| ----- | ----: |
| `cvg` | 13.50 |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def pipes(header: list[str], rows: list[list[str]], left: int) -> str:
    """A table of Markdown; the first `left` columns flush left, the others flush right."""
    first, *rest = _padded(header, rows, left)
    rule = ["-" * (len(text) - 1) + "-:"[j >= left] for j, text in enumerate(first)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (first, rule, *rest))


def aligned(header: list[str], rows: list[list[str]], left: int) -> str:
    """The same as plain text."""
    first, *rest = _padded(header, rows, left)
    return "\n".join("  ".join(row).rstrip() for row in (first, ["-" * len(text) for text in first], *rest))


def _padded(header: list[str], rows: list[list[str]], left: int) -> list[list[str]]:
    """All cells of a column as wide as the widest; the first `left` columns flush left, the figures flush right."""
    table = [header, *rows]
    widths = [max(3, *(len(row[j]) for row in table)) for j in range(len(header))]
    return [
        [
            text.ljust(width) if j < left else text.rjust(width)
            for j, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in table
    ]


def seconds(value: float) -> str:
    """Three figures or so.

    >>> seconds(0.123), seconds(12.34), seconds(1234.5)
    ('0.12', '12.3', '1,234')
    """
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def code(text: str) -> str:
    """As code in a cell of Markdown."""
    return "`" + text.replace("`", "'").replace("|", r"\|") + "`"


_TEX = {c: rf"\{c}" for c in "&%$#_{}"} | {"<": "$<$", ">": "$>$", "±": r"$\pm$"}
_TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def tex(text: str) -> str:
    r"""As it must be written in LaTeX.

    >>> print(tex("5% ± 1"))
    5\% $\pm$ 1
    """
    return "".join(_TEX.get(character, character) for character in text)


def plain(value: Any) -> Any:
    """Only what JSON knows: numpy's types made Python's, and None for a number that is none."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
