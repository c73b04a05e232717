"""The paper's tables again: what is run and in which order, that nothing is run twice or lost, and what is written."""

# ruff: noqa: RUF001

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from cooccur.baskets import Baskets
from cooccur.cli import main
from cooccur.cli.reproduce import Wanted
from cooccur.errors import CooccurError
from cooccur.evaluation.metrics import Ranks, top_at
from cooccur.evaluation.protocol import evaluate
from cooccur.evaluation.removal import fold_numbers
from cooccur.models import make_model
from cooccur.reading import read
from cooccur.reproduce import movies, overview, picture, plan, render, report, work
from cooccur.reproduce.collect import collect
from cooccur.reproduce.plan import Column, Settings, Table, Unit
from cooccur.reproduce.store import Store, pack, unpack
from cooccur.synthetic import planted_shop

RUN = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())"]
LOCKS = Path("/proc/locks")
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Baskets of the planted shop in a file."""
    baskets = planted_shop().sample(600)
    path = tmp_path_factory.mktemp("data") / "shop.csv"
    rows = [f"{record},{item}" for record in range(len(baskets)) for item in baskets.names(record)]
    path.write_text("record,item\n" + "\n".join(rows))
    return path


def arguments(shop: Path, folder: Path, *models: str, folds: int = 3) -> list[str]:
    words = ["reproduce", "table2", "-o", str(folder), "--data", str(shop), "--folds", str(folds), "--no-sweep"]
    return [*words, *(word for model in models for word in ("-m", model))]


def table(folder: Path, name: str = "table2") -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return result


def files(folder: Path) -> dict[str, int]:
    """The finished units and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "units").glob("*/*.json")}


def on(name: str, shop: Path, rows: tuple[str, ...] = ()) -> Table:
    """A target with the shop in place of its data."""
    target = plan.TARGETS[name]
    return Table(target, ((Column("", (str(shop),)), str(shop), ()),), rows or target.rows)


@contextmanager
def started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the test."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def held(lock: Path) -> bool:
    """Whether a process holds it. The file is there a moment earlier, and to try it would be to take it."""
    return lock.exists() and f":{lock.stat().st_ino} " in LOCKS.read_text()


# -- the plan ---------------------------------------------------------------------------------------


def test_the_command_knows_every_target() -> None:
    assert [wanted.value for wanted in Wanted] == [*plan.TARGETS, "all"]


@pytest.mark.parametrize("settings", [Settings(), Settings(quick=True), Settings(sweep=False)])
def test_everything_that_is_run_is_a_model(settings: Settings) -> None:
    made = plan.tables(list(plan.TARGETS), at_hand=lambda name: True)
    spellings = {spelling for unit in plan.units(made, settings) for spelling in unit.candidates}
    for spelling in spellings:
        make_model(spelling)
    assert ("dem:star,hidden=64x64x64" in spellings) == (not settings.quick)


def test_fold_0_of_everything_comes_first_cheap_models_before_dear_ones() -> None:
    made = plan.tables(["table1", "table2"], at_hand=lambda name: True)
    units = plan.units(made, Settings(folds=2))
    assert [unit.fold for unit in units] == sorted(unit.fold or 0 for unit in units)
    assert len(units) == len(set(units)) == 2 * 4 * len(made[0].rows)
    first = [unit.label for unit in units if unit.fold == 0 and unit.dataset == "retail"]
    assert first.index("cvg") < first.index("ease") < first.index("dem") < first.index("rbm")


def test_the_units_that_two_tables_share_are_run_once() -> None:
    made = plan.tables(["table4", "table4"], at_hand=lambda name: True)
    assert len(plan.units(made, Settings(folds=5))) == 9 * 5


def test_a_stand_in_goes_by_its_own_name_and_the_missing_one_is_listed() -> None:
    there = {"ml-1m", "ml-1m-top500", "slashdot0811-undirected", "slashdot0902", "jester", "retail"}
    made = plan.tables(["table1", "table2", "table3"], at_hand=there.__contains__)
    used = [(name, missing) for one in made for _, name, missing in one.columns]
    assert used == [
        ("ml-1m-top500", ("ml-10m-top500",)), ("jester", ()), ("ml-1m", ("ml-10m",)), ("retail", ()),
        (None, ("epinions",)), ("slashdot0811-undirected", ("slashdot0811",)), ("slashdot0902", ()),
    ]  # fmt: skip
    store = Store(Path("nowhere"))
    text = render.markdown(collect(made[2], Settings(), store))
    assert "## slashdot0811-undirected, in place of slashdot0811 (missing)" in text
    assert "## Epinions: missing, no data at hand (epinions)" in text
    assert f"0 of {2 * 5 * len(made[2].rows)} runs are finished" in text


