"""`cooccur inspect`, and the same answer from the command line, the library and a loaded file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cooccur.cli import main
from cooccur.evaluation.card import measure
from cooccur.models import make_model
from cooccur.models.base import Model
from cooccur.models.calibrated import calibrate
from cooccur.storage import load
from cooccur.synthetic import planted_shop
from model_files import TOY

OLD = Path(__file__).parent / "data" / "format1.model"
Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object, code: int = 0) -> str:
        assert main([str(argument) for argument in arguments]) == code
        out, err = capsys.readouterr()
        return err if code else out

    return command


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = make_model("fvbm:epochs=3,validation=0.5").fit(TOY)
    model.notes_ = {"measured": {"top10": 31.5}}
    model.save(tmp_path / "toy.model", half=True)
    return tmp_path / "toy.model"


def test_what_it_shows(path: Path, run: Run) -> None:
    shown = run("inspect", path)
    for words in (
        r"toy\.model \([\d.]+ kB\): format 5, written by cooccur 0\.",
        r"model +fvbm; its score is a log-odds given the basket",
        r"learned from +120 records over 6 items",
        r"fingerprint +[0-9a-f]{64}",
        r"checksum +[0-9a-f]{8}, right",
        r"calibrated +no",
        r"parameters +epochs=3, batch=none",
        r"note: measured +\{'top10': 31\.5\}",
        r"model\.weights_ +float16 +\d+ +\d+ bytes",
        r"training: 3 epochs in [\d.]+ s\n",
        r"validation Top@10 +100  ▁▁▁",
        r"kept: epoch \d, whose figures these are",
    ):
        assert re.search(words, shown), words


def test_as_json(path: Path, run: Run) -> None:
    found = json.loads(run("inspect", path, "--json"))
    model = load(path)
    assert (found["model"], found["params"], found["records"]) == ("fvbm", model.get_params(), 120)
    assert (found["items"], found["fingerprint"]) == (6, model.fingerprint_)
    assert found["history"] == model.history_.as_dict()  # type: ignore[attr-defined]
    assert found["notes"] == {"measured": {"top10": 31.5}}
    assert found["bytes"] == path.stat().st_size > sum(array["bytes"] for array in found["arrays"])
    assert {"name": "model.b_", "dtype": "float32", "shape": [6], "bytes": 24} in found["arrays"]


def test_a_file_of_format_1_has_no_history(run: Run) -> None:
    found = json.loads(run("inspect", OLD, "--json"))
    assert (found["format"], found["calibrated"], found["history"]) == (1, True, None)
    assert found["checksum"]["state"] == "right"
    assert "training" not in run("inspect", OLD)


def test_a_damaged_file_is_one_line(path: Path, run: Run) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    assert (
        run("inspect", path, code=2)
        == f"error: {path}: not a readable model file (the file is cut off); fit the model again\n"
    )
    assert run("inspect", path.parent / "none", code=2).startswith(f"error: {path.parent / 'none'}: no such file; ")


def test_fit_half(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "toy.txt"
    data.write_text("\n".join(" ".join(record) for record in TOY))
    for options in ([], ["--half"]):
        run("fit", data, "-m", "ease", "-o", tmp_path / f"ease{len(options)}", *options)
    files = [json.loads(run("inspect", tmp_path / name, "--json")) for name in ("ease0", "ease1")]
    one, two = ({array["name"]: array["bytes"] for array in file["arrays"]} for file in files)
    assert one["model.B_"] == 2 * two["model.B_"]
    words = run("fit", data, "-m", "popularity", "-o", tmp_path / "no", "--half", code=2)
    assert words == "error: --half: popularity has no pair weights; leave it out\n"
    assert not (tmp_path / "no").exists()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Model, Path]]:
    """Models as they learned, and their files."""
    folder = tmp_path_factory.mktemp("models")
    models = [make_model(spec).fit(TOY) for spec in ("popularity", "lwcvg", "ease", "dem:hidden=3,epochs=2")]
    models.append(calibrate(make_model("independent").fit(TOY), TOY))
    for number, model in enumerate(models):
        model.save(folder / str(number))
    return [(model, folder / str(number)) for number, model in enumerate(models)]


ITEMS = st.sampled_from(["milk", "bread", "butter", "tea", "mint", "honey", "unicorn", "naïve"])


@settings(max_examples=30)
@given(basket=st.lists(ITEMS, min_size=1, max_size=7), k=st.integers(1, 9))
def test_command_line_library_and_file_agree(both: list[tuple[Model, Path]], basket: list[str], k: int) -> None:
    for model, path in both:
        answer = model.complete(basket, k)
        assert load(path).complete(basket, k) == answer
        with redirect_stdout(io.StringIO()) as out:
            assert main(["complete", str(path), *basket, "-k", str(k), "--json"]) == 0
        told = json.loads(out.getvalue())
        assert (tuple(told["basket"]), tuple(told["unknown"])) == (answer.basket, answer.unknown)
        rows = [(row["item"], row["score"], row["probability"]) for row in told["suggestions"]]
        assert rows == [(s.item, s.score, s.probability) for s in answer]


def test_fit_keeps_how_it_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = tmp_path / "shop.txt"
    records = planted_shop().sample(600, seed=1, sweeps=5)
    shop.write_text("\n".join(",".join(records.items[records.row(r)]) for r in range(len(records))))
    path = tmp_path / "shop.model"
    assert main(["fit", str(shop), "-m", "independent", "-o", str(path), "--measure", "--calibrate", "0.1"]) == 0
    notes = load(path).notes_
    assert [row["label"] for row in notes["summary"]] == ["independent", "popularity", "lwcvg"]
    same, baseline, pairs = notes["summary"]
    assert same["top10"] == baseline["top10"]  # the same ranking
    assert pairs["top10"] > baseline["top10"]
    said, true = (np.array(notes["reliability"][name]) for name in ("predicted", "observed"))
    assert np.abs(said - true).mean() < 0.05
    capsys.readouterr()
    assert main(["inspect", str(path)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert f"measured Top@1 / Top@10 of {notes['removals']} removals: independent {same['top1']:.2f}" in words


def test_what_is_measured_has_the_seed_of_the_model() -> None:
    """One net of four units is much its first numbers, so another seed shows."""
    shop = planted_shop().sample(600, seed=1)
    spec = "dem:hidden=4,pairs=no,start=bold,epochs=1,nets=1"
    plain, told = measure(spec, shop, seed=3), measure(f"{spec},random_state=3", shop, seed=3)
    assert plain["summary"][0]["mrr"] == told["summary"][0]["mrr"]
