"""What is in a text file: its format, separator, header and columns, from its ending and its first thousand lines.

Whatever is not told is guessed, and each guess leaves a sentence in the report.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from cooccur.errors import InputError
from cooccur.reading.columns import Columns, choose, numbers_rows, there_are, told, usual
from cooccur.reading.options import Options, names_a_column, number
from cooccur.reading.report import Tally, shown

BLANK = " \t\r\v\f"
BRACKETS = "[]"  # what "parts" the items of a list as Python writes it
_SEPARATORS = ("\t", ";", ",", "|", "::")  # of two that fit, the first: commas may be decimal, "::" part of a name
_ENDINGS = {"csv": "csv", "tsv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces", BRACKETS: "commas in brackets"}
# Below this share of lines of one width the lines are baskets; above it, the others are bad lines of a table.
_CONSTANT = 0.95
_WIDE = 8
_ZERO_ONE = {"", "0", "1", "0.0", "1.0"}


@dataclass(frozen=True)
class Plan:
    """How to take the lines apart.

    width : fields a line must have, 0 for any.
    columns : of a long table.
    cell : for a table of one list a row: what parts the items in the cell, or BRACKETS.
    items : for a wide table: (position, name) of each item column.
    """

    format: str
    separator: str
    header: bool
    width: int = 0
    columns: Columns | None = None
    cell: str | None = None
    items: tuple[tuple[int, str], ...] = ()
    quoted: bool = False


def spoken(separator: str) -> str:
    """A separator as a sentence names it.

    >>> spoken(","), spoken("::")
    ('commas', "'::'")
    """
    return _NAMES.get(separator, repr(separator))


def by_ending(name: str) -> str | None:
    """The format that a file's ending tells, if it tells one; .gz and .zst are passed over.

    >>> by_ending("shop.csv.gz"), by_ending("retail.dat")
    ('csv', None)
    """
    path = PurePath(name.lower())
    path = path.with_suffix("") if path.suffix in (".gz", ".zst", ".zstd") else path
    return _ENDINGS.get(path.suffix[1:])


def plan(lines: Sequence[str], options: Options, tally: Tally) -> Plan:
    """From the first lines of the file. "jsonl" gives a plan without columns: its keys are looked at there.

    >>> plan(["1::7::5", "1::8::3"], Options(), Tally("a.dat")).columns
    Columns(record=0, item=1, rating=2)
    """
    lines = [line for line in lines if line.strip(BLANK) and not _comment(line, options.comment)]
    if not lines:
        raise InputError("nothing but blank lines and comments", source=tally.source, remedy="check the file")
    if options.format == "jsonl" or (options.format is None and _looks_like_json(lines[0], options, tally)):
        return Plan("jsonl", "", False)
    separator = options.separator or _separator(lines, options.format)
    rows = _split(lines, separator, options.format in (None, "csv"))
    kind = options.format or _format(rows, lines, separator, options, tally)
    options.check(kind)
    rows = _split(lines, separator, kind == "csv")
    if kind == "lines":
        return Plan("lines", separator, bool(options.header))
    header = options.header if options.header is not None else _header(rows, kind, options, tally)
    names = [name.strip() for name in rows[0]] if header else None
    width = len(names) if names else _width(rows)[0]
    if kind == "wide":
        return _wide(names, [row for row in rows[header:] if len(row) == width], width, separator, options, tally)
    return _long(Plan(kind, separator, header, width, quoted=kind == "csv"), rows, names, options, tally)


def _long(plan: Plan, rows: list[list[str]], names: list[str] | None, options: Options, tally: Tally) -> Plan:
    """The columns of pairs, ratings and csv."""
    kind, width, source = plan.format, plan.width, tally.source
    rated = kind == "ratings" or options.rating is not None or options.threshold is not None
    item = told(options.item, names, width, source) if width > 1 or kind != "csv" else 0
    others = [name for position, name in enumerate(names or ()) if position != item]
    if kind == "csv" and item is not None and options.record is None and usual(others, "record") is None:
        if rated:
            raise InputError("a list in each row has no rating", source=source, remedy="say --record as well")
        cells = [row[item] for row in rows[plan.header :] if len(row) > item]
        cell = next((c for c in "|;, " if any(c in text.strip() for text in cells)), None)
        cell = BRACKETS if _in_brackets(cells) else cell
        return _lists(plan, Columns(None, item, None), cell, names, tally)
    by_names = kind == "csv" and names is not None and width > 2 + rated
    cell = None
    may_list = kind == "csv" or (kind == "pairs" and options.format is None)  # lists without quotes look like pairs
    listed = may_list and not rated and options.record is None
    if listed and item is None and usual(names or (), "item") is None:
        item, cell = _column_of_lists(rows[plan.header :], width, usual(names or (), "record"))
        options = replace(options, item=item)
    columns = choose(names, width, options, source, rated=rated, position=not by_names)
    if columns.record is None:
        remedy = f"{there_are(names, width)}; say --record and --item, or --format lines if each line is one basket"
        raise InputError("no column looks like the record", source=source, remedy=remedy)
    if listed:
        cell = _lists_beside(columns, rows[plan.header :]) or cell
    if cell:
        return _lists(plan, columns, cell, names, tally)
    if kind == "pairs" and options.record is None and options.item is None:
        width = 2
    if names:
        chosen = ", ".join(f"{k} = {names[c]}" for k, c in columns._asdict().items() if c is not None)
        tally.notes.append(f"columns by the header: {chosen}")
    unused = usual(names, "rating") if names else None
    if rated and options.threshold is None:
        tally.notes.append("no threshold, so every rating counts; say --threshold '>= 4' to keep the high ones")
    elif not rated and names and unused is not None and unused not in columns:
        tally.notes.append(f"column {names[unused]} is not used; say --threshold '>= 4' to keep high ratings")
    return replace(plan, width=width, columns=columns)


def _lists(plan: Plan, columns: Columns, cell: str | None, names: list[str] | None, tally: Tally) -> Plan:
    """A table of one basket a row."""
    parted = f"parted by {spoken(cell)}" if cell else "one item each"
    column = names[columns.item] if names else columns.item
    otherwise = "" if columns.record is None else "; if it is one item, say --record"
    tally.notes.append(f"each cell of column {column} is one basket, {parted}{otherwise}")
    return replace(plan, columns=columns, cell=cell or "|")


def _column_of_lists(rows: list[list[str]], width: int, record: int | None) -> tuple[int | None, str | None]:
    """The column that holds lists beside one of ids, and what parts the items, if there is one.

    `record` : the column with a usual name of a record; `basket` may as well be the name of the items, and then they
    may stand beside names that come again, as of a customer.

    >>> _column_of_lists([["7", "tea,milk"], ["8", "tea,mint"]], 2, record=1)
    (1, ',')
    """
    columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
    ids = [place for place, cells in enumerate(columns) if len(set(cells)) == len(cells)]
    for place, cells in enumerate(columns):
        beside_ids = any(other != place for other in ids)
        if (beside_ids or place == record) and (mark := _parted(cells, different=beside_ids)):
            return place, mark
    return None, None


def _lists_beside(columns: Columns, rows: list[list[str]]) -> str | None:
    """What parts the items, if no record's name stands twice and the cells beside look like lists."""
    assert columns.record is not None
    pairs = [(row[columns.record], row[columns.item]) for row in rows if len(row) > max(columns.record, columns.item)]
    return _parted([cell for _, cell in pairs]) if len({record for record, _ in pairs}) == len(pairs) else None


