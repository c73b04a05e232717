"""The command line as its user meets it: real processes for what only they show, `main([...])` for the rest."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cooccur
from cooccur import datasets, storage
from cooccur.baskets import Baskets
from cooccur.cli import app, main
from cooccur.cli.describe import log_bins
from cooccur.cli.options import Reading
from cooccur.near import near_names
from cooccur.reading import read_report
from cooccur.synthetic import planted_shop

RUN = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())"]
HEAVY = ("numpy", "scipy", "numba", "polars", "torch", "safetensors")
NAMES = ", ".join(datasets.DATASETS)
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals, pipes and terminals of POSIX")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop's baskets, a model of them, and a data home without data."""
    folder = tmp_path_factory.mktemp("shop")
    baskets = planted_shop().sample(2000, seed=1, sweeps=20)
    lines = [";".join(names) for names in baskets if names]
    (folder / "shop.txt").write_text("\n".join(lines) + "\n")
    (folder / "home").mkdir()
    assert main(["fit", str(folder / "shop.txt"), "-m", "lwcvg", "-o", str(folder / "shop.model")]) == 0
    return folder


@pytest.fixture(autouse=True)
def surroundings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def no_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COOCCUR_DATA", str(folder / "home"))


def run(*arguments: str, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *arguments], input=text, capture_output=True, encoding="utf-8", timeout=300,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
    )  # fmt: skip


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The JSON document of a command that succeeds."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# -- every command ------------------------------------------------------------------------------------

COMMANDS = [
    (["demo"], "3. A basket holds flour, eggs and coffee filters. What is missing?"),
    (["datasets"], "slashdot0811-undirected    77,360   77,360      938,360  no"),
    (["describe", "shop.txt"], "record length         records"),
    (["fit", "shop.txt", "-m", "lrw:steps=2", "-o", "walk.model"], "Next: cooccur complete walk.model"),
    (["complete", "shop.model", "pasta", "oat milk", "-k", "3"], "pasta, oat milk · score: length-weighted"),
    (["similar", "shop.model", "pasta", "-k", "2"], "1  pasta sauce"),
    (["evaluate", "shop.txt", "-m", "popularity", "-m", "cvg", "--folds", "2"], "Top@10"),
    (["models"], "lwcvg        L2  score: length-weighted co-occurrence"),
    (["models", "lrw"], "steps = none  (whole number 1 to 4, or none)"),
    (["doctor"], "threading layer"),
]


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(("arguments", "shows"), COMMANDS, ids=[" ".join(a[:2]) for a, _ in COMMANDS])
def test_runs_and_fits_a_terminal(arguments: list[str], shows: str) -> None:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert shows in done.stdout
    if arguments[0] not in ("doctor", "datasets"):  # these show paths, which are not broken
        assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("arguments", [a for a, _ in COMMANDS], ids=[" ".join(a[:2]) for a, _ in COMMANDS])
