"""What an epoch of exact pseudo-likelihood costs, beside what the machine could do and beside plain dense autograd.

    COOCCUR_DATA=FOLDER python benchmarks/epoch.py [retail epinions]

For each dataset, in one run: seconds per epoch of DEM-64; the share of the machine's limit (the hidden layers' products
at the sgemm rate measured here, plus the pair term's memory traffic at the bandwidth measured here, over wall time);
how many times slower the same model is as dense autograd (on the first dataset, a few batches of each); peak memory
beside the estimate; and how the cost grows with records and items. Without COOCCUR_DATA: random baskets.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numba
import numpy as np
import torch

from cooccur.baskets import Baskets
from cooccur.datasets import load
from cooccur.measure import measured
from cooccur.models import make_model
from cooccur.training import support
from cooccur.training.batches import Batch, batches, record_weights
from cooccur.training.energy_learner import EnergyLearner

HIDDEN, BATCH = 64, 256


def data(name: str) -> Baskets:
    if os.environ.get("COOCCUR_DATA"):
        return load(name)
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, 8001) ** 0.8
    records = [rng.choice(8000, 10, p=popularity / popularity.sum()) for _ in range(20_000)]
    return Baskets.from_lists([[str(i) for i in record] for record in records])


@numba.njit(parallel=True)
def _triad(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    for i in numba.prange(len(a)):
        a[i] = b[i] + 0.5 * c[i]


def bandwidth() -> float:
    """Bytes a second of a = b + s c over arrays that no cache holds."""
    a, b, c = (np.ones(40_000_000, dtype=np.float32) for _ in range(3))
    _triad(a, b, c)
    return 3 * a.nbytes / best(lambda: _triad(a, b, c))


def sgemm(n_items: int) -> float:
    """Floating-point operations a second of the three products of a step, together."""
    z, H, R = torch.randn(BATCH, n_items), torch.randn(BATCH, HIDDEN), torch.randn(n_items, HIDDEN)

    def products() -> None:
        z.addmm_(H, R.T, beta=0)
        z.T @ H
        z @ R

    products()
    return 6 * BATCH * n_items * HIDDEN / best(products)


def best(work: object, times: int = 5) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()  # type: ignore[operator]
        seconds.append(time.perf_counter() - start)
    return min(seconds)


SPEC = f"dem:pairs=learned,hidden={HIDDEN},batch={BATCH},memory=8000"


def learner_for(baskets: Baskets) -> EnergyLearner:
    model = make_model(SPEC)
    model.items_ = baskets.items
    return EnergyLearner(model, baskets, fresh=True)


def steps(learner: EnergyLearner, baskets: Baskets, most: int | None = None) -> tuple[float, int, float]:
    """Seconds, records and bytes of pair traffic of (at most `most`) steps."""
    parts = list(batches(baskets, record_weights(baskets, 0.0), BATCH, np.random.default_rng(0)))[:most]
    sizes = np.diff(learner.pairs.starts)
    start = time.perf_counter()
    for part in parts:
        learner.step(part, 1.0)
    seconds = time.perf_counter() - start
    # a pair that is met: column, weight and the cell of z forwards; column, delta and gradient back.
    met = sum(int(sizes[part.indices].sum()) for part in parts)
    # a pair of a distinct item: gradient, weight and accumulator read, the last two written
    touched = sum(int(sizes[np.unique(part.indices)].sum()) for part in parts)
    return seconds, sum(len(part) for part in parts), 32.0 * met + 20.0 * touched


def dense_autograd(baskets: Baskets, most: int) -> tuple[float, int]:
    """The same log-odds written the obvious way: a dense pair matrix, every positive's own row, autograd, Adam."""
    n = baskets.n_items
    generator = torch.Generator().manual_seed(0)
    W = torch.zeros(n, n, requires_grad=True)
    b = torch.zeros(n, requires_grad=True)
    E = (torch.randn(n, HIDDEN, generator=generator) * 0.3).requires_grad_()
    R = (torch.randn(n, HIDDEN, generator=generator) * 0.1).requires_grad_()
    c = torch.zeros(HIDDEN, requires_grad=True)
    optimiser = torch.optim.Adagrad([W, b, E, R, c], lr=0.05)
    parts: list[Batch] = list(batches(baskets, record_weights(baskets, 0.0), BATCH, np.random.default_rng(0)))[:most]
    start = time.perf_counter()
    for part in parts:
        v = torch.zeros(len(part), n)
        rows, items = torch.from_numpy(part.rows), torch.from_numpy(part.indices.astype(np.int64))
        v[rows, items] = 1
        a = v @ E
        z = b + v @ W + torch.sigmoid(a + c) @ R.T
        own = b[items] + (v @ W)[rows, items] + (torch.sigmoid(a[rows] - E[items] + c) * R[items]).sum(1)
        loss = (torch.nn.functional.softplus(z) * (1 - v)).sum() + torch.nn.functional.softplus(-own).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return time.perf_counter() - start, sum(len(part) for part in parts)


def main() -> None:
    names = sys.argv[1:] or ["retail", "epinions"]
    print(f"{numba.get_num_threads()} threads, DEM-{HIDDEN}, batches of {BATCH}, float32")
    speed = bandwidth()
    print(f"memory bandwidth {speed / 1e9:.1f} GB/s")
    for number, name in enumerate(names):
        baskets = data(name)
        n, found = baskets.n_items, int(support.estimate(baskets).sum())
        with measured() as setup:
            learner = learner_for(baskets)
            steps(learner, baskets, 2)
        before = setup.peak_mb
        with measured() as cost:
            seconds, records, traffic = steps(learner, baskets)
        rate = sgemm(n)
        flops = 6.0 * records * n * HIDDEN
        limit = flops / rate + traffic / speed
        print(f"\n{name}: {baskets!r}, {found:,} pairs")
        print(f"  seconds per epoch {seconds:8.1f}   ({records / seconds:,.0f} records/s)")
        print(
            f"  share of the limit {limit / seconds:7.2f}   (products {flops / rate:.1f} s at {rate / 1e9:.0f} Gflop/s,"
        )
        print(f"                              pairs {traffic / speed:.1f} s for {traffic / 1e9:.1f} GB)")
        estimate = make_model(SPEC).estimate(baskets) / 1e6
        peak = max(before, cost.peak_mb)
        print(f"  peak memory of the process {peak:,.0f} MB; estimated {estimate:,.0f} MB and the data")
        if number == 0:
            ours = steps(learner, baskets, 8)
            theirs = dense_autograd(baskets, 8)
            print(
                f"  dense autograd / ours  {(theirs[0] / theirs[1]) / (ours[0] / ours[1]):6.1f}   (8 batches of each)"
            )
        del learner
        print("  growth, microseconds a record (records: the first part of them; items: the most frequent)")
        for share in (1 / 8, 1 / 4, 1 / 2, 1):
            part = baskets[: int(len(baskets) * share)]
            few = baskets.filter(top_items=int(n * share), min_length=1)
            cost_of = [1e6 * seconds / records for seconds, records, _ in
                       (steps(learner_for(some), some, 40) for some in (part, few))]  # fmt: skip
            print(f"    {share:5.3f}   records {cost_of[0]:9.0f}   items {cost_of[1]:9.0f}")


if __name__ == "__main__":
    main()
