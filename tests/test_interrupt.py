"""Ctrl-C, pressed while a model learns, while it is measured, and while compiled code runs: SIGINT each time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cooccur import kernels
from cooccur.cli import main
from cooccur.errors import is_interrupt
from cooccur.models.fvbm import Fvbm
from cooccur.storage import load
from cooccur.synthetic import planted_shop
from cooccur.training import loop

RUN = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())"]
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="signals of POSIX"),
    pytest.mark.filterwarnings("default:interrupted:RuntimeWarning"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("shop") / "shop.txt"
    baskets = planted_shop().sample(1500, seed=1, sweeps=5)
    file.write_text("".join(";".join(names) + "\n" for names in baskets if names))
    return str(file)


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have Ctrl-C pressed at the end of the epoch of this number, counted over all fits."""

    def at(number: int) -> None:
        validate, seen = loop.validate, 0

        def pressed(*arguments: object) -> tuple[float, float]:
            nonlocal seen
            seen += 1
            if seen == number:
                signal.raise_signal(signal.SIGINT)
            return validate(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "validate", pressed)

    return at


def press_in_a_kernel(*_: object) -> None:
    """Compiled code, again and again, until Ctrl-C."""
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    scores = np.random.default_rng(0).random((300, 4000), dtype=np.float32)
    while True:
        kernels.top_k(scores, 10)


def test_no_report_of_half_a_calibration(
    shop: str, press: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    press(2)
    assert main(["calibration", shop, "-m", "fvbm:epochs=4"]) == 130
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[-1]) == ("", "interrupted")


@pytest.mark.parametrize(
    ("epoch", "told"),
    [(2, "interrupted: the best epoch so far is kept, and not measured"),
     (6, "interrupted: the model is kept, and not measured")],
)  # fmt: skip
def test_a_model_that_is_not_measured(
    shop: str, press: Callable[[int], None], epoch: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the fit, of four epochs, and in that of the measure."""
    press(epoch)
    file = tmp_path / "shop.model"
    assert main(["fit", shop, "-m", "fvbm:epochs=4,patience=4", "-o", str(file), "--measure"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == told
    assert "Top@10" not in out
    model = load(file)
    assert (model.interrupted, model.notes_) == (epoch == 2, {})


def test_in_a_kernel(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((KeyboardInterrupt, SystemError)) as caught:
        press_in_a_kernel()
    assert is_interrupt(caught.value)
    monkeypatch.setattr("cooccur.cli.models.print_json", press_in_a_kernel)
    assert main(["models", "--json"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_in_a_kernel_of_the_fit() -> None:
    with pytest.warns(RuntimeWarning, match="interrupted: the fit is being finished with the best epoch so far"):
        model = Fvbm(epochs=4).fit(planted_shop().sample(600, seed=1), callbacks=[press_in_a_kernel])
    assert model.interrupted
    assert len(model.history_.epochs) == 1


def test_other_errors_of_a_kernel_are_no_interrupt() -> None:
    def fail(_: object) -> None:
        raise SystemError("broken") from ValueError()

    with pytest.raises(SystemError, match="broken"):
        Fvbm(epochs=4).fit(planted_shop().sample(600, seed=1), callbacks=[fail])


def test_twice(shop: str, tmp_path: Path) -> None:
    """The first is answered at once, the second gives the fit up."""
    file, run = tmp_path / "shop.model", tmp_path / "run"
    command = [*RUN, "fit", shop, "-m", "dem", "-o", str(file), "--checkpoint", str(run), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(run.glob("net0*")):  # until an epoch is done
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any(line.startswith("warning: interrupted: the fit is being finished") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert not file.exists()
    assert list(run.glob("net0*"))
