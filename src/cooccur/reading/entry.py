"""`read`: one call for whatever holds the records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cooccur.baskets import Baskets
from cooccur.errors import InputError
from cooccur.reading import streams
from cooccur.reading.collect import Collector
from cooccur.reading.guess import by_ending, plan
from cooccur.reading.options import Column, Options, Threshold, spelled
from cooccur.reading.report import Report, Tally


def read(
    source: Any, *, format: str | None = None, separator: str | None = None, header: bool | None = None,  # noqa: A002
    record: Column = None, item: Column = None, rating: Column = None, threshold: str | Threshold | None = None,
    missing: str | None = None, first: int = 0, comment: str | None = "#", encoding: str = "utf-8",
    skip_bad: bool = False,
) -> Baskets:  # fmt: skip
    """Baskets from a file, a stream, a frame, lists or a matrix. What is not told is guessed.

    Parameters
    ----------
    source : a path ("-" is standard input), an open stream, a pandas or polars frame, a list of lists,
        a matrix of 0 and 1 (records x items), or Baskets. Files may be plain, gzip or zstd.
    format : one of `FORMATS`. lines: a basket a line. pairs: record, item. ratings: record, item, rating.
        wide: a matrix, an item a column. csv, parquet, jsonl: named columns, or a list a row.
    separator : between the fields of a line; " " stands for any run of spaces and tabs.
    header : whether the first line holds column names.
    record, item, rating : column names, or numbers counted from 0.
    threshold : which ratings count, such as ">= 4".
    missing : in a wide file, the code of a missing value. Empty is always missing.
    first : in a wide file, how many leading columns to pass over.
    comment : what comment lines start with; None: there are none.
    skip_bad : leave bad lines out and count them; else the first one is an error.

    >>> import io
    >>> likes = read(io.StringIO("ann::alien::5\\nann::heat::2\\nbob::alien::4\\n"), threshold=">= 4")
    >>> likes, likes.records.tolist()
    (Baskets(2 records, 1 items, 2 occurrences), ['ann', 'bob'])
    """
    return read_report(
        source, format=format, separator=separator, header=header, record=record, item=item, rating=rating,
        threshold=threshold, missing=missing, first=first, comment=comment, encoding=encoding, skip_bad=skip_bad,
    )[0]  # fmt: skip


def read_report(
    source: Any, *, format: str | None = None, separator: str | None = None, header: bool | None = None,  # noqa: A002
    record: Column = None, item: Column = None, rating: Column = None, threshold: str | Threshold | None = None,
    missing: str | None = None, first: int = 0, comment: str | None = "#", encoding: str = "utf-8",
    skip_bad: bool = False, _block: int = streams.BLOCK,
) -> tuple[Baskets, Report]:  # fmt: skip
    """The same as `read`, and a `Report` of what was taken, left out and guessed.

    >>> import io
    >>> print(read_report(io.StringIO("1 2\\n1 3\\n# the end\\n2 3\\n"))[1])
    read as pairs: 4 lines, 2 records, 2 items, 3 occurrences
    left out: 1 comment line
    note: read as pairs: two columns on the first 3 lines; if each line is one basket, say --format lines
    """
    options = options_of(
        format=format, separator=separator, header=header, record=record, item=item, rating=rating,
        threshold=threshold, missing=missing, first=first, comment=comment, encoding=encoding, skip_bad=skip_bad,
    )  # fmt: skip
    if isinstance(source, (str, Path)) or hasattr(source, "read"):
        return read_stream(source, options, _block)
    return _from_memory(source, options)


def options_of(*, separator: str | None = None, threshold: str | Threshold | None = None, **others: Any) -> Options:
    """The options as `read` takes them.

    >>> options_of(separator="tab").separator
    '\\t'
    """
    parsed = None if threshold is None else Threshold.parse(threshold)
    return Options(separator=spelled(separator), threshold=parsed, **others)


def read_stream(
    source: Any, options: Options, block: int, collector: Callable[[Tally], Collector] = Collector
) -> tuple[Baskets, Report]:
    """From a path or an open stream."""
    from cooccur.reading.tables import read_parquet
    from cooccur.reading.text import read_text
    from cooccur.reading.values import lists_in_json, read_jsonl

    name = streams.source_name(source)
    tally = Tally(name, options.skip_bad)
    into = collector(tally)
    chunks = streams.chunks(source, name)
    head, chunks = streams.peek(chunks, 4)
    starts_so = head.startswith(b"PAR1")
    if options.format == "parquet" or (options.format is None and head and (starts_so or by_ending(name) == "parquet")):
        if not starts_so:
            raise InputError("this is not a parquet file", source=name, remedy="say --format")
        options.check("parquet")
        tally.unit = "row"
        if options.format is None:
            tally.notes.append("read as parquet: the file starts like one")
        # polars reads a plain file better from its path; a compressed one or a stream comes as bytes
        plain = isinstance(source, (str, Path)) and source != "-" and _starts_with(Path(source), b"PAR1")
        read_parquet(str(source) if plain else None, chunks, options, into)
        baskets = into.finish()
        return baskets, tally.report(baskets, "parquet")
    lines, chunks = streams.sample(streams.decoded(chunks, options.encoding, name), name)
    todo = plan(lines, options, tally)
    options.check(todo.format)
    blocks = streams.blocks(chunks, tally, block)
    if todo.format in ("lines", "wide") or todo.cell or (todo.format == "jsonl" and lists_in_json(lines, options)):
        into.each_row()
    if todo.format == "jsonl":
        read_jsonl(blocks, options, into)
    else:
        read_text(blocks, todo, options.threshold, options.missing, options.comment, into)
    baskets = into.finish()
    return baskets, tally.report(baskets, todo.format, todo.separator or None, todo.header)


def _from_memory(source: Any, options: Options) -> tuple[Baskets, Report]:
    if options.format is not None:
        raise InputError(f"format {options.format!r} is for files", remedy="leave it out")
    if isinstance(source, Baskets):
        options.check("baskets")
        return source, Tally("baskets").report(source, "baskets")
    library = type(source).__module__.partition(".")[0]
    if library in ("scipy", "numpy"):
        options.check("matrix")
        baskets = Baskets.from_matrix(source)
        return baskets, Tally("matrix").report(baskets, "matrix")
    from cooccur.reading.tables import read_frame
    from cooccur.reading.values import read_lists

    kind = "frame" if type(source).__name__ in ("DataFrame", "LazyFrame") else "lists"
    if kind == "lists" and not hasattr(source, "__iter__"):
        raise InputError(f"a {type(source).__name__} cannot be read", remedy="give a path, a stream, a frame or lists")
    options.check(kind)
    tally = Tally(f"the {kind}", options.skip_bad, unit="row" if kind == "frame" else "record")
    into = Collector(tally)
    if kind == "frame":
        read_frame(source, options, into)
    else:
        read_lists(source, into)
    baskets = into.finish()
    return baskets, tally.report(baskets, kind)


def _starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic
