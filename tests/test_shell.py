"""`cooccur shell`: lines from a pipe, and a real prompt on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cooccur
from cooccur.cli.shell import HELP, Shell, offers
from cooccur.errors import InputError
from cooccur.synthetic import planted_shop
from cooccur.titles import Titles

RUN = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())", "shell"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.model"
    model = cooccur.make_model("lwcvg").fit(planted_shop().sample(2000, seed=1, sweeps=20))
    model.titles_ = Titles({"pasta": "Spaghetti No. 5", "milk": "Whole milk"})
    model.save(path)
    return path


@pytest.fixture
def shell(file: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("COLUMNS", "80")
    return Shell(cooccur.load(file), 3)


def test_lines_from_a_pipe(file: Path) -> None:
    lines = "pasta sauce\nSPAGHETTI no. 5\n\nwhy 1\n-pasta sauce\nundo\nclear\nquit\nnever reached\n"
    done = subprocess.run([*RUN, str(file), "-k", "2"], input=lines, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout.splitlines()
    assert [line for line in out if line.startswith("basket")] == [
        "basket: pasta sauce", "basket: pasta sauce, Spaghetti No. 5", "basket: Spaghetti No. 5",
        "basket: pasta sauce, Spaghetti No. 5", "basket: (empty)",
    ]  # fmt: skip
    assert out[1].startswith("1  Spaghetti No. 5 ")
    assert any("because of Spaghetti No. 5" in line for line in out)
    assert "\x1b" not in done.stdout
    assert ">" not in done.stdout


def test_a_script_learns_of_a_bad_line_and_goes_on(file: Path) -> None:
    done = subprocess.run([*RUN, str(file)], input="zzzz\npasta\n", capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr == "error: unknown item 'zzzz'; the model was not trained on it\n"
    assert done.stdout.startswith("basket: Spaghetti No. 5\n")


def test_commands(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.do("take 2")
    second = shell.basket[0]
    assert second == shell.model.complete([], 3).items[1]
    shell.do("add bread")
    assert shell.basket == [second, "bread"]
    capsys.readouterr()
    shell.do("similar pasta sauce")
    assert capsys.readouterr().out.splitlines()[1].startswith("1  Spaghetti No. 5")
    shell.do("similar 1")
    assert shell.title(shell.found.items[0]) in capsys.readouterr().out.splitlines()[0]
    shell.do("why beer")
    assert capsys.readouterr().out.startswith("1  beer")
    shell.do("help")
    out = capsys.readouterr().out
    assert all(f"  {command} " in out for command in HELP)
    assert shell.do("")
    assert not shell.do("exit")
    assert shell.basket == [second, "bread"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("undo", "nothing to undo"),
        ("take 9", "there is no suggestion 9; take 1 to 3"),
        ("take", "take what"),
        ("-pasta", "Spaghetti No. 5 is not in the basket"),
        ("why nothing", "unknown item 'nothing'"),
        ("-", "unknown item ''"),
    ],
)
def test_what_cannot_be_done_changes_nothing(shell: Shell, line: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        shell.do(line)
    assert (shell.basket, shell.past) == ([], [])
    shell.do("bread")
    with pytest.raises(InputError, match="in the basket already"):
        shell.do("bread")
    assert shell.basket == ["bread"]


def test_items_that_are_called_like_commands() -> None:
    shell = Shell(cooccur.make_model("popularity").fit([["why not", "help", "-x", "undo"], ["help"]]), 2)
    shell.do("why not")
    shell.do("add help")
    shell.do("add -x")
    assert shell.basket == ["why not", "help", "-x"]
    shell.do("--x")
    assert shell.basket == ["why not", "help"]


def test_offers_are_titles_and_commands(shell: Shell) -> None:
    def texts(line: str) -> list[str]:
        return [text for text, _, _ in offers(shell, line)]

    assert texts("spag") == ["Spaghetti No. 5"]
    assert next(offers(shell, "spag")) == ("Spaghetti No. 5", 4, "pasta")
    assert texts("pasta") == ["pasta sauce", "Spaghetti No. 5"]  # the title begins so; the other's name is pasta
    assert texts("similar choc") == ["dark chocolate"]
    assert texts("und") == ["undo"]
    assert texts("-") == []
    shell.do("pasta")
    assert texts("-spa") == ["Spaghetti No. 5"]


def test_tab_completes_on_a_terminal(file: Path) -> None:
    pty = pytest.importorskip("pty", reason="pseudo-terminals of POSIX")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "80", "LINES": "40"}
    process = subprocess.Popen([*RUN, str(file)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = ""

    def until(pattern: str) -> None:
        nonlocal seen
        end = time.monotonic() + 60
        while not re.search(pattern, seen, re.DOTALL):
            assert time.monotonic() < end, f"no {pattern!r} in {seen!r}"
            if select.select([ours], [], [], 1)[0]:
                seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(ours, 65536).decode(errors="replace"))

    try:
        until("Tab completes.*\n>")
        os.write(ours, b"spag")
        until("Spaghetti No. 5")  # the menu, while typing
        os.write(ours, b"\t\r")
        until("basket: Spaghetti No. 5.*1  .*>")
        seen = ""
        os.write(ours, b"gibberish\x03")  # Ctrl-C gives up the line
        os.write(ours, b"similar choc")
        until("dark chocolate")
        os.write(ours, b"\t\r")
        until("goes with dark chocolate.*>")
        os.write(ours, b"\x04")  # Ctrl-D
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
