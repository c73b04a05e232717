"""The model file: plain safetensors, mapped, whole or not at all; one clear error for anything that is not one."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from cooccur.errors import CooccurError, ModelFileError, NotFittedError
from cooccur.models import REGISTRY, make_model
from cooccur.models.calibrated import calibrate
from cooccur.models.energy import LogOdds
from cooccur.models.trained import Trained
from cooccur.storage import load, save
from model_files import TOY, apart, together

RECORDS = [["a", "b"], ["b", "c"], ["a", "b", "c"]]
MAKE = "make one with `cooccur fit DATA -m MODEL -o FILE`"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.safetensors"
    save(make_model("lwcvg:source=0.5").fit(RECORDS), target)
    return target


def change(path: Path, *, drop: str = "", arrays: dict[str, Any] | None = None, **header: Any) -> None:
    """Write the file anew with another header or other arrays, and a right checksum."""
    old, kept = apart(path.read_bytes())
    kept.pop(drop, None)
    path.write_bytes(together(old | header, kept | (arrays or {})))


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
    assert (header["format"], header["model"], header["records"]) == (5, "lwcvg", 3)
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
        ({"format": 6}, "file format 6, this version reads 1 to 5; update cooccur"),
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


CSR = {"model.starts_": np.array([0, 2, 4, 6]), "model.columns_": np.array([1, 2, 0, 2, 0, 1], dtype=np.int32)}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"model.weights_": np.ones(6)}, "weights_ is float64 (6,), expected float32 (nnz) with nnz = 6"),
        ({"model.weights_": np.ones(5, np.float32)}, "weights_ is float32 (5,), expected float32 (nnz) with nnz = 6"),
        ({"model.weights_": np.ones(6, np.float16)}, "weights_ is float16 (6,), expected float32 (nnz) with nnz = 6"),
        ({"model.weights_": np.full(6, np.nan, np.float32)}, "weights_ holds nan to nan, expected -1e+12 to 1e+12"),
        ({"model.weights_": np.full(6, -np.inf, np.float32)}, "weights_ holds -inf to -inf, expected -1e+12 to 1e+12"),
        ({"model.starts_": np.array([0, 2, 6])}, "starts_ is int64 (3,), expected int64 (N+1) with N = 3"),
        ({"model.starts_": np.array([0, 4, 2, 6])}, "starts_ do not rise from 0 to 6"),
        ({"model.starts_": np.array([0, 2, 4, 5])}, "starts_ do not rise from 0 to 6"),
        ({"model.columns_": np.int32([1, 2, 0, 2, 0, 3])}, "columns_ holds 0 to 3, expected 0 to 2"),
        ({"model.columns_": np.int32([1, 2, 0, 2, -1, 1])}, "columns_ holds -1 to 2, expected 0 to 2"),
        ({"model.columns_": np.int32([2, 1, 0, 2, 0, 1])}, "columns_ do not rise within the rows"),
        ({"model.columns_": np.int32([1, 1, 0, 2, 0, 1])}, "columns_ do not rise within the rows"),
        ({"frequencies": np.array([2, 4, 2])}, "frequencies holds 2 to 4, expected 0 to 3"),
        ({"vocabulary.ends": np.array([1, 1, 3])}, None),
        ({"vocabulary.bytes": np.frombuffer(b"aba", np.uint8)}, "a name that stands twice in the vocabulary"),
        (
            {"vocabulary.bytes": np.frombuffer(b"a\xffc", np.uint8)},
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_bad_content_under_a_right_checksum(path: Path, arrays: dict[str, Any], words: str | None) -> None:
    assert {name: array.tolist() for name, array in apart(path.read_bytes())[1].items() if name in CSR} == {
        name: array.tolist() for name, array in CSR.items()
    }
    change(path, arrays=arrays)
    if words is None:
        assert list(load(path).items_) == ["a", "", "bc"]
    else:
        assert message(path) == f"{path}: damaged model file ({words}); fit the model again"


@pytest.mark.parametrize(
    ("spec", "arrays", "words"),
    [
        ("ease", {"kept_": np.int32([0, 1, 2, 3, 5, 4])}, "kept_ does not rise"),
        (
            "ease",
            {"B_": np.zeros((6, 5), np.float32)},
            "B_ is float32 (6, 5), expected float32 (kept, kept) with kept = 6",
        ),
        ("lrw", {"steps_": np.array([5])}, "steps_ holds 5 to 5, expected 1 to 4"),
        (
            "mmmf",
            {"F_": np.zeros((6, 9), np.float32)},
            "fold_in_ is float32 (6, 6), expected float32 (N, d) with N = 6, d = 9",
        ),
        (
            "lbl:factors=4,epochs=1",
            {"F_": np.zeros((6, 3), np.float32)},
            "F_ is float32 (6, 3), expected float32 (N, factors) with N = 6, factors = 4",
        ),
        ("dae:hidden=4,epochs=1", {"sizes_": np.array([3])}, "sizes_ are [3], expected 4"),
        (
            "dem:hidden=4x2,epochs=1,pairs=learned",
            {"sizes_": np.array([2, 4])},
            "E_, layers_ and R_ have (4, 14, 6), hidden layers of [2, 4] need (2, 14, 6)",
        ),
        ("multvae:hidden=4x2,epochs=1", {"sizes_": np.array([], dtype=np.int64)}, None),
        (
            "rbm:hidden=2,epochs=1",
            {"W_": np.full((6, 2), 601, np.float32)},
            "W_ holds 601 to 601, expected -600 to 600",
        ),
        ("lk-fvbm", {"part_of_": None}, "sets_, parts_ and part_of_ do not fit each other"),
        ("lda:topics=2", {"share_": np.zeros(2, np.float32)}, "the topics' shares sum to 0, expected 1"),
    ],
)
def test_what_models_check_themselves(spec: str, arrays: dict[str, Any], words: str | None, path: Path) -> None:
    model = make_model(spec).fit(TOY)
    save(model, path)
    arrays = {f"model.{name}": np.full_like(getattr(model, name), -1) if a is None else a for name, a in arrays.items()}
    change(path, arrays=arrays)
    assert message(path).startswith(f"{path}: damaged model file ({words or ''}")


def test_a_model_that_is_not_sound_is_not_written(tmp_path: Path) -> None:
    model = make_model("independent").fit(RECORDS)
    model.b_ = model.b_ * np.float32(np.nan)
    with pytest.raises(CooccurError, match=r"not written, the model is not sound \(b_ holds nan"):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"dtype": "F4"}, "the array x is of type F4"),
        ({"shape": [3]}, "the array x of shape [3] at 0 to 16"),
        ({"shape": [2**62]}, f"the array x of shape [{2**62}] at 0 to 16"),
        ({"shape": [-2], "data_offsets": [0, -16]}, "the array x of shape [-2] at 0 to -16"),
        ({"data_offsets": [8, 24]}, "the array x of shape [2] at 8 to 24"),
        ({"shape": [4], "data_offsets": [0, 32]}, "the file is cut off"),
        ({"shape": [1], "data_offsets": [0, 8]}, "8 bytes behind the last array"),
        ({"shape": [2] + [1] * 8}, "the array x of shape [2, 1, 1, 1, 1, 1, 1, 1, 1] at 0 to 16"),
    ],
)
def test_places_that_do_not_fit_the_file(tmp_path: Path, table: dict[str, Any], words: str) -> None:
    path = tmp_path / "model"
    text = json.dumps({"x": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]} | table}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
    assert message(path) == f"{path}: not a readable model file ({words}); fit the model again"


def test_headers_that_would_take_memory_or_the_stack(tmp_path: Path) -> None:
    path = tmp_path / "model"
    deep = b'{"a":' * 50_000
    for content, words in (
        ((2**63).to_bytes(8, "little") + bytes(16), "a header of 9,223,372,036,854,775,808 bytes in a file of 24"),
        (len(deep).to_bytes(8, "little") + deep, "maximum recursion depth exceeded"),
        ((12).to_bytes(8, "little") + b'{"a":1,"a":1', "Expecting ',' delimiter"),
        ((13).to_bytes(8, "little") + b'{"a":1,"a":1}', "a name that stands twice in the header"),
        ((12).to_bytes(8, "little") + b'{"a": 1e999}', "1e999 in the header"),
        ((10).to_bytes(8, "little") + b'{"a": NaN}', "NaN in the header"),
    ):
        path.write_bytes(content)
        assert words in message(path)


# -- mapped -------------------------------------------------------------------------------------------


def test_arrays_are_views_of_the_file(path: Path) -> None:
    model = load(path)
    for name in model.arrays:
        array = getattr(model, name)
        assert not array.flags.writeable
        assert not array.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_file_may_be_replaced_while_it_is_mapped(path: Path) -> None:
    model = load(path)
    before = model.complete(["a"])
    for _ in range(3):
        save(make_model("cvg").fit([["other", "things"]] * 1000), path)
    assert model.complete(["a"]) == before
    assert load(path).complete(["other"]).items == ["things"]
    path.unlink()
    assert model.complete(["a"]) == before


def test_a_loaded_model_can_be_saved_over_its_own_file(path: Path) -> None:
    model = load(path)
    content = path.read_bytes()
    model.save(path)
    assert path.read_bytes() == content
    assert load(path).complete(["a"]) == model.complete(["a"])


@pytest.mark.parametrize("name", list(REGISTRY))
def test_whatever_writes_into_a_model_copies(name: str, path: Path) -> None:
    """After a load everything works that worked before it, with the same result, and the file stays as it was."""
    model = make_model(name)
    short = {"epochs": 2, "topics": 4, "factors": 4, "iterations": 5}
    model.set_params(**{key: value for key, value in short.items() if key in model.get_params()})
    save(model.fit(TOY), path)
    content, loaded = path.read_bytes(), load(path)
    np.testing.assert_array_equal(loaded.scores(TOY[:5]), model.scores(TOY[:5]))
    assert loaded.explain(["milk", "tea"], "bread") == model.explain(["milk", "tea"], "bread")
    assert loaded.similar_items("milk") == model.similar_items("milk")
    if isinstance(model, Trained):
        assert isinstance(loaded, Trained)
        assert getattr(loaded, "history_", None) == getattr(model, "history_", None)  # TOY is too small for nets
        model.partial_fit(TOY, epochs=1)
        loaded.partial_fit(TOY, epochs=1)
    if isinstance(model, LogOdds):
        calibrate(model, TOY)
        calibrate(loaded, TOY)
    for array in model.arrays:
        np.testing.assert_array_equal(getattr(loaded, array), getattr(model, array))
    assert loaded.complete(["milk"]) == model.complete(["milk"])
    assert path.read_bytes() == content


def test_without_verifying_only_the_form_is_looked_at(path: Path) -> None:
    content = bytearray(path.read_bytes())
    at = content.rindex(np.float32(load(path).weights_[0]).tobytes())  # type: ignore[attr-defined]
    content[at] ^= 1
    path.write_bytes(content)
    assert message(path) == f"{path}: damaged model file (the checksum does not fit); fit the model again"
    assert load(path, verify=False).complete(["a"]).items == ["b", "c"]
    change(path, arrays={"model.weights_": np.ones(5, np.float32)})
    with pytest.raises(ModelFileError, match="expected float32"):
        load(path, verify=False)


# -- history, notes, older formats, half precision ------------------------------------------------------


def test_the_history_comes_back_without_torch(path: Path) -> None:
    model = make_model("dem:hidden=2,epochs=3,pairs=learned,validation=0.5").fit(TOY)
    model.notes_ = {"validation": {"top1": 12.5, "records": [1, None, True]}}
    save(model, path)
    script = (
        "import json, sys; from cooccur.storage import load; model = load(sys.argv[1]); model.complete(['milk']);"
        "assert 'torch' not in sys.modules and type(model.history_).__name__ == 'History';"
        "print(json.dumps([model.history_.as_dict(), model.notes_]))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert isinstance(model, Trained)
    assert json.loads(done.stdout) == [model.history_.as_dict(), model.notes_]
    assert load(path).fit(TOY).notes_ == {}


def test_histories_and_notes_that_are_none(path: Path) -> None:
    save(make_model("independent").fit(TOY), path)
    epoch = dict.fromkeys(("epoch", "loss", "top1", "top10", "likelihood", "seconds", "records_per_second"), 1)
    for history in (
        {"epochs": [epoch], "best": 1, "interrupted": False},
        {"epochs": [epoch | {"loss": "low"}], "best": 0, "interrupted": False},
        {"epochs": [{}], "best": 0, "interrupted": False},
        {"epochs": 7, "best": 0, "interrupted": False}, {"best": 0}, [], "x",
    ):  # fmt: skip
        change(path, history=history)
        assert message(path).startswith(f"{path}: damaged model file (")
    change(path, history={"epochs": [epoch], "best": 0, "interrupted": False, "of a later version": 1})
    assert load(path).history_.best == 0  # type: ignore[attr-defined]
    model = make_model("popularity").fit(TOY)
    model.notes_ = {"array": object()}
    with pytest.raises(CooccurError, match="notes_ must be plain JSON"):
        save(model, path)


def test_a_history_that_is_not_finite_does_not_cost_the_model(path: Path) -> None:
    model = make_model("lbl:factors=2,epochs=1").fit(TOY)
    assert isinstance(model, Trained)
    object.__setattr__(model.history_.epochs[0], "likelihood", float("-inf"))
    save(model, path)
    assert load(path).history_.epochs[0].likelihood is None  # type: ignore[attr-defined]


def test_numbers_of_numpy_as_parameters(path: Path) -> None:
    save(make_model("lrw", steps=np.int64(2)).fit(TOY), path)
    assert load(path).get_params()["steps"] == 2


def test_a_file_of_format_1() -> None:
    """Written by the version before format 2: a dem with hidden layers and a calibration."""
    model = load(Path(__file__).parent / "data" / "format1.model")
    assert (model.name, model.n_records_, list(model.items_)) == (
        "dem",
        96,
        ["milk", "bread", "butter", "tea", "mint", "honey"],
    )
    assert model.fingerprint_ == "a151197370c467b1c8afd59b0ae17c7d3bbe2234ca54916afa8fccf3e06afe98"
    assert model.calibration_ is not None
    assert (getattr(model, "history_", None), model.notes_) == (None, {})
    found = model.complete(["milk"])
    assert found.items == ["bread", "mint", "tea", "honey", "butter"]
    scores = [3.2376015, -0.2104947, -0.3773142, -0.9975541, -1.1455004]
    assert [s.score for s in found] == pytest.approx(scores, rel=1e-5)
    assert found.suggestions[0].probability == pytest.approx(0.9630865, rel=1e-5)


def test_the_oldest_files_have_no_checksum(path: Path) -> None:
    header, arrays = apart(path.read_bytes())
    save_file(arrays, path, metadata={"cooccur": json.dumps(header | {"format": 1})})
    assert load(path).complete(["a"]).items == ["b", "c"]
    save_file(arrays, path, metadata={"cooccur": json.dumps(header)})
    assert message(path) == f"{path}: damaged model file (the checksum does not fit); fit the model again"


@pytest.mark.parametrize("spec", ["lwcvg", "rp3beta", "lrw", "ease", "fvbm:epochs=3"])
@pytest.mark.parametrize("factor", [1, 1e-9, 1e9])
def test_half_precision(spec: str, factor: float, path: Path) -> None:
    """Half the bytes for pair weights of any size, each within 2^-11 of itself."""
    model = make_model(spec).fit(TOY)
    name = "B_" if spec == "ease" else "weights_"
    setattr(model, name, getattr(model, name) * np.float32(factor))
    save(model, path, half=True)
    assert load_file(path)[f"model.{name}"].dtype == np.float16
    loaded, exact = getattr(load(path), name), getattr(model, name)
    assert loaded.dtype == np.float32
    assert (np.abs(loaded - exact) <= 2**-11 * np.abs(exact)).all()
    if factor == 1:
        np.testing.assert_allclose(load(path).scores(TOY[:5]), model.scores(TOY[:5]), rtol=0.01, atol=0.01)


def test_half_precision_where_there_are_no_pairs(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(CooccurError, match="popularity: it has no pair weights to keep in half precision"):
        make_model("popularity").fit(TOY).save(path, half=True)
    assert path.read_bytes() == before


def test_half_precision_that_is_none(path: Path) -> None:
    model = make_model("lwcvg").fit(RECORDS)
    save(model, path, half=True)
    for half in ({"weights_": -1}, {"weights_": "x"}, {"weights_": 1e30}, {"starts_": 1}, {"b_": 1}, [1], {}):
        change(path, half=half)
        assert message(path).startswith(f"{path}: damaged model file (")
    save(make_model("lwcvg").fit([["a"], ["b"]]), path, half=True)  # without a pair
    assert load(path).complete(["a"]).items == ["b"]


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
    def full(file: Any, *_: object) -> None:
        file.write(b"half of")
        fail()

    before = path.read_bytes()
    monkeypatch.setattr("cooccur.tensors.write", full)
    with pytest.raises(CooccurError) as caught:
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
