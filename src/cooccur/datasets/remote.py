"""Datasets from the network: fetched with resume, unpacked, verified, and only then put in their place."""

from __future__ import annotations

import http
import http.client
import io
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any

from cooccur.datasets.local import at_hand, by_hand, data_home, entry, replace_it, verified
from cooccur.datasets.table import Dataset
from cooccur.errors import DatasetError
from cooccur.files import whole

Progress = Callable[[int, int | None], None]
_BLOCK = 1 << 16
_TIMEOUT = 30.0  # seconds without a byte


def download(name: str | Dataset, home: str | Path | None = None, *, progress: Progress | None = None) -> Path:
    """Fetch the published file, verify it, put it below `home` and return its path. At hand already: only verified.

    A broken download leaves a `.part` that the next call goes on with; a wrong file leaves nothing.
    `progress` is called with the bytes so far and the bytes in all (None if the server does not say).
    An archive that was saved by hand where the error message says is used instead of the network.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from cooccur.datasets import DATASETS
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mirror = Path(folder, "mirror.dat")
    ...     _ = mirror.write_text("1 2\\n2\\n")
    ...     tiny = replace(DATASETS["retail"], url=mirror.as_uri(), sha256=None, counts={"records": 2})
    ...     download(tiny, folder).relative_to(folder).as_posix()
    'retail/retail.dat'
    """
    dataset, folder = entry(name), data_home(home)
    if path := at_hand(dataset.path, folder):
        verified(dataset, path, str(path), replace_it(dataset))
        return path
    if dataset.url is None:
        raise DatasetError(f"{dataset.name} cannot be downloaded: {by_hand(dataset, folder)}")
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
        verified(dataset, fresh, source, f"{remedy}; {by_hand(dataset, folder)}")
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
        raise DatasetError(f"{problem}; {kept}try again, or {by_hand(dataset, home)}") from None


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
