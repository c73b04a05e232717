"""Public datasets by name: where each is published, how to know it is the right one, how its records are formed.

The table `DATASETS` is the only place to mend when an address moves. A file is known by the sha256 of its
uncompressed bytes; where none is known to us (ml-10m, slashdot0811) the published counts are compared instead.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import http
import http.client
import io
import os
import shutil
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from cooccur.errors import DatasetError, InputError
from cooccur.files import whole

if TYPE_CHECKING:
    from cooccur.baskets import Baskets

Progress = Callable[[int, int | None], None]
_BLOCK = 1 << 16
_TIMEOUT = 30.0  # seconds without a byte


@dataclass(frozen=True)
class Dataset:
    """One line of the table.

    `path` is the file below the data home (plain or with `.gz`); `member` is its name inside a zip at `url`.
    `counts` may name what the file holds (`lines` that are no comment, distinct `users` in the first field, distinct
    `nodes` in the first two) and what the loaded baskets hold (`records`, `items`, `occurrences`).
    `reader` is passed to `cooccur.read`, whose baskets then go through `prepare`.
    """

    name: str
    title: str
    path: str
    url: str | None
    page: str
    record: str
    licence: str
    citation: str
    counts: Mapping[str, int]
    reader: Mapping[str, Any]
    sha256: str | None = None
    member: str | None = None
    prepare: Callable[[Baskets], Baskets] = field(default=lambda baskets: baskets, repr=False)
    titles: str | None = None
    titles_encoding: str = "utf-8"

    @property
    def converted(self) -> bool:
        """Whether the file is our export of the published one: other bytes may hold the same ratings."""
        return self.member is not None and self.member.endswith(".xls")

    @property
    def check(self) -> str:
        """How a copy is verified, in words."""
        if self.sha256 is None:
            return "published counts (no sha256 is known)"
        return "sha256, or else counts" if self.converted else "sha256"


@dataclass(frozen=True)
class Title:
    """What a person calls an item, and the group it is in (a movie's genres as `A|B`), empty if unknown."""

    title: str
    group: str = ""


# -- how records are formed ---------------------------------------------------------------------------


def _liked(baskets: Baskets) -> Baskets:
    return baskets.filter(min_frequency=1, min_length=1)


def _top500(baskets: Baskets) -> Baskets:
    return baskets.filter(top_items=500, min_length=1)


def _no_self_loops(baskets: Baskets) -> Baskets:
    import numpy as np

    from cooccur.baskets import Baskets

    own = np.array([baskets.index.get(record, -1) for record in baskets.records], dtype=np.int64)
    rows = np.repeat(np.arange(len(baskets)), baskets.lengths)
    other = own[rows] != baskets.indices
    links = Baskets.from_pairs(rows[other], baskets.indices[other], baskets.items, baskets.records)
    return links.filter(min_frequency=1, min_length=1)  # with a self loop alone there is nothing left


def _both_ways(baskets: Baskets) -> Baskets:
    import numpy as np

    from cooccur.baskets import Baskets

    code = {name: number for number, name in enumerate(dict.fromkeys([*baskets.records, *baskets.items]))}
    one = np.array([code[name] for name in baskets.records], dtype=np.int64).repeat(baskets.lengths)
    two = np.array([code[name] for name in baskets.items], dtype=np.int64)[baskets.indices]
    return Baskets.from_pairs(np.concatenate((one, two)), np.concatenate((two, one)), list(code), list(code))


# -- the table ----------------------------------------------------------------------------------------

_SEE_PAGE = "for research use, see the page"
_MOVIELENS_TERMS = (
    "research use with acknowledgement; no redistribution, and no commercial use without permission of GroupLens"
)
_MOVIELENS = (
    "F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context. ACM TiiS 5(4), 2015. doi:10.1145/2827872"
)
_SLASHDOT = (
    "J. Leskovec, K. Lang, A. Dasgupta, M. Mahoney: Community Structure in Large Networks: Natural Cluster Sizes "
    "and the Absence of Large Well-Defined Clusters. Internet Mathematics 6(1), 2009"
)
_EDGES: Mapping[str, Any] = {"format": "pairs", "header": False}
_RATINGS: Mapping[str, Any] = {"format": "ratings", "header": False, "separator": "::", "threshold": ">= 4"}

_SLASHDOT0811 = Dataset(
    name="slashdot0811",
    title="Slashdot Zoo, November 2008 (SNAP)",
    path="slashdot/soc-Slashdot0811.txt",
    url="https://snap.stanford.edu/data/soc-Slashdot0811.txt.gz",
    page="https://snap.stanford.edu/data/soc-Slashdot0811.html",
    record="a user's out-links, self loops dropped",
    licence=_SEE_PAGE,
    citation=_SLASHDOT,
    counts={"lines": 905_468, "nodes": 77_360},
    reader=_EDGES,
    prepare=_no_self_loops,
)
_ML_1M = Dataset(
    name="ml-1m",
    title="MovieLens 1M",
    path="ml-1m/ratings.dat",
    url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    page="https://grouplens.org/datasets/movielens/1m/",
    record="a user's movies rated 4 or more",
    licence=_MOVIELENS_TERMS,
    citation=_MOVIELENS,
    counts={"records": 6_038, "items": 3_533, "occurrences": 575_281},
    reader=_RATINGS,
    sha256="506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
    member="ml-1m/ratings.dat",
    prepare=_liked,
    titles="ml-1m/movies.dat",
    titles_encoding="latin-1",
)
_ML_10M = replace(
    _ML_1M,
    name="ml-10m",
    title="MovieLens 10M",
    path="ml-10m/ratings.dat",
    url="https://files.grouplens.org/datasets/movielens/ml-10m.zip",
    page="https://grouplens.org/datasets/movielens/10m/",
    counts={"lines": 10_000_054, "users": 69_878},
    sha256=None,
    member="ml-10M100K/ratings.dat",
    titles="ml-10m/movies.dat",
    titles_encoding="utf-8",
)
_TOP500 = "a user's movies rated 4 or more, among the 500 movies most often rated so"

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="retail",
            title="Retail: a Belgian supermarket's baskets (FIMI)",
            path="retail/retail.dat",
            url="http://fimi.uantwerpen.be/data/retail.dat.gz",
            page="http://fimi.uantwerpen.be/data/",
            record="a transaction",
            licence=_SEE_PAGE,
            citation="T. Brijs, G. Swinnen, K. Vanhoof, G. Wets: Using Association Rules for Product Assortment "
            "Decisions: A Case Study. KDD 1999",
            counts={"records": 88_162, "items": 16_470, "occurrences": 908_576},
            reader={"format": "lines", "header": False},
            sha256="d967431ba522e32f0fbb243f2ee113ecd4cb374cb0234c1b0858dae1d499a055",
        ),
        Dataset(
            name="epinions",
            title="Epinions: who trusts whom (SNAP)",
            path="epinions/soc-Epinions1.txt",
            url="https://snap.stanford.edu/data/soc-Epinions1.txt.gz",
            page="https://snap.stanford.edu/data/soc-Epinions1.html",
            record="a user's out-links",
            licence=_SEE_PAGE,
            citation="M. Richardson, R. Agrawal, P. Domingos: Trust Management for the Semantic Web. ISWC 2003",
            counts={"records": 60_341, "items": 51_957, "occurrences": 508_837},
            reader=_EDGES,
            sha256="3e42b000e66cada74053ac7f8b24de291f9837264421dc2f3730b45cc58d17b1",
        ),
        _SLASHDOT0811,
        replace(
            _SLASHDOT0811,
            name="slashdot0811-undirected",
            title="Slashdot Zoo, November 2008, directions lost",
            path="slashdot/soc-Slashdot0811-undirected.txt",
            url=None,  # nowhere published that we know of
            record="a user's neighbours: each pair is taken both ways",
            counts={"records": 77_360, "items": 77_360, "occurrences": 938_360},
            sha256="1931f8a791f482b1e52ef09240378501ddfa9626a23a9ff6f2416981ca8a610f",
            prepare=_both_ways,
        ),
        replace(
            _SLASHDOT0811,
            name="slashdot0902",
            title="Slashdot Zoo, February 2009 (SNAP)",
            path="slashdot/soc-Slashdot0902.txt",
            url="https://snap.stanford.edu/data/soc-Slashdot0902.txt.gz",
            page="https://snap.stanford.edu/data/soc-Slashdot0902.html",
            counts={"records": 71_891, "items": 82_168, "occurrences": 870_161},
            sha256="f503f1fea1caa322c10cd2c02bffbd8cac97834375c7cec30cdc8bf3bf2bb756",
        ),
        Dataset(
            name="jester",
            title="Jester: ratings of 100 jokes (dataset 1, part 1)",
            path="jester/jester-data-1.csv",
            url="https://eigentaste.berkeley.edu/dataset/jester_dataset_1_1.zip",
            page="https://eigentaste.berkeley.edu/dataset/",
            record="a user's jokes rated above 0",
            licence="free for research use with acknowledgement of the paper cited",
            citation="K. Goldberg, T. Roeder, D. Gupta, C. Perkins: Eigentaste: A Constant Time Collaborative "
            "Filtering Algorithm. Information Retrieval 4(2), 2001",
            counts={"lines": 24_983, "records": 24_913, "items": 100, "occurrences": 1_077_115},
            reader={
                "format": "wide",
                "separator": ",",
                "header": False,
                "missing": "99",
                "first": 1,
                "threshold": "> 0",
            },
            sha256="4692895acc91263ec11592cb94687725e28afdd451845ab46c2ac6ba3ebc414e",
            member="jester-data-1.xls",
            prepare=_liked,
            titles="jester/jester-jokes.csv",
        ),
        _ML_1M,
        replace(
            _ML_1M,
            name="ml-1m-top500",
            title="MovieLens 1M, the 500 most liked movies",
            record=_TOP500,
            counts={"records": 6_037, "items": 500, "occurrences": 359_149},
            prepare=_top500,
        ),
        _ML_10M,
        replace(
            _ML_10M,
            name="ml-10m-top500",
            title="MovieLens 10M, the 500 most liked movies",
            record=_TOP500,
            prepare=_top500,
        ),
    )
}


