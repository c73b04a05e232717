"""Lines of text -> fields -> pairs: the formats lines, pairs, ratings, csv and wide.

Pairs, ratings and csv are one mechanism, a table with chosen columns; csv may have quoted fields besides.
A block of lines stays in polars throughout; bad lines are masks over it, so the fast way is also the careful one.
"""

from __future__ import annotations

import csv
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from cooccur.reading.collect import Check, Codes, Collector, Numbers, floats
from cooccur.reading.guess import BLANK, BRACKETS, Plan, spoken
from cooccur.reading.options import Threshold
from cooccur.reading.report import Tally, shown
from cooccur.reading.streams import Blocks

if TYPE_CHECKING:
    import polars as pl

_QUOTED_ROWS = 65_536
_IN_BRACKETS = r"""'[^']*'|"[^"]*"|[^,\[\]\s][^,\[\]]*"""  # an item of a list as Python writes it
Rows = Iterator[tuple[Numbers, "pl.Series"]]


def read_text(
    blocks: Blocks, plan: Plan, threshold: Threshold | None, missing: str | None, comment: str | None, into: Collector
) -> None:
    """All blocks of a text file, taken apart as the plan says, into the collector.

    >>> into = Collector(Tally("a.dat"))
    >>> read_text(iter([(1, "a b\\nb c\\n")]), Plan("lines", " ", False), None, None, "#", into)
    >>> list(into.finish())
    [['a', 'b'], ['b', 'c']]
    """
    first = plan.header
    for numbers, fields in _rows(blocks, plan, comment, into.tally):
        if first and len(numbers):
            numbers, fields, first = numbers[1:], fields[1:], False
        if not len(numbers):
            continue
        if plan.format == "lines":
            _add_lists(numbers, fields, [], plan.separator, into)
        elif plan.format == "wide":
            _add_wide(numbers, fields, plan, threshold or Threshold(">", 0), missing or "", into)
        elif plan.cell is not None and plan.columns is not None:
            lists = _items(fields.list.get(plan.columns.item, null_on_oob=True), plan.cell)
            checks = [_width_check(fields, plan)]
            record = None
            if plan.columns.record is not None:
                record = into.records.encode(fields.list.get(plan.columns.record, null_on_oob=True))
                checks.append((record < 0, _no_record(fields, plan)))
            _add_lists(numbers, lists, checks, plan.cell, into, record)
        else:
            _add_table(numbers, fields, plan, threshold, into)


def plain_lines(start: int, text: str, comment: str | None, tally: Tally) -> tuple[Numbers, pl.Series]:
    """The lines of a block that are neither blank nor comments, and their numbers.

    >>> numbers, lines = plain_lines(7, "a b\\n\\n# c\\nd", "#", Tally("a.txt"))
    >>> numbers.tolist(), lines.to_list()
    ([7, 10], ['a b', 'd'])
    """
    import polars as pl

    lines = pl.Series([text.removesuffix("\n")]).str.split("\n").explode()
    numbers = np.arange(start, start + len(lines))
    bare = lines.str.strip_chars_start(BLANK)
    blank = bare == ""
    comments = bare.str.starts_with(comment) if comment else pl.repeat(False, len(lines), eager=True)
    tally.blank += int(blank.sum())
    tally.comments += int(comments.sum())
    keep = ~(blank | comments)
    return (numbers, lines) if keep.all() else (numbers[keep.to_numpy()], lines.filter(keep))


def _rows(blocks: Blocks, plan: Plan, comment: str | None, tally: Tally) -> Rows:
    for start, text in blocks:
        if plan.quoted and '"' in text:
            yield from _quoted_rows(itertools.chain([(start, text)], blocks), plan, comment, tally)
            return
        numbers, lines = plain_lines(start, text, comment, tally)
        if plan.separator == " ":
            lines = lines.str.replace_all(r"[ \t]+", " ").str.strip_chars(" ")
        yield numbers, lines.str.split(plan.separator)


def _items(cells: pl.Series, separator: str) -> pl.Series:
    """Cells with lists -> lists of items.

    >>> import polars as pl
    >>> _items(pl.Series(["['tea', 'egg, boiled']", "[]"]), BRACKETS).to_list()
    [['tea', 'egg, boiled'], ['']]
    """
    import polars as pl

    if separator != BRACKETS:
        return cells.str.split(separator)
    items = cells.str.replace(r"^\s*\[\s*\]\s*$", "''").str.extract_all(_IN_BRACKETS)
    return items.list.eval(pl.element().str.strip_chars("'\" "))


def _add_lists(
    numbers: Numbers, lists: pl.Series, checks: list[Check], separator: str, into: Collector,
    record: Codes | None = None,
) -> None:  # fmt: skip
    """Each row is a record: its fields are the items. Empty fields at the end are only separators."""
    texts = lists.explode()
    lengths = lists.list.len().fill_null(1).to_numpy()
    owner = np.repeat(np.arange(len(numbers)), lengths)
    item = into.items.encode(texts)
    place = np.arange(len(item))
    last = np.full(len(numbers), -1)
    last[owner[item >= 0]] = place[item >= 0]
    used = place <= last[owner]
    into.tally.blank += int(((last < 0) & ~_any(checks, len(numbers))).sum())
    item, owner = item[used], owner[used]
    empty = np.zeros(len(numbers), dtype=np.bool_)
    empty[owner[item < 0]] = True

    def no_name(row: int) -> str:
        return f"an empty item name in {shown(separator.join(lists[row]))}, expected a name between the separators"

    into.add(numbers, item, owner=owner, record=record, checks=[*checks, (empty, no_name)])


