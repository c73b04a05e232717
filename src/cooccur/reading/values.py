"""Rows of Python values: plain lists of lists, and jsonl.

A row is a list of items, an object with such a list, or an object with a record, an item and perhaps a rating. Numbers
become names without a fraction: 12, never 12.0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cooccur.errors import InputError
from cooccur.reading.collect import Check, Collector
from cooccur.reading.columns import choose_named
from cooccur.reading.options import Options, number
from cooccur.reading.report import Tally, shown
from cooccur.reading.streams import Blocks
from cooccur.reading.text import plain_lines


def name_of(value: Any) -> str | None:
    """The name that a value spells, or None if it spells none (null, NaN, a list, an object).

    >>> name_of(12.0), name_of(" milk "), name_of(True), name_of(float("nan")), name_of([1])
    ('12', 'milk', 'true', None, None)
    """
    if type(value) is str:  # the two that are met a million times
        return value.strip() or None
    if type(value) is int:
        return str(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if not math.isfinite(value) else str(int(value)) if value.is_integer() else str(value)
    if value is None or isinstance(value, (dict, list, tuple, set, bytes)):
        return None
    return str(value).strip() or None


def read_lists(source: Iterable[Any], into: Collector) -> None:
    """A list of lists: each inner one is a record.

    >>> read_lists([["a", 7.0], ["b"]], into := Collector(Tally("the lists")))
    >>> list(into.finish())
    [['a', '7'], ['b']]
    """
    rows = _Rows(into)
    for place, record in enumerate(source, start=1):
        into.tally.lines += 1
        rows.take(place, record, None, None)
    rows.flush()


def read_jsonl(blocks: Blocks, options: Options, into: Collector) -> None:
    """One JSON value a line: a list of items, or an object with a list, or an object with a record and an item.

    >>> read_jsonl(iter([(1, '["a", "b"]')]), Options(), into := Collector(Tally("a.jsonl")))
    >>> list(into.finish())
    [['a', 'b']]
    """
    rows = _Rows(into)
    keys: _Keys | None = None
    shape: type | None = None  # the first value decides for the file
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    for start, text in blocks:
        numbers, lines = plain_lines(start, text, options.comment, into.tally)
        for place, line in zip(numbers.tolist(), lines.to_list(), strict=True):
            try:
                value = decoder.decode(line)
            except (ValueError, RecursionError):
                rows.wrong(place, f"{shown(line.strip())} is not JSON, expected one list or object on the line")
                continue
            if not isinstance(value, (list, dict)):
                rows.wrong(place, f"{shown(line.strip())} is neither a list nor an object")
                continue
            shape = shape or type(value)
            if type(value) is not shape:
                expected = "a list" if shape is list else "an object"
                rows.wrong(place, f"{shown(line.strip())} is not {expected} as the lines before")
            elif isinstance(value, list):
                rows.take(place, value, None, None)
            else:
                keys = keys or _Keys(value, options, into.tally)
                rows.take_object(place, value, keys, line)
        rows.flush(named=keys is not None and keys.record is not None, options=options)


def lists_in_json(lines: Sequence[str], options: Options) -> bool:
    """Whether each line is one record, as the first says: a list, or an object with a list of items.

    >>> lists_in_json(['{"user": 1, "items": ["a"]}'], Options())
    True
    >>> lists_in_json(['{"user": 1, "item": "a"}'], Options())
    False
    """
    comment = options.comment
    line = next((line for line in lines if line.strip() and not (comment and line.lstrip().startswith(comment))), "")
    try:
        first = json.loads(line)
        return isinstance(first, list) or isinstance(first[_Keys(first, options, Tally("")).item], list)
    except (InputError, ValueError, TypeError, KeyError, RecursionError):
        return False  # the reading itself will name what is wrong


class _Keys:
    """Which keys of the objects hold the record, the item or items, and the rating: chosen on the first object."""

    def __init__(self, first: dict[str, Any], options: Options, tally: Tally) -> None:
        names = list(first)
        lists = [place for place, value in enumerate(first.values()) if isinstance(value, list)]
        columns = choose_named(names, lists, options, tally)
        self.record = None if columns.record is None else names[columns.record]
        self.item = names[columns.item]
        self.rating = None if columns.rating is None else names[columns.rating]


class _Rows:
    """Python values on their way into the collector, one block at a time."""

    def __init__(self, into: Collector) -> None:
        self.into = into
        self._clear()

    def _clear(self) -> None:
        self.numbers: list[int] = []
        self.problems: dict[int, str] = {}
        self.names: list[str] = []
        self.owner: list[int] = []
        self.records: list[str | None] = []
        self.ratings: list[float] = []

    def wrong(self, place: int, problem: str) -> None:
        self.problems[len(self.numbers)] = problem
        self.numbers.append(place)
        self.records.append(None)
        self.ratings.append(math.inf)

    def take(self, place: int, items: Any, record: str | None, rating: float | None) -> None:
        if type(items) is not list and (isinstance(items, (str, bytes, dict)) or not isinstance(items, Iterable)):
            self.wrong(place, f"{shown(str(items))} is not a list of items")
            return
        listed = list(items)
        if not listed:
            self.into.tally.blank += 1
            return
        names = [name_of(item) for item in listed]
        if None in names:
            culprit = listed[names.index(None)]
            self.wrong(place, f"the item {_json(culprit)} in {shown(_json(listed))}, expected a name or a number")
            return
        self.owner.extend([len(self.numbers)] * len(names))
        self.names.extend(name for name in names if name is not None)
        self.numbers.append(place)
        self.records.append(record)
        self.ratings.append(math.inf if rating is None else rating)

    def take_object(self, place: int, value: dict[str, Any], keys: _Keys, line: str) -> None:
        for key in (keys.record, keys.item, keys.rating):
            if key is not None and key not in value:
                self.wrong(place, f"{shown(line.strip())} lacks {shown(key)}")
                return
        record = rating = None
        if keys.record is not None and (record := name_of(value[keys.record])) is None:
            self.wrong(place, f"the record {_json(value[keys.record])} in {shown(line.strip())}, expected a name")
            return
        if keys.rating is not None and math.isnan(rating := number(str(value[keys.rating]))):
            self.wrong(place, f"the rating {_json(value[keys.rating])} in {shown(line.strip())} is not a number")
            return
        items = value[keys.item]
        if keys.record is None and not isinstance(items, list):
            self.wrong(place, f"{shown(line.strip())} has no list under {shown(keys.item)}")
            return
        self.take(place, items if isinstance(items, list) else [items], record, rating)

    def flush(self, *, named: bool = False, options: Options | None = None) -> None:
        import polars as pl

        item = self.into.items.encode(pl.Series(self.names, dtype=pl.String))
        owner = np.array(self.owner, dtype=np.int64)
        record = self.into.records.encode(pl.Series(self.records, dtype=pl.String)) if named else None
        wrong = np.zeros(len(self.numbers), dtype=np.bool_)
        wrong[list(self.problems)] = True
        checks: list[Check] = [(wrong, self.problems.__getitem__)]
        keep = None
        if options is not None and options.threshold is not None:
            keep = options.threshold.keeps(np.array(self.ratings))[owner]
        self.into.add(
            np.array(self.numbers, dtype=np.int64), item, owner=owner, record=record, keep=keep, checks=checks
        )
        self._clear()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
