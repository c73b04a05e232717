"""Where a fit is, so that it can go on after it was stopped: a file for each net that learns, in a folder of its own.

    FOLDER/net0.safetensors   all that the net's next step depends on; for a net that has ended, what it has learned
    FOLDER/lock               held while a fit is at work there; the system frees it when the process ends

    metadata["checkpoint"]    JSON: `key`, what is learned from which data; `place`, where the training loop is
    metadata["checksum"]      as in the model file

A file is written whole or not at all. The files go away when the fit has ended well, and stay when it was stopped.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cooccur.errors import CooccurError, ParameterError
from cooccur.files import whole_path
from cooccur.tensors import checksum_of

if TYPE_CHECKING:
    from cooccur.models.trained import Trained

Arrays = Mapping[str, npt.NDArray[Any]]

FORM = 2  # of what a learner keeps (`Learner.state`): raise it when that changes, and older checkpoints are refused


class Checkpoint:
    """A folder for the checkpoints of one fit, written after each `every` epochs; `resume` goes on with what is there.

    The folder is held from the beginning of the `with` block to its end, and its files are removed at the end of a
    block in which the training came to its own end. So save the model inside: whenever the process is killed, either
    the checkpoint or the model is there.

    >>> import tempfile
    >>> from cooccur import make_model
    >>> with tempfile.TemporaryDirectory() as folder, Checkpoint(folder, every=2, resume=True) as checkpoint:
    ...     model = make_model("fvbm", epochs=4).fit([["tea", "mint"], ["milk"]] * 9, checkpoint=checkpoint)
    ...     print([path.name for path in checkpoint.files()], checkpoint.found)
    ['net0.safetensors'] False
    """

    def __init__(self, folder: str | Path, *, every: int = 1, resume: bool = False) -> None:
        if every < 1:
            raise ParameterError(f"every = {every}; expected 1 epoch or more")
        self.folder, self.every, self.resume = Path(folder), every, resume
        self.found = False  # whether there was something to go on with
        self._nets: list[NetFile] = []

    def files(self) -> list[Path]:
        """What is kept at the moment."""
        return sorted(self.folder.glob("net*.safetensors"))

    def __enter__(self) -> Self:
        from filelock import FileLock, Timeout

        self._lock = FileLock(self.folder / "lock")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            for left_behind in self.folder.glob(".net*.part"):  # by a process that was killed while it wrote
                shutil.rmtree(left_behind) if left_behind.is_dir() else left_behind.unlink()
        except Timeout:
            raise CooccurError(
                f"{self.folder}: another fit is at work there; wait for its end or choose another folder"
            ) from None
        except OSError as error:
            raise CooccurError(
                f"{self.folder}: cannot keep checkpoints there ({error.strerror}); choose another folder"
            ) from None
        self.found, self._nets = bool(self.files()), []
        if self.found and not self.resume:
            self._lock.release()
            raise CooccurError(
                f"{self.folder}: holds a fit that was stopped; go on with it (--resume), delete its files or choose "
                "another folder"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._nets and all(net.over for net in self._nets):
            for path in self.files():
                path.unlink()
        self._lock.release()

    def net(self, model: Trained, number: int) -> NetFile:
        """The file of one of the model's nets."""
        if not (hasattr(self, "_lock") and self._lock.is_locked):
            raise ParameterError(
                "a checkpoint that is not held; write `with Checkpoint(...) as checkpoint:` around fit"
            )
        made = {"cooccur": version("cooccur"), "checkpoint form": FORM}
        key = {"model": model.name, "data": model.fingerprint_, **made, **model.get_params()}
        self._nets.append(NetFile(self.folder / f"net{number}.safetensors", key, self.every))
        return self._nets[-1]


class NetFile:
    """One net's file; `over` once its training has ended."""

    def __init__(self, path: Path, key: Mapping[str, Any], every: int) -> None:
        self.path, self.every, self.over = path, every, False
        self.key: dict[str, Any] = json.loads(_text(key))

    def write(self, place: Mapping[str, Any], arrays: Arrays) -> None:
        """Keep this in place of what was kept before."""
        from safetensors import SafetensorError
        from safetensors.numpy import save_file

        header = _text({"key": self.key, "place": place})
        kept = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        metadata = {"checkpoint": header, "checksum": checksum_of(header, kept)}
        # safetensors has temporary files of its own; in a folder that is known by its name they can be removed later
        with whole_path(self.path) as temporary, TemporaryDirectory(".part", ".net", self.path.parent) as folder:
            try:
                save_file(kept, Path(folder, "new"), metadata=metadata)
                Path(folder, "new").replace(temporary)
            except SafetensorError as error:  # a full disk, for one
                raise CooccurError(f"{self.path}: cannot write ({error}); the checkpoint before it is whole") from None
        self.over = bool(place["over"])

    def read(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
        """The place and the arrays, if there are any; those of another fit are an error."""
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                metadata = file.metadata() or {}
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            header = metadata["checkpoint"]
            if metadata["checksum"] != checksum_of(header, arrays):
                raise ValueError("the checksum does not fit")
            kept = json.loads(header)
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise CooccurError(
                f"{self.path}: not a readable checkpoint ({error}); delete it, and this net starts anew"
            ) from None
        if kept["key"] != self.key:
            raise CooccurError(
                f"{self.path}: a checkpoint of another fit ({_difference(kept['key'], self.key)}); "
                "ask as you did then, or choose another folder"
            )
        self.over = bool(kept["place"]["over"])
        return kept["place"], arrays


def _text(document: Any) -> str:
    return json.dumps(document, default=lambda number: number.tolist())  # numpy's numbers


def _difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """What differs, in words.

    >>> _difference({"model": "dem", "data": "a1", "rate": 0.1}, {"model": "dem", "data": "b2", "rate": None})
    'other records; rate = 0.1 there, None here'
    """
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    words = [f"{name} = {there.get(name)} there, {here.get(name)} here" for name in names if name != "data"]
    return "; ".join(["other records"] * ("data" in names) + words)
