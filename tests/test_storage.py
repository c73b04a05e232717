"""The model file: plain safetensors, whole or not at all, and one clear error for anything that is not one."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from cooccur.errors import CooccurError, ModelFileError, NotFittedError
from cooccur.models import make_model
from cooccur.storage import _checksum, load, save

RECORDS = [["a", "b"], ["b", "c"], ["a", "b", "c"]]
MAKE = "make one with `cooccur fit DATA -m MODEL -o FILE`"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.safetensors"
    save(make_model("lwcvg:source=0.5").fit(RECORDS), target)
    return target


def change(path: Path, *, drop: str = "", arrays: dict[str, Any] | None = None, **header: Any) -> None:
    """Write the file anew with another header or other arrays."""
    with safe_open(path, framework="numpy") as file:
        old = json.loads(file.metadata()["cooccur"])
    kept = {name: array for name, array in load_file(path).items() if name != drop} | (arrays or {})
    text = json.dumps(old | header)
    save_file(kept, path, metadata={"cooccur": text, "checksum": _checksum(text, kept)})


def message(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_file_is_plain_safetensors(path: Path) -> None:
    arrays = load_file(path)
    assert set(arrays) == {
        "vocabulary.bytes", "vocabulary.ends", "frequencies", "model.starts_", "model.columns_", "model.weights_",
    }  # fmt: skip
    assert arrays["vocabulary.bytes"].tobytes() == b"abc"
    assert arrays["vocabulary.ends"].tolist() == [1, 2, 3]
    assert arrays["frequencies"].tolist() == [2, 3, 2]
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["cooccur"])
    assert (header["format"], header["model"], header["records"]) == (2, "lwcvg", 3)
    assert header["params"] == {"length": 1.0, "source": 0.5, "target": 0.0}
    assert header["fingerprint"] == make_model("popularity").fit(RECORDS).fingerprint_


def test_what_comes_back(path: Path) -> None:
    model = load(path)
    fresh = make_model("lwcvg:source=0.5").fit(RECORDS)
    assert (repr(model), model.n_records_, model.fingerprint_) == (repr(fresh), 3, fresh.fingerprint_)
    assert model.complete(["a"]) == fresh.complete(["a"])
    with pytest.raises(ValueError, match="read-only"):
        model.items_[0] = "other"


@pytest.mark.parametrize(
    "names",
    [["two\nlines", "tab\there"], ["naïve café", "日本", "🛒"], ["", "x"], [""], ["\0", "\0\0"], ["\ud800 alone", "b"]],
    ids=ascii,
)
def test_any_name_survives(names: list[str], tmp_path: Path) -> None:
    save(make_model("cvg").fit([names, names[:1]]), tmp_path / "model")
    model = load(tmp_path / "model")
    assert list(model.items_) == names
    assert model.complete([]).items == names


def test_a_model_without_an_edge(tmp_path: Path) -> None:
    """Arrays of length 0 are kept too."""
    save(make_model("cvg").fit([["a"], ["b"], ["b"]]), tmp_path / "model")
    assert load(tmp_path / "model").complete(["a"]).items == ["b"]


# -- files that are none ------------------------------------------------------------------------------


def test_no_such_file(tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    assert message(path) == f"{path}: no such file; {MAKE}"


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    for metadata in (None, {"format": "pt"}, {"cooccur": "[1]"}):
        save_file({"x": np.zeros(2)}, path, metadata=metadata)
        assert message(path) == f"{path}: not a cooccur model; {MAKE}"
    save_file({"x": np.zeros(2)}, path, metadata={"cooccur": "{"})
    assert message(path).startswith(f"{path}: not a readable model file (Expecting property name")
    for content in (b"", b"milk bread\n" * 100, b"PK\x03\x04", b"\0" * 50):
        path.write_bytes(content)
        assert message(path).startswith(f"{path}: not a readable model file (")
        assert message(path).endswith("); fit the model again")


def test_a_folder(tmp_path: Path) -> None:
    assert message(tmp_path).startswith(f"{tmp_path}: not a readable model file (")


def test_a_file_cut_off_anywhere(path: Path) -> None:
    content = path.read_bytes()
    for length in [*range(0, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:length])
        assert message(path).startswith(f"{path}: not a readable model file (")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 3}, "file format 3, this version reads 1 to 2; update cooccur"),
        ({"format": "2"}, "damaged model file (its format is '2'); fit the model again"),
        (
            {"model": "lwcgv"},
            "damaged model file (unknown model 'lwcgv'; did you mean 'lwcvg'? there are {models}); fit the model again",
        ),
        ({"drop": "model.weights_"}, "damaged model file ('weights_' is missing); fit the model again"),
        ({"drop": "vocabulary.ends"}, "damaged model file ('vocabulary.ends' is missing); fit the model again"),
        (
            {"params": {"source": 9}},
            "damaged model file (lwcvg: source = 9; expected number 0 to 2); fit the model again",
        ),
        (
            {"arrays": {"frequencies": np.array([1])}},
            "damaged model file (frequencies is int64 (1,), expected int64 (N) with N = 3); fit the model again",
        ),
        (
            {"arrays": {"vocabulary.ends": np.array([1, 2, 9])}},
            "damaged model file (the vocabulary is cut off); fit the model again",
        ),
        (
            {"arrays": {"vocabulary.ends": np.array([2, 1, 3])}},
            "damaged model file (the vocabulary is cut off); fit the model again",
        ),
        (
            {"records": "many"},
            "damaged model file (3 items in many records); fit the model again",
        ),
    ],
)
def test_damaged_files(path: Path, changes: dict[str, Any], words: str) -> None:
    from cooccur.models import REGISTRY

    change(path, **changes)
    assert message(path) == f"{path}: {words.format(models=', '.join(REGISTRY))}"


def test_no_flipped_bit_changes_an_answer(path: Path) -> None:
    """One bit of each byte of the file: it is refused."""
    content, answer = path.read_bytes(), load(path).complete(["a"])
    refused = 0
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << (at % 8)
        path.write_bytes(damaged)
        try:
            assert load(path).complete(["a"]) == answer
        except ModelFileError:
            refused += 1
    assert refused == len(content)


def test_a_parameter_that_does_not_exist(path: Path) -> None:
    change(path, params={"sauce": 1})
    assert message(path).startswith(f"{path}: damaged model file (")
    assert "sauce" in message(path)


def test_a_file_sets_nothing_that_its_class_does_not_declare(path: Path) -> None:
    change(path, arrays={"model.fit": np.zeros(1), "model.extra_": np.zeros(1)})
    model = load(path)
    assert callable(model.fit)
    assert not hasattr(model, "extra_")


# -- writing ------------------------------------------------------------------------------------------


def test_a_model_that_has_not_learned_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save(make_model("cvg"), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def fail(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["os.replace", "os.fsync"])
def test_a_failing_write_leaves_the_old_file_whole(path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    before = path.read_bytes()
    monkeypatch.setattr(step, fail)
    with pytest.raises(CooccurError) as caught:
        save(make_model("cvg").fit([["other"]]), path)
    monkeypatch.undo()
    assert str(caught.value) == f"{path}: cannot write (No space left on device); the old file, if any, is untouched"
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_while_the_arrays_are_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(arrays: object, temporary: Path, metadata: object) -> None:
        temporary.write_bytes(b"half of")
        raise SafetensorError("No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(ModelFileError) as caught:
        save(make_model("cvg").fit([["other"]]), path)
    assert str(caught.value) == f"{path}: cannot write (No space left on device); the old file, if any, is untouched"
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_no_folder_to_write_to(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "model"
    with pytest.raises(CooccurError) as caught:
        save(make_model("cvg").fit(RECORDS), path)
    assert str(caught.value) == f"{path}: cannot write there (No such file or directory); choose another folder"


def test_an_old_file_is_replaced(path: Path) -> None:
    save(make_model("popularity").fit([["z"]]), path)
    assert load(path).name == "popularity"
    assert list(path.parent.iterdir()) == [path]