def _parted(cells: Sequence[str], *, different: bool = True) -> str | None:
    """What parts the items, if these look like lists: a quarter of them hold it, and most of the parts are in several
    of them (a title with a comma in it would come again, and most of its parts would not). If the lists are known to
    be of `different` records, it is also enough that most hold a separator and most are not like another.

    >>> _parted(["tea, mint", "tea, milk", "milk"])
    ','
    >>> _parted(["Birds, The", "Birds, The"]), _parted(["Birds, The", "Big Sleep, The"], different=False)
    (None, None)
    """
    if _in_brackets(cells):
        return BRACKETS
    holding = {mark: sum(mark in cell for cell in cells) for mark in "|;,"}
    mark = next((mark for share in (2, 4) for mark, n in holding.items() if share * n > len(cells)), None)
    if mark is None or (different and 2 * min(holding[mark], len(set(cells))) > len(cells)):
        return mark
    found = Counter(part.strip() for cell in set(cells) for part in set(cell.split(mark)))
    return mark if 2 * sum(count > 1 for count in found.values()) > len(found) else None


def _in_brackets(cells: Sequence[str]) -> bool:
    return bool(cells) and all(re.fullmatch(r"\s*\[.*\]\s*", cell, re.DOTALL) for cell in cells)


def _wide(
    names: list[str] | None, rows: list[list[str]], width: int, separator: str, options: Options, tally: Tally
) -> Plan:
    record = told(options.record, names, width, tally.source)
    if record is None and not options.first and width > 1 and _first_names(names, rows):
        record = 0
        column = f" {names[0]}" if names and names[0] else ""
        tally.notes.append(f"the first column{column} names the records and is no item")
    positions = [position for position in range(options.first, width) if position != record]
    if not positions:
        problem = f"{width} columns, and the first {options.first} are passed over: no item is left"
        raise InputError(problem, source=tally.source, remedy="choose a smaller --first")
    items = [names[p] if names else str(i) for i, p in enumerate(positions, start=1)]
    if len(set(items)) < len(items):
        twice = next(name for name, count in Counter(items).items() if count > 1)
        raise InputError(f"the header has two columns {twice!r}", source=tally.source, remedy="rename one")
    if "" in items:
        raise InputError("the header has a column without a name", source=tally.source, remedy="name it or say --first")
    if options.threshold is None:
        tally.notes.append("no threshold, so values > 0 count; say --threshold for another")
    columns = Columns(record, 0, None)
    return Plan("wide", separator, names is not None, width, columns, None, tuple(zip(positions, items, strict=True)))


