"""Fits that are stopped go on bit by bit; files are whole whatever happens; numbers that blow up end a fit."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cooccur.baskets import Baskets
from cooccur.cli import main
from cooccur.errors import CooccurError, ParameterError
from cooccur.models import make_model
from cooccur.models.base import Model
from cooccur.storage import load
from cooccur.synthetic import planted_shop
from cooccur.training import checkpoint as checkpoint_module
from cooccur.training.batches import batches, record_weights
from cooccur.training.checkpoint import Checkpoint
from cooccur.training.energy_learner import EnergyLearner
from cooccur.training.history import Epoch

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks as POSIX has them")
RUN = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())"]

SPECS = [
    "dem:hidden=16,rate=0.02,epochs=4,start=both,pairs=counts,nets=1",  # two nets, and what they are assembled with
    "dem:hidden=8,start=free,epochs=4,pairs=no,nets=2",
    "dem:hidden=8x4,pairs=learned,dropout=0.3,epochs=4",
    "dem:paper,hidden=8,epochs=4",
    "fvbm:tied=yes,prior=counts,pair_decay=0.1,epochs=4,criterion=likelihood",
    "fvbm:negatives=10,epochs=4,validation=0",
    "dae:hidden=8x4,negatives=10,epochs=4",
    "lbl:factors=4,negatives=10,epochs=4",
    "lbl:factors=4,tied=no,bias=no,epochs=4",
    "rbm:hidden=4,epochs=4",
    "rbm:hidden=4,persistent=yes,chains=20,epochs=4",
    "multvae:hidden=8x4,anneal=3,epochs=6,patience=1",
]


class StoppedError(Exception):
    """A fit is over at once, as if the process had been killed."""


@cache
def shop() -> Baskets:
    return planted_shop().sample(700, seed=1)


@cache
def whole(spec: str) -> Model:
    """The model of a fit that nobody stopped."""
    return make_model(spec).fit(shop())


def arrays_of(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.arrays}


def assert_same(one: Model, two: Model) -> None:
    for name, array in arrays_of(one).items():
        np.testing.assert_array_equal(array, getattr(two, name), err_msg=name)


def stop_at(epoch: int, error: type[BaseException] = StoppedError) -> Callable[[Epoch], None]:
    """A callback that stops the fit when so many epochs, of all nets, were seen."""
    seen = 0

    def callback(_: Epoch) -> None:
        nonlocal seen
        seen += 1
        if seen == epoch:
            raise error

    return callback


def stopped(spec: str, folder: Path, epoch: int, every: int = 1) -> None:
    with pytest.raises(StoppedError), Checkpoint(folder, every=every, resume=True) as checkpoint:
        make_model(spec).fit(shop(), callbacks=[stop_at(epoch)], checkpoint=checkpoint)


def resumed(spec: str, folder: Path) -> Model:
    with Checkpoint(folder, resume=True) as checkpoint:
        assert checkpoint.found
        return make_model(spec).fit(shop(), checkpoint=checkpoint)


def place_in(path: Path) -> dict[str, Any]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        place: dict[str, Any] = json.loads(file.metadata()["checkpoint"])["place"]
        return place


def epochs_in(path: Path) -> int:
    return len(place_in(path)["history"]["epochs"])


# -- going on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
def test_a_fit_that_was_stopped_twice_ends_as_if_it_had_not_been(spec: str, tmp_path: Path) -> None:
    stopped(spec, tmp_path, epoch=2)
    assert epochs_in(tmp_path / "net0.safetensors") == 1  # it was stopped before the second was kept
    stopped(spec, tmp_path, epoch=2)
    model = resumed(spec, tmp_path)
    assert_same(model, whole(spec))
    epochs = [(e.epoch, e.loss, e.top1, e.top10, e.likelihood) for e in model.history_.epochs]
    assert epochs == [(e.epoch, e.loss, e.top1, e.top10, e.likelihood) for e in whole(spec).history_.epochs]
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]  # the fit has ended well


@pytest.mark.parametrize("epoch", [4, 5, 7, 8])
def test_a_net_that_has_ended_does_not_learn_again(epoch: int, tmp_path: Path) -> None:
    """Stopped at the last epoch of the first net, or in the second net."""
    stopped(SPECS[0], tmp_path, epoch)
    seen: list[Epoch] = []
    with Checkpoint(tmp_path, resume=True) as checkpoint:
        model = make_model(SPECS[0]).fit(shop(), callbacks=[seen.append], checkpoint=checkpoint)
    assert_same(model, whole(SPECS[0]))
    assert len(seen) == 8 - (epoch - 1)


def test_both_nets_count() -> None:
    """Else the tests of a dem would say nothing about its nets."""
    assert whole(SPECS[0]).strengths_[:2].all()
    assert whole(SPECS[1]).strengths_[0]


def test_after_the_rate_has_fallen(tmp_path: Path) -> None:
    """It went back to the best epoch and on with smaller steps; and is stopped then."""
    spec = "fvbm:epochs=8,patience=1,rate=0.5,pair_rate=100"
    stopped(spec, tmp_path, epoch=3)
    assert place_in(tmp_path / "net0.safetensors")["scale"] == 0.2
    assert_same(resumed(spec, tmp_path), whole(spec))


def test_every(tmp_path: Path) -> None:
    spec = "fvbm:epochs=8"
    stopped(spec, tmp_path, epoch=6, every=3)
    assert epochs_in(tmp_path / "net0.safetensors") == 3
    assert_same(resumed(spec, tmp_path), whole(spec))
    with pytest.raises(ParameterError, match="every = 0; expected 1 epoch or more"):
        Checkpoint(tmp_path, every=0)


def test_ctrl_c_keeps_the_checkpoint_too(tmp_path: Path) -> None:
    spec = SPECS[0]
    with Checkpoint(tmp_path) as checkpoint, pytest.warns(RuntimeWarning, match="interrupted: the fit is being"):
        model = make_model(spec).fit(shop(), callbacks=[stop_at(3, KeyboardInterrupt)], checkpoint=checkpoint)
    assert model.interrupted
    assert model.complete(["coffee"], k=1).items  # and is a model already
    assert epochs_in(tmp_path / "net0.safetensors") == 2
    assert_same(resumed(spec, tmp_path), whole(spec))


def test_the_path_of_other_devices_goes_on_too() -> None:
    model = make_model("fvbm:epochs=1").fit(shop())
    one, two = (EnergyLearner(model, shop(), fresh=True, portable=True) for _ in range(2))
    some = list(batches(shop(), record_weights(shop(), 0.0), 50, np.random.default_rng(0)))[:4]
    for batch in some[:2]:
        one.step(batch, 1.0)
    two.set_state({name: array.copy() for name, array in one.state().items()})
    for learner in (one, two):
        for batch in some[2:]:
            learner.step(batch, 1.0)
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, two.state()[name], err_msg=name)


# -- whose checkpoint it is -------------------------------------------------------------------------


def test_an_unfinished_fit_is_not_overwritten(tmp_path: Path) -> None:
    stopped("fvbm:epochs=3", tmp_path, epoch=2)
    before = (tmp_path / "net0.safetensors").read_bytes()
    with pytest.raises(CooccurError, match=r"holds a fit that was stopped; go on with it \(--resume\), delete"):
        Checkpoint(tmp_path).__enter__()
    assert (tmp_path / "net0.safetensors").read_bytes() == before
    assert_same(resumed("fvbm:epochs=3", tmp_path), whole("fvbm:epochs=3"))  # the lock is free


def test_a_checkpoint_of_another_form_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped("dae:hidden=4,epochs=3", tmp_path, epoch=2)
    monkeypatch.setattr(checkpoint_module, "FORM", checkpoint_module.FORM + 1)
    with pytest.raises(CooccurError, match="checkpoint form = 2 there, 3 here"):
        resumed("dae:hidden=4,epochs=3", tmp_path)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    stopped("fvbm:epochs=3", tmp_path, epoch=2)

    def other(spec: str, baskets: Baskets) -> str:
        with pytest.raises(CooccurError) as caught, Checkpoint(tmp_path, resume=True) as checkpoint:
            make_model(spec).fit(baskets, checkpoint=checkpoint)
        return str(caught.value)

    assert "of another fit (rate = 0.02 there, 0.1 here); ask as you did then" in other(
        "fvbm:epochs=3,rate=0.1", shop()
    )
    assert "of another fit (other records); " in other("fvbm:epochs=3", shop()[:400])
    assert "(model = fvbm there, lbl here; " in other("lbl:epochs=3", shop())
    assert_same(resumed("fvbm:epochs=3", tmp_path), whole("fvbm:epochs=3"))


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    stopped(SPECS[0], tmp_path, epoch=6)
    path = tmp_path / "net1.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CooccurError, match=r"net1\.safetensors: not a readable checkpoint \(the checksum does not fit"):
        resumed(SPECS[0], tmp_path)
    path.unlink()  # as it says
    assert_same(resumed(SPECS[0], tmp_path), whole(SPECS[0]))


def test_what_a_killed_process_left_behind_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".net0.safetensors.x1.part").touch()
    (tmp_path / ".netx2.part").mkdir()
    (tmp_path / ".netx2.part" / ".tmpx3").touch()
    (tmp_path / ".tmpx4").touch()  # somebody else's
    with Checkpoint(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".tmpx4", "lock"]


def test_a_checkpoint_must_be_held(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="write `with Checkpoint"):
        make_model("fvbm").fit(shop(), checkpoint=Checkpoint(tmp_path))


# -- what the system does to us ---------------------------------------------------------------------


@POSIX
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Thirty kills of a fit, thirty of a process that does nothing but write; `killed.py` says what must hold."""
    settings = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue"}
    script = [sys.executable, str(Path(__file__).with_name("killed.py")), str(tmp_path), "30"]
    done = subprocess.run(script, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found)
    assert found["fits"]["killed"] == 30
    assert found["fits"]["places"] > 3  # the kills fell into different epochs
    assert found["writes"]["left_behind"] > 0  # and while a file was being written


