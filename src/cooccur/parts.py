"""A large table that is made piece by piece, and goes on where a killed process stopped.

    OUTPUT.parts/key.json        what is being made, of what; other work under the same name starts anew
    OUTPUT.parts/00000.parquet   the pieces, each written whole, with a note of how far the work has come
    OUTPUT.parts/lock            held while a process is at it

Only when all pieces are there are they joined, in constant memory, into the file asked for, which until then is the old
one or none; then the folder goes away. While they are joined the disk holds both.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooccur.errors import CooccurError
from cooccur.files import whole, whole_path

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".csv", ".jsonl")


class Parts:
    """The pieces of `output` made so far; `notes` are theirs, in order. Use `parts_of`, which holds the lock."""

    def __init__(self, output: Path, folder: Path, notes: list[dict[str, Any]], *, anew: bool) -> None:
        self.output, self.folder, self.notes = output, folder, notes
        self.anew = anew  # other pieces were here, of something else, and are gone

    def add(self, frame: pl.DataFrame, note: dict[str, Any]) -> None:
        """One more piece; it counts from here on, whatever happens to the process."""
        import polars as pl

        try:
            with whole_path(self.folder / f"{len(self.notes):05}.parquet") as temporary:
                frame.write_parquet(temporary, metadata={"note": json.dumps(note)})
        except pl.exceptions.PolarsError as error:
            raise _cannot_write(self.output, error) from None
        self.notes.append(note)

    def join(self) -> None:
        """Make the one file of all pieces, whole or not at all, and remove them."""
        import polars as pl

        paths = [self.folder / f"{number:05}.parquet" for number in range(len(self.notes))]
        ending = self.output.suffix.lower()
        try:
            with whole_path(self.output, self.folder) as temporary:
                if ending == ".parquet":
                    pl.scan_parquet(paths).sink_parquet(temporary)
                else:
                    with temporary.open("wb") as file:
                        for number, path in enumerate(paths):
                            frame = pl.read_parquet(path)
                            if ending == ".csv":
                                frame.write_csv(file, include_header=number == 0)
                            else:
                                frame.write_ndjson(file)
        except pl.exceptions.PolarsError as error:
            raise _cannot_write(self.output, error) from None
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def parts_of(output: Path, key: Mapping[str, Any]) -> Iterator[Parts]:
    """The pieces that are there already, if they were made with the same `key`; refused while another process is at it.

    >>> import tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder, "a.csv")
    ...     for item in ("x", "y"):
    ...         with parts_of(table, {"of": 1}) as parts:  # the second time it goes on
    ...             parts.add(pl.DataFrame({"item": [item]}), {"done": len(parts.notes)})
    ...     with parts_of(table, {"of": 1}) as parts:
    ...         parts.join()
    ...     print(table.read_text().split())
    ['item', 'x', 'y']
    """
    from filelock import FileLock, Timeout

    folder = output.with_name(output.name + ".parts")
    busy = CooccurError(f"{output}: another process is making this file; wait for it, or choose another -o")
    lock = FileLock(folder / "lock")
    try:
        folder.mkdir(exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise busy from None
    except OSError as error:
        raise CooccurError(f"{folder}: cannot be made or used ({error.strerror}); remove what is there") from None
    parts = None
    try:
        if not (folder / "lock").exists():  # the other process has just finished and tidied up
            raise busy
        parts = _open(output, folder, dict(key))
        yield parts
    except BaseException:
        if parts is not None and not parts.notes:  # nothing to go on from
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()


def _open(output: Path, folder: Path, key: dict[str, Any]) -> Parts:
    """What is there and of this key; the rest, of other work or half written, goes away."""
    known = folder / "key.json"
    strange = [
        path.name for path in folder.iterdir() if not re.fullmatch(r"lock|key\.json|\d+\.parquet|\..*\.part", path.name)
    ]
    if strange:
        raise CooccurError(f"{folder}: it holds {strange[0]}, which is not of a batch; move that, or choose another -o")
    try:
        same = json.loads(known.read_text()) == json.loads(json.dumps(key))
    except (OSError, ValueError):
        same = False
    anew = known.exists() and not same
    notes: list[dict[str, Any]] = []
    while same and (note := _note(folder / f"{len(notes):05}.parquet")) is not None:
        notes.append(note)
    kept = {"lock", "key.json", *(f"{number:05}.parquet" for number in range(len(notes)))}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
    if not same:
        with whole(known) as file:
            file.write(json.dumps(key).encode())
    return Parts(output, folder, notes, anew=anew)


def _note(path: Path) -> dict[str, Any] | None:
    import polars as pl

    try:
        found: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)["note"])
        return found
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        return None


def _cannot_write(path: Path, error: Exception) -> CooccurError:
    return CooccurError(
        f"{path}: cannot write ({str(error).splitlines()[0][:100]}); with more room, the same command goes on from here"
    )