def _first_names(names: list[str] | None, rows: list[list[str]]) -> bool:
    """Whether the first column of a wide table names its rows: if it is called so, or all others are 0 or 1, and it is
    more than that itself. The names of two rows may be 0 and 1."""
    first = [row[0].strip() for row in rows]
    different, more = len(set(first)) == len(first), not set(first) <= _ZERO_ONE
    if names and numbers_rows(names[0]):
        return different or more
    return different and more and _one_hot(rows)


def _one_hot(rows: list[list[str]]) -> bool:
    """Whether all columns but the first are 0 or 1."""
    return bool(rows) and all(cell.strip() in _ZERO_ONE for row in rows for cell in row[1:])


def _format(rows: list[list[str]], lines: Sequence[str], separator: str, options: Options, tally: Tally) -> str:
    """The guess, and the sentence that tells it."""
    width, share = _width(rows)
    constant = share >= _CONSTANT
    body = [row for row in rows[1:] or rows if len(row) == width]
    numeric = constant and all(_numeric(row, options) for row in body)
    # one bad rating among many is a bad line to be named, not a reason to take the file for something else
    numbers = [not math.isnan(number(row[2])) for row in body] if constant and width >= 3 else []
    third = bool(numbers) and sum(numbers) >= _CONSTANT * len(numbers)
    chosen = any(c is not None for c in (options.record, options.item, options.rating))
    named = _usual_header(rows[0])
    is_csv = named or chosen or (constant and (_quotes(lines) or (width > 1 and by_ending(tally.source) == "csv")))
    columns = {1: "one column", 2: "two columns"}.get(width, f"{width} columns")
    doubtful = separator == "::" or any(c in line for c in _SEPARATORS if c not in separator for line in lines)
    seen = f"{columns}{f' parted by {spoken(separator)}' if doubtful else ''} on the first {len(rows):,} lines"
    other = "if each line is one basket, say --format lines"
    ids = not named and bool(rows[0]) and numbers_rows(rows[0][0])  # beside them a few columns of 0 and 1 are enough
    one_hot = width >= (4 if ids else _WIDE) and _one_hot(body)
    wide = one_hot or (numeric and width >= _WIDE and not named)
    if options.first or options.missing is not None or (constant and wide and not chosen):
        kind, why = "wide", f"{seen}, numbers"
    elif is_csv and _one_character(separator):
        kind, why = "csv", seen
    elif third:
        kind, why = "ratings", f"{seen}, the third a number"
    elif chosen or (constant and width == 2):
        kind, why = "pairs", seen
    else:
        fewest, most = min(map(len, rows)), max(map(len, rows))
        fields = f"{fewest} to {most}" if fewest < most else str(most)
        kind, why = "lines", f"{fields} fields a line, parted by {spoken(separator)}"
        other = "if it is a table, say --format pairs, ratings or csv"
    tally.notes.append(f"read as {kind}: {why}; {other}")
    return kind


