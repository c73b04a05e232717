"""Selection: what is searched, by what records, how it is kept, and that a test record never has a say."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cooccur.baskets import Baskets
from cooccur.cli import main
from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.protocol import evaluate
from cooccur.evaluation.removal import fold_numbers, hold_out, rank
from cooccur.models import REGISTRY, make_model, model_class
from cooccur.models.base import Progress
from cooccur.models.graph import LwCvg
from cooccur.models.lbl import Lbl
from cooccur.models.parameters import check, parameter
from cooccur.synthetic import planted_shop
from cooccur.tuning import Trial, Tuned, search_space, tune
from cooccur.tuning import search as inside_search
from cooccur.tuning.space import inside, spelled

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture(scope="module")
def shop() -> Baskets:
    return planted_shop().sample(1000, seed=1, sweeps=20)


@dataclass(eq=False, kw_only=True)
class Spoilt(LwCvg):
    """`lwcvg` whose default prefers the rarest items; the range holds better settings."""

    name: ClassVar[str] = "spoilt"
    target: float = parameter(2.0, "planted: far too much", low=0, high=2, search=(0, 2))


@dataclass(eq=False, kw_only=True)
class Picky(LwCvg):
    """`lwcvg` that some settings cannot fit."""

    name: ClassVar[str] = "picky"
    length: float = parameter(1.0, "planted", low=0, high=3, search=[0.0, 0.5, 1.0, 2.0])
    source: float = parameter(0.7, "not searched", low=0, high=2)
    target: float = parameter(0.0, "not searched", low=0, high=2)

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        if self.length in (0.5, 2.0):
            raise ParameterError(f"picky: length = {self.length}; take another")
        super()._fit(baskets, progress)


@dataclass(eq=False, kw_only=True)
class Hopeless(Picky):
    name: ClassVar[str] = "hopeless"
    length: float = parameter(2.0, "planted", low=0, high=3, search=[0.5, 2.0])


@dataclass(eq=False, kw_only=True)
class Slow(Lbl):
    """`lbl` most of whose rates are hopeless: it ends where it began."""

    name: ClassVar[str] = "slow"
    factors: int = parameter(8, "not searched", low=1)
    length: float = parameter(1.0, "not searched", low=0, high=3)
    epochs: int = parameter(7, "", low=1)
    patience: int = parameter(7, "", low=1)
    rate: float = parameter(
        0.03, "planted", low=1e-9, search=[0.03, 0.02, 0.01, 0.015, *(n * 1e-6 for n in range(1, 9))]
    )


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("cooccur.models.planted")
    for kind in (Spoilt, Picky, Hopeless, Slow):
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(REGISTRY, kind.name, f"planted:{kind.__name__}")
    monkeypatch.setitem(sys.modules, module.__name__, module)


def without_seconds(found: Tuned) -> list[Trial]:
    return [dataclasses.replace(trial, seconds=0) for trial in found.trials]


# -- where it looks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
def test_ranges_are_legal_and_hold_the_default(name: str) -> None:
    space, fields = search_space(name), {field.name: field for field in dataclasses.fields(model_class(name))}
    for key, where in space.items():
        ends = where.choices if isinstance(where, CategoricalDistribution) else (where.low, where.high)  # type: ignore[attr-defined]
        for value in ends:
            check(name, fields[key], value)
        if fields[key].default is not None:  # none: the model chooses for itself
            assert inside(space, {key: fields[key].default}), key


def test_how_a_range_is_read() -> None:
    assert search_space("lwcvg")["length"] == FloatDistribution(0, 2)
    assert search_space("ease") == {
        "l2": FloatDistribution(3, 3000, log=True), "centred": CategoricalDistribution([True, False]),
    }  # fmt: skip
    assert search_space("lbl")["factors"] == IntDistribution(16, 256, log=True)
    assert search_space("lrw")["steps"] == IntDistribution(1, 4)
    assert search_space("rbm")["decay"] == CategoricalDistribution([0.0, 1e-4, 1e-3, 1e-2])


def test_what_the_user_sets_stays(shop: Baskets) -> None:
    assert search_space("cvg") == {}
    assert list(search_space("lwcvg: source=0.5")) == ["length", "target"]
    assert list(search_space("ease:centred")) == ["l2"]  # a preset sets it
    found = tune(shop, "lwcvg: source=0.5 ,target=0.1", budget=4)
    assert [set(trial.settings) for trial in found.trials] == [{"length"}] * 4
    assert make_model(found.spelling).get_params() | {"length": 0} == {"length": 0, "source": 0.5, "target": 0.1}


def test_the_spelling_is_what_was_measured(shop: Baskets) -> None:
    found = tune(shop, "lwcvg", budget=8)
    assert found.best.number > 0
    learn, removals = hold_out(shop, inside_search.SHARE, 0, inside_search.AT_MOST, inside_search.REMOVALS)
    ranks = rank(make_model(found.spelling).fit(learn), removals)
    assert (found.best.top1, found.best.top10) == tuple(100 * top_at(ranks, k).mean() for k in (1, 10))
    for trial in found.trials:
        assert make_model(spelled("lwcvg", trial.settings)).get_params() == trial.settings
    assert len(removals) == found.removals == 10 * found.held_out
    assert set(removals.rest.records).isdisjoint(learn.records)


# -- what it finds ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("planted")
def test_a_planted_mistake_is_mended(shop: Baskets) -> None:
    found = tune(shop, "spoilt", budget=15)
    first = found.trials[0]
    assert first.settings == {"length": 1.0, "source": 0.7, "target": 2.0}
    good = tune(shop, "lwcvg", budget=1).best.value
    assert first.value < good - 10  # it was a mistake
    assert found.best.value > good - 1
    assert found.best.settings["target"] < 1.3


def test_never_behind_the_defaults(shop: Baskets) -> None:
    """Trial 0 is the model as spelled; where nothing beats it, it wins, and the spelling says so."""
    found = tune(shop, "ease", budget=1)
    assert found.trials[0].settings == {"l2": None, "centred": True}  # outside the range, and still the first
    assert found.spelling == "ease"
    for seed in range(4):
        found = tune(shop, "lwcvg:length=0.3", budget=3, seed=seed)
        assert found.trials[0].settings == {"source": 0.7, "target": 0.0}
        assert found.best.value >= found.trials[0].value
    tied = dataclasses.replace(found, trials=[Trial(n, {"source": n / 10}, "done", 10.0, 20.0) for n in range(3)])
    assert tied.best.number == 0


def test_a_small_range_is_searched_once(shop: Baskets) -> None:
    found = tune(shop, "lrw", budget=40)
    tried = [(trial.settings["steps"], trial.settings["total"]) for trial in found.trials]
    assert tried[0] == (None, False)
    assert sorted(tried[1:]) == [(steps, total) for steps in (1, 2, 3, 4) for total in (False, True)]


def test_same_seed_same_search(shop: Baskets) -> None:
    one, two, other = (tune(shop, "lwcvg", budget=9, seed=seed) for seed in (3, 3, 4))
    assert without_seconds(one) == without_seconds(two)
    assert [trial.settings for trial in one.trials[1:]] != [trial.settings for trial in other.trials[1:]]
    assert without_seconds(tune(shop, "lwcvg", budget=5, seed=3)) == without_seconds(one)[:5]  # no look at the budget


@pytest.mark.usefixtures("planted")
def test_a_trial_that_cannot_be_fitted(shop: Baskets, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tune(shop, "picky", budget=9, study=tmp_path / "picky.db")
    assert sorted((trial.settings["length"], trial.state) for trial in found.trials) == [
        (0.0, "done"), (0.5, "failed"), (1.0, "done"), (2.0, "failed"),
    ]  # fmt: skip
    sentences = {f"picky: length = {length}; take another" for length in (0.5, 2.0)}
    assert {trial.error for trial in found.trials if trial.state == "failed"} == sentences
    assert found.best.state == "done"
    assert without_seconds(tune(shop, "picky", budget=9, study=tmp_path / "picky.db")) == without_seconds(found)
    with pytest.raises(
        CooccurError, match=r"^hopeless: no trial could be fitted; the first said: picky: length = 2\.0;"
    ):
        tune(shop, "hopeless", budget=3)
    assert main(["tune", write(shop, tmp_path), "-m", "picky", "--budget", "9"]) == 0
    out, err = capsys.readouterr()
    assert {line.partition(": ")[2] for line in err.splitlines() if line.startswith("trial ")} == sentences
    assert "4 trials (2 done, 2 failed; there are no other settings to try)" in " ".join(out.split())


# -- ending early -------------------------------------------------------------------------------------


def test_what_has_no_effect_is_not_searched() -> None:
    """The pairs of a dem as it comes are not learned by steps; those of fvbm are."""
    assert set(search_space("dem")) == {"hidden", "dropout", "length"}
    assert {"pair_rate", "caution"} <= set(search_space("fvbm"))


@pytest.mark.usefixtures("planted")
def test_hopeless_trials_end_early(shop: Baskets, tmp_path: Path) -> None:
    found = tune(shop, "slow", budget=11)
    for budget in (7, 11):  # what is ended does not depend on a pause either
        paused = tune(shop, "slow", budget=budget, study=tmp_path / "s.db")
    assert without_seconds(paused) == without_seconds(found)
    states = [trial.state for trial in found.trials]
    ended = [trial for trial in found.trials if trial.state == "ended early"]
    assert "ended early" not in states[: inside_search.FINISHED]
    assert len(ended) >= 3
    for trial in found.trials:
        before = [t.curve for t in found.trials[: trial.number] if t.state == "done"]
        # the rule by hand: behind is whose best epoch so far is below the median of the others at this epoch
        behind = [
            epoch >= inside_search.EPOCHS
            and len(before) >= inside_search.FINISHED
            and max(trial.curve[: epoch + 1]) < np.median([curve[epoch] for curve in before])
            for epoch in range(len(trial.curve))
        ]
        if trial.state == "ended early":
            assert behind == [False] * (len(behind) - 1) + [True]
            assert trial.top10 is None
        else:
            assert not any(behind)
            assert len(trial.curve) == 7
    assert sum(len(trial.curve) for trial in found.trials) <= 7 * len(found.trials) - 2 * len(ended)
    assert found.best.settings["rate"] >= 0.01


# -- the study file -----------------------------------------------------------------------------------

KILLED = """
    import os, signal, sys
    from sqlalchemy import event
    from sqlalchemy.engine import Engine
    from cooccur.synthetic import planted_shop
    from cooccur.tuning import trials, tune

    where, path = sys.argv[1:]
    finished = 0

    def end(*_):
        if finished == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    def count(self, trial, add=trials.StudyFile.add):
        global finished
        finished += 1  # the fifth is drawn and fitted, or the fourth is being written
        add(self, trial)

    @event.listens_for(Engine, "connect")
    def small(connection, _):  # a cache of one page: what is not yet committed goes to the file all the same
        connection.execute("PRAGMA cache_size = 1")

    trials.StudyFile.add = count
    if where == "write":
        @event.listens_for(Engine, "after_cursor_execute")
        def written(connection, cursor, statement, *_):  # all of the trial is in the file; the commit is not
            if statement.startswith("UPDATE trials"):
                end()
    tune(planted_shop().sample(1000, seed=1, sweeps=20), "lwcvg", budget=12, study=path,
         progress=(lambda share, words: end()) if where == "fit" else lambda share, words: None)
