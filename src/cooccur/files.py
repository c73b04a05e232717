"""A file is written whole or not at all: into a temporary file beside it, synced, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cooccur.errors import CooccurError


@contextlib.contextmanager
def whole_path(path: str | Path, folder: Path | None = None) -> Iterator[Path]:
    """A temporary path to write to; it becomes `path` only when the block ends without an error.

    The temporary file is beside it, or in `folder` on the same disk: a killed process leaves it there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_path(folder + "/a.txt") as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['a.txt']
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=folder or target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise CooccurError(f"{target}: cannot write there ({error.strerror}); choose another folder") from None
    os.close(handle)
    try:
        yield Path(name)
        with Path(name).open("rb") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp made it private
        Path(name).replace(target)
    except OSError as error:
        raise CooccurError(f"{target}: cannot write ({error.strerror}); the old file, if any, is untouched") from None
    finally:
        Path(name).unlink(missing_ok=True)


@contextlib.contextmanager
def whole(path: str | Path) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(folder + "/a.txt") as file:
    ...         _ = file.write(b"all of it")
    ...     print(Path(folder, "a.txt").read_text())
    all of it
    """
    with whole_path(path) as temporary, temporary.open("wb") as file:
        yield file
