"""The model file: one safetensors file with the learned arrays, the vocabulary and a JSON header. No pickle.

    metadata["cooccur"]   JSON: format and library version, model name, parameters, the data's records and fingerprint
    metadata["checksum"]  CRC-32 of that JSON and of all arrays with their names, types and shapes
    vocabulary.bytes      the item names in UTF-8, one behind the other (uint8)
    vocabulary.ends       where each name ends (int64)
    frequencies           how many training records hold each item (int64)
    model.*               the arrays that the model's class declares
    calibration.*         the arrays of its calibration, if it has one
    titles.*, groups.*    bytes and ends as of the vocabulary: what people call the items, the item's name where unknown

Loading sets only what the class declares, so a file cannot bring in anything else, and checks the checksum, so that a
flipped bit is an error and not a wrong answer. (Files from before there was one load without that check.)
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Names
from cooccur.errors import CooccurError, ModelFileError
from cooccur.files import whole_path
from cooccur.models import model_class
from cooccur.models.base import Model
from cooccur.titles import Titles

FORMAT = 1


def save(model: Model, path: str | Path) -> None:
    """Write a fitted model to `path`, whole or not at all.

    >>> import tempfile
    >>> from cooccur.models.popularity import Popularity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Popularity().fit([["a", "b"], ["b"]]), folder + "/model.safetensors")
    ...     load(folder + "/model.safetensors").complete([]).items
    ['b', 'a']
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    model._check_fitted()
    header = {
        "format": FORMAT,
        "library": version("cooccur"),
        "model": model.name,
        "params": model.get_params(),
        "records": model.n_records_,
        "fingerprint": model.fingerprint_,
    }
    blob, ends = _pack(model.items_)
    arrays: dict[str, npt.NDArray[Any]] = {
        "vocabulary.bytes": blob,
        "vocabulary.ends": ends,
        "frequencies": model.frequencies_,
    }
    arrays |= {f"model.{name}": np.ascontiguousarray(getattr(model, name)) for name in model.arrays}
    if (calibration := getattr(model, "calibration_", None)) is not None:
        arrays |= {f"calibration.{name}": array for name, array in calibration.arrays().items()}
    if titles := model.titles_.among(model.items_):
        for key, say in (("titles", titles.title), ("groups", titles.group)):
            arrays[f"{key}.bytes"], arrays[f"{key}.ends"] = _pack(map(say, model.items_))
    with whole_path(path) as temporary:
        try:
            text = json.dumps(header)
            save_file(arrays, temporary, metadata={"cooccur": text, "checksum": _checksum(text, arrays)})
        except SafetensorError as error:  # a full disk, for one
            raise ModelFileError(f"{path}: cannot write ({error}); the old file, if any, is untouched") from None


def load(path: str | Path) -> Model:
    """Read a model back; it answers exactly as it did before it was saved."""
    header, arrays = _read(path)
    try:
        found = model_class(header["model"])
        model = found(**header["params"])
        model.check_parameters()
        model.items_ = _unpack(arrays["vocabulary.bytes"], arrays["vocabulary.ends"])
        model.frequencies_ = arrays["frequencies"]
        if model.frequencies_.shape != model.items_.shape:
            raise ValueError(f"{model.frequencies_.size} frequencies for {model.items_.size} items")
        model.n_records_, model.fingerprint_ = int(header["records"]), str(header["fingerprint"])
        for name in model.arrays:
            setattr(model, name, arrays[f"model.{name}"])
        kept = {key.removeprefix("calibration."): arrays[key] for key in arrays if key.startswith("calibration.")}
        model.calibration_ = None
        if kept:
            from cooccur.models.calibrated import Calibration

            model.calibration_ = Calibration.from_arrays(kept)
        if "titles.bytes" in arrays:
            kinds = (_unpack(arrays[f"{key}.bytes"], arrays[f"{key}.ends"]) for key in ("titles", "groups"))
            said = zip(model.items_, *kinds, strict=True)
            model.titles_ = Titles({item: (title, group) for item, title, group in said})
    except (KeyError, TypeError, ValueError, CooccurError) as error:
        raise ModelFileError(f"{path}: damaged model file ({error}); fit the model again") from None
    return model


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("cooccur", "null"))
            if not isinstance(header, dict):
                raise ModelFileError(f"{path}: not a cooccur model; make one with `cooccur fit DATA -m MODEL -o FILE`")
            if header.get("format") != FORMAT:
                raise ModelFileError(
                    f"{path}: file format {header.get('format')}, this version reads {FORMAT}; update cooccur"
                )
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            if metadata.get("checksum", "") not in ("", _checksum(metadata["cooccur"], arrays)):
                raise ModelFileError(f"{path}: damaged model file (the checksum does not fit); fit the model again")
            return header, arrays
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file; make one with `cooccur fit DATA -m MODEL -o FILE`") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{path}: not a readable model file ({error}); fit the model again") from None


def _checksum(header: str, arrays: dict[str, npt.NDArray[Any]]) -> str:
    crc = zlib.crc32(header.encode())
    for name, array in sorted(arrays.items()):
        crc = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), crc)
        flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        crc = zlib.crc32(flat, crc)
    return f"{crc:08x}"


def _pack(names: Iterable[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def _unpack(blob: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> Names:
    data = blob.tobytes()
    if np.diff(ends, prepend=0).min(initial=0) < 0 or (ends[-1] if len(ends) else 0) != len(data):
        raise ValueError("the vocabulary is cut off")
    names = np.empty(len(ends), dtype=object)
    start = 0
    for number, end in enumerate(ends.tolist()):
        names[number] = data[start:end].decode("utf-8", "surrogatepass")
        start = end
    names.flags.writeable = False
    return names