def test_data_that_is_asked_for_stands_beside_the_papers_figures_only_if_nothing_truer_is_at_hand() -> None:
    def asked(*there: str) -> tuple[str, str | None, tuple[str, ...]]:
        [made] = plan.tables(["table1"], data=["ml-1m"], at_hand=there.__contains__)
        [(column, name, missing)] = made.columns
        return column.printed, name, missing

    assert asked("ml-1m") == ("MovieLens-10M", "ml-1m", ("ml-10m",))
    assert asked("ml-1m", "ml-10m")[:2] == ("", "ml-1m")
    assert asked() == ("", None, ("ml-1m",))


@pytest.mark.parametrize("target", plan.COMPARED)
def test_rows_and_columns_of_each_table_can_be_others(target: str, shop: Path) -> None:
    [made] = plan.tables(
        [target], data=[str(shop)], models=["lwcvg:source=0.5", "dem:star"], at_hand=lambda name: True, tune=True
    )
    assert made.rows == ("lwcvg:source=0.5", "dem:star", "lwcvg:source=0.5, tuned")
    assert [name for _, name, _ in made.columns] == [str(shop)]


def test_the_papers_dem_stands_beside_both_of_ours_and_best_of_its_column() -> None:
    for name in ("table1", "table2", "table3"):
        for column in plan.TARGETS[name].columns:
            found = {label: plan.printed(column, label) for label in plan.TARGETS[name].rows}
            assert found["dem"] == found["dem:paper"]
            assert found["dem:star"] is found["ease"] is None
            known = [one for one in found.values() if one is not None]
            if column.printed:
                assert found["dem"] is not None
                assert len(known) == 10
                assert found["dem"].top1.mean == max(one.top1.mean for one in known)
                assert found["dem"].top10.mean == max(one.top10.mean for one in known)


# -- the store --------------------------------------------------------------------------------------

KEY = {"dataset": "a/b: c", "label": "dem:hidden=8", "fold": 0}