def _add_table(numbers: Numbers, fields: pl.Series, plan: Plan, threshold: Threshold | None, into: Collector) -> None:
    """Each row is a pair, or a rating."""
    columns = plan.columns
    assert columns is not None
    assert columns.record is not None
    record = into.records.encode(fields.list.get(columns.record, null_on_oob=True))
    item = into.items.encode(fields.list.get(columns.item, null_on_oob=True))

    def line(row: int) -> str:
        return shown(plan.separator.join(fields[row]))

    checks: list[Check] = [
        _width_check(fields, plan),
        (record < 0, _no_record(fields, plan)),
        (item < 0, lambda row: f"an empty item name in {line(row)}, expected a name"),
    ]
    keep = None
    if columns.rating is not None:
        rating = fields.list.get(columns.rating, null_on_oob=True)
        values = floats(rating)
        checks.append((np.isnan(values), lambda row: f"the rating {shown(rating[row])} in {line(row)} is not a number"))
        keep = threshold.keeps(values) if threshold else None
    into.add(numbers, item, record=record, keep=keep, checks=checks)


def _add_wide(
    numbers: Numbers, fields: pl.Series, plan: Plan, threshold: Threshold, missing: str, into: Collector
) -> None:
    """Each row is a record, each column an item; infinity stands for a missing value."""
    import polars as pl

    wrong, say_width = _width_check(fields, plan)
    right = ~wrong
    positions = np.array([position for position, _ in plan.items])
    code = into.items.encode(pl.Series([name for _, name in plan.items]))
    values = np.full((len(numbers), len(positions)), np.inf)
    values[right] = floats(fields.filter(pl.Series(right)).explode(), missing).reshape(-1, plan.width)[:, positions]
    no_number = np.isnan(values)

    def say_cell(row: int) -> str:
        position = positions[no_number[row].argmax()]
        return f"{shown(fields[row][int(position)].strip())} in column {position}, counted from 0, is not a number"

    checks: list[Check] = [(wrong, say_width), (no_number.any(axis=1), say_cell)]
    record: Codes | None = None
    if plan.columns is not None and plan.columns.record is not None:
        record = into.records.encode(fields.list.get(plan.columns.record, null_on_oob=True))
        checks.append((record < 0, _no_record(fields, plan)))
    owner, column = np.nonzero(values < np.inf)
    into.add(
        numbers, code[column], owner=owner, record=record, keep=threshold.keeps(values[owner, column]), checks=checks
    )


def _no_record(fields: pl.Series, plan: Plan) -> Callable[[int], str]:
    return lambda row: f"an empty record name in {shown(plan.separator.join(fields[row]))}, expected a name"


def _width_check(fields: pl.Series, plan: Plan) -> Check:
    widths = fields.list.len().to_numpy()

    def say(row: int) -> str:
        count = f"{widths[row]} field{'' if widths[row] == 1 else 's'}"
        expected = f"{plan.width} parted by {spoken(plan.separator)} (else say --separator)"
        return f"{count} in {shown(plan.separator.join(fields[row]))}, expected {expected}"

    return widths != plan.width, say


def _any(checks: list[Check], n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    bad = np.zeros(n, dtype=np.bool_)
    for mask, _ in checks:
        bad |= mask
    return bad


class _Feed:
    """Lines for the csv reader. Remembers those of the row at hand, so that a row that fails can be gone back on."""

    def __init__(self, blocks: Blocks, comment: str | None, tally: Tally) -> None:
        self.lines = (
            (number, line)
            for start, text in blocks
            for number, line in enumerate(text.removesuffix("\n").split("\n"), start)
        )
        self.comment, self.tally = comment, tally
        self.row: list[tuple[int, str]] = []
        self.again: deque[tuple[int, str]] = deque()

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        while True:
            number, line = self.again.popleft() if self.again else next(self.lines)
            if not self.row:
                bare = line.lstrip(BLANK)
                if not bare:
                    self.tally.blank += 1
                    continue
                if self.comment and bare.startswith(self.comment):
                    self.tally.comments += 1
                    continue
            self.row.append((number, line))
            return line + "\n"

    def go_back(self) -> None:
        """All but the first line of the row at hand come again."""
        self.again.extendleft(reversed(self.row[1:]))


def _quoted_rows(blocks: Blocks, plan: Plan, comment: str | None, tally: Tally) -> Rows:
    """The same as splitting, for csv with quotes: separators, doubled quotes and line breaks inside them are text."""
    feed = _Feed(blocks, comment, tally)
    reader = csv.reader(feed, delimiter=plan.separator, strict=True, skipinitialspace=True)
    numbers: list[int] = []
    rows: list[list[str]] = []
    while True:
        feed.row.clear()
        problem = None
        try:
            rows.append(next(reader))
            numbers.append(feed.row[0][0])
        except StopIteration:
            break
        except csv.Error as error:
            # over several lines: an open quote that met the next one
            never = len(feed.row) > 1 or "end of data" in str(error) or "field limit" in str(error)
            problem = "a quote that is never closed" if never else "a quote in the wrong place"
        if problem or len(rows) == _QUOTED_ROWS:
            yield _rows_of(numbers, rows)  # rows before the bad line first, so that the first problem is the first told
            numbers, rows = [], []
        if problem:
            number, line = feed.row[0]
            feed.go_back()
            tally.bad(number, f"{problem} in {shown(line)}")
    yield _rows_of(numbers, rows)


def _rows_of(numbers: list[int], rows: list[list[str]]) -> tuple[Numbers, pl.Series]:
    import polars as pl

    # grouping flat fields is many times faster than handing polars the nested lists
    row = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    flat = pl.DataFrame({"row": row, "field": pl.Series(list(itertools.chain(*rows)), dtype=pl.String)})
    return np.array(numbers, dtype=np.int64), flat.group_by("row", maintain_order=True).agg("field")["field"]