@contextmanager
def no_more_than(size: int) -> Iterator[None]:
    """Files cannot grow beyond this, as on a full disk."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@POSIX
def test_a_full_disk_leaves_the_checkpoint_before_it(tmp_path: Path) -> None:
    spec = "fvbm:epochs=4"
    stopped(spec, tmp_path, epoch=3)
    path = tmp_path / "net0.safetensors"
    before = path.read_bytes()
    with pytest.raises(CooccurError, match=r"net0\.safetensors: cannot write"), no_more_than(len(before) // 2):
        resumed(spec, tmp_path)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["lock", path.name]
    assert_same(resumed(spec, tmp_path), whole(spec))


@pytest.mark.parametrize(("where", "reason"), [("os.fsync", errno.ENOSPC), ("tempfile.mkstemp", errno.EROFS)])
def test_the_disk_fails(where: str, reason: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = "fvbm:epochs=4"

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(reason, os.strerror(reason))

    def break_it(epoch: Epoch) -> None:
        if epoch.epoch == 2:
            monkeypatch.setattr(where, fail)

    message = rf"net0\.safetensors: cannot write.* \({os.strerror(reason)}\)"
    with pytest.raises(CooccurError, match=message), Checkpoint(tmp_path) as checkpoint:
        make_model(spec).fit(shop(), callbacks=[break_it], checkpoint=checkpoint)
    monkeypatch.undo()
    assert epochs_in(tmp_path / "net0.safetensors") == 2
    assert_same(resumed(spec, tmp_path), whole(spec))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file where the folder should be")
    with pytest.raises(CooccurError, match=r"taken: cannot keep checkpoints there \(.+\); choose another folder"):
        Checkpoint(taken).__enter__()
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    if not os.access(locked, os.W_OK):  # root may write there all the same
        with pytest.raises(CooccurError, match=r"cannot keep checkpoints there \(Permission denied\)"):
            Checkpoint(locked / "run").__enter__()


# -- the command line -------------------------------------------------------------------------------


@pytest.fixture
def baskets_file(tmp_path: Path) -> str:
    file = tmp_path / "baskets.txt"
    file.write_text("".join(" ".join(name.replace(" ", "_") for name in record) + "\n" for record in shop()[:500]))
    return str(file)


@POSIX
def test_a_nightly_job_is_told_to_end(baskets_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGTERM ends it at once: no model file, or the old one; the checkpoint is there, and its lock is free."""
    old, run, model = tmp_path / "shop.model", tmp_path / "run", "fvbm:epochs=80,patience=80"
    make_model("popularity").fit(shop()).save(old)
    before = old.read_bytes()
    arguments = ["fit", baskets_file, "-m", model, "-o", str(old), "--checkpoint", str(run)]
    with subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not (run / "net0.safetensors").exists():
                assert process.poll() is None, process.communicate()
                time.sleep(0.02)
            process.send_signal(signal.SIGSTOP)  # it lives, but comes no further
            assert main([*arguments, "--resume"]) == 2
            assert "another fit is at work there; wait for its end or choose another folder" in capsys.readouterr().err
            process.terminate()
            process.send_signal(signal.SIGCONT)
            process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGTERM
    assert old.read_bytes() == before
    assert main(arguments) == 2
    assert "holds a fit that was stopped" in capsys.readouterr().err
    assert 1 <= epochs_in(run / "net0.safetensors") < 80
    assert main([*arguments, "--resume"]) == 0
    assert f"{run}: going on from there\n" in capsys.readouterr().err
    assert main([*arguments[:-3], str(tmp_path / "whole.model")]) == 0
    assert_same(load(old), load(tmp_path / "whole.model"))
    assert [path.name for path in run.iterdir()] == ["lock"]


