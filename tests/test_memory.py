"""Memory: what is free, what a limit leaves, and whether the estimate of each model is near what it takes."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cooccur import memory
from cooccur.baskets import Baskets
from cooccur.batch import complete_file
from cooccur.cli import main
from cooccur.errors import ParameterError
from cooccur.models import make_model
from cooccur.models.base import Model
from cooccur.pairs import cooccurrence, expected_pairs

ROOT = Path(__file__).parents[1]
GB = 10**9


def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("memory_benchmark", ROOT / "benchmarks" / "memory.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Sets what may be taken, whatever this process holds by now."""
    monkeypatch.setattr(memory, "used", lambda: 0)
    before = memory.LIMIT.set(None)
    yield memory.LIMIT.set
    memory.LIMIT.reset(before)


@pytest.mark.parametrize("text", ["", "8X", "-1G", "0", "G", "1e9", "8 G 2", "nan", "9" * 400])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ParameterError, match="as in 8G or 500M"):
        memory.parse(text)


# -- what is free -------------------------------------------------------------------------------------


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:   16000000 kB\n"}


def group(where: str, limit: str, used: int, cache: int, names: tuple[str, str, str]) -> dict[str, str]:
    most, now, kind = names
    return {f"{where}/{most}": limit, f"{where}/{now}": str(used), f"{where}/memory.stat": f"anon 1\n{kind} {cache}\n"}


V2 = ("memory.max", "memory.current", "inactive_file")
TOP = "sys/fs/cgroup/memory"
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@pytest.mark.parametrize(
    ("groups", "free"),
    [
        ({}, 16_384_000_000),
        ({"proc/self/cgroup": "0::/\n"}, 16_384_000_000),
        ({"proc/self/cgroup": "0::/job\n", **group("sys/fs/cgroup/job", str(8 * GB), 3 * GB, GB, V2)}, 6 * GB),
        ({"proc/self/cgroup": "0::/job\n", **group("sys/fs/cgroup/job", "max\n", 3 * GB, GB, V2)}, 16_384_000_000),
        # the limit is set above the process's own group
        ({"proc/self/cgroup": "0::/a/b/c\n", **group("sys/fs/cgroup/a", str(4 * GB), GB, 0, V2)}, 3 * GB),
        # inside a container the path is that of the host, and the mount is its own top
        ({"proc/self/cgroup": "0::/docker/x\n", **group("sys/fs/cgroup", str(2 * GB), GB, 0, V2)}, GB),
        ({"proc/self/cgroup": "4:cpu:/\n3:memory:/j\n", **group(f"{TOP}/j", str(5 * GB), GB, 0, V1)}, 4 * GB),
        ({"proc/self/cgroup": "3:memory:/\n", **group(TOP, str(2**63 - 4096), GB, 0, V1)}, 16_384_000_000),
        ({"proc/self/cgroup": "3:memory:/\n", **group(TOP, str(GB), 2 * GB, 0, V1)}, 0),
    ],
)  # fmt: skip
def test_free(groups: dict[str, str], free: int, tmp_path: Path) -> None:
    assert memory.free(machine(tmp_path, MEMINFO | groups)) == free


def test_free_elsewhere(tmp_path: Path) -> None:
    found = memory.free(tmp_path)
    assert found is None or found > 0


def test_room(limit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: 10 * GB)
    assert memory.room() == 8 * GB
    limit(3 * GB)
    monkeypatch.setattr(memory, "used", lambda: GB)
    assert memory.room() == 2 * GB
    monkeypatch.setattr(memory, "used", lambda: 4 * GB)
    assert memory.room() == 0


# -- refused before it starts -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop() -> Baskets:
    found: Baskets = benchmark().synthetic(6000, 2500, 12)
    return found


@pytest.mark.parametrize("spec", ["ease", "edlae", "lwcvg"])
def test_the_remedy_fits(spec: str, shop: Baskets, limit: Any) -> None:
    limit(15_000_000)
    model = make_model(spec)
    with pytest.raises(memory.MemoryLimitError) as error:
        model.fit(shop)
    words = f"{spec}: learning 2,500 items needs about {memory.words(model.estimate(shop))} of memory; --memory 15 MB"
    assert str(error.value).startswith(words)
    found = re.search(r"--top-items (\d+) would fit$", str(error.value))
    assert found is not None
    fits = int(found[1])
    model.check_memory(shop.filter(top_items=fits))
    with pytest.raises(memory.MemoryLimitError):
        model.check_memory(shop.filter(top_items=fits + fits // 10))


def test_nothing_fits(shop: Baskets, limit: Any) -> None:
    limit(1000)
    with pytest.raises(memory.MemoryLimitError, match=r"free some, or raise --memory$"):
        make_model("popularity").fit(shop)


@pytest.mark.parametrize("command", ["fit", "evaluate", "tune"])
def test_commands(
    command: str, shop: Baskets, limit: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(memory, "READING", 0)

    def learned(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Model, "fit", learned)
    (tmp_path / "in.txt").write_text("".join(" ".join(names) + "\n" for names in shop))
    given = [command, str(tmp_path / "in.txt"), "-m", "ease", "--memory", "20M"]
    assert main([*given, "-o", str(tmp_path / "out.model")] if command == "fit" else given) == 2
    assert re.search(r"error: ease: learning .* would fit\n$", capsys.readouterr().err)
    assert memory.LIMIT.get() == 20_000_000
    assert main(["fit", "nothing", "-m", "ease", "-o", "out", "--memory", "much"]) == 2
    assert "error: memory 'much' is not understood" in capsys.readouterr().err


def test_files(limit: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pairs are read whole, and refused if that is too much; a basket a line goes through in pieces."""
    model = make_model("popularity").fit([["a", "b"], ["b"]])
    (tmp_path / "pairs.csv").write_text("".join(f"r{n},a\n" for n in range(1000)))
    (tmp_path / "lines.txt").write_text("a\n" * 1000)
    limit(100_000_000)
    with pytest.raises(memory.MemoryLimitError, match=r"reading it whole needs about 150 MB .* goes through in pieces"):
        complete_file(model, tmp_path / "pairs.csv", tmp_path / "out.csv", reading={"format": "pairs"})
    complete_file(model, tmp_path / "lines.txt", tmp_path / "out.csv", reading={"format": "lines"})
    assert main(["describe", str(tmp_path / "pairs.csv")]) == 2
    assert "pairs.csv: reading it whole needs" in capsys.readouterr().err
    model.save(tmp_path / "a.model")
    assert main(["complete", str(tmp_path / "a.model"), "a", "--memory", "100"]) == 2
    assert "a.model: asking this model needs" in capsys.readouterr().err


# -- the estimates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(2000, 300, 8), (20_000, 4000, 15), (30_000, 20_000, 12)])
def test_expected_pairs(size: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cooccur.pairs.FEW", 0)
    baskets = benchmark().synthetic(*size)
    assert expected_pairs(baskets) == pytest.approx(cooccurrence(baskets).nnz, rel=0.25)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is asked of /proc")
@pytest.mark.parametrize("spec", ["ease", "lwcvg", "ials:iterations=1", "dem:epochs=1"])
def test_estimates(spec: str) -> None:
    if spec.startswith("ials"):
        pytest.importorskip("implicit")
    estimate, peak = benchmark().growth(spec, 8000, 3000, 12)
    print(f"{spec}: estimate {estimate:.0f} MB, peak {peak:.0f} MB")
    assert peak / 2 < estimate < 2 * peak
