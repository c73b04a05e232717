"""Finished units, one JSON file each: written whole, never run twice, not by two processes at the same time either.

    FOLDER/DATASET/LABEL.fold0.DIGEST.json      a unit, DIGEST is that of its key
    FOLDER/DATASET/LABEL.fold0.DIGEST.lock      held while somebody works on it; the system frees it when they die
    FOLDER/tables.lock                          held while somebody writes tables of them

Where each hidden item came, as far as Top@K asks, is kept too, for the significance tests: two int32 arrays, deflated,
in base64.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cooccur.errors import CooccurError
from cooccur.evaluation.forms import plain
from cooccur.evaluation.metrics import Ranks
from cooccur.files import whole

Key = Mapping[str, Any]


class Store:
    """Documents by key, in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store, key = Store(Path(folder)), {"dataset": "shop", "label": "cvg", "fold": 0}
    ...     before = store.read(key)
    ...     store.write(key, {"top1": 12.5})
    ...     print(before, store.read(key)["top1"], store.holds("shop"))
    None 12.5 True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: Key, ending: str = "json") -> Path:
        digest = hashlib.sha256(json.dumps(plain(key), sort_keys=True).encode()).hexdigest()[:10]
        fold = "all" if key["fold"] is None else f"fold{key['fold']}"
        return self.folder / _name(key["dataset"]) / f"{_name(key['label'])}.{fold}.{digest}.{ending}"

    def holds(self, dataset: str) -> bool:
        """Whether there is any result on a dataset."""
        return any((self.folder / _name(dataset)).glob("*.json"))

    def has(self, key: Key) -> bool:
        return self.path(key).is_file()

    def read(self, key: Key) -> dict[str, Any] | None:
        path = self.path(key)
        try:
            document: dict[str, Any] = json.loads(path.read_bytes())
            if document["key"] != plain(key):
                raise KeyError("key")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            raise CooccurError(f"{path}: not a finished unit of this run; delete it and run again") from None
        return document

    def write(self, key: Key, document: Mapping[str, Any]) -> None:
        self._make_folder(key)
        with whole(self.path(key)) as file:
            file.write(json.dumps(plain({"key": key, **document}), allow_nan=False).encode())

    @contextlib.contextmanager
    def locked(self, key: Key) -> Iterator[bool]:
        """Whether the unit is ours to work on; False: another process is at it."""
        from filelock import FileLock, Timeout

        self._make_folder(key)
        lock = FileLock(self.path(key, "lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No other process is here at the same time; it waits for its turn."""
        from filelock import FileLock

        self._make(self.folder)
        with FileLock(self.folder / "tables.lock"):
            yield

    def _make_folder(self, key: Key) -> None:
        self._make(self.path(key).parent)

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CooccurError(f"{folder}: cannot be made ({error.strerror}); choose another folder with -o") from None


def pack(ranks: Ranks, most: int) -> str:
    """Where the hidden items came, as text, in a few bits each: all places from `most` on are one.

    >>> unpack(pack(Ranks(greater=[0, 7, 4000], equal=[1, 2, 1], candidates=[9, 9, 5000]), most=10)).greater.tolist()
    [0, 7, 10]
    """
    far = ranks.greater >= most
    kept = np.stack((np.where(far, most, ranks.greater), np.where(far, 1, ranks.equal)))
    return base64.b64encode(zlib.compress(kept.astype("<i4").tobytes(), 9)).decode()


def unpack(text: str) -> Ranks:
    """The same again; the number of candidates, which Top@K does not need, is the least possible."""
    greater, equal = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4").reshape(2, -1).astype(np.int64)
    return Ranks(greater, equal, greater + equal)


def _name(text: str) -> str:
    """Safe as a file's name, and still readable."""
    return re.sub(r"[^\w.=,@+-]", "_", text).lstrip(".") or "_"
