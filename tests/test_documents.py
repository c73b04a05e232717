"""What the documents show works."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import cooccur
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
