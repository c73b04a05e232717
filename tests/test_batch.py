"""Batch completion: in pieces it gives what it gives at once; killed at any moment it goes on to the same file."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cooccur
from batch_work import PRELOAD, work
from cooccur.batch import complete_file
from cooccur.cli import main
from cooccur.errors import CooccurError, InputError
from cooccur.models.base import Model
from cooccur.models.graph import LwCvg
from cooccur.models.independent import Independent
from cooccur.models.popularity import Popularity
from cooccur.parts import parts_of
from cooccur.reading.rows import read_rows
from cooccur.reading.text import _QUOTED_ROWS

KILLS = 30
RECORDS = 400
POSIX = pytest.mark.skipif(os.name == "nt", reason="SIGKILL and /proc")


def records(n: int = RECORDS, items: int = 40, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[f"i{i}" for i in rng.choice(items, rng.integers(1, 6), replace=False)] for _ in range(n)]


@pytest.fixture(scope="module")
def model() -> Model:
    return LwCvg().fit(records(seed=1, items=39))  # i39 is unknown


def write(path: Path, kind: str) -> dict[str, Any]:
    """The records in one of the forms, and the options to read it."""
    all_of = records()
    ids = [f"r{number}" for number in range(RECORDS)]
    if kind == "lines":
        path.write_text("".join(" ".join(r) + "\n\n" for r in all_of))
        return {"format": "lines"}
    if kind == "gzip":
        path.write_bytes(gzip.compress("".join(" ".join(r) + "\n" for r in all_of).encode()))
        return {"format": "lines"}
    if kind == "cells":
        path.write_text("id,basket\n" + "".join(f'{i},"{"|".join(r)}"\n' for i, r in zip(ids, all_of, strict=True)))
        return {"format": "csv", "item": "basket"}
    if kind == "wide":
        cells = [[str(int(f"i{i}" in r)) for i in range(40)] for r in all_of]
        path.write_text(",".join(f"i{i}" for i in range(40)) + "\n" + "".join(",".join(c) + "\n" for c in cells))
        return {"format": "wide"}
    if kind == "arrays":
        path.write_text("".join(json.dumps(r) + "\n" for r in all_of))
    elif kind == "objects":
        path.write_text("".join(json.dumps({"user": i, "items": r}) + "\n" for i, r in zip(ids, all_of, strict=True)))
    elif kind == "pairs":
        path.write_text("".join(f"{i},{item}\n" for i, r in zip(ids, all_of, strict=True) for item in r))
        return {"format": "pairs"}
    elif kind == "long":
        lines = [{"user": i, "item": item} for i, r in zip(ids, all_of, strict=True) for item in r]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif kind == "parquet":
        lists = [r if number % 7 else [] for number, r in enumerate(all_of)]
        pl.DataFrame({"user": ids, "items": lists}).write_parquet(path, row_group_size=50)
    elif kind == "numbered":
        lists = [r if number % 7 else [] for number, r in enumerate(all_of)]
        pl.DataFrame({"items": lists}).write_parquet(path, row_group_size=50)
    return {"format": "jsonl"} if kind in ("arrays", "objects", "long") else {"format": "parquet"}


STREAMED = ["lines", "gzip", "cells", "wide", "arrays", "objects", "parquet", "numbered"]


def expected(model: Model, path: Path, options: dict[str, Any], **filters: Any) -> list[tuple[str, int, str]]:
    baskets = cooccur.read(path, **options).filter(**filters)
    found = model.complete_batch(baskets, 3)
    return [(baskets.records[r], n, name) for r in range(len(baskets)) for n, name in enumerate(found.names(r), 1)]


def rows(path: Path) -> list[tuple[str, int, str]]:
    read = {".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson, ".csv": pl.read_csv}[path.suffix]
    return read(path).select(pl.col("record").cast(pl.String), "rank", "item").rows()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("kind", [*STREAMED, "pairs", "long"])
def test_in_pieces_as_at_once(
    kind: str, ending: str, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cooccur.reading.rows.BLOCK", 1000)
    monkeypatch.setattr("cooccur.reading.tables.SLICE", 1000)
    options = write(source := tmp_path / "in", kind)
    target = tmp_path / f"out.{ending}"
    done = complete_file(model, source, target, 3, reading=options, rows=60)
    assert rows(target) == expected(model, source, options)
    assert (done.rows, list(done.unknown), done.resumed) == (len(rows(target)), ["i39"], 0)
    assert done.report is not None
    assert (done.report.items is None) == (kind in STREAMED)
    assert [path.name for path in tmp_path.iterdir() if path != source] == [target.name]


@pytest.mark.parametrize("kind", STREAMED)
def test_pieces_are_small_and_say_where_they_end(kind: str, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", kind)
    pieces: list[Any] = []
    assert read_rows(source, pieces.append, size=30, **options)[0] is None
    assert len(pieces) > 10
    assert all(0 < len(piece.baskets) <= 30 for piece in pieces)
    for at in (0, 5, len(pieces) - 1):
        again: list[Any] = []
        read_rows(source, again.append, size=30, after=pieces[at].end, records=pieces[at].records, **options)
        assert named(again) == named(pieces[at + 1 :])


def named(pieces: list[Any]) -> list[tuple[str, set[str]]]:
    return [(r, set(names)) for p in pieces for r, names in zip(p.baskets.records, p.baskets, strict=True)]


def test_quotes_and_line_breaks_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cooccur.reading.rows.BLOCK", 64)
    monkeypatch.setattr("cooccur.reading.text._QUOTED_ROWS", 7)
    assert _QUOTED_ROWS > 7
    names = [f"a\n{n}|b,{n}" for n in range(100)]
    (tmp_path / "in.csv").write_text("basket,of\n" + "".join(f'"{name}",x\n' for name in names))
    options = {"format": "csv", "item": "basket"}
    pieces: list[Any] = []
    read_rows(tmp_path / "in.csv", pieces.append, size=10, **options)
    assert [names for _, names in named(pieces)] == [set(r) for r in cooccur.read(tmp_path / "in.csv", **options)]
    assert len(pieces) > 10


@pytest.mark.parametrize("filters", [{"min_length": 3}, {"max_length": 2}, {"top_items": 5, "min_length": 1}])
def test_filters(filters: dict[str, int], model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", "lines")
    complete_file(model, source, tmp_path / "out.csv", 3, reading=options, filters=filters, rows=60)
    assert rows(tmp_path / "out.csv") == expected(model, source, options, **filters)


def test_nothing_to_do(model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", "lines")
    with pytest.raises(InputError, match="the filters leave nothing"):
        complete_file(model, source, tmp_path / "out.csv", reading=options, filters={"min_length": 99})
    (tmp_path / "in").write_text("\n\n")
    with pytest.raises(InputError, match="blank lines"):
        complete_file(model, source, tmp_path / "out.csv", reading=options)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_probabilities(tmp_path: Path) -> None:
    model = Independent().fit(records())
    options = write(source := tmp_path / "in", "lines")
    complete_file(model, source, tmp_path / "out.parquet", 2, reading=options, rows=100)
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert frame["probability"].to_list() == [model.probability(score) for score in frame["score"].to_list()]


# -- going on -----------------------------------------------------------------------------------------


class Stop(BaseException):
    """The process ends here."""


def stopped(at: int) -> Any:
    def progress(share: float, words: str) -> None:
        nonlocal at
        at -= 1
        if not at:
            raise Stop

    return progress


@pytest.mark.parametrize("kind", [*STREAMED, "pairs"])
def test_goes_on(kind: str, model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", kind)
    target = tmp_path / "out.parquet"
    target.write_text("old")
    told: list[str] = []
    settings: dict[str, Any] = {"reading": options, "rows": 60, "tell": told.append}
    for at in (1, 4):
        with pytest.raises(Stop):
            complete_file(model, source, target, 3, **settings, progress=stopped(at))
        assert target.read_text() == "old"
    done = complete_file(model, source, target, 3, **settings)
    assert 0 < done.resumed < done.records
    assert done.rows == len(rows(target))
    assert [words.split(":")[0] for words in told] == [f"going on from {target}.parts"] * 2
    assert rows(target) == expected(model, source, options)
    assert not Path(f"{target}.parts").exists()


@pytest.mark.parametrize("changed", ["k", "model", "input", "options"])
def test_other_work_starts_anew(changed: str, model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", "lines")
    target = tmp_path / "out.csv"
    with pytest.raises(Stop):
        complete_file(model, source, target, 2, reading=options, rows=60, progress=stopped(5))
    k, filters = 2, {}
    if changed == "k":
        k = 3
    elif changed == "model":
        model = LwCvg(source=0.5).fit(records(seed=1))
    elif changed == "input":
        source.write_text(source.read_text().replace("i7", "i8"))
    else:
        filters = {"min_length": 2}
    told: list[str] = []
    done = complete_file(model, source, target, k, reading=options, filters=filters, rows=60, tell=told.append)
    assert done.resumed == 0
    assert told == [f"{target}.parts was of another input, model or setting: starting anew"]
    fresh = tmp_path / "fresh.csv"
    complete_file(model, source, fresh, k, reading=options, filters=filters, rows=60)
    assert target.read_bytes() == fresh.read_bytes()


def test_a_damaged_part_is_made_again(model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", "lines")
    target = tmp_path / "out.csv"
    with pytest.raises(Stop):
        complete_file(model, source, target, 3, reading=options, rows=60, progress=stopped(5))
    (tmp_path / "out.csv.parts" / "00002.parquet").write_bytes(b"PAR1")
    (tmp_path / "out.csv.parts" / ".00007.parquet.x.part").write_bytes(b"half")
    assert complete_file(model, source, target, 3, reading=options, rows=60).resumed == 2 * 20
    assert rows(target) == expected(model, source, options)


def test_one_process_at_a_time(model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", "lines")
    target = tmp_path / "out.csv"
    with parts_of(target, {}), pytest.raises(CooccurError, match="another process is making this file"):
        complete_file(model, source, target, reading=options)
    complete_file(model, source, target, reading=options)


def test_a_folder_of_somebody_else_is_left_alone(model: Model, tmp_path: Path) -> None:
    options = write(source := tmp_path / "in", "lines")
    (tmp_path / "out.csv.parts").mkdir()
    (tmp_path / "out.csv.parts" / "letter.txt").write_text("dear")
    with pytest.raises(CooccurError, match=r"it holds letter\.txt"):
        complete_file(model, source, tmp_path / "out.csv", reading=options)
    assert (tmp_path / "out.csv.parts" / "letter.txt").read_text() == "dear"


def test_a_full_disk_is_one_line_and_the_parts_stay(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = write(source := tmp_path / "in", "lines")
    target = tmp_path / "out.csv"
    write_parquet, left = pl.DataFrame.write_parquet, 4

    def full(*arguments: Any, **more: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        write_parquet(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(CooccurError, match="No space left on device"):
            complete_file(model, source, target, 3, reading=options, rows=60)
    assert not target.exists()
    assert complete_file(model, source, target, 3, reading=options, rows=60).resumed == 4 * 20
    assert rows(target) == expected(model, source, options)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], model: Model) -> None:
    model.save(tmp_path / "a.model")
    write(tmp_path / "in.jsonl", "arrays")
    command = ["complete", str(tmp_path / "a.model"), "--input", str(tmp_path / "in.jsonl"), "-k", "3", "--json"]
    assert main([*command, "-o", str(tmp_path / "out.jsonl")]) == 0
    out, err = capsys.readouterr()
    about = json.loads(out)
    assert (about["records"], about["rows"], about["resumed"]) == (RECORDS, len(rows(tmp_path / "out.jsonl")), 0)
    assert "read as jsonl: 400 lines, 400 records\n" in err
    assert main(command) == 0
    answers = json.loads(capsys.readouterr().out)["completions"]
    assert [(a["record"], a["rank"], a["item"]) for a in answers] == rows(tmp_path / "out.jsonl")


# -- killed -------------------------------------------------------------------------------------------


@POSIX
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """SIGKILL in the middle: the output is the old or the new file, whole, and what is resumed ends the same."""
    processes = multiprocessing.get_context("forkserver")  # imports are paid once; nothing has run there yet
    processes.set_forkserver_preload(PRELOAD)
    LwCvg().fit(records(2000, items=300)).save(tmp_path / "a.model")
    (tmp_path / "in").write_text("".join(" ".join(r) + "\n" for r in records(5000, items=300)))

    def started(target: Path) -> Any:
        process = processes.Process(target=work, args=(tmp_path, target), daemon=True)
        process.start()
        return process

    fresh = tmp_path / "fresh.parquet"
    for _ in range(2):  # the first one starts the server
        before = time.perf_counter()
        process = started(fresh)
        process.join()
        seconds = time.perf_counter() - before
        assert process.exitcode == 0
    new = pl.read_parquet(fresh)
    rng = np.random.default_rng(7)
    target = tmp_path / "out.parquet"
    target.write_text("old")
    killed = finished = with_parts = 0
    while killed < KILLS:
        process = started(target)
        process.join(rng.uniform(0, seconds))
        process.kill()
        process.join()
        if process.exitcode == -9:
            killed += 1
            with_parts += Path(f"{target}.parts", "00000.parquet").exists()
        if target.read_bytes() != b"old":  # all or nothing
            assert_frame_equal(pl.read_parquet(target), new)
            target.write_text("old")
            finished += 1
    process = started(target)
    process.join()
    assert process.exitcode == 0
    assert_frame_equal(pl.read_parquet(target), new)
    assert not Path(f"{target}.parts").exists()
    assert with_parts  # else nothing was ever resumed
    print(
        f"{killed} kills over a run of {seconds:.2f} s, {with_parts} left parts, {finished + 1} resumed runs came out"
    )


# -- memory -------------------------------------------------------------------------------------------

PEAK = """
import sys
from pathlib import Path
from cooccur import storage
from cooccur.batch import complete_file
from cooccur.reading import rows, tables
rows.BLOCK = tables.SLICE = 2**18  # so small that already the smaller input is many of them
complete_file(storage.load(sys.argv[1]), sys.argv[2], sys.argv[3], 10, rows=50_000)
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
"""


@POSIX
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_constant_memory(ending: str, tmp_path: Path) -> None:
    """Eight times the input takes hardly more memory; the figures are printed."""
    rng = np.random.default_rng(0)
    some = [[f"i{i}" for i in set(row)] for row in rng.integers(0, 2000, (30_000, 4)).tolist()]
    Popularity().fit(some[:5000]).save(tmp_path / "a.model")
    peaks = []
    for times in (1, 8):
        source = tmp_path / f"{times}.{ending}"
        frame = pl.DataFrame({"items": some * times})
        if ending == "parquet":
            frame.write_parquet(source, row_group_size=10_000)
        else:
            frame.write_ndjson(source)
        command = [sys.executable, "-c", PEAK, tmp_path / "a.model", source, tmp_path / f"out.{ending}"]
        environment = os.environ | {"POLARS_MAX_THREADS": "2"}
        run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        peaks.append(float(run.stdout))
        written = (tmp_path / f"out.{ending}").stat().st_size
        print(f"{ending}: {source.stat().st_size / 1e6:.1f} MB in, {written / 1e6:.1f} MB out: {peaks[-1]:.0f} MB peak")
    assert peaks[1] - peaks[0] < 25
