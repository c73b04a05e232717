"""What a caller may say about a source, and which of it goes with which format."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.errors import ParameterError

FORMATS = ("lines", "pairs", "ratings", "wide", "csv", "parquet", "jsonl")
Column = str | int | None

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
}  # fmt: skip
_TEXT = {"header", "comment", "encoding", "separator"}
_LONG = {"record", "item", "rating", "threshold"}
_USES = {
    "lines": _TEXT,
    "pairs": _TEXT | {"record", "item"},
    "ratings": _TEXT | _LONG,
    "csv": _TEXT | _LONG,
    "wide": _TEXT | {"record", "threshold", "missing", "first"},
    "parquet": _LONG,
    "jsonl": _LONG | {"comment", "encoding"},
    "frame": _LONG,
    "lists": set[str](),
    "matrix": set[str](),
    "baskets": set[str](),
}


@dataclass(frozen=True)
class Threshold:
    """Which ratings count: a sign and a number.

    >>> str(Threshold.parse(">=4")), Threshold.parse("> 0").keeps(np.array([-1.0, 0.5])).tolist()
    ('>= 4', [False, True])
    """

    sign: str
    value: float

    @classmethod
    def parse(cls, text: str | Threshold) -> Threshold:
        """From text such as ">= 4" (also ">", "<", "<=").

        >>> Threshold.parse("< 2.5")
        Threshold(sign='<', value=2.5)
        """
        if isinstance(text, Threshold):
            return text
        match = re.fullmatch(r"\s*(>=|>|<=|<)\s*(\S+)\s*", str(text))
        value = number(match[2]) if match else math.nan
        if not match or math.isnan(value):
            raise ParameterError(f"threshold {str(text)!r} is not understood; write a sign and a number, as in '>= 4'")
        return cls(match[1], value)

    def keeps(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """(n,) ratings -> (n,) which of them count.

        >>> Threshold(">", 3).keeps(np.array([3.0, 4.0])).tolist()
        [False, True]
        """
        kept: npt.NDArray[np.bool_] = _SIGNS[self.sign](values, self.value)
        return kept

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"


@dataclass(frozen=True)
class Options:
    """Everything that `read` takes beside the source, with its default."""

    format: str | None = None
    separator: str | None = None
    header: bool | None = None
    record: Column = None
    item: Column = None
    rating: Column = None
    threshold: Threshold | None = None
    missing: str | None = None
    first: int = 0
    comment: str | None = "#"
    encoding: str = "utf-8"
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError(f"unknown format {self.format!r}; choose one of {', '.join(FORMATS)}")
        if self.first < 0:
            raise ParameterError(f"first is {self.first}; it is a number of columns, 0 or more")
        if self.separator is not None and (not self.separator or "\n" in self.separator):
            raise ParameterError(
                f"separator {self.separator!r} cannot part the fields of a line; leave it out to guess"
            )
        if self.format == "csv" and self.separator is not None and (len(self.separator) > 1 or self.separator == " "):
            raise ParameterError(
                f"csv needs a separator of one character that is no space, not {self.separator!r}; "
                "other separators go with pairs and ratings"
            )
        try:
            "a".encode(self.encoding)  # refuses what Python can look up but is no encoding of text, such as hex
        except (LookupError, ValueError):
            raise ParameterError(f"unknown encoding {self.encoding!r}; usual ones are utf-8 and latin-1") from None
        named = [c for c in (self.record, self.item, self.rating) if names_a_column(c)]
        if named and self.header is False:
            raise ParameterError(
                f"column {named[0]!r} has a name, but there is no header; count columns from 0 instead"
            )

    def check(self, kind: str) -> None:
        """Raise if something was said that this format cannot use."""
        always = {"format", "skip_bad"}
        for field in fields(self):
            if field.name in always | _USES[kind] or getattr(self, field.name) == field.default:
                continue
            others = " or ".join(name for name in FORMATS if field.name in _USES[name])
            raise ParameterError(f"{field.name} does not go with {kind}; leave it out, or read {others}")


def spelled(separator: str | None) -> str | None:
    """A separator by its name, as a command line wants it.

    >>> spelled("tab"), spelled("::")
    ('\\t', '::')
    """
    return {"tab": "\t", "\\t": "\t", "space": " ", "spaces": " "}.get(separator or "", separator)


def names_a_column(column: Column) -> bool:
    """Whether this is a name, and not a number counted from 0 (the command line gives numbers as text)."""
    return isinstance(column, str) and not column.isdecimal()


def number(text: str) -> float:
    """The finite number that the text spells, else NaN.

    >>> number(" 4.5 "), number("four"), number("inf")
    (4.5, nan, nan)
    """
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
