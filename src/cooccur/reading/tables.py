"""Tables whose columns have types: parquet, pandas and polars frames.

Long (record, item[, rating] in each row) or one list a row. Numbers become names without a fraction: 12, never 12.0.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cooccur.errors import InputError
from cooccur.reading.collect import Check, Collector, Floats, Mask, floats
from cooccur.reading.columns import Columns, choose_named
from cooccur.reading.options import Options
from cooccur.reading.report import Tally
from cooccur.reading.streams import Chunks
from cooccur.reading.values import name_of

if TYPE_CHECKING:
    import polars as pl

SLICE = 4 * 2**20  # bytes of a parquet file's rows that are read at once, where they need not be read all at once
_ROWS_A_BYTE = 100  # more rows than this in a byte of parquet tell nothing apart


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
