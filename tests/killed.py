"""Fits and writes that are killed (SIGKILL) at random moments; run by test_checkpoint as a process of its own.

    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 NUMBA_THREADING_LAYER=workqueue python killed.py FOLDER KILLS

One process learns first, so that everything is imported and compiled; each fit that is to be killed is a fork of it.
A fork cannot use the threads of its parent, so there is one thread, and Numba's layer is the one that survives a fork.
What is asserted: whenever a process dies, the model file is the old or the new one, each checkpoint is whole, and
the fit that goes on from there, through all kills, ends with exactly the arrays of the one that was left alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import cooccur
from cooccur.models.base import Model
from cooccur.training.checkpoint import Checkpoint, NetFile

SPEC = "dem:hidden=16,rate=0.02,epochs=20,patience=20,start=both,pairs=counts,nets=1"  # two nets of twenty epochs


def start(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def ended(pid: int, after: float | None = None) -> bool:
    """Whether the process came to its own end, before it was killed after so many seconds."""
    status, deadline = 0, time.monotonic() + (after or 0)
    while after is None or time.monotonic() < deadline:
        gone, status = os.waitpid(pid, 0 if after is None else os.WNOHANG)
        if gone:
            break
        time.sleep(min(0.01, max(0, deadline - time.monotonic())))
    else:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the fit failed by itself"
    return not os.WIFSIGNALED(status)


def same(one: Model, two: Model) -> bool:
    return type(one) is type(two) and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in one.arrays)


def fits(folder: Path, kills: int, rng: np.random.Generator) -> dict[str, object]:
    baskets = cooccur.planted_shop().sample(700, seed=1)
    file, run = folder / "shop.model", folder / "run"
    new, old = cooccur.make_model(SPEC).fit(baskets), cooccur.make_model("popularity").fit(baskets)

    assert new.strengths_[:2].all()  # both nets count

    def learn() -> None:
        with Checkpoint(run, resume=True) as checkpoint:
            cooccur.make_model(SPEC).fit(baskets, checkpoint=checkpoint).save(file)

    begun = time.perf_counter()
    assert ended(start(learn))
    length = time.perf_counter() - begun
    assert same(cooccur.load(file), new)
    old.save(file)
    killed, whole, seen = 0, 0, set()
    while killed < kills:
        if ended(start(learn), after=rng.uniform(0, length)):
            assert same(cooccur.load(file), new)
            assert not list(run.glob("net*"))
            whole += 1
            old.save(file)
            continue
        killed += 1
        found = cooccur.load(file)
        assert same(found, old) or same(found, new)
        places = {}
        for path in sorted(run.glob("net*")):
            kept = NetFile(path, {}, 1)
            kept.key = json.loads(_header(path))["key"]
            place, _ = kept.read() or ({}, {})
            places[path.name] = len(place["history"]["epochs"])
        seen.add(tuple(places.values()))
    assert ended(start(learn))
    assert same(cooccur.load(file), new)
    return {"killed": killed, "ended": whole + 1, "places": len(seen), "seconds": round(length, 2)}


def writes(folder: Path, kills: int, rng: np.random.Generator) -> dict[str, object]:
    """Killed while they do nothing but write: the model file and a checkpoint, large enough to be hit half-way."""
    records = rng.random((50, 1000)) < 0.1
    one, two = (cooccur.make_model("ease").fit(part) for part in (records, ~records))
    file, net = folder / "written.model", NetFile(folder / "net0.safetensors", {"model": "none"}, 1)

    def write() -> None:
        for turn in range(10**9):
            (one, two)[turn % 2].save(file)
            net.write({"over": False, "turn": turn}, {"turn": np.full(10**6, turn)})

    first = start(write)
    while not (file.exists() and net.path.exists()):
        time.sleep(0.01)
    assert not ended(first, after=0)
    for _ in range(kills):
        assert not ended(start(write), after=rng.uniform(0, 0.2))
        found, kept = cooccur.load(file), net.read()
        assert same(found, one) or same(found, two)
        assert kept is not None
        assert (kept[1]["turn"] == kept[0]["turn"]).all()
    return {"killed": kills, "left_behind": len(list(folder.glob(".*.part")))}


def _header(path: Path) -> str:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return str(file.metadata()["checkpoint"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    chance, where, times = np.random.default_rng(20), Path(sys.argv[1]), int(sys.argv[2])
    print(json.dumps({"fits": fits(where, times, chance), "writes": writes(where, times, chance)}))
