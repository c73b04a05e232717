"""What people call the items: from an item's name in the data (its id) to a title and, if there is one, a group.

    id,title,group
    1,Toy Story (1995),Animation

A table of that kind is csv (any usual separator), jsonl or parquet, plain, gzip or zstd. Columns are known by usual
names (`movieId`, `name`, `genre` ...); title and group may be missing. The model file keeps the titles of its items.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cooccur.errors import InputError

LONGEST = 80  # characters of a title; the texts of jokes are cut to this
_SEPARATORS = ",\t;|"
_USUAL = {
    "id": "id item product movie film song track artist book article sku stockcode isbn game joke page ingredient tag",
    "title": "title name label caption description text",
    "group": "group genre category department section aisle class kind type family brand",
}


class Title(NamedTuple):
    """What a person calls an item, and the group it is in (a movie's genres as `A|B`), empty if unknown."""

    title: str
    group: str = ""


class Titles(Mapping[str, Title]):
    """From an item's name to its `Title`; the empty one knows nothing, and every item keeps its name.

    >>> movies = Titles({"1": ("Toy Story (1995)", "Animation"), "2": "Jumanji (1995)"})
    >>> movies["1"].group, movies.title("2"), movies.title("3")
    ('Animation', 'Jumanji (1995)', '3')
    """

    def __init__(self, titles: Mapping[str, tuple[str, str] | str] | None = None) -> None:
        self._titles = {
            item: Title(title) if isinstance(title, str) else Title(*title) for item, title in (titles or {}).items()
        }

    def __getitem__(self, item: str) -> Title:
        return self._titles[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._titles)

    def __len__(self) -> int:
        return len(self._titles)

    def __repr__(self) -> str:
        return f"Titles({len(self):,} items)"

    def title(self, item: str) -> str:
        """What to show for an item: its title, or else its name."""
        found = self._titles.get(item)
        return found.title or item if found else item

    def group(self, item: str) -> str:
        """The item's group, empty if unknown."""
        found = self._titles.get(item)
        return found.group if found else ""

    def among(self, items: Iterable[str]) -> Titles:
        """The titles of these items alone.

        >>> Titles({"1": "Toy Story", "2": "Jumanji"}).among(["2", "7"])
        Titles(1 items)
        """
        return Titles({item: self._titles[item] for item in items if item in self._titles})


def dataset_titles(name: str, home: str | Path | None = None) -> Titles:
    """The titles of a public dataset, fit to be shown: of a movie's genres the first, of a joke its beginning.

    >>> dataset_titles("retail")
    Titles(0 items)
    """
    from cooccur.datasets import titles

    found = titles(name, home)
    return Titles(
        {
            item: (textwrap.shorten(t.title, LONGEST, placeholder=" …"), t.group.split("|")[0])
            for item, t in found.items()
        }
    )


def read_titles(source: str | Path | Any) -> Titles:
    """Titles from a path ("-" is standard input) or an open stream of bytes or text.

    >>> read_titles(io.StringIO("sku;name\\n7;green tea\\n")).title("7")
    'green tea'
    """
    from cooccur.reading import streams
    from cooccur.reading.report import Tally

    name = streams.source_name(source)
    chunks = streams.chunks(source, name)
    head, chunks = streams.peek(chunks, 4)
    if head.startswith(b"PAR1"):
        places, rows = "row", _parquet(b"".join(chunks), name)
    else:
        lines = streams.blocks(streams.decoded(chunks, "utf-8", name), Tally(name))
        text = "".join(block for _, block in lines)
        if not text.strip():
            raise InputError("the file is empty", source=name, remedy="check the name, or what wrote it")
        places, rows = "line", _jsonl(text, name) if text.lstrip().startswith("{") else _csv(text, name)
    return _collect(rows, places, name)


def _collect(rows: Iterable[tuple[int, Sequence[Any]]], places: str, name: str) -> Titles:
    """Rows of (id, title, group) with their places."""
    from cooccur.reading.values import name_of

    found: dict[str, tuple[str, str]] = {}
    for place, values in rows:
        at: dict[str, Any] = {"source": name, "line": place}
        if places == "row":
            at = {"source": f"{name}, row {place}"}
        item, title, group = (name_of(value) for value in values)
        if item is None:
            raise InputError("the id is empty", **at, remedy="give every title the name of its item")
        said = (" ".join((title or "").split()), " ".join((group or "").split()))
        if found.setdefault(item, said) != said:
            problem = f"the id {item!r} is called {said[0]!r} here and {found[item][0]!r} before"
            raise InputError(problem, **at, remedy="keep one of them")
    if not found:
        raise InputError("no title is in it", source=name, remedy="expected the columns id, title, group")
    return Titles(found)


def _csv(text: str, name: str) -> Iterator[tuple[int, Sequence[str | None]]]:
    first = text.lstrip().split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(_SEPARATORS, key=first.count), strict=True)
    columns: list[int | None] | None = None
    width = 0
    try:
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            if columns is None:
                columns, width = _columns(row, name), len(row)
            elif len(row) != width:
                remedy = "put quotes around a title that holds the separator"
                problem = f"{len(row)} fields, expected {width}"
                raise InputError(problem, source=name, line=reader.line_num, remedy=remedy)
            else:
                yield reader.line_num, [None if c is None else row[c] for c in columns]
    except csv.Error as error:
        raise InputError(f"{error}", source=name, line=reader.line_num, remedy="check the quotes") from None


def _jsonl(text: str, name: str) -> Iterator[tuple[int, Sequence[Any]]]:
    keys: list[str] | None = None
    for place, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError("no JSON object", source=name, line=place, remedy='expected {"id": ..., "title": ...}')
        if keys is None:
            keys, columns = list(value), _columns(list(value), name)
        yield place, [None if c is None else value.get(keys[c]) for c in columns]


def _parquet(data: bytes, name: str) -> Iterator[tuple[int, Sequence[Any]]]:
    import polars as pl

    try:
        frame = pl.read_parquet(data)
    except pl.exceptions.PolarsError as error:
        problem = f"damaged parquet data ({str(error).splitlines()[0][:100]})"
        raise InputError(problem, source=name, remedy="fetch the file again") from None
    columns = _columns(frame.columns, name)
    for place, row in enumerate(frame.iter_rows(), 1):
        yield place, [None if c is None else row[c] for c in columns]


def _columns(names: Sequence[str], name: str) -> list[int | None]:
    """Where id, title and group are: by the whole name (`title`), else by its last word (`movieTitle`)."""
    words = [re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", column).lower()) for column in names]
    found: dict[str, int | None] = {}
    for kind, usual in _USUAL.items():
        free = [c for c in range(len(names)) if words[c] and c not in found.values()]
        whole = [c for word in usual.split() for c in free if words[c] in ([word], [word + "s"])]
        last = [c for word in usual.split() for c in free if words[c][-1] in (word, word + "s")]
        if kind == "id":  # `product_name` is no id
            last = [c for c in free if words[c][-1] == "id"]
        if kind == "group":  # `category_name` is one
            last = [c for word in usual.split() for c in free if word in words[c]]
        found[kind] = (whole + last + [None])[0]
    if found["id"] is None:
        from cooccur.reading.columns import there_are

        remedy = f"{there_are(names, len(names))}; name the first line id, title, group"
        raise InputError("no column looks like the id", source=name, remedy=remedy)
    return [found["id"], found["title"], found["group"]]
