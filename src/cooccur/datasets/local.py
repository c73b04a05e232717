"""Datasets at hand: where they lie, verified each time they are loaded."""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import io
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from cooccur.datasets.table import DATASETS, Dataset
from cooccur.errors import DatasetError, InputError
from cooccur.titles import Title

if TYPE_CHECKING:
    from cooccur.baskets import Baskets

_BLOCK = 1 << 16


def data_home(explicit: str | Path | None = None) -> Path:
    """The folder of the data: `explicit`, else the environment variable COOCCUR_DATA, else this user's cache folder.

    >>> data_home("somewhere").name
    'somewhere'
    """
    if chosen := explicit or os.environ.get("COOCCUR_DATA"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cooccur"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cooccur"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cooccur"


def find(name: str | Dataset, home: str | Path | None = None) -> Path | None:
    """The dataset's file if it is at hand: plain or `.gz`, in its folder or directly below `home`. Not verified.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "retail.dat").touch()
    ...     find("retail", folder).name, find("epinions", folder)
    ('retail.dat', None)
    """
    return at_hand(entry(name).path, data_home(home))


def load(name: str | Dataset, home: str | Path | None = None) -> Baskets:
    """The dataset's records, after the file was verified (`Dataset.check` says how).

    The check is made every time: to decompress and hash costs 0.02 s (retail) to 0.1 s (ml-1m), less than reading.
    Where no hash is known, the lines are counted instead: below a second for a million.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> tiny = replace(DATASETS["retail"], sha256=None, counts={"records": 2, "occurrences": 3})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "retail.dat").write_text("1 2\\n2\\n")
    ...     load(tiny, folder)
    Baskets(2 records, 2 items, 3 occurrences)
    """
    dataset, folder = entry(name), data_home(home)
    path = at_hand(dataset.path, folder)
    if path is None:
        get = f"run `cooccur datasets get {dataset.name}`, or " if dataset.url else ""
        raise DatasetError(f"{dataset.name} is not at hand in {folder}: {get}{by_hand(dataset, folder)}")
    return verified(dataset, path, str(path), replace_it(dataset))


def titles(name: str | Dataset, home: str | Path | None = None) -> dict[str, Title]:
    """From item name to title, for movies and jokes; empty where the dataset has none or the file is not at hand.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "movies.dat").write_text("1::Toy Story (1995)::Animation|Comedy\\n")
    ...     titles("ml-1m", folder)
    {'1': Title(title='Toy Story (1995)', group='Animation|Comedy')}
    """
    dataset = entry(name)
    path = at_hand(dataset.titles, data_home(home)) if dataset.titles else None
    if path is None:
        return {}
    found: dict[str, Title] = {}
    try:
        with _open(path) as raw, io.TextIOWrapper(raw, encoding=dataset.titles_encoding, newline="") as text:
            if path.name.removesuffix(".gz").endswith(".csv"):
                return {row["joke_id"]: Title(row["text"]) for row in csv.DictReader(text)}
            for number, line in enumerate(text, 1):
                fields = line.rstrip("\r\n").split("::")
                if len(fields) != 3:
                    raise InputError(f"{len(fields)} fields, expected id::title::genres", source=str(path), line=number)
                found[fields[0]] = Title(*fields[1:])
    except (OSError, EOFError, zlib.error, ValueError, KeyError, csv.Error) as error:
        raise DatasetError(
            f"{path}: no titles can be read ({error}); delete it or put the published file there"
        ) from None
    return found


def entry(name: str | Dataset) -> Dataset:
    if isinstance(name, Dataset):
        return name
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name.lower(), DATASETS, n=1)
    guess = f", did you mean {near[0]}?" if near else ";"
    raise DatasetError(f"no dataset named {name!r}{guess} choose from {', '.join(DATASETS)}")


def at_hand(path: str, home: Path) -> Path | None:
    places = (home / path, home / f"{path}.gz", home / Path(path).name, home / f"{Path(path).name}.gz")
    return next((place for place in places if place.is_file()), None)


def by_hand(dataset: Dataset, home: Path) -> str:
    if dataset.url is None:
        place = home / dataset.path
        return f"we know of no address to get it from; put a copy of yours at {place} (a page about it: {dataset.page})"
    published = (home / dataset.path).with_name(PurePosixPath(dataset.url).name)
    again = f" and run `cooccur datasets get {dataset.name}` again" if dataset.member else ""
    return f"open {dataset.page} and save {published.name} as {published}{again}"


def replace_it(dataset: Dataset) -> str:
    return f"delete it and run `cooccur datasets get {dataset.name}`" if dataset.url else "put another copy there"


# -- verifying ----------------------------------------------------------------------------------------


def verified(dataset: Dataset, path: Path, source: str, remedy: str) -> Baskets:
    from cooccur.reading import read

    known = False
    try:
        if dataset.sha256:
            with _open(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            known = digest == dataset.sha256
            if not known and not dataset.converted:
                raise _refused(dataset, source, f"sha256 {dataset.sha256}", digest, remedy)
        found = {} if known else _census(dataset, path)
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{source}: cannot be read ({error}); {remedy}") from None
    # The file's counts go first: of a foreign file the reader would complain less clearly.
    _compare(dataset, found, source, remedy)
    baskets = dataset.prepare(read(path, **dataset.reader))
    if not known:
        found = {"records": len(baskets), "items": baskets.n_items, "occurrences": baskets.nnz}
        _compare(dataset, found, source, remedy)
    return baskets


def _compare(dataset: Dataset, found: Mapping[str, int], source: str, remedy: str) -> None:
    for what, number in found.items():
        if number != (expected := dataset.counts.get(what, number)):
            raise _refused(dataset, source, f"{expected:,} {what}", f"{number:,}", remedy)


def _refused(dataset: Dataset, source: str, expected: str, found: str, remedy: str) -> DatasetError:
    return DatasetError(f"{source} is not the published {dataset.name}: expected {expected}, found {found}; {remedy}")


def _census(dataset: Dataset, path: Path) -> dict[str, int]:
    separator = dataset.reader.get("separator")
    split = separator.encode() if separator else None
    what, fields = ("nodes", 2) if "nodes" in dataset.counts else ("users", 1)
    names: set[bytes] = set()
    lines = 0
    with _open(path) as raw, io.BufferedReader(raw, _BLOCK) as file:
        while block := file.readlines(_BLOCK):
            rows = [line.split(split, fields)[:fields] for line in block if line[:1] != b"#" and not line.isspace()]
            lines += len(rows)
            names.update(*rows)
    return {"lines": lines, what: len(names)}


def _open(path: Path) -> io.BufferedReader | gzip.GzipFile:
    """The uncompressed bytes; gzip is known by its first two bytes, not by the name."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else path.open("rb")