"""


@POSIX
@pytest.mark.parametrize(("where", "kept"), [("fit", 4), ("write", 3)])
def test_killed_and_resumed_is_the_same_search(shop: Baskets, tmp_path: Path, where: str, kept: int) -> None:
    path = tmp_path / "study.db"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), where, str(path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    if where == "write":  # it was in the middle: there is something to roll back
        assert (tmp_path / "study.db-journal").stat().st_size > 0
    assert len(tune(shop, "lwcvg", budget=1, study=path).trials) == kept
    resumed = tune(shop, "lwcvg", budget=12, study=path)
    straight = tune(shop, "lwcvg", budget=12)
    assert without_seconds(resumed) == without_seconds(straight)
    assert resumed.spelling == straight.spelling
    assert [file.name for file in tmp_path.iterdir()] == ["study.db"]


def test_finished_trials_are_not_repeated(shop: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a study? 100%#.db"
    first = tune(shop, "ease", budget=4, study=path)
    fits: list[float | None] = []
    monkeypatch.setattr(inside_search, "make_model", lambda *a, **k: fits.append(k.get("l2")) or make_model(*a, **k))
    more = tune(shop, "ease", budget=6, study=path)
    assert more.trials[:4] == first.trials  # to the second they took
    fits.clear()
    assert tune(shop, "ease", budget=6, study=path).trials == more.trials
    assert fits == [None]  # the one for its defaults
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_optuna_reads_the_study(shop: Baskets, tmp_path: Path) -> None:
    found = tune(shop, "lwcvg", budget=5, study=tmp_path / "s.db")
    study = optuna.load_study(study_name="cooccur", storage=f"sqlite:///{tmp_path / 's.db'}")
    assert [trial.params for trial in study.trials] == [trial.settings for trial in found.trials]
    assert study.best_value == found.best.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "lwcvg:source=0"}, "this study is of the model lwcvg, not lwcvg:source=0; give another file"),
        ({"seed": 1}, "this study is of the seed 0, not 1; give another file"),
        ({"baskets": True}, "this study is of data with the sha256 "),
    ],
)
def test_a_study_of_something_else(shop: Baskets, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "s.db"
    tune(shop, "lwcvg", budget=2, study=path)
    before = path.read_bytes()
    with pytest.raises(CooccurError) as caught:
        tune(shop[1:] if "baskets" in change else shop, change.get("model", "lwcvg"), budget=3,
             seed=change.get("seed", 0), study=path)  # fmt: skip
    assert str(caught.value).startswith(f"{path}: {words}")
    assert path.read_bytes() == before


@pytest.mark.usefixtures("planted")
def test_a_study_of_other_ranges(shop: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(shop, "spoilt", budget=1, study=tmp_path / "s.db")
    monkeypatch.setattr(sys.modules["cooccur.models.planted"], "Spoilt", LwCvg)
    with pytest.raises(CooccurError, match="searched other ranges or began from other defaults"):
        tune(shop, "spoilt", budget=1, study=tmp_path / "s.db")


def test_a_file_that_is_no_study(shop: Baskets, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("milk;bread\n" * 100)
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE orders (number)")
    foreign.close()
    for name in ("text", "foreign.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(CooccurError, match=rf"{name}: not usable as a study \(.*\); give another file to --study"):
            tune(shop, "lwcvg", budget=1, study=tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


# -- inside an evaluation -----------------------------------------------------------------------------


def test_test_records_have_no_say(shop: Baskets) -> None:
    """Other records in the test fold, the same choice; another training record, other figures."""
    numbers = fold_numbers(len(shop), 5)
    rng = np.random.default_rng(0)

    def changed(which: np.ndarray[Any, Any]) -> Baskets:
        matrix = shop.matrix.toarray()
        for record in np.flatnonzero(which):
            matrix[record] = rng.permutation(matrix[record])
        return Baskets.from_matrix(matrix, shop.items)

    def chosen(baskets: Baskets) -> tuple[dict[str, Any], dict[str, Any]]:
        row = evaluate(baskets, ["lwcvg"], fold=2, tune=6)["rows"][0]
        return {k: v for k, v in row["tuned"].items() if k != "seconds"} | row["params"], row

    (own, row), (other_test, other_row), (other_training, _) = map(
        chosen, (shop, changed(numbers == 2), changed(numbers == 3))
    )
    assert own == other_test
    assert row["top10"] != other_row["top10"]
    assert own["top10"] != other_training["top10"]


def test_each_model_is_tuned_in_each_fold(shop: Baskets) -> None:
    result = evaluate(shop, ["cvg", "lwcvg", "ease: centred"], folds=3, tune=5)
    assert result["run"]["tune"] == 5
    labels = ["cvg", "lwcvg (tuned, budget 5)", "ease:centred (tuned, budget 5)"]
    assert [row["label"] for row in result["summary"]] == result["run"]["models"] == labels
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    numbers = fold_numbers(len(shop), 3)
    for row in result["rows"]:
        if row["model"] == "cvg":
            assert "tuned" not in row
            continue
        spec = "lwcvg" if row["model"] == "lwcvg" else "ease:centred"
        found = tune(shop[numbers != row["fold"]], spec, budget=5)
        assert row["tuned"]["spelling"] == found.spelling
        assert row["tuned"]["trials"] == 5
        assert row["params"] == make_model(found.spelling).get_params()
        untuned = evaluate(shop, [found.spelling], folds=3, fold=row["fold"])["rows"][0]
        assert (row["top1"], row["mrr"]) == (untuned["top1"], untuned["mrr"])  # learned from all training records
    chosen = [row["params"] for row in result["rows"] if row["model"] == "lwcvg"]
    assert len({params["source"] for params in chosen}) > 1
    assert "source" not in result["summary"][1]["params"]
    with pytest.raises(ParameterError, match="tune = -1; expected 0 or more trials"):
        evaluate(shop, ["cvg"], tune=-1)


# -- the command line ---------------------------------------------------------------------------------


def write(baskets: Baskets, folder: Path) -> str:
    path = folder / "shop.txt"
    path.write_text("\n".join(";".join(names) for names in baskets if names) + "\n")
    return str(path)


def test_the_command(
    shop: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    data, best = write(shop, tmp_path), tmp_path / "best.json"
    assert main(["tune", data, "-m", "lwcvg", "--budget", "8", "-o", str(best)]) == 0
    out, err = capsys.readouterr()
    document = json.loads(best.read_text())
    assert len(document["trials"]) == 8
    assert max(document["trials"], key=lambda t: t["top1"] + t["top10"])["number"] == document["trial"]
    assert f"\n{document['spelling']}\n" in out
    assert "length=1 source=0.7 target=0 (as spelled)" in " ".join(out.split())
    assert max(len(line) for line in out.splitlines() if "Next:" not in line) <= 80
    assert [line for line in err.splitlines() if "optuna" in line or "Trial" in line] == []
    assert sorted(file.name for file in tmp_path.iterdir()) == ["best.json", "shop.txt"]
    assert main(["tune", data, "-m", "lwcvg", "--budget", "8", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["spelling"] == document["spelling"]
    assert main(["evaluate", data, "-m", document["spelling"], "-m", "lwcvg", "--fold", "0", "--tune", "2"]) == 0
    assert "lwcvg (tuned, budget 2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nothing", "-m", "cvg"], "cvg: there is nothing to search; its parameters have no range, or are set"),
        (["nothing", "-m", "lwcvgg"], "unknown model 'lwcvgg'; did you mean 'lwcvg'?"),
        (["nothing", "-m", "lwcvg", "--study", "no/s.db"], "no/s.db: the folder no does not exist; make it or choose"),
        (["nothing", "-m", "lwcvg", "-o", "best.txt"], "best.txt: the ending names no known form; use one of .json"),
        (["few.txt", "-m", "lwcvg", "--format", "lines"], "2 records are too few to hold some out and learn"),
        (["few.txt", "-m", "lwcvg", "--budget", "0"], "Invalid value for '--budget': "),
    ],
)  # fmt: skip
def test_errors(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("few.txt").write_text("milk bread\ntea mint\n")
    assert main(["tune", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith(f"error: {line}")


@pytest.mark.parametrize(
    "arguments", [["tune", "nothing", "-m", "ease"], ["evaluate", "shop.txt", "-m", "ease", "--tune", "2"]]
)
def test_without_optuna(
    arguments: list[str], shop: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    write(shop, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "cooccur.tuning")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "error: tuning searches with the library optuna; pip install 'cooccur[tune]'"


@pytest.mark.filterwarnings("default:interrupted:RuntimeWarning")
def test_control_c_keeps_what_was_found(
    shop: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the middle of the fourth fit, of a model whose training loop would rather keep its best epoch."""
    data, study = write(shop, tmp_path), tmp_path / "s.db"
    command = ["tune", data, "-m", "lbl:factors=4,epochs=3", "--budget", "6", "--study", str(study)]
    before = Lbl.fit
    fits = 0

    def fit(self: Lbl, baskets: Any, *, progress: Progress, callbacks: Any) -> Lbl:
        nonlocal fits
        fits += 1

        def pressed(epoch: Any) -> None:
            raise KeyboardInterrupt

        return before(self, baskets, progress=progress, callbacks=[*callbacks, pressed] if fits == 4 else callbacks)

    monkeypatch.setattr(Lbl, "fit", fit)
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert f"interrupted: what 3 of 6 trials found is shown and kept in {study}" in err
    assert "3 trials (3 done)" in " ".join(out.split())
    assert main([*command, "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert (len(resumed["trials"]), fits, resumed["interrupted"]) == (6, 7, False)
    fits = 3
    assert main(command[:-2]) == 130  # nothing was found
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"
