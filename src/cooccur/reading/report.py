"""What a reading found: counted while it runs (`Tally`), told when it is done (`Report`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from cooccur.baskets import Baskets
from cooccur.errors import InputError

_ALONE = (
    "no record has two items, so there is nothing to learn; "
    "say --record and --item if these are other columns, or another --separator or --format"
)
_REMEDY = "mend the {} or add --skip-bad to leave it out"


@dataclass(frozen=True)
class Report:
    """What was read, what was left out and what was guessed.

    `lines` counts everything that was looked at (rows, for a frame). `skipped` are bad lines, the first of them
    described by `first_bad`; `below_threshold` are ratings that do not count; `notes` are whole sentences. `warning` is
    given if no record has two items.

    >>> from cooccur.reading import read_report
    >>> print(read_report([["milk", "bread"], ["bread", "bread"]])[1])
    read as lists: 2 lines, 2 records, 2 items, 3 occurrences
    left out: 1 duplicate
    """

    format: str
    separator: str | None
    header: bool
    lines: int
    records: int
    items: int | None  # None: not counted, the file was read in pieces
    occurrences: int | None
    duplicates: int
    blank: int
    comments: int
    skipped: int
    below_threshold: int
    first_bad: str | None
    notes: tuple[str, ...]
    warning: str | None = None

    def __str__(self) -> str:
        counts = [
            (self.lines, "line"),
            (self.records, "record"),
            (self.items, "item"),
            (self.occurrences, "occurrence"),
        ]
        left_out = [
            (self.below_threshold, "rating", " outside the threshold"), (self.duplicates, "duplicate", ""),
            (self.comments, "comment line", ""), (self.blank, "blank line", ""), (self.skipped, "bad line", ""),
        ]  # fmt: skip
        out = ", ".join(_count(n, noun) + rest for n, noun, rest in left_out if n)
        told = [f"read as {self.format}: {', '.join(_count(n, noun) for n, noun in counts if n is not None)}"]
        if out:
            told.append(f"left out: {out}{f' (the first: {self.first_bad})' if self.first_bad else ''}")
        if self.notes:
            told.append("note: " + ". ".join(self.notes))
        if self.warning:
            told.append("warning: " + self.warning)
        return "\n".join(told)


@dataclass
class Tally:
    """The running counts. `unit` is what the source consists of: a "line" or a "row"."""

    source: str
    skip_bad: bool = False
    unit: str = "line"
    lines: int = 0
    blank: int = 0
    comments: int = 0
    skipped: int = 0
    below_threshold: int = 0
    first_bad: str | None = None
    notes: list[str] = field(default_factory=list)

    def bad(self, number: int, problem: str, count: int = 1) -> None:
        """A bad line, the first of `count`: raise, or count it if bad lines are to be skipped."""
        source, line = (self.source, number) if self.unit == "line" else (f"{self.source}, {self.unit} {number}", None)
        if not self.skip_bad:
            raise InputError(problem, source=source, line=line, remedy=_REMEDY.format(self.unit))
        self.first_bad = self.first_bad or str(InputError(problem, source=source, line=line))
        self.skipped += count

    def report(self, baskets: Baskets, kind: str, separator: str | None = None, header: bool = False) -> Report:
        alone = _ALONE if baskets.nnz and baskets.lengths.max() < 2 else None
        return Report(
            kind, separator, header, self.lines, len(baskets), baskets.n_items, baskets.nnz, baskets.duplicates,
            self.blank, self.comments, self.skipped, self.below_threshold, self.first_bad, tuple(self.notes), alone,
        )  # fmt: skip


def shown(text: str, longest: int = 60) -> str:
    """The text in quotes, shortened, on one line.

    >>> shown("a" * 100, 10)
    "'aaaaaaa...'"
    """
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