# -- finding and loading ------------------------------------------------------------------------------


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
    return _at_hand(_entry(name).path, data_home(home))


def load(name: str | Dataset, home: str | Path | None = None) -> Baskets:
    """The dataset's records, after the file was verified (`Dataset.check` says how).

    The check is made every time: to decompress and hash costs 0.02 s (retail) to 0.1 s (ml-1m), less than reading.
    Where no hash is known, the lines are counted instead: below a second for a million.

    >>> import tempfile
    >>> tiny = replace(DATASETS["retail"], sha256=None, counts={"records": 2, "occurrences": 3})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "retail.dat").write_text("1 2\\n2\\n")
    ...     load(tiny, folder)
    Baskets(2 records, 2 items, 3 occurrences)
    """
    dataset, folder = _entry(name), data_home(home)
    path = _at_hand(dataset.path, folder)
    if path is None:
        get = f"run `cooccur datasets get {dataset.name}`, or " if dataset.url else ""
        raise DatasetError(f"{dataset.name} is not at hand in {folder}: {get}{_by_hand(dataset, folder)}")
    return _verified(dataset, path, str(path), _replace_it(dataset))


def titles(name: str | Dataset, home: str | Path | None = None) -> dict[str, Title]:
    """From item name to title, for movies and jokes; empty where the dataset has none or the file is not at hand.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "movies.dat").write_text("1::Toy Story (1995)::Animation|Comedy\\n")
    ...     titles("ml-1m", folder)
    {'1': Title(title='Toy Story (1995)', group='Animation|Comedy')}
    """
    dataset = _entry(name)
    path = _at_hand(dataset.titles, data_home(home)) if dataset.titles else None
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


