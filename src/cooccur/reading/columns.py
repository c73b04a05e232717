"""Which column is the record, which the item, which the rating: told, else by a usual name, else by position."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from cooccur.errors import InputError
from cooccur.reading.options import Column, Options
from cooccur.reading.report import Tally, shown

# The order decides if several are there: in a shop's table the order is the basket, not the customer.
_USUAL = {
    "record": "record basket order transaction invoice receipt ticket cart session visit playlist recipe document "
    "user customer member visitor client person reader listener source from",
    "item": "items products ingredients tags item product movie film song track artist book article sku stockcode "
    "isbn game joke page ingredient tag title target to",
    "rating": "rating score stars grade weight value",
}
_NO_RATING = "no threshold, so every row counts; say --threshold '>= 4' to keep high ratings"
_LOOKED_AT = 1000  # a table of a million columns has them for its items


class Columns(NamedTuple):
    """Positions of the columns; no record means that each row is a record of its own."""

    record: int | None
    item: int
    rating: int | None


def usual(names: Iterable[str], kind: str) -> int | None:
    """The position of the column whose name is a usual one for this kind.

    >>> usual(["userId", "movieId", "stars"], "item")
    1
    """
    plain = [_plain(name) for name in itertools.islice(names, _LOOKED_AT)]
    return next((plain.index(word) for word in _USUAL[kind].split() if word in plain), None)


def numbers_rows(name: str) -> bool:
    """Whether a column of this name holds the names or numbers of the rows: a usual record, an id, or no name at all
    (so pandas writes its index).

    >>> [name for name in ("order_id", "ID", "", "Unnamed: 0", "milk", "茶") if numbers_rows(name)]
    ['order_id', 'ID', '', 'Unnamed: 0']
    """
    return not name.strip() or _plain(name) in ("id", "index", "row", "unnamed") or usual([name], "record") is not None


def told(column: Column, names: Sequence[str] | None, width: int, source: str) -> int | None:
    """The position of a column that the caller has named or numbered.

    >>> told("Item", ["user", "item"], 2, "a.csv"), told("1", None, 2, "a.csv")
    (1, 1)
    """
    if column is None:
        return None
    if isinstance(column, str):
        lower = [name.strip().lower() for name in names or ()]
        if column.strip().lower() in lower:
            return lower.index(column.strip().lower())
    if (isinstance(column, int) or column.isdecimal()) and 0 <= int(column) < width:
        return int(column)
    raise InputError(f"there is no column {column!r}", source=source, remedy=there_are(names, width))


def choose(
    names: Sequence[str] | None, width: int, options: Options, source: str, *, rated: bool, position: bool
) -> Columns:
    """The columns of a long table; `rated`: a rating is wanted; `position`: free columns stand in for what has no name.

    >>> choose(["movie", "user", "when"], 3, Options(), "a.csv", rated=False, position=False)
    Columns(record=1, item=0, rating=None)
    """
    kinds = ("record", "item", "rating") if rated else ("record", "item")
    found = {kind: told(getattr(options, kind), names, width, source) for kind in kinds}
    taken = [column for column in found.values() if column is not None]
    if len(set(taken)) < len(taken):
        raise InputError("one column is told to be two things", source=source, remedy=there_are(names, width))
    for by_position in (False, True) if position else (False,):
        for kind in kinds:
            if found[kind] is None:
                free = [c for c in range(width) if c not in found.values()]
                if by_position:
                    found[kind] = free[0] if free else None
                elif names:
                    named = usual((names[c] for c in free), kind)
                    found[kind] = None if named is None else free[named]
    for kind in kinds[1:]:
        if found[kind] is None:
            problem = f"no column looks like the {kind}"
            raise InputError(problem, source=source, remedy=f"{there_are(names, width)}; say --{kind}")
    assert found["item"] is not None
    return Columns(found["record"], found["item"], found.get("rating"))


def choose_named(names: Sequence[str], lists: Sequence[int], options: Options, tally: Tally) -> Columns:
    """Columns by told or usual names; the only column of lists is the items, and then a record is not needed.

    >>> choose_named(["id", "things"], [1], Options(), Tally("a.jsonl"))
    Columns(record=None, item=1, rating=None)
    """
    if options.item is None and len(lists) == 1:
        options = replace(options, item=lists[0])
    rated = options.rating is not None or options.threshold is not None
    columns = choose(names, len(names), options, tally.source, rated=rated, position=False)
    if columns.record is None and columns.item not in lists:
        remedy = f"the columns are {', '.join(names)}; say --record"
        raise InputError("no column looks like the record", source=tally.source, remedy=remedy)
    chosen = ", ".join(f"{k} = {names[c]}" for k, c in columns._asdict().items() if c is not None)
    tally.notes.append(f"columns by their names: {chosen}")
    unused = usual(names, "rating")
    if options.threshold is None and (rated or unused is not None):
        tally.notes.append(_NO_RATING)
    return columns


def there_are(names: Sequence[str] | None, width: int) -> str:
    """The remedy for a column that is not there.

    >>> there_are(["a", "b"], 2), there_are(None, 2)
    ('the columns are a, b', 'there are 2 columns, counted from 0, without names')
    """
    if not names:
        return f"there {'is 1 column' if width == 1 else f'are {width} columns'}, counted from 0, without names"
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"the columns are {', '.join(_on_one_line(name) for name in names[:20])}{more}"


def _on_one_line(name: str) -> str:
    """A name that a quote let run over lines is shown shortened, so that an error stays one line."""
    return name if name.isprintable() and len(name) <= 60 else shown(name)


def _plain(name: str) -> str:
    """userId, User_ID and "user id" are one name."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    return re.sub(r"(?<=.)(id|ids|no|number|key|name)$", "", letters)