def test_what_is_written_is_read_again_under_its_own_key_only(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(KEY, {"value": 1})
    assert store.read(KEY) == {"key": KEY, "value": 1}
    assert store.read({**KEY, "fold": 1}) is None
    assert store.read({**KEY, "seed": 1}) is None
    assert [path.parent.parent for path in tmp_path.rglob("*.json")] == [tmp_path]


@pytest.mark.parametrize("text", ["", "{", '{"key": 1}', "[]"])
def test_a_damaged_unit_is_named(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.write(KEY, {})
    store.path(KEY).write_text(text)
    with pytest.raises(CooccurError, match=re.escape(f"{store.path(KEY)}: not a finished unit")):
        store.read(KEY)


def test_ranks_survive_the_file_as_far_as_the_metrics_ask() -> None:
    rng = np.random.default_rng(0)
    greater = np.where(rng.random(5000) < 0.5, rng.integers(0, 20, 5000), rng.integers(0, 80_000, 5000))
    ranks = Ranks(greater, rng.integers(1, 9, 5000), np.full(5000, 90_000))
    again = unpack(pack(ranks, 10))
    for k in (1, 5, 10):
        assert np.array_equal(top_at(again, k), top_at(ranks, k))
    assert len(pack(ranks, 10)) < 5000 < len(pack(ranks, 10**6))


def test_a_lock_keeps_another_process_out_and_dies_with_its_own(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from cooccur.reproduce.store import Store\n"
        f"with Store(Path({str(tmp_path)!r})).locked({KEY!r}) as ours: print(ours, flush=True); time.sleep(600)"
    )
    with started([sys.executable, "-c", script]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        with Store(tmp_path).locked(KEY) as ours:
            assert not ours
        process.kill()
        process.wait()
    with Store(tmp_path).locked(KEY) as ours:
        assert ours


# -- the work ---------------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_protocol(shop: Path, tmp_path: Path) -> None:
    models = ["popularity", "ease", "dem:hidden=4,epochs=2"]
    assert main(arguments(shop, tmp_path, *models)) == 0
    expected = evaluate(read(shop), models, folds=3)
    rows = table(tmp_path)["columns"][0]["rows"]
    for row, summary, fold0 in zip(rows, expected["summary"], expected["rows"], strict=False):
        assert row["label"] == summary["label"] == fold0["label"]
        for metric in ("top1", "top10", "mrr", "top10_seen"):
            assert row["ours"][f"{metric}_mean"] == pytest.approx(summary[f"{metric}_mean"], abs=1e-9)
            assert row["ours"][f"{metric}_std"] == pytest.approx(summary[f"{metric}_std"], abs=1e-9)
            assert row["each"][0][metric] == pytest.approx(fold0[metric], abs=1e-9)
    tests = {(pair["a"], pair["b"]): pair for pair in table(tmp_path)["columns"][0]["tests"]["top10"]}
    for pair in expected["significance"]["top10"]:
        labels = [expected["summary"][pair[which]]["label"] for which in ("a", "b")]
        if labels[0] == "ease":
            mine = tests["dem:hidden=4,epochs=2", "ease"]
            assert -mine["difference"] == pytest.approx(pair["difference"])
            assert mine["p"] == pytest.approx(pair["p"], abs=0.02)  # other draws of the signs
            assert mine["p_t"] == pytest.approx(pair["p_t"])


def test_a_finished_fold_is_never_run_again(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(shop, tmp_path, "popularity", "cvg"))
    before = files(tmp_path)
    assert len(before) == 6
    capsys.readouterr()
    assert main(arguments(shop, tmp_path, "popularity", "cvg", "normcvg")) == 0
    told = re.findall(r"^\d of 9: .*, (\w+), fold (\d):", capsys.readouterr().err, re.MULTILINE)
    assert told == [("normcvg", "0"), ("normcvg", "1"), ("normcvg", "2")]
    after = files(tmp_path)
    assert len(after) == 9
    assert {name: after[name] for name in before} == before


def test_a_file_that_changed_is_other_data(shop: Path, tmp_path: Path) -> None:
    copy = tmp_path / "shop.csv"
    copy.write_text(shop.read_text())
    main(arguments(copy, tmp_path, "popularity"))
    copy.write_text(shop.read_text() + "\nlast,milk\nlast,bread\n")
    assert main(arguments(copy, tmp_path, "popularity")) == 0
    assert len(files(tmp_path)) == 6
    assert table(tmp_path)["columns"][0]["data"]["records"] == len(read(copy))


@pytest.mark.skipif(not LOCKS.exists(), reason="needs Linux's list of locks")
def test_a_killed_run_loses_only_the_unit_at_hand(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = "fvbm:epochs=100000000,validation=0"
    store = Store(tmp_path / "units")
    with started([*RUN, *arguments(shop, tmp_path, "popularity", "cvg", endless)]) as process:
        unit = Unit(plan.identity(str(shop)), endless, (endless,), 0, 3, 0)
        deadline = time.monotonic() + 120
        while not held(store.path(unit.key, "lock")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert process.poll() is None
        with store.locked(unit.key) as ours:
            assert not ours
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = files(tmp_path)
    assert sorted(name.split(".")[0] for name in before) == ["cvg", "popularity"]
    with store.locked(unit.key) as ours:
        assert ours
    assert main([*arguments(shop, tmp_path, "popularity", "cvg", endless), "--render-only"]) == 0
    assert [row["folds"] for row in table(tmp_path)["columns"][0]["rows"]] == [1, 1, 0]
    assert "7 of 9 runs are not finished" in capsys.readouterr().err
    assert main(arguments(shop, tmp_path, "popularity", "cvg")) == 0
    after = files(tmp_path)
    assert len(after) == 6
    assert {name: after[name] for name in before} == before


def test_two_processes_share_the_work(shop: Path, tmp_path: Path) -> None:
    words = arguments(shop, tmp_path, "popularity", "cvg", "normcvg", "lrw", "mmmf", "ease", "ease:plain", folds=4)
    both = [subprocess.Popen([*RUN, *words], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    done = [line for text in told for line in re.findall(r"^\d+ of 28: (.*, fold \d)", text, re.MULTILINE)]
    assert len(done) == len(set(done)) == len(files(tmp_path)) == 28
    assert all(row["folds"] == 4 for row in table(tmp_path)["columns"][0]["rows"])


def test_a_model_that_fails_leaves_the_others_their_figures(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(shop, tmp_path, "popularity", "lk-fvbm:max_items=3", "cvg")) == 2
    told = capsys.readouterr().err
    assert "error: 3 of 9 runs failed, first lk-fvbm:max_items=3 on shop.csv@" in told
    assert [row["folds"] for row in table(tmp_path)["columns"][0]["rows"]] == [3, 0, 3]
    line = next(text for text in (tmp_path / "table2.md").read_text().splitlines() if "lk-fvbm" in text)
    assert re.sub(r"\s+", " ", line) == "| `lk-fvbm:max_items=3` | - | - | - | 0 of 3 |"


def test_the_headline_is_over_the_folds_that_both_have(shop: Path, tmp_path: Path) -> None:
    store, settings = Store(tmp_path), Settings(folds=4, sweep=False)
    made = on("table2", shop, ("cvg", "ease", "dem:hidden=none", "dem", "dem:names=no"))
    share = lambda percent: np.arange(200) % 100 < percent  # noqa: E731
    rows = (("cvg", 30, 4), ("ease", 52, 1), ("dem:hidden=none", 45, 3), ("dem", 50, 2), ("dem:names=no", 40, 1))
    for label, percent, folds in rows:
        invent(store, made, settings, label, share(percent), range(folds))
    found = overview.headline([collect(made, settings, store)]).splitlines()[-1]
    cells = [cell.strip() for cell in found.strip("|").split("|")]
    figures = ["52.00 / 52.00", "45.00 / 45.00", "50.00 / 50.00", "40.00 / 40.00"]
    assert cells[1:8] == ["1", "`ease`", *figures, "-2.00"]
    assert 0 < float(cells[8]) < 0.2
    [*_, page] = report.write([made, on("figure2", shop)], settings, store, tmp_path)
    assert page.name == "results.md"
    assert found in page.read_text()


def test_the_picture_has_each_row_with_all_of_dems_folds(shop: Path, tmp_path: Path) -> None:
    store, settings = Store(tmp_path), Settings(folds=4, sweep=False, tune=2)
    share = lambda percent: np.arange(200) % 100 < percent  # noqa: E731
    rows = (("cvg", 20, 4), ("ease", 52, 1), ("ease, tuned", 55, 2), ("dem:hidden=none", 45, 3), ("dem", 50, 2))
    made = on("table2", shop, tuple(label for label, _, _ in rows))
    for label, percent, folds in rows:
        invent(store, made, settings, label, share(percent), range(folds))
    [column] = collect(made, settings, store)["columns"]
    found = [(style, label, round(share)) for style, label, _, share in picture.shares(column, "top10")]
    expected = [("peer", "cvg", 40), ("tuned", "ease, tuned", 110), ("dem", "dem", 100)]
    assert found == [*expected, ("dem:hidden=none", "dem:hidden=none", 90)]
    *_, drawn, _ = report.write([made, on("figure2", shop)], settings, store, tmp_path)
    words = "".join(ElementTree.parse(drawn).getroot().itertext())
    assert drawn.name == "results.svg"
    assert "ease, tuned 55.00" in words
    assert shop.name in words
    assert "ease 52.00" not in words  # it lacks one of DEM's folds


# -- the choice of sizes ----------------------------------------------------------------------------


def choices(baskets: Baskets, folder: Path) -> tuple[str, list[float]]:
    unit = Unit("shop", "any", ("popularity", "ease", "cvg"), 1, 4, 0)
    store = Store(folder)
    work.run([unit], lambda name, sample: baskets, store)
    document = store.read(unit.key)
    assert document is not None
    return document["chosen"], [choice["value"] for choice in document["choices"]]


def test_the_best_on_validation_records_is_chosen_and_test_records_have_no_say(tmp_path: Path) -> None:
    baskets = planted_shop().sample(800)
    chosen, values = choices(baskets, tmp_path / "a")
    assert chosen == ["popularity", "ease", "cvg"][int(np.argmax(values))] != "popularity"
    # the same training records, but every test record is nonsense
    test = fold_numbers(len(baskets), 4)[:, None] == 1
    dense = np.asarray(baskets.matrix.todense(), dtype=bool)
    other = np.where(test, np.random.default_rng(1).random(dense.shape) < 0.5, dense)
    assert choices(Baskets.from_matrix(other, baskets.items), tmp_path / "b") == (chosen, values)


def test_tuned_rows_stand_beside_those_that_are_spelled(shop: Path, tmp_path: Path) -> None:
    """Their figures are those of `evaluate --tune`, and what was finished without them counts."""
    plain = arguments(shop, tmp_path, "popularity", "lwcvg", "dem:hidden=none", folds=2)
    assert main(plain) == 0
    before = files(tmp_path)
    assert len(before) == 6
    assert main([*plain, "--tune", "4"]) == 0
    new = files(tmp_path)
    assert {name: new[name] for name in before} == before
    assert len(new) == 8
    rows = {row["label"]: row for row in table(tmp_path)["columns"][0]["rows"]}
    assert list(rows) == ["popularity", "lwcvg", "dem:hidden=none", "lwcvg, tuned"]
    expected = evaluate(read(shop), ["lwcvg"], folds=2, tune=4)
    found = rows["lwcvg, tuned"]
    assert [one["top10"] for one in found["each"]] == [row["top10"] for row in expected["rows"]]
    assert [one["params"] for one in found["each"]] == [row["params"] for row in expected["rows"]]
    assert all(one["tuned"]["trials"] == 4 for one in found["each"])
    assert found["ours"]["top10_mean"] > rows["lwcvg"]["ours"]["top10_mean"]
    text = (tmp_path / "table2.md").read_text()
    assert "Tuned rows: settings (in the JSON) by 4 trials in each fold" in text
    assert "Sizes were chosen" not in text
    assert "| `lwcvg, tuned` " in text
    assert main([*plain, "--tune", "5", "--render-only"]) == 0  # another search, of which nothing is finished
    assert [row["label"] for row in table(tmp_path)["columns"][0]["rows"]] == ["popularity", "lwcvg", "dem:hidden=none"]


def test_a_choice_that_is_known_is_not_made_again(tmp_path: Path) -> None:
    baskets = planted_shop().sample(400)
    unit, store = Unit("shop", "any", ("popularity", "cvg"), 0, 4, 0), Store(tmp_path)
    kept = {"label": "popularity", "value": 1000.0, "top1": 500.0, "top10": 500.0, "seconds": 1.0}
    store.write(unit.key | {"label": "popularity", "candidates": "validation"}, kept)
    work.run([unit], lambda name, sample: baskets, store)
    document = store.read(unit.key)
    assert document is not None
    assert document["chosen"] == "popularity"  # by the value that was found


# -- significance -----------------------------------------------------------------------------------


def invent(store: Store, made: Table, settings: Settings, label: str, hits: np.ndarray, folds: range) -> None:
    """A finished row in which the removed item came first (a hit) or last."""
    [(_, dataset, _)] = made.columns
    assert dataset is not None
    for fold in folds:
        ranks = Ranks(np.where(hits, 0, 50), np.ones_like(hits, dtype=int), np.full(len(hits), 60))
        top = 100 * float(hits.mean())
        row = {"model": label, "params": {}, "top1": top, "top10": top, "n_test": len(hits), "n_seen": len(hits)}
        row |= {"top1_seen": top, "top10_seen": top, "fit_seconds": 1.0, "predict_seconds": 0.5}
        store.write(
            made.unit(plan.identity(dataset), label, fold, settings).key,
            {
                "data": {"sha256": "0", "records": 9, "items": 60, "occurrences": 99}, "versions": {}, "threads": 1,
                "chosen": label, "choices": [], "row": row, "ranks": pack(ranks, 10), "finished": "",
            },
        )  # fmt: skip


def test_letters_name_whom_a_row_beats(shop: Path, tmp_path: Path) -> None:
    store, settings = Store(tmp_path), Settings(folds=2, sweep=False)
    made = on("table2", shop, ("dae", "fvbm", "dem", "cvg"))
    many, few = np.arange(200) % 2 == 0, np.arange(200) % 10 == 0  # 50 % and 10 %, the few among the many
    slightly = many.copy()
    slightly[:3] = True
    for label, hits in (("dae", few), ("fvbm", many), ("dem", slightly), ("cvg", few)):
        invent(store, made, settings, label, hits, range(2))
    result = collect(made, settings, store)
    letters = {row["label"]: row["letters"]["top1"] for row in result["columns"][0]["rows"]}
    assert letters == {"dae": "", "fvbm": "", "dem": "α", "cvg": ""}  # fvbm beats dae, but DEM is what is tested
    tests = {(pair["a"], pair["b"]): pair for pair in result["columns"][0]["tests"]["top1"]}
    assert set(tests) == {("dae", "dem"), ("fvbm", "dem"), ("cvg", "dem")}  # a pair of references once
    assert tests["fvbm", "dem"]["difference"] == pytest.approx(-0.5)
    assert tests["fvbm", "dem"]["p"] == 0.5  # two records differ, both one way: 2 of 4 choices of signs
    text = render.markdown(result)
    assert "| DEM   | **50.50** ± 0.00 <sup>α</sup> |" in text
    latex = render.latex(result)
    assert r"DEM & \textbf{50.50} $\pm$ 0.00$^{\alpha}$ &" in latex
    latex.encode("ascii")  # any LaTeX can set it


def test_rows_are_compared_on_the_folds_that_both_have(shop: Path, tmp_path: Path) -> None:
    store, settings = Store(tmp_path), Settings(folds=3, sweep=False)
    made = on("table2", shop, ("dae", "dem"))
    invent(store, made, settings, "dae", np.zeros(100, dtype=bool), range(3))
    invent(store, made, settings, "dem", np.ones(100, dtype=bool), range(2))
    result = collect(made, settings, store)
    assert [pair["folds"] for pair in result["columns"][0]["tests"]["top1"]] == [2]
    assert (result["finished"], result["units"]) == (5, 6)
    lines = render.markdown(result).splitlines()
    assert next(line for line in lines if line.startswith("| DEM")).endswith("| 2 of 3 |")
    assert "5 of 6 runs are finished." in lines[2]


def test_units_of_different_data_are_not_mixed(shop: Path, tmp_path: Path) -> None:
    store, settings = Store(tmp_path), Settings(folds=2, sweep=False)
    made = on("table2", shop, ("dae", "dem"))
    for label in made.rows:
        invent(store, made, settings, label, np.ones(100, dtype=bool), range(2))
    key = made.unit(plan.identity(str(shop)), "dem", 0, settings).key
    document = store.read(key)
    assert document is not None
    store.write(key, {**document, "data": {**document["data"], "sha256": "1"}})
    with pytest.raises(CooccurError, match="made from different data"):
        collect(made, settings, store)


# -- the figures ------------------------------------------------------------------------------------


def test_the_figures_are_drawn(shop: Path, tmp_path: Path) -> None:
    store, settings = Store(tmp_path / "units"), Settings(quick=True)
    made = [on("figure2", shop), on("figure3", shop)]
    units = plan.units(made, settings)
    assert len(units) == 7
    assert work.run(units, work.Data([str(shop)]), store) == {}
    paths = [path.name for path in report.write(made, settings, store, tmp_path)]
    assert sorted(paths) == [
        "figure2-quick.json", "figure2-quick.md", "figure2-quick.png", "figure2-quick.tex",
        "figure3-quick.html", "figure3-quick.json", "figure3-quick.md", "figure3-quick.png",
    ]  # fmt: skip
    for name in ("figure2-quick.png", "figure3-quick.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    rows = table(tmp_path, "figure2-quick")["columns"][0]["rows"]
    assert [row["title"] for row in rows] == [
        "DEM, no hidden layers",
        "DEM-8",
        "DEM-16",
        "DEM-32",
        "DEM-64",
        "DEM-32x16",
    ]
    found = table(tmp_path, "figure3-quick")
    assert found["dimensions"] == 128
    assert np.array(found["places"]).shape == (len(found["items"]), 2)
    page = (tmp_path / "figure3-quick.html").read_text()
    assert page.count("<circle") == len(found["items"])
    assert "<title>milk</title>" in page
    assert "QUICK RUN, NOT THE RESULT" in page


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Star Trek: The Wrath of Khan (1982)", "Star Trek VI: The Undiscovered Country (1991)", True),
        ("Star Wars: Episode IV - A New Hope (1977)", "Star Wars: Episode I - The Phantom Menace (1999)", True),
        ("Star Wars: Episode IV - A New Hope (1977)", "Star Trek: Generations (1994)", False),
        ("Back to the Future (1985)", "Back to the Future Part III (1990)", True),
        ("Mad Max (1979)", "Mad Max 2 (a.k.a. The Road Warrior) (1981)", True),
        ("Close Shave, A (1995)", "Wallace & Gromit: The Best of Aardman Animation (1996)", True),
        ("Godfather, The (1972)", "Godfather: Part II, The (1974)", True),
        ("Naked Gun 2 1/2: The Smell of Fear, The (1991)", "Naked Gun: From the Files, The (1988)", True),
        ("I Know What You Did Last Summer (1997)", "I Shot Andy Warhol (1996)", False),
        ("X-Men (2000)", "X Files: Fight the Future, The (1998)", False),
        ("12 Angry Men (1957)", "12 Monkeys (1995)", False),
    ],
)  # fmt: skip
def test_series_by_the_rule_about_titles(one: str, other: str, same: bool) -> None:
    assert (movies.series(one) == movies.series(other)) == same


def test_chance_is_what_random_neighbours_give() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 6, size=60)
    kind[:5] = np.arange(100, 105)  # five that belong with nobody do not count
    together = kind[:, None] == kind
    draws = []
    for _ in range(300):
        near = np.array([rng.permutation(np.delete(np.arange(60), item))[:10] for item in range(60)])
        draws.append(movies.score(near, together))
    assert {draw["items"] for draw in draws} == {55}
    assert np.mean([draw["share"] for draw in draws]) == pytest.approx(draws[0]["chance"], abs=0.3)
    best = np.array([np.argsort(~together[item] | (np.arange(60) == item), kind="stable")[:10] for item in range(60)])
    assert movies.score(best, together)["share"] == draws[0]["most"]


# -- the command ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table9"], "table9"),
        (["table2", "-m", "nothing"], "unknown model 'nothing'"),
        (["table2", "--data", "nothing"], "nothing: no such file, and no dataset of that name"),
        (["table2"], "none of the data is at hand (ml-10m, ml-1m, retail)"),
        (["table2", "--folds", "1"], "--folds"),
    ],
)
def test_one_line_and_exit_2(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["reproduce", *words, "-o", str(tmp_path / "results"), "--data-home", str(tmp_path)]
    assert main(given) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_a_folder_that_cannot_be_made(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(arguments(shop, tmp_path / "file" / "results", "popularity")) == 2
    assert "choose another folder with -o" in capsys.readouterr().err


@POSIX
def test_ctrl_c_keeps_what_is_finished(shop: Path, tmp_path: Path) -> None:
    endless = "fvbm:epochs=100000000,validation=0"
    words = arguments(shop, tmp_path, "popularity", endless)
    with started([*RUN, *words]) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("1 of 6: ")
        time.sleep(2)  # wherever it is by then, compiling or learning
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert told.splitlines()[-2:] == ["what is finished is kept; the same command goes on from there", "interrupted"]
    assert [name.split(".")[0] for name in files(tmp_path)] == ["popularity"]


@pytest.mark.skipif(not os.environ.get("COOCCUR_DATA"), reason="set COOCCUR_DATA to the folder with the real data")
def test_a_quick_run_on_the_real_data(tmp_path: Path) -> None:
    assert main(["reproduce", "table2", "--quick", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "table2-quick.md").read_text()
    assert text.startswith("# QUICK RUN, NOT THE RESULT: Table 2")
    assert not (tmp_path / "table2.md").exists()
    result = table(tmp_path, "table2-quick")
    assert [column["dataset"] for column in result["columns"]][1] == "retail"
    assert result["finished"] == result["units"] == 2 * len(plan.TARGETS["table2"].rows)
    for column in result["columns"]:
        rows = {row["label"]: row["ours"] for row in column["rows"]}
        assert rows["ease"]["top10_mean"] > rows["popularity"]["top10_mean"]
    # the same records and the same removals, asked of the protocol itself
    baskets = work.Data(["retail"])("retail", plan.QUICK_SAMPLE)
    [row] = evaluate(baskets, ["cvg"], fold=0)["rows"]
    mine = next(row for row in result["columns"][1]["rows"] if row["label"] == "cvg")
    assert mine["ours"]["top10_mean"] == pytest.approx(row["top10"])


def test_a_quick_unit_is_never_taken_for_a_result() -> None:
    made = plan.tables(["table2"], at_hand=lambda name: True)
    quick, real = (plan.units(made, Settings(quick=quick)) for quick in (True, False))
    store = Store(Path("units"))
    assert not {store.path(unit.key) for unit in quick} & {store.path(unit.key) for unit in real}
    assert all(dataclasses.replace(unit, sample=None) != unit for unit in quick)
