"""Tables that know their columns: parquet, jsonl, pandas and polars frames, and plain lists of lists.

Long (record, item[, rating] in each row) or one list a row. Numbers become names without a fraction: 12, never 12.0.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cooccur.errors import InputError
from cooccur.reading.collect import Check, Collector, Floats, Mask, floats
from cooccur.reading.columns import Columns, choose, usual
from cooccur.reading.options import Options, number
from cooccur.reading.report import Tally, shown
from cooccur.reading.streams import Blocks, Chunks
from cooccur.reading.text import plain_lines

if TYPE_CHECKING:
    import polars as pl

SLICE = 4 * 2**20  # bytes of a parquet file's rows that are read at once, where they need not be read all at once
_NO_RATING = "no threshold, so every row counts; say --threshold '>= 4' to keep high ratings"
_ROWS_A_BYTE = 100  # more rows than this in a byte of parquet tell nothing apart


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


# -- rows of Python values: lists and jsonl -----------------------------------------------------------


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


# -- frames -------------------------------------------------------------------------------------------


def read_parquet(source: str | None, chunks: Chunks, options: Options, into: Collector) -> None:
    """From a path if there is one, else from the bytes. Only the needed columns are read.

    >>> import io, polars as pl
    >>> pl.DataFrame({"user": [1, 1], "item": ["a", "b"]}).write_parquet(file := io.BytesIO())
    >>> read_parquet(None, iter([file.getvalue()]), Options(), into := Collector(Tally("a.parquet")))
    >>> list(into.finish())
    [['a', 'b']]
    """
    from cooccur.reading.trial import survives

    with contextlib.ExitStack() as stack:
        sliced = source is not None and into.each_row()
        if source is None:
            source = f"{stack.enter_context(tempfile.TemporaryDirectory())}/bytes.parquet"
            with Path(source).open("wb") as file:
                file.writelines(chunks)
        if not survives(source, options, sliced):
            raise InputError("damaged parquet data", source=into.tally.source, remedy="fetch the file again")
        for start, column, columns in parquet_frames(source, options, into.tally, into.after if sliced else None):
            _add_frame(column, columns, options, into, start)


def parquet_frames(
    path: str, options: Options, tally: Tally, after: int | None = None
) -> Iterator[tuple[int, Callable[[int], pl.Series], Columns]]:
    """A parquet file's needed columns: the number of the first row, the columns by their positions, and which is which.

    All at once; or from row `after` on, if each row is a record, in slices of rows: of the row groups of the file only
    those are decoded that a slice touches.

    >>> import polars as pl
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pl.DataFrame({"n": [1], "user": [7], "item": ["a"]}).write_parquet(file.name)
    ...     [columns for _, _, columns in parquet_frames(file.name, Options(), Tally("a.parquet"))]
    [Columns(record=1, item=2, rating=None)]
    """
    import polars as pl

    try:
        schema = pl.read_parquet_schema(path)
        names = list(schema)
        columns = _frame_columns(names, [_is_list(kind) for kind in schema.values()], options, tally)
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        if rows > _ROWS_A_BYTE * Path(path).stat().st_size:
            problem = f"{rows:,} rows in a file of {Path(path).stat().st_size:,} bytes"
            raise InputError(problem, source=tally.source, remedy="fetch the file again")
        needed = [names[c] for c in columns if c is not None]
        if after is None or not _is_list(schema[names[columns.item]]):
            frame = pl.read_parquet(path, columns=needed, glob=False)
            yield 0, _by_place(frame, names), columns
            return
        table, start, size = pl.scan_parquet(path, glob=False).select(needed), after, 1024
        while len(frame := table.slice(start, size).collect()):
            yield start, _by_place(frame, names), columns
            start += len(frame)
            size = max(1, int(SLICE * len(frame) / max(1, frame.estimated_size())))
    except pl.exceptions.PolarsError as error:
        problem = f"damaged parquet data ({str(error).splitlines()[0][:100]})"
        raise InputError(problem, source=tally.source, remedy="fetch the file again") from None


def _by_place(frame: pl.DataFrame, names: Sequence[str]) -> Callable[[int], pl.Series]:
    return lambda c: frame[names[c]]


def read_frame(frame: Any, options: Options, into: Collector) -> None:
    """A pandas or polars frame.

    >>> import polars as pl
    >>> read_frame(pl.DataFrame({"items": [["a", "b"], ["c"]]}), Options(), into := Collector(Tally("the frame")))
    >>> list(into.finish())
    [['a', 'b'], ['c']]
    """
    if hasattr(frame, "collect"):
        frame = frame.collect()
    names = [str(name) for name in frame.columns]
    if type(frame).__module__.startswith("polars"):
        columns = _frame_columns(names, [_is_list(kind) for kind in frame.dtypes], options, into.tally)
        _add_frame(lambda c: frame[names[c]], columns, options, into)
    else:
        kinds = [_holds_lists(frame.iloc[:, c]) for c in range(len(names))]
        columns = _frame_columns(names, kinds, options, into.tally)
        _add_frame(lambda c: _from_pandas(frame.iloc[:, c], names[c]), columns, options, into)


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


def _frame_columns(names: list[str], kinds: Iterable[bool], options: Options, tally: Tally) -> Columns:
    if not names:
        raise InputError("the table has no columns", source=tally.source)
    columns = choose_named(names, [place for place, is_list in enumerate(kinds) if is_list], options, tally)
    if columns.rating is not None and columns.record is None:
        raise InputError("a list in each row has no rating", source=tally.source, remedy="leave out --threshold")
    return columns


def _add_frame(
    column: Callable[[int], pl.Series], columns: Columns, options: Options, into: Collector, before: int = 0
) -> None:
    """`before`: how many rows of the table came before these."""
    tally = into.tally
    item = column(columns.item)
    record = None if columns.record is None else _names(column(columns.record), tally)
    rating = None if columns.rating is None else _values(column(columns.rating))
    numbers = np.arange(before + 1, before + len(item) + 1)
    tally.lines += len(item)
    owner = None
    if _is_list(item.dtype):
        lengths = item.list.len().fill_null(0) if item.dtype.__class__.__name__ == "List" else item.arr.len()
        filled = lengths > 0
        tally.blank += int((~filled).sum())
        keep_rows = filled.to_numpy()
        numbers, item = numbers[keep_rows], item.filter(filled)
        record = None if record is None else record.filter(filled)
        owner = np.repeat(np.arange(len(numbers)), lengths.filter(filled).to_numpy())
        item = item.explode()
    code = into.items.encode(_names(item, tally))
    no_item = code < 0
    if owner is not None:
        empty = np.zeros(len(numbers), dtype=np.bool_)
        empty[owner[no_item]] = True
        no_item = empty
    checks: list[Check] = [(no_item, lambda row: "an empty or null item, expected a name")]
    record_code = None
    if record is not None:
        record_code = into.records.encode(record)
        checks.insert(0, (record_code < 0, lambda row: "an empty or null record, expected a name"))
    keep: Mask | None = None
    if rating is not None:
        checks.append((np.isnan(rating), lambda row: "a rating that is null or not a number"))
        keep = options.threshold.keeps(rating) if options.threshold else None
    into.add(numbers, code, owner=owner, record=record_code, keep=keep, checks=checks)


def _names(series: pl.Series, tally: Tally) -> pl.Series:
    """A column as names; whole floats lose their fraction."""
    import polars as pl

    if series.dtype.is_float():
        series = series.fill_nan(None)
        known = series.drop_nulls()
        if len(known) and bool((known.is_finite() & (known == known.floor()) & (known.abs() < 2**63)).all()):
            series = series.cast(pl.Int64)
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        problem = f"column {series.name!r} holds {series.dtype}; expected names or numbers"
        raise InputError(problem, source=tally.source, remedy="choose another column")
    return series.cast(pl.String)


def _values(series: pl.Series) -> Floats:
    import polars as pl

    if not series.dtype.is_numeric():
        return floats(series.cast(pl.String))
    values: Floats = series.cast(pl.Float64).fill_null(math.nan).to_numpy()
    return np.where(np.isfinite(values), values, math.nan)


def _is_list(kind: Any) -> bool:
    import polars as pl

    return isinstance(kind, (pl.List, pl.Array))


def _holds_lists(column: Any) -> bool:
    return any(isinstance(value, (list, tuple, set, np.ndarray)) for value in column.head(100).tolist())


def _from_pandas(column: Any, name: str) -> pl.Series:
    """By hand, because polars asks for pyarrow to do it."""
    import polars as pl

    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return pl.Series(name, column.to_numpy())
    values = [None if gone is True else value for value, gone in zip(column.tolist(), column.isna(), strict=True)]
    if not _holds_lists(column):
        return pl.Series(name, [name_of(value) for value in values], dtype=pl.String)
    lists = [None if value is None else [name_of(item) for item in value] for value in values]
    return pl.Series(name, lists, dtype=pl.List(pl.String))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