def test_json_is_all_of_stdout(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(said(capsys, *arguments), dict)


def test_help_imports_nothing_heavy() -> None:
    commands = [[], ["--help"], ["--version"], ["evaluate", "--help"], ["complete", "--help"], ["datasets", "--help"]]
    code = (
        "import sys, cooccur; from cooccur.cli import main\n"
        f"codes = [main(arguments) for arguments in {commands!r}]\n"
        f"print(codes, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stderr == "[0, 0, 0, 0, 0, 0] []\n"
    assert done.stdout.count("Usage: cooccur [OPTIONS] COMMAND") == 2
    assert f"cooccur {cooccur.__version__}\n" in done.stdout


@pytest.mark.parametrize("command", [c.callback.__name__ for c in app.registered_commands if c.callback] + ["datasets"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Examples:\n    cooccur {command}" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_complete_leaves_polars_alone() -> None:
    code = (
        "import sys; from cooccur.cli import main\n"
        "main(['complete', 'shop.model', 'pasta']); print('polars' in sys.modules, file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == "False\n"


# -- errors -------------------------------------------------------------------------------------------

ERRORS = [
    (["evaluate", "retial", "-m", "cvg"],
     f"retial: no such file, and no dataset of that name; did you mean retail? the datasets are {NAMES}"),
    (["describe", "nothing.csv"],
     f"nothing.csv: no such file, and no dataset of that name; the datasets are {NAMES}"),
    (["describe", "retail", "--threshold", ">= 4"],
     "--threshold is for files, and retail is a dataset; for a file write ./retail"),
    (["describe", "shop.txt", "--format", "line"],
     "unknown format 'line'; choose one of lines, pairs, ratings, wide, csv, parquet, jsonl"),
    (["describe", "shop.txt", "--min-length", "99"], "the filters leave nothing; choose wider ones"),
    (["fit", "shop.txt", "-m", "cvgg", "-o", "a.model"], "unknown model 'cvgg'; did you mean 'cvg'? there are "),
    (["fit", "nothing.csv", "-m", "cvg", "-o", "no/a.model"],
     "no/a.model: the folder no does not exist; make it or choose another"),
    (["fit", "shop.txt", "-m", "cvg", "-o", "home"], "home: this is a folder; give a file's name"),
    (["fit", "shop.txt", "-o", "a.model"], "Missing option "),
    (["fit", "shop.txt", "-m", "cvg", "-o", "a.model", "--treshold", "3"], "No such option: --treshold"),
    (["complete", "shop.txt", "pasta"], "shop.txt: not a readable model file"),
    (["complete", "nothing.model", "pasta"],
     "nothing.model: no such file; make one with `cooccur fit DATA -m MODEL -o FILE`"),
    (["complete", "shop.model"],
     "Invalid value for ITEM: give at least one item, or --input FILE; see `cooccur complete --help`"),
    (["complete", "shop.model", "--input", "shop.txt"],
     "Invalid value for --input: say where the answers go: -o FILE, or --json; see `cooccur complete --help`"),
    (["complete", "shop.model", "pasta", "--input", "shop.txt"],
     "Invalid value for --input: goes without items, --exclude and --explain; see `cooccur complete --help`"),
    (["complete", "shop.model", "pasta", "-o", "a.csv"],
     "Invalid value for -o: goes with --input; a single answer is printed; see `cooccur complete --help`"),
    (["complete", "shop.model", "--input", "nothing", "-o", "a.xls"],
     "a.xls: the ending names no known form; use one of .parquet .csv .jsonl"),
    (["similar", "shop.model", "Pasto"], "unknown item 'Pasto'; did you mean 'pasta'?"),
    (["similar", "shop.model", "qqq"], "unknown item 'qqq'; the model was not trained on it"),
    (["evaluate", "nothing", "-m", "cvg", "-o", "a.xls"],
     "a.xls: the ending names no known form; use one of .md .tex .csv .json .txt"),
    (["evaluate", "nothing", "-m", "lrw:steps=9"], "lrw: steps = 9; expected whole number 1 to 4, or none"),
    (["evaluate", "shop.txt", "-m", "cvg", "--fold", "5"], "fold 5 of 5; they count from 0 to 4"),
    (["evaluate", "shop.txt", "-m", "cvg", "--threads", "0"], "Invalid value for '--threads': "),
    (["datasets", "get", "retial"], "no dataset named 'retial', did you mean retail? choose from"),
    (["models", "lwr"], "unknown model 'lwr'; did you mean 'lrw'? there are"),
    (["nonsense"], "No such command 'nonsense'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "line"), ERRORS, ids=[" ".join(a)[:50] for a, _ in ERRORS])
def test_one_line_and_exit_2(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert out == ""
    assert last.startswith(f"error: {line}")
    assert all(told.startswith(("read as", "left out", "note", "kept")) for told in err.splitlines()[:-1])


def test_an_error_of_a_process() -> None:
    done = run("evaluate", "shop.txt", "--folds", "two", "-m", "cvg")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith("; see `cooccur evaluate --help`\n")


def test_a_bug_shows_its_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise RuntimeError("not the user's fault")

    monkeypatch.setattr(storage, "load", broken)
    assert main(["complete", "shop.model", "pasta"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert "not the user's fault" in err
    assert "this is a bug" in err.splitlines()[-1]


def test_items_that_look_like_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "numbers.txt").write_text("-5;-7;tea\n-5;3\n" * 5)
    assert main(["fit", str(tmp_path / "numbers.txt"), "-m", "cvg", "-o", "numbers.model"]) == 0
    hint = capsys.readouterr().out.splitlines()[-1]
    assert hint == "Next: cooccur complete numbers.model --explain -- -5"
    assert main(shlex.split(hint)[2:]) == 0
    for command in ("complete", "similar"):
        capsys.readouterr()
        assert main([command, "numbers.model", "-5"]) == 2
        told = capsys.readouterr().err
        assert "No such option: -5; if it is an item, put -- before the items; see" in told
        assert main([command, "numbers.model", "--", "-5"]) == 0
    for mistyped in (["complete", "numbers.model", "tea", "--explian"], ["fit", "numbers.txt", "-5"]):
        capsys.readouterr()
        assert main(mistyped) == 2
        assert "if it is an item" not in capsys.readouterr().err


@POSIX
def test_control_c() -> None:
    arguments = ["evaluate", "shop.txt", "-m", "lrw", "--folds", "900", "--draws", "5"]  # minutes of work
    with subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("read as lines")  # by now it works
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err


@POSIX
@pytest.mark.parametrize("arguments", [["models"], ["models", "--json"], ["describe", "shop.txt"]])
def test_the_reader_has_gone(arguments: list[str]) -> None:
    """As `| head -1`, but the reader is gone for certain before the first word."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*RUN, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300)
    os.close(writer)
    assert done.returncode == 141
    assert all(told.startswith(("read as", "left out", "note")) for told in done.stderr.splitlines())


@POSIX
def test_head_gets_its_line() -> None:
    done = subprocess.run(
        ["bash", "-c", '"$0" -m cooccur models | head -1', sys.executable], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("popularity   L1  score: records with the item\n", "")


# -- data ---------------------------------------------------------------------------------------------


def test_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    done = run("describe", "-", "--format", "lines", "--separator", ";", "--json", text=Path("shop.txt").read_text())
    assert json.loads(done.stdout) | {"data": "shop.txt"} == said(capsys, "describe", "shop.txt")


def test_quiet_but_for_how_the_file_was_understood() -> None:
    done = run("fit", "shop.txt", "-m", "lrw", "-o", "quiet.model", "--json")
    assert done.stderr == f"{read_report('shop.txt')[1]}\n"


def test_reading_options_reach_the_reader(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ratings.csv").write_text("%c\nwho,what,stars\nann,tea,5\nann,jam,2\nbob,tea,4\nbob,mint,5\nbob\n")
    told = "--format ratings --separator , --header --record who --item what --rating stars --comment % --skip-bad"
    found = said(capsys, "describe", "ratings.csv", *told.split(), "--threshold", ">= 4", "--encoding", "latin-1")
    assert (found["records"], found["items"], found["occurrences"]) == (2, 2, 3)
    wide = Path("wide.txt")
    wide.write_text("2,99,1,5\n2,7,99,8\n")
    told = "--format wide --separator , --no-header --missing 99 --first 1"
    assert said(capsys, "describe", "wide.txt", *told.split())["occurrences"] == 4


def test_no_reading_option_is_forgotten() -> None:
    assert {"source", *Reading().reader()} == set(inspect.signature(cooccur.read).parameters)
    assert {"self", *Reading().filters()} == set(inspect.signature(Baskets.filter).parameters)
    assert Reading().told() == []


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "describe", "shop.txt", "--top-items", "5", "--min-length", "2", "--max-length", "3")
    assert found["items"] == 5
    assert {b["from"] for b in found["record_length"]["histogram"]} == {2}
    assert main(["describe", "shop.txt", "--min-frequency", "300"]) == 0
    assert "kept: " in capsys.readouterr().err


@pytest.mark.usefixtures("no_data")
def test_a_file_named_like_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jester").write_text("a;b\nb;c;d\n")
    assert main(["describe", "jester"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("note: jester is the public dataset; for the file of that name write ./jester\n")
    assert "jester is not at hand" in err
    assert said(capsys, "describe", "./jester", "--separator", ";")["records"] == 2


def test_describe_counts(capsys: pytest.CaptureFixture[str]) -> None:
    baskets = cooccur.read("shop.txt")
    found = said(capsys, "describe", "shop.txt")
    assert (found["records"], found["items"], found["occurrences"]) == (len(baskets), baskets.n_items, baskets.nnz)
    assert found["sha256"] == baskets.fingerprint()
    assert sum(b["count"] for b in found["record_length"]["histogram"]) == len(baskets)
    assert found["most_frequent"][0]["records"] == found["item_frequency"]["highest"] == baskets.frequencies.max()


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_bins_hold_every_value_once(values: list[int]) -> None:
    for b in log_bins(np.array(values)):
        assert b["count"] == sum(b["from"] <= value <= b["to"] for value in values)
    assert sum(b["count"] for b in log_bins(np.array(values))) == len(values)


def test_datasets_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = tmp_path / "mirror.dat"
    mirror.write_text("1 2\n2\n")
    tiny = replace(datasets.DATASETS["retail"], url=mirror.as_uri(), sha256=None, counts={"records": 2})
    monkeypatch.setitem(datasets.DATASETS, "retail", tiny)
    home = str(tmp_path / "home")
    assert main(["datasets", "get", "retail", "--data-home", home]) == 0
    assert "Next: cooccur describe retail" in capsys.readouterr().out
    listed = {entry["name"]: entry for entry in said(capsys, "datasets", "--data-home", home)["datasets"]}
    assert listed["retail"]["file"] == str(Path(home, "retail", "retail.dat"))
    assert listed["epinions"]["file"] is None
    assert {"citation", "sha256", "url", "licence", "record", "check"} <= listed["epinions"].keys()
    assert said(capsys, "describe", "retail", "--data-home", home)["occurrences"] == 3


# -- asking a model -----------------------------------------------------------------------------------


def test_complete_says_what_the_model_says(capsys: pytest.CaptureFixture[str]) -> None:
    model = storage.load("shop.model")
    found = said(capsys, "complete", "shop.model", "pasta", "oat milk", "-k", "4", "--explain")
    expected = model.complete(["pasta", "oat milk"], 4)
    assert [(row["item"], row["score"]) for row in found["suggestions"]] == [(s.item, s.score) for s in expected]
    for row in found["suggestions"]:
        reason = row["reason"]
        parts = [share["share"] for share in reason["shares"]]
        assert reason["prior"] + sum(parts) + reason["rest"] == pytest.approx(row["score"], rel=1e-5)


def test_reasons_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "shop.model", "pasta", "bread", "-k", "1", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "because of pasta" in out
    assert "because of bread" in out


def test_unknown_items_are_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "shop.model", "Pasta", "Oat Mylk"]) == 0
    out, err = capsys.readouterr()
    assert err == "warning: unknown item 'Oat Mylk'; did you mean 'oat milk'?\n"
    assert out.startswith("pasta · score")  # upper and lower case are one


def test_a_basket_of_unknown_items_gets_the_prior(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "shop.model", "zzz", "--json", "--explain"]) == 0
    out, err = capsys.readouterr()
    empty = storage.load("shop.model").complete([])
    assert [row["item"] for row in json.loads(out)["suggestions"]] == empty.items
    assert "no item of the basket is known" in err.splitlines()[-1]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_batch(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = storage.load("shop.model")
    (tmp_path / "new.csv").write_text("basket,product\nx,pasta\nx,bread\ny,caviar\nz,milk\n")
    target = tmp_path / f"out.{ending}"
    new = str(tmp_path / "new.csv")
    assert main(["complete", "shop.model", "--input", new, "-o", str(target), "-k", "3"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("3 records completed (1 without a known item): 9 rows in ")
    assert "1 items are unknown to the model and were left out, such as 'caviar'" in err
    assert "1 records have no known item" in err
    frame = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending](target)
    assert frame.columns == ["record", "rank", "item", "score"]
    assert frame["record"].to_list() == [*"xxxyyyzzz"]
    assert frame["rank"].to_list() == [1, 2, 3] * 3
    for record, basket in (("x", ["pasta", "bread"]), ("y", []), ("z", ["milk"])):
        assert frame.filter(pl.col("record") == record)["item"].to_list() == model.complete(basket, 3).items
    document = said(capsys, "complete", "shop.model", "--input", new, "-k", "3")
    assert [row["item"] for row in document["completions"]] == frame["item"].to_list()
    assert (document["records"], document["empty"]) == (3, 1)


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
def test_another_case_is_a_near_miss(names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    found = near_names(name.swapcase(), names, n=len(names))
    if name.swapcase().casefold() == name.casefold():
        assert name in found
    assert set(found) <= set(names)


# -- evaluating ---------------------------------------------------------------------------------------


def test_evaluate_writes_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, table = tmp_path / "all.json", tmp_path / "table.md"
    arguments = ["evaluate", "shop.txt", "-m", "cvg", "-m", "lwcvg:length=0", "--fold", "1", "--draws", "2"]
    arguments += ["--top", "3", "--seed", "7", "-o", str(report), "-o", str(table)]
    found = said(capsys, *arguments)
    assert json.loads(report.read_text()) == found
    assert table.read_text().startswith("|")
    assert found["run"]["command"] == "cooccur " + " ".join([*arguments, "--json"])
    assert (found["run"]["seed"], found["run"]["draws"]) == (7, 2)
    assert [(row["label"], row["fold"], row["dataset"]) for row in found["rows"]] == [
        ("cvg", 1, "shop.txt"), ("lwcvg:length=0", 1, "shop.txt"),
    ]  # fmt: skip
    assert "top3" in found["rows"][0]


@pytest.mark.parametrize("threads", [1, 9999])
def test_threads(threads: int) -> None:
    done = run("doctor", "--threads", str(threads), "--json", NUMBA_NUM_THREADS="1")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert json.loads(done.stdout)["threads"] == (1 if threads == 1 else cores)
    assert done.stderr == (
        "" if threads == 1 else f"note: --threads 9999, but there are {cores} cores; using {cores}\n"
    )


def test_seed_reaches_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["fit", "shop.txt", "-m", "lrw", "-o", "seeded.model", "--seed", "5"]
    assert said(capsys, *arguments)["params"]["random_state"] == 5


@POSIX
def test_progress_only_on_a_terminal() -> None:
    import pty

    terminal, end = pty.openpty()
    arguments = ["evaluate", "shop.txt", "-m", "cvg", "--folds", "3", "--json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=end, env=environment) as process:
        os.close(end)
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(terminal)
    assert process.returncode == 0
    assert len(document["rows"]) == 3
    assert b"fold 2, cvg" in shown or b"comparing" in shown


def test_a_terminal_of_few_letters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("café;tea\ncafé;jam;mint\n", encoding="utf-8")
    done = run("describe", str(tmp_path / "a.txt"), PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "caf?" in done.stdout
    assert "####" in done.stdout


# -- the package --------------------------------------------------------------------------------------


def test_public_names() -> None:
    assert set(cooccur.__all__) == set(dir(cooccur))
    assert all(getattr(cooccur, name) is not None for name in cooccur.__all__)
    assert cooccur.load_dataset is datasets.load
    assert cooccur.load is storage.load
    assert cooccur.Baskets is Baskets
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = cooccur.nothing


@pytest.mark.skipif(not os.environ.get("COOCCUR_DATA"), reason="set COOCCUR_DATA to a folder with the public datasets")
def test_rows_of_a_public_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "evaluate", "jester", "-m", "cvg", "--fold", "0")
    keys = "dataset model params fold top1 top10 top1_seen top10_seen mrr fit_seconds predict_seconds peak_mb n_test"
    assert set(keys.split()) <= found["rows"][0].keys()
    assert found["rows"][0]["top1"] == pytest.approx(16.59, abs=0.7)
    assert found["rows"][0]["top10"] == pytest.approx(59.70, abs=0.7)


def test_fit_learns_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "shop.txt", "-m", "cvg", "-m", "lrw", "-o", "two.model"]) == 2
    assert capsys.readouterr().err == "error: -m is given 2 times; fit learns one model into one file\n"


def test_one_bad_rating_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{n % 9}::{n % 7}::{n % 5 + 1}" for n in range(200)]
    lines[19] = "20::3::x"
    (tmp_path / "ratings.dat").write_text("\n".join(lines))
    assert main(["describe", str(tmp_path / "ratings.dat"), "--threshold", ">= 4"]) == 2
    assert "ratings.dat, line 20: " in capsys.readouterr().err