def test_the_options_of_fit(baskets_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fit(model: str, *more: str) -> tuple[int, str]:
        code = main(["fit", baskets_file, "-m", model, "-o", str(tmp_path / "a.model"), *more])
        return code, capsys.readouterr().err.splitlines()[-1]

    run = str(tmp_path / "run")
    assert fit("fvbm", "--resume") == (2, "error: --resume and --every need --checkpoint FOLDER")
    assert fit("fvbm", "--every", "3") == (2, "error: --resume and --every need --checkpoint FOLDER")
    refused = "error: lwcvg: it is not learned in epochs, there is no checkpoint; omit --checkpoint"
    assert fit("lwcvg", "--checkpoint", run) == (2, refused)
    code, _ = fit("fvbm:epochs=2", "--checkpoint", run, "--resume", "--calibrate", "0.2", "--every", "2")
    assert code == 0
    assert load(tmp_path / "a.model").calibration_ is not None
    assert (
        main(["fit", baskets_file, "-m", "fvbm:epochs=2", "-o", str(tmp_path / "b.model"), "--calibrate", "0.2"]) == 0
    )
    assert_same(load(tmp_path / "a.model"), load(tmp_path / "b.model"))
    capsys.readouterr()
    main(["fit", baskets_file, "-m", "fvbm:epochs=2", "-o", str(tmp_path / "b.model"), "--checkpoint", run, "--resume"])
    assert f"{run}: nothing there yet; a new fit starts" in capsys.readouterr().err


# -- numbers that blow up ---------------------------------------------------------------------------

BLOWN = "fvbm:optimiser=sgd,pair_rate=1000,pair_decay=0.018,patience=30,schedule=constant"
REMEDY = r"lower rate \(0\.02\) or pair_rate \(1000\) of fvbm"


def test_numbers_that_blow_up_end_the_training_and_the_best_epoch_is_kept(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match=rf"the loss is \w+ in epoch \d+; {REMEDY}; .* and epoch \d+ is kept"):
        model = make_model(BLOWN).fit(shop())
    history = model.history_
    assert history.stopped.startswith(f"the loss is inf in epoch {len(history.epochs)}; lower rate")
    assert 0 < len(history.epochs) < 30
    assert_same(model, make_model(BLOWN, epochs=history.best + 1).fit(shop()))
    assert np.isfinite(model.scores(shop()[:20])[:, 0]).any()
    with pytest.warns(RuntimeWarning, match="the loss is"), Checkpoint(tmp_path) as checkpoint:
        again = make_model(BLOWN).fit(shop(), checkpoint=checkpoint)
    assert_same(model, again)
    assert not checkpoint.files()  # to go on would end there again


def test_a_parameter_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught at the end of the epoch in which the loss does not show it yet; each net of a dem for itself."""
    step, steps = EnergyLearner.step, 0

    def poisoned(self: EnergyLearner, *given: Any) -> float:
        nonlocal steps
        loss, steps = step(self, *given), steps + 1
        if steps == last:
            self.arrays()[0][0] = np.nan
        return loss

    monkeypatch.setattr(EnergyLearner, "step", poisoned)
    last = -1
    make_model(SPECS[0], epochs=1, start="calm").fit(shop())
    last, steps = 2 * steps, 0  # the second epoch of the first net
    with pytest.warns(RuntimeWarning, match=r"a parameter is nan in epoch 1; lower rate \(0\.02\) of dem; .* epoch 0"):
        model = make_model(SPECS[0]).fit(shop())
    assert model.history_.stopped == "a parameter is nan in epoch 1; lower rate (0.02) of dem"
    assert len(model.history_.epochs) == 4  # the second net learned on
    assert np.isfinite(model.R_).all()
    last, steps = last // 2, 0
    with pytest.raises(CooccurError, match=r"^a parameter is nan in epoch 0; lower rate \(0\.02\) of dem$"):
        make_model(SPECS[0]).fit(shop())


@pytest.mark.filterwarnings("default::RuntimeWarning")
def test_the_command_line_says_what_to_lower(
    baskets_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.model"
    assert main(["fit", baskets_file, "-m", BLOWN, "-o", str(file), "--json"]) == 0
    out, err = capsys.readouterr()
    assert "warning: the loss is inf in epoch " in err
    assert json.loads(out)["history"]["stopped"].endswith("; lower rate (0.02) or pair_rate (1000) of fvbm")
    assert load(file).complete(["coffee"], k=1).items
    assert main(["fit", baskets_file, "-m", BLOWN + ",pair_decay=1e9", "-o", str(tmp_path / "b.model")]) == 2
    assert not (tmp_path / "b.model").exists()
