"""What learning needs beside the data: the estimate that is made before it starts, and the measured peak.

    python benchmarks/memory.py [MODEL ...]

Each row is a process of its own that makes records, learns, writes the model file and reports how far its resident
memory grew. Few epochs: memory does not grow with them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

import numpy as np

from cooccur.baskets import Baskets
from cooccur.measure import measured
from cooccur.models import make_model

MODELS = (
    "ease", "edlae", "lwcvg", "itemknn", "lrw", "ials", "mmmf", "fvbm:epochs=1", "dem:epochs=1", "multvae:epochs=1",
    "rbm:epochs=1", "lbl:epochs=1", "dae:epochs=1",
)  # fmt: skip
SIZES = ((5000, 1000, 10), (20_000, 4000, 15))  # records, items, mean length


def synthetic(records: int, items: int, length: int, seed: int = 0) -> Baskets:
    """Records of items whose frequency falls with their number, as in a shop."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(5, items + 5)
    lengths = rng.poisson(length - 1, records) + 1
    drawn = rng.choice(items, lengths.sum(), p=share / share.sum())
    return Baskets.from_pairs(np.repeat(np.arange(records), lengths), drawn, [f"i{i}" for i in range(items)])


def growth(spec: str, records: int, items: int, length: int) -> tuple[float, float]:
    """(estimated, measured) MB, in a new process."""
    command = [sys.executable, __file__, "one", spec, str(records), str(items), str(length)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(found[-2]), float(found[-1])


def one(spec: str, records: int, items: int, length: int) -> None:
    baskets = synthetic(records, items, length)
    model = make_model(spec)
    with measured() as before:
        pass
    estimate = model.estimate(baskets) / 1e6
    with measured() as cost, tempfile.TemporaryDirectory() as folder:
        model.fit(baskets)
        model.save(f"{folder}/model")
    print(estimate, (cost.peak_mb - before.peak_mb) * 2**20 / 1e6)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], *map(int, sys.argv[3:6]))
    else:
        print("| model | records | items | estimate, MB | peak, MB | ratio |\n|---|---|---|---|---|---|")
        for spec in sys.argv[1:] or MODELS:
            for size in SIZES:
                estimate, peak = growth(spec, *size)
                figures = f"{estimate:,.0f} | {peak:,.0f} | {estimate / peak:.2f}"
                print(f"| `{spec}` | {size[0]:,} | {size[1]:,} | {figures} |", flush=True)