def _entry(name: str | Dataset) -> Dataset:
    if isinstance(name, Dataset):
        return name
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name.lower(), DATASETS, n=1)
    guess = f", did you mean {near[0]}?" if near else ";"
    raise DatasetError(f"no dataset named {name!r}{guess} choose from {', '.join(DATASETS)}")


def _at_hand(path: str, home: Path) -> Path | None:
    places = (home / path, home / f"{path}.gz", home / Path(path).name, home / f"{Path(path).name}.gz")
    return next((place for place in places if place.is_file()), None)


def _by_hand(dataset: Dataset, home: Path) -> str:
    if dataset.url is None:
        place = home / dataset.path
        return f"we know of no address to get it from; put a copy of yours at {place} (a page about it: {dataset.page})"
    published = (home / dataset.path).with_name(PurePosixPath(dataset.url).name)
    again = f" and run `cooccur datasets get {dataset.name}` again" if dataset.member else ""
    return f"open {dataset.page} and save {published.name} as {published}{again}"


def _replace_it(dataset: Dataset) -> str:
    return f"delete it and run `cooccur datasets get {dataset.name}`" if dataset.url else "put another copy there"


# -- verifying ----------------------------------------------------------------------------------------


def _verified(dataset: Dataset, path: Path, source: str, remedy: str) -> Baskets:
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