def _separator(lines: Sequence[str], kind: str | None) -> str:
    """The one that gives most columns to constantly many lines, else the one that most lines have, else spaces.

    Spaces come last: names and dates hold them too. "::" may be part of a name (`0,std::vector`, `use::web|role::app`),
    so another one is preferred to it that has it in the fields behind, or, in baskets, that half of the lines have.
    """
    candidates = _SEPARATORS[:-1] if kind == "csv" else _SEPARATORS
    others = [*_SEPARATORS[:-1], " "]
    best, most = "", 1
    for separator in candidates:
        width, share = _width(_split(lines, separator, True))
        if share >= _CONSTANT and width > most:
            best, most = separator, width
    if best == "::":
        return next((c for c in others if _in_names(_split(lines, c, True))), best)
    if best:
        return best
    having = {c: sum(c in line.strip(BLANK) for line in lines) for c in (*_SEPARATORS, " ")}
    common = max(candidates, key=lambda c: having[c])
    if common == "::" and kind in (None, "lines"):
        other = max(others, key=lambda c: having[c])
        common = other if 2 * having[other] >= len(lines) else common
    if having[common] and (2 * having[common] >= len(lines) or having[common] >= having[" "]):
        return common
    return "," if kind == "csv" else " "


def _in_names(rows: list[list[str]]) -> bool:
    """Whether "::" is part of the names in these fields, and no separator: all but the first have it before a word, or
    are numbers. In `ann::Star Wars` and `ann::Star Wars::5` the second has none, or a number behind it.

    >>> _in_names([["0", "std::map", "5"]]), _in_names([["ann::Star", "Wars"]]), _in_names([["ann::Star", "Wars::5"]])
    (True, False, False)
    """
    inside = 0
    for row in rows:
        parts = [text.rpartition("::") for text in row[1:]]
        words = all(bool(mark) == math.isnan(number(end)) for _, mark, end in parts)
        inside += words and any(mark for _, mark, _ in parts)
    return inside >= _CONSTANT * len(rows)


def _header(rows: list[list[str]], kind: str, options: Options, tally: Tally) -> bool:
    """Column names told, usual names, or words above columns of numbers."""
    head, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if any(names_a_column(c) for c in (options.record, options.item, options.rating)) or _usual_header(head):
        return True
    if len(head) == 1 and kind == "csv" and usual(head, "item") is not None:
        return True
    if kind != "wide" and len(head) > 1 and all(usual([t], "record") is not None for t in head):  # customer,basket
        return True
    for position, text in enumerate(head):
        below = [row[position] for row in body if row[position].strip() not in ("", options.missing)]
        if (
            text.strip()
            and math.isnan(number(text))
            and len(below) > 1
            and not any(math.isnan(number(t)) for t in below)
        ):
            tally.notes.append(f"the first line is taken as the header: {shown(text.strip())} stands above numbers")
            return True
    if kind == "csv":
        tally.notes.append("no header was found; if the first line is one, say --header")
    return False


def _usual_header(head: Sequence[str]) -> bool:
    record, item = usual(head, "record"), usual(head, "item")
    return record is not None and item is not None and record != item


def _looks_like_json(line: str, options: Options, tally: Tally) -> bool:
    ending = by_ending(tally.source)
    if ending != "jsonl" and (ending is not None or line.lstrip(BLANK)[:1] not in ("{", "[")):
        return False
    tally.notes.append("read as jsonl: " + ("so the ending says" if ending else "the first line starts like JSON"))
    return True


def _split(lines: Sequence[str], separator: str, quoted: bool) -> list[list[str]]:
    if separator == " ":
        return [line.split() for line in lines]
    if quoted and _one_character(separator) and any('"' in line for line in lines):
        try:
            return list(csv.reader((line + "\n" for line in lines), delimiter=separator, skipinitialspace=True))
        except csv.Error:  # the reading itself will name the line
            pass
    return [line.split(separator) for line in lines]


def _width(rows: list[list[str]]) -> tuple[int, float]:
    """The commonest number of fields, and its share."""
    ((width, count),) = Counter(map(len, rows)).most_common(1)
    return width, count / len(rows)


def _numeric(row: list[str], options: Options) -> bool:
    return not any(t.strip() and t.strip() != options.missing and math.isnan(number(t)) for t in row)


def _quotes(lines: Sequence[str]) -> bool:
    """Whether a field starts with a quote."""
    return any(re.search(r'(^|[,;|\t])\s*"', line) for line in lines)


def _one_character(separator: str) -> bool:
    return len(separator) == 1 and separator != " "


def _comment(line: str, comment: str | None) -> bool:
    return bool(comment) and line.lstrip(BLANK).startswith(comment or "")
