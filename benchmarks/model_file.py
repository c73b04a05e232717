"""What does the model file cost: seconds to load it, and accuracy if the pair weights are kept in half precision?

    COOCCUR_DATA=FOLDER python benchmarks/model_file.py [DATASET MODEL]...

(1) A `cvg` with 100 million edges (0.8 GB): processor seconds of `load`, verified or not, and of the checksum alone.
The file was just written, so it is in the page cache and no disk is timed.
(2) Each model learns from four fifths of a dataset and ranks the items removed from the others: as it learned, and from
its file in half precision.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cooccur.datasets import load as load_dataset
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import hold_out, rank
from cooccur.models import make_model
from cooccur.storage import ModelFile, load

ITEMS, EDGES = 100_000, 1000
PAIRS = ["ml-1m-top500", "ease", "ml-1m-top500", "dem:hidden=none", "ml-1m-top500", "fvbm", "retail", "lwcvg"]


def seconds(work: Callable[[], Any]) -> float:
    """The best of three, of this process."""
    best = np.inf
    for _ in range(3):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def loading(path: Path) -> None:
    model: Any = make_model("cvg").fit([[f"item {number}"] for number in range(ITEMS)])
    rng = np.random.default_rng(0)
    model.starts_ = np.arange(ITEMS + 1, dtype=np.int64) * EDGES
    first = rng.integers(ITEMS // EDGES, size=(ITEMS, 1))
    model.columns_ = (first + np.arange(0, ITEMS, ITEMS // EDGES)).astype(np.int32).ravel()
    model.weights_ = rng.random(ITEMS * EDGES, dtype=np.float32)
    model.save(path)
    size, opened = path.stat().st_size / 1e9, ModelFile.open(path)
    for what, work in {
        "load": lambda: load(path),
        "load(verify=False)": lambda: load(path, verify=False),
        "the checksum": opened.check_checksum,
    }.items():
        found = seconds(work)
        print(f"{what:<20} {size:.2f} GB in {found:.3f} s: {size / found:.1f} GB/s")


def half(dataset: str, spec: str, path: Path) -> None:
    learn, removals = hold_out(load_dataset(dataset), share=0.2, seed=1, at_most=20_000)
    model = make_model(spec).fit(learn)
    sizes, ranks = [], []
    for small in (False, True):
        model.save(path, half=small)
        sizes.append(path.stat().st_size / 1e6)
        ranks.append(rank(load(path), removals))
    print(f"{dataset}, {spec}: {sizes[0]:.1f} MB, in half precision {sizes[1]:.1f} MB; {len(removals):,} removals")
    for k in (1, 10):
        print(f"  Top@{k:<3} {'  '.join(f'{100 * top_at(found, k).mean():.3f}' for found in ranks)}")
    print(f"  {np.mean(ranks[0].greater != ranks[1].greater):.2%} of the removed items have another rank")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) == 1:
            loading(Path(folder) / "large")
        given = iter(sys.argv[1:] or PAIRS)
        for dataset, spec in zip(given, given, strict=True):
            half(dataset, spec, Path(folder) / "model")
