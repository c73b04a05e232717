"""The model file: one safetensors file with the learned arrays, the vocabulary and a JSON header. No pickle.

    metadata["cooccur"]   JSON: format and library version, model name, parameters, the data's records and fingerprint,
                          the training history, notes, and what arrays in half precision are multiplied by
    metadata["checksum"]  CRC-32 of that JSON and of all arrays with their names, types and shapes
    vocabulary.bytes      the item names in UTF-8, one behind the other (uint8)
    vocabulary.ends       where each name ends (int64)
    frequencies           how many training records hold each item (int64)
    model.*               the arrays that the model's class declares
    calibration.*         the arrays of its calibration, if it has one
    titles.*, groups.*    bytes and ends as of the vocabulary: what people call the items, the item's name where unknown

The file is mapped, not read (`tensors.py`). Loading sets only what the class declares, and checks the checksum, so that
a flipped bit is an error and not a wrong answer, and each number against its declared range, so that a file with a
right checksum and wrong content is an error and not a crash.

Format 1 (July 2026) had no history, notes or half precision, and its first files no checksum; it is read as before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur import tensors
from cooccur.baskets import Names
from cooccur.errors import CooccurError, ModelFileError, ParameterError
from cooccur.files import whole
from cooccur.models import model_class
from cooccur.models.arrays import Array, check_arrays
from cooccur.models.base import Model
from cooccur.tensors import Arrays, checksum_of
from cooccur.titles import Titles

if TYPE_CHECKING:
    from cooccur.training.history import History

FORMAT = 5
DAMAGED = (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError, CooccurError)


def save(model: Model, path: str | Path, *, half: bool = False) -> None:
    """Write a fitted model to `path`, whole or not at all.

    With `half` the pair weights take two bytes each in place of four: each changes by at most 0.05 % (2^-11) of itself,
    those below 2^-29 of the largest by more. They are scaled by a power of two first, so that none overflows.

    >>> import tempfile
    >>> from cooccur.models.popularity import Popularity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Popularity().fit([["a", "b"], ["b"]]), folder + "/model.safetensors")
    ...     load(folder + "/model.safetensors").complete([]).items
    ['b', 'a']
    """
    model._check_fitted()
    learned = {name: np.ascontiguousarray(getattr(model, name)) for name in model.arrays}
    try:
        _check(model, learned)
    except ValueError as error:
        raise CooccurError(f"{path}: not written, the model is not sound ({error}); fit it again") from None
    header = {
        "format": FORMAT,
        "library": version("cooccur"),
        "model": model.name,
        "params": model.get_params(),
        "records": model.n_records_,
        "fingerprint": model.fingerprint_,
        "named": model.named_,
        "half": _halve(model, learned) if half else {},
        "history": _plain(model.history_.as_dict()) if hasattr(model, "history_") else None,
        "notes": getattr(model, "notes_", {}),
    }
    blob, ends = _pack(model.items_)
    arrays: Arrays = {"vocabulary.bytes": blob, "vocabulary.ends": ends, "frequencies": model.frequencies_}
    arrays |= {f"model.{name}": array for name, array in learned.items()}
    if (calibration := getattr(model, "calibration_", None)) is not None:
        arrays |= {f"calibration.{name}": array for name, array in calibration.arrays().items()}
    if titles := model.titles_.among(model.items_):
        for key, say in (("titles", titles.title), ("groups", titles.group)):
            arrays[f"{key}.bytes"], arrays[f"{key}.ends"] = _pack(map(say, model.items_))
    try:
        text = json.dumps(header, allow_nan=False, default=lambda number: number.item())  # numpy's numbers
    except (AttributeError, TypeError, ValueError) as error:
        raise ParameterError(f"{path}: notes_ must be plain JSON ({error})") from None
    with whole(path) as file:
        tensors.write(file, {"cooccur": text, "checksum": checksum_of(text, arrays)}, arrays)


def load(path: str | Path, *, verify: bool = True) -> Model:
    """Read a model back; it answers exactly as it did before it was saved.

    Its arrays are read-only views of the file. The file may be replaced meanwhile, as `save` does it: this model keeps
    the old one. `verify=False` looks at the header and the shapes only, not at each number; it is for a file that was
    verified before, by another process for one.
    """
    return ModelFile.open(path).model(verify)


@dataclass(frozen=True, eq=False)
class ModelFile:
    """An open file: its header and its arrays, both as they stand in it. `checksum` is empty in the oldest files."""

    path: Path
    header: Mapping[str, Any]
    arrays: Arrays
    text: str
    checksum: str

    @classmethod
    def open(cls, path: str | Path) -> ModelFile:
        """Map a file and check its form."""
        try:
            metadata, arrays = tensors.views(tensors.mapped(Path(path)))
            header = tensors.parsed(metadata.get("cooccur", "null"))
        except FileNotFoundError:
            raise ModelFileError(f"{path}: no such file; make one with `cooccur fit DATA -m MODEL -o FILE`") from None
        except (OSError, *DAMAGED) as error:
            raise ModelFileError(f"{path}: not a readable model file ({_words(error)}); fit the model again") from None
        if not isinstance(header, dict):
            raise ModelFileError(f"{path}: not a cooccur model; make one with `cooccur fit DATA -m MODEL -o FILE`")
        found = header.get("format")
        if type(found) is int and found > FORMAT:
            raise ModelFileError(f"{path}: file format {found}, this version reads 1 to {FORMAT}; update cooccur")
        if type(found) is not int or found < 1:
            raise ModelFileError(f"{path}: damaged model file (its format is {found!r}); fit the model again")
        return cls(Path(path), header, arrays, metadata["cooccur"], metadata.get("checksum", ""))

    def check_checksum(self) -> None:
        """Read all of it once; a ValueError if a bit has changed."""
        if (self.checksum or self.header["format"] > 1) and self.checksum != checksum_of(self.text, self.arrays):
            raise ValueError("the checksum does not fit")

    def model(self, verify: bool = True) -> Model:
        """The model, checked; see `load`."""
        header, arrays = self.header, self.arrays
        try:
            if verify:
                self.check_checksum()
            model = model_class(header["model"])(**header["params"])
            model.check_parameters()
            model.items_ = _unpack(arrays["vocabulary.bytes"], arrays["vocabulary.ends"])
            if len(set(model.items_)) < len(model.items_):
                raise ValueError("a name that stands twice in the vocabulary")
            model.frequencies_, model.n_records_ = arrays["frequencies"], header["records"]
            model.fingerprint_ = str(header["fingerprint"])
            learned = _whole(model, self.under("model."), header.get("half", {}))
            for name, array in model.arrays.items():
                if header["format"] < array.since:
                    learned.setdefault(name, array.nothing())
                setattr(model, name, learned[name])
            _check(model, learned, numbers=verify)
            model.calibration_ = None
            if kept := self.under("calibration."):
                from cooccur.models.calibrated import Calibration

                model.calibration_ = Calibration.from_arrays(kept)
            if header.get("history") is not None:
                model.history_ = _history(header["history"])  # type: ignore[attr-defined]
            model.notes_ = dict(header.get("notes", {}))
            model.named_ = bool(header.get("named", False))
            if "titles.bytes" in arrays:
                kinds = (_unpack(arrays[f"{key}.bytes"], arrays[f"{key}.ends"]) for key in ("titles", "groups"))
                said = zip(model.items_, *kinds, strict=True)
                model.titles_ = Titles({item: (title, group) for item, title, group in said})
        except DAMAGED as error:
            raise ModelFileError(f"{self.path}: damaged model file ({_words(error)}); fit the model again") from None
        return model

    def under(self, prefix: str) -> Arrays:
        """The arrays whose names begin so, by the rest of their names."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}


