"""What a step of a net costs that draws absent items, beside what must be done at least.

    COOCCUR_DATA=FOLDER python benchmarks/drawn.py [retail epinions slashdot0902]

The calm net of a `dem` of very many items: 128 units, 256 records and 3,000 drawn items a step. For each dataset, in
one run, best of 30 steps: the step; the products of hidden layers and outputs alone; a pass of torch's Adam over all
weights, which `row_adam.py` spares; and how many times the sum of these two the whole step takes. Then the same net by
the paper's plain descent, 16 records and 300 items a step, which moves the rows of these items only: the step, and what
one pass of plain descent over all weights would cost alone. Without COOCCUR_DATA: random baskets.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch

from cooccur.baskets import Baskets
from cooccur.datasets import load
from cooccur.models import make_model
from cooccur.training.batches import batches
from cooccur.training.energy_learner import EnergyLearner

HIDDEN, BATCH, DRAWN, STEPS = 128, 256, 3000, 30


def data(name: str) -> Baskets:
    if os.environ.get("COOCCUR_DATA"):
        return load(name)
    rng, n = np.random.default_rng(0), 80_000
    return Baskets.from_lists(
        [[str(i) for i in set(record)] for record in (n * rng.random((n // 4, 10)) ** 2).astype(int).tolist()]
    )


def best(work: Callable[[], object], times: int = STEPS) -> float:
    """Milliseconds of the fastest of so many runs, but for the first."""
    found = []
    for _ in range(times + 1):
        start = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - start))
    return min(found[1:])


def main() -> None:
    print(f"{torch.get_num_threads()} threads, {HIDDEN} units, {BATCH} records and {DRAWN} drawn items a step")
    for name in sys.argv[1:] or (
        ["retail", "epinions", "slashdot0902"] if os.environ.get("COOCCUR_DATA") else ["random"]
    ):
        baskets = data(name)
        model = make_model(f"dem:pairs=no,start=calm,hidden={HIDDEN},negatives={DRAWN}")
        learner = EnergyLearner(model, baskets, fresh=True)
        each = batches(baskets, np.ones(len(baskets), dtype=np.float32), BATCH, np.random.default_rng(0))
        step = best(lambda learner=learner, each=each: learner.step(next(each), 1.0))

        parts = [torch.zeros(baskets.n_items, HIDDEN, requires_grad=True) for _ in range(2)]
        for part in parts:
            part.grad = torch.zeros_like(part)
        every = torch.optim.Adam(parts, fused=True)
        adam = best(lambda every=every: every.step())

        columns = len(learner._sample(next(each)).items)
        H, R, delta = torch.randn(BATCH, HIDDEN), torch.randn(columns, HIDDEN), torch.randn(BATCH, columns)
        products = best(lambda H=H, R=R, delta=delta: (H @ R.T, delta.T @ H, delta @ R))
        print(
            f"{name:14} {baskets.n_items:6,} items   step {step:6.1f} ms   products {products:5.1f}   "
            f"Adam over all {adam:5.1f}   step / both {step / (products + adam):4.1f}"
        )

        learner = EnergyLearner(make_model(f"dem:paper,pairs=no,hidden={HIDDEN}"), baskets, fresh=True)
        each = batches(baskets, np.ones(len(baskets), dtype=np.float32), 16, np.random.default_rng(0))
        step = best(lambda learner=learner, each=each: learner.step(next(each), 1.0))
        plain = torch.optim.SGD(parts, lr=1.0, fused=True)
        whole = best(lambda plain=plain: plain.step())
        print(f"{'':14} plain descent   step {step:6.1f} ms   a pass over all weights {whole:5.1f}")


if __name__ == "__main__":
    main()