# -- downloading --------------------------------------------------------------------------------------


def download(name: str | Dataset, home: str | Path | None = None, *, progress: Progress | None = None) -> Path:
    """Fetch the published file, verify it, put it below `home` and return its path. At hand already: only verified.

    A broken download leaves a `.part` that the next call goes on with; a wrong file leaves nothing.
    `progress` is called with the bytes so far and the bytes in all (None if the server does not say).
    An archive that was saved by hand where the error message says is used instead of the network.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mirror = Path(folder, "mirror.dat")
    ...     _ = mirror.write_text("1 2\\n2\\n")
    ...     tiny = replace(DATASETS["retail"], url=mirror.as_uri(), sha256=None, counts={"records": 2})
    ...     download(tiny, folder).relative_to(folder).as_posix()
    'retail/retail.dat'
    """
    dataset, folder = _entry(name), data_home(home)
    if path := _at_hand(dataset.path, folder):
        _verified(dataset, path, str(path), _replace_it(dataset))
        return path
    if dataset.url is None:
        raise DatasetError(f"{dataset.name} cannot be downloaded: {_by_hand(dataset, folder)}")
    if dataset.converted:
        _workbook()  # better heard now than after the download
    target = folder / (dataset.path + (".gz" if dataset.url.endswith(".gz") else ""))
    saved = target.with_name(PurePosixPath(dataset.url).name)
    part, etag = saved.with_name(f"{saved.name}.part"), saved.with_name(f"{saved.name}.part.etag")
    if dataset.member and saved.is_file():
        archive, source, remedy = saved, str(saved), "delete it"
    else:
        archive, source, remedy = part, dataset.url, "nothing of it was kept"
        _try_fetch(dataset, part, etag, progress, folder)
    fresh = target.with_name(f".{target.name}.new") if dataset.member else part
    try:
        if dataset.member:
            _unpack(dataset, dataset.member, archive, fresh, source)
        _verified(dataset, fresh, source, f"{remedy}; {_by_hand(dataset, folder)}")
        fresh.replace(target)
        if dataset.member and dataset.titles:
            _unpack_titles(dataset.member, archive, folder / dataset.titles)
    finally:
        for leftover in (fresh, part, etag):
            leftover.unlink(missing_ok=True)
    return target