# -- what is checked ------------------------------------------------------------------------------------


def _check(model: Model, learned: Arrays, *, numbers: bool = True) -> None:
    """Everything that every model has, and then what its class declares."""
    items, records = len(model.items_), model.n_records_
    if not items or type(records) is not int or records < 1:
        raise ValueError(f"{items} items in {records} records")
    common = {"frequencies": Array("int64", "N", low=0, high=records)}
    check_arrays(common, {"frequencies": model.frequencies_}, {"N": items}, numbers=numbers)
    sizes = {name: value for name, value in model.get_params().items() if type(value) is int}
    check_arrays(model.arrays, learned, sizes | {"N": items}, numbers=numbers)
    model._check_learned()


def _history(found: Mapping[str, Any]) -> History:
    """The history as it was; entries that this version does not know are left out."""
    from cooccur.training.history import Epoch, History

    def made(kind: Any, entries: Mapping[str, Any]) -> Any:
        return kind(**{field.name: entries[field.name] for field in fields(kind) if field.name in entries})

    history: History = made(History, {**found, "epochs": [made(Epoch, epoch) for epoch in found["epochs"]]})
    numbers = [value for epoch in history.epochs for value in vars(epoch).values() if value is not None]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise ValueError("the history holds something else than numbers")
    if type(history.best) is not int or not -1 <= history.best < len(history.epochs):
        raise ValueError(f"the best of {len(history.epochs)} epochs is number {history.best}")
    return history


def _plain(history: dict[str, Any]) -> Any:
    """As JSON, with null for what is no finite number: after days of training that is no reason to write nothing."""
    return json.loads(json.dumps(history), parse_constant=lambda _: None)


def _words(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


# -- half precision ------------------------------------------------------------------------------------


def _halve(model: Model, learned: Arrays) -> dict[str, float]:
    """Put the pair weights into half precision, and say what each array is then to be multiplied by."""
    names = [name for name, array in model.arrays.items() if array.pairs]
    if not names:
        raise ParameterError(f"{model.name}: it has no pair weights to keep in half precision; save it without half")
    scales = {}
    for name in names:
        largest = max(float(learned[name].max(initial=0)), -float(learned[name].min(initial=0)))
        scales[name] = 2.0 ** max(-100, math.frexp(largest)[1] - 15)  # so the largest is below 2^15; half ends at 2^16
        learned[name] = (learned[name] / np.float32(scales[name])).astype(np.float16)
    return scales


def _whole(model: Model, learned: Arrays, scales: Mapping[str, float]) -> Arrays:
    """The arrays with half precision undone, where there is any."""
    for name, scale in scales.items():
        if not model.arrays[name].pairs or learned[name].dtype != np.float16 or not 0 < scale < 1e12:
            raise ValueError(f"{name} in half precision, times {scale}")
        with np.errstate(all="ignore"):  # what comes of a NaN is checked with the rest
            learned[name] = learned[name].astype(np.float32) * np.float32(scale)
    return learned


# -- names ---------------------------------------------------------------------------------------------


def _pack(names: Iterable[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _unpack(blob: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> Names:
    declared = {"vocabulary.bytes": Array("uint8", "bytes"), "vocabulary.ends": Array("int64", "N", low=0)}
    check_arrays(declared, {"vocabulary.bytes": blob, "vocabulary.ends": ends}, {})
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if len(ends) else 0) != len(blob):
        raise ValueError("the vocabulary is cut off")
    data: Any = memoryview(blob)  # type: ignore[arg-type]
    names = np.empty(len(ends), dtype=object)
    start = 0
    for number, end in enumerate(ends.tolist()):
        names[number] = str(data[start:end], "utf-8", "surrogatepass")
        start = end
    names.flags.writeable = False
    return names
