"""What the documents show works."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import cooccur
from cooccur.cli import app, main
from cooccur.models import REGISTRY, model_class
from cooccur.synthetic import planted_shop

ROOT = Path(__file__).parent.parent


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_the_model_of_contributing_is_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "half.py"
    source.write_text(blocks("CONTRIBUTING.md")[0])
    spec = importlib.util.spec_from_file_location("cooccur.models.half", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cooccur.models.half", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(REGISTRY, "half", "half:HalfPopularity")
    model = cooccur.make_model("half:power=0.3").fit([["milk", "bread"], ["bread"]])
    assert model.complete([]).items == ["bread", "milk"]


def test_the_readme_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    baskets = planted_shop().sample(5000)
    rows = [f"{record},{item}" for record in range(len(baskets)) for item in baskets.names(record)]
    (tmp_path / "baskets.csv").write_text("record,item\n" + "\n".join(rows))
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("README.md")[0], "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("pasta ")
    assert (tmp_path / "shop.model").is_file()


def test_the_readme_lists_every_model() -> None:
    readme = (ROOT / "README.md").read_text().split("## Models")[1]
    table = {
        name for row in re.findall(r"^\| (`.*?) \|", readme, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    }
    assert set(REGISTRY) <= table
    for name in REGISTRY:
        level = next(row for row in readme.splitlines() if row.startswith("| `") and f"`{name}`" in row.split("|")[1])
        assert model_class(name).level in level, name


# -- the tutorial and the mathematics -----------------------------------------------------------------


def steps(document: str) -> list[tuple[str, str]]:
    """The Python blocks, the commands and the other indented blocks of a document, in their order."""
    text = (ROOT / "docs" / document).read_text()
    found = re.findall(r"```python\n(.*?)```|^((?:    [^\n]*\n|\n(?=    ))+)", text, re.DOTALL | re.MULTILINE)
    made = []
    for python, indented in found:
        if python:
            made.append(("python", python))
            continue
        lines = [line[4:] for line in indented.strip("\n").splitlines()]
        kind = "command" if lines[0].startswith(("cooccur ", "curl ")) else "output"
        made += [(kind, line) for line in lines if line] if kind == "command" else [(kind, "\n".join(lines))]
    return made


def figures(output: str) -> dict[tuple[str, str], list[float]]:
    """The numbers of each line of a table, by the rank that it stands below and its words."""
    found, rank = {}, ""
    for line in output.splitlines():
        numbers = list(re.finditer(r"[-+]?\d+\.\d+", line))
        if numbers:
            rank = "".join(re.findall(r"^\d+", line)) or rank
            label = " ".join(re.findall("[a-z]{2,}", line[: numbers[0].start()]))
            found[rank, label] = [float(number[0]) for number in numbers]
    return found


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setitem(sys.modules, "pandas", None)  # whoever installs as the readme says has none
    said: dict[str, str] = {}
    for kind, step in steps("tutorial.md"):
        if kind == "python":
            exec(compile(step, "tutorial.md", "exec"), {})
        elif kind == "command" and step.startswith("cooccur") and " serve " not in step:
            monkeypatch.setattr(sys, "stdin", io.StringIO("coffee\nwhy 1\n"))
            assert main(shlex.split(step)[1:]) == 0, step
            said[step] = capsys.readouterr().out
        elif kind == "output":  # the last command's; another machine may learn a little differently
            shown, true = figures(step), figures(list(said.values())[-1])
            assert shown, step
            for label, numbers in shown.items():
                found = true.get(label, [0.0] * len(numbers))  # what is nothing is not shown
                assert found[:3] == pytest.approx(numbers[:3], abs=1), label
    assert {step.split()[1] for step in said} == {"describe", "evaluate", "fit", "complete", "similar", "shell"}
    explained = next(out for step, out in said.items() if "--explain" in step).splitlines()
    assert re.match(r"1  maple syrup +[89]\d\.\d%  \+\d\.\d\d +│█+", explained[1])
    first = explained[1 : explained.index("")]
    assert re.match(r" +the items together +\+\d\.\d\d +│█+", first[-1])
    assert said["cooccur similar shop.model coffee -k 3"].splitlines()[1].startswith("1  coffee filters")
    assert (tmp_path / "suggestions.csv").read_text().startswith("record,rank,item,score")


def test_the_tutorial_serves(tmp_path: Path) -> None:
    if "serve" not in {command.callback.__name__ for command in app.registered_commands if command.callback}:
        pytest.skip("there is no serve command")
    pytest.importorskip("fastapi", reason="the extra [serve] is not installed")
    cooccur.make_model("cvg").fit([["p31", "p32", "p33"], ["p31", "p02"]]).save(tmp_path / "shop.model")
    serve, curl = (step for _, step in steps("tutorial.md") if " serve " in step or step.startswith("curl"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    run = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())"]
    process = subprocess.Popen([*run, *shlex.split(serve.replace("8000", port))[1:]], cwd=tmp_path)
    *_, address, _, header, _, body = shlex.split(curl)
    request = urllib.request.Request(
        "http://" + address.replace("localhost:8000", f"127.0.0.1:{port}"),
        body.encode(), dict([header.split(": ")]), method="POST",
    )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    found = json.load(answer)
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, "it has ended"
                assert time.monotonic() < end, "it does not answer"
                time.sleep(0.1)
    finally:
        process.terminate()
        process.wait()
    assert [s["id"] for s in found["suggestions"]] == ["p33", "p02"]


def test_the_answer_of_the_service() -> None:
    text = (ROOT / "docs" / "serve.md").read_text()
    spec = re.search(r'make_model\("(.*?)"\)\.fit\(planted_shop\(\)\.sample\(5000\)\)', text)
    shown = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])
    assert spec
    model = cooccur.make_model(spec[1]).fit(planted_shop().sample(5000))
    found = model.complete([item["id"] for item in shown["basket"]], k=len(shown["suggestions"]))
    assert found.items == [suggestion["id"] for suggestion in shown["suggestions"]]
    for one, other in zip(found, shown["suggestions"], strict=True):
        assert one.score == pytest.approx(other["score"], abs=0.1)  # other processors round otherwise
        assert one.probability == pytest.approx(other["probability"], abs=0.02)


def test_the_mathematics(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    printed, compared = "", 0
    for kind, step in steps("mathematics.md"):
        if kind == "python":
            exec(compile(step, "mathematics.md", "exec"), space)
            printed = capsys.readouterr().out
            if "by itself" in printed:
                prior, share = map(float, re.findall(r"[+-]\d\.\d", printed))
                assert abs(prior + 3.6) < 0.4
                assert abs(share - 2.6) < 0.4
                printed = ""
        elif printed:  # an indented block right behind an example is what it prints; the others are formulas
            assert printed == step + "\n"
            printed, compared = "", compared + 1
    assert compared == 5


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text()
    pages = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert [page for page in pages if f": {page}" not in menu] == []


def test_which_model_quotes_the_boards() -> None:
    """Every pair of figures is in one of the documents that it names."""
    names = ("docs/results.md", "docs/leaderboard.md", "docs/experiments.md", "docs/tuning.md", "docs/other-data.md")
    boards = re.sub(r"\*\*|±\s*\d+\.\d+", "", "".join((ROOT / name).read_text() for name in names))
    boards = re.sub(r"(\d)\s*\|\s*(\d)", r"\1 / \2", boards)  # columns of their own
    for pair in re.findall(r"\d+\.\d+ / \d+\.\d+", (ROOT / "docs/which-model.md").read_text()):
        assert pair in boards, pair


def results_page() -> Any:
    """docs/results.py, which makes the page."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("results")
    finally:
        sys.path.pop(0)


def test_the_readme_has_the_table_of_the_results() -> None:
    results = results_page()
    page = results.RESULTS.read_text()
    block = results.BLOCK.search(results.README.read_text())
    assert block is not None
    assert block[0] == results.headline(page)
    assert len(block[0].splitlines()) >= 3


def test_the_results_are_those_of_the_finished_runs(tmp_path: Path) -> None:
    """Each figure of the page is made from the runs that are kept beside it."""
    shutil.copytree(ROOT / "results" / "units", tmp_path / "units")
    assert main([*results_page().COMMAND.split()[:-1], str(tmp_path)]) == 0
    made = (tmp_path / "results.md").read_text().replace(str(tmp_path), "results")
    assert made == (ROOT / "docs" / "results.md").read_text()
    assert (tmp_path / "results.svg").read_text() == (ROOT / "docs" / "results.svg").read_text()