def _try_fetch(dataset: Dataset, part: Path, etag: Path, progress: Progress | None, home: Path) -> None:
    assert dataset.url is not None
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    except OSError as error:
        place = f"{part.parent}: cannot write there ({error.strerror})"
        raise DatasetError(f"{place}; set COOCCUR_DATA to a folder of your own") from None
    try:
        _fetch(dataset.url, part, etag, progress)
    except (OSError, http.client.HTTPException) as error:
        if size := part.stat().st_size:
            kept = f"the {size:,} bytes so far are kept in {part}, and the next try goes on from there; "
        else:
            kept = ""
            part.unlink()
        reason = error.reason if type(error) is urllib.error.URLError else error
        problem = f"{dataset.url} could not be downloaded ({reason or type(error).__name__})"
        raise DatasetError(f"{problem}; {kept}try again, or {_by_hand(dataset, home)}") from None


def _fetch(url: str, part: Path, etag: Path, progress: Progress | None) -> None:
    """Bring `part` to its full length. `etag` remembers which version of the file it is a part of."""
    done = part.stat().st_size
    headers = {"User-Agent": "cooccur", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
        if etag.is_file():
            headers["If-Range"] = etag.read_text("latin-1")  # changed meanwhile: the server sends all of it
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and done:
            part.write_bytes(b"")
            return _fetch(url, part, etag, progress)
        raise
    with response:
        if response.status == http.HTTPStatus.PARTIAL_CONTENT:
            if not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
                part.write_bytes(b"")
                raise http.client.HTTPException("the server sent another part than was asked for")
        else:
            done = 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length and length.isdecimal() else None
        version = response.headers.get("ETag", "")
        if version.startswith("W/") or not version:  # a weak tag cannot vouch for bytes
            version = response.headers.get("Last-Modified", "")
        etag.write_text(version, "latin-1") if version else etag.unlink(missing_ok=True)
        with part.open("ab" if done else "wb") as file:
            while block := response.read(_BLOCK):
                file.write(block)
                done += len(block)
                if progress:
                    progress(done, total)
    if total is not None and done < total:
        raise http.client.HTTPException(f"the connection ended after {done:,} of {total:,} bytes")
    return None


def _unpack(dataset: Dataset, member: str, archive: Path, fresh: Path, source: str) -> None:
    try:
        with zipfile.ZipFile(archive) as bundle, bundle.open(member) as packed, fresh.open("wb") as file:
            if dataset.converted:
                _export(packed, file)
            else:
                shutil.copyfileobj(packed, file, _BLOCK)
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError) as error:
        problem = f"{source}: {member} cannot be taken out of it ({error})"
        raise DatasetError(f"{problem}; see {dataset.page} for what is published") from None


def _unpack_titles(member: str, archive: Path, target: Path) -> None:
    """The titles, where they lie beside the member."""
    inside = str(PurePosixPath(member).with_name(target.name))
    with zipfile.ZipFile(archive) as bundle:
        if inside in bundle.namelist() and not target.exists():
            with bundle.open(inside) as packed, whole(target) as file:
                shutil.copyfileobj(packed, file, _BLOCK)


def _workbook() -> Any:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise DatasetError("an xls file is read by python-calamine: run `pip install cooccur[xls]`") from None
    return CalamineWorkbook


def _export(packed: IO[bytes], file: IO[bytes]) -> None:
    """The first sheet as lines of numbers with commas between, two decimals at most: the layout of the known csv."""
    from python_calamine import CalamineError

    try:
        rows = _workbook().from_filelike(io.BytesIO(packed.read())).get_sheet_by_index(0).to_python()
    except CalamineError as error:
        raise ValueError(error) from None
    for row in rows:
        file.write(",".join(f"{value:g}" for value in row).encode() + b"\n")
