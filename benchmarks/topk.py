"""How fast are the k best items found, beside numpy and beside implicit, on the same numbers in the same run?

    python benchmarks/topk.py [records]

(1) `ops.mask` and `kernels.top_k` on a block of scores, beside numpy's `argpartition` and a sort of the k.
(2) `cvg.complete_batch` for all records, beside implicit's item-item `recommend` with the same co-occurrence counts.

Data: Retail if COOCCUR_DATA names a folder that holds it, else random baskets over 16,000 items; `records` takes only
the first so many. Each figure is the best of three repeats, taken in turn so that a busy machine hits all alike. numpy
and implicit's `recommend` run on one thread, whatever they are given, so cooccur is timed with one as well as with two.
A ratio above 1 means that cooccur is the faster one. The scores are compared before anything is timed.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from cooccur import kernels, ops
from cooccur.baskets import Baskets
from cooccur.models.graph import Cvg

THREADS = (2, 1)
REPEATS = 3
Floats = npt.NDArray[np.float32]


def records() -> tuple[str, Baskets]:
    if os.environ.get("COOCCUR_DATA"):
        from cooccur.datasets import load

        return "retail", load("retail")
    rng = np.random.default_rng(0)
    lengths = 1 + rng.poisson(9, 80_000)
    columns = (16_000 * rng.random(lengths.sum()) ** 3).astype(np.int64)  # uneven frequencies, as in a shop
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return "random", Baskets.from_pairs(rows, columns, [str(i) for i in range(16_000)], n_records=len(lengths))


def race(what: str, ours: Callable[[], Any], whom: str, theirs: Callable[[], Any]) -> None:
    """Print the best seconds of each, the repeats interleaved."""
    contestants = [(ours, threads) for threads in THREADS] + [(theirs, 1)]
    best = [float("inf")] * len(contestants)
    for _ in range(REPEATS):
        for number, (run, threads) in enumerate(contestants):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            start = time.perf_counter()
            run()
            best[number] = min(best[number], time.perf_counter() - start)
    print(f"{what}: {whom} {1e3 * best[-1]:.1f} ms")
    for threads, seconds in zip(THREADS, best[:-1], strict=True):
        print(f"    cooccur, {threads} thread(s) {1e3 * seconds:9.1f} ms   ratio {best[-1] / seconds:6.2f}")


def numpy_top_k(scores: Floats, baskets: Baskets, k: int) -> tuple[npt.NDArray[Any], Floats]:
    """What one writes in numpy: mask, partition, sort the k. argpartition finds the smallest, so the sign is turned."""
    negative = -scores
    negative[np.repeat(np.arange(len(baskets)), baskets.lengths), baskets.indices] = np.inf
    chosen = np.argpartition(negative, k, axis=1)[:, :k]
    values = np.take_along_axis(negative, chosen, axis=1)
    order = np.argsort(values, axis=1)
    return np.take_along_axis(chosen, order, axis=1), -np.take_along_axis(values, order, axis=1)


def our_top_k(scores: Floats, baskets: Baskets, k: int) -> tuple[npt.NDArray[Any], Floats]:
    masked = scores.copy()  # numpy's negative is a copy too
    ops.mask(masked, baskets.indptr, baskets.indices)
    return kernels.top_k(masked, k)


def against_numpy(model: Cvg, baskets: Baskets, k: int) -> None:
    rows = next(model.blocks(baskets))[0].stop
    block = baskets[:rows]
    scores = model._scores(block)
    np.testing.assert_array_equal(our_top_k(scores, block, k)[1], numpy_top_k(scores, block, k)[1])
    race(
        f"top-{k} of {rows} x {model.items_.size} scores, five times",
        lambda: [our_top_k(scores, block, k) for _ in range(5)],
        "numpy argpartition",
        lambda: [numpy_top_k(scores, block, k) for _ in range(5)],
    )


def against_implicit(model: Cvg, baskets: Baskets, k: int) -> None:
    from implicit.nearest_neighbours import ItemItemRecommender, NearestNeighboursScorer
    from scipy.sparse import csr_matrix

    n = baskets.n_items
    peer = ItemItemRecommender(num_threads=max(THREADS))
    # fit would count the diagonal and keep K neighbours an item; the peer gets our very matrix instead
    peer.similarity = csr_matrix((model.weights_.astype(np.float64), model.columns_, model.starts_), shape=(n, n))
    peer.scorer = NearestNeighboursScorer(peer.similarity)
    users, liked = np.arange(len(baskets)), csr_matrix(baskets.matrix, dtype=np.float64)

    def recommend() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        found: tuple[npt.NDArray[Any], npt.NDArray[Any]] = peer.recommend(
            users, liked, N=k, filter_already_liked_items=True
        )
        return found

    check(model.complete_batch(baskets, k).scores, recommend()[1], baskets, model)
    what = f"cvg, top-{k} of {len(baskets):,} records"
    race(what, lambda: model.complete_batch(baskets, k), "implicit recommend", recommend)


def check(ours: Floats, theirs: npt.NDArray[Any], baskets: Baskets, model: Cvg) -> None:
    """Equal scores, place by place. implicit lists only items with an edge to the basket; the rest must be 0 here,
    and a basket without any edge gets the popularity order from us and nothing from implicit."""
    listed = theirs > 0
    edges = np.concatenate(([0], np.cumsum(np.diff(model.starts_)[baskets.indices])))
    linked = np.diff(edges[baskets.indptr]) > 0
    np.testing.assert_array_equal(ours[listed], theirs[listed])
    assert not ours[linked][~listed[linked]].any()
    assert linked.mean() > 0.5


def main() -> None:
    warnings.filterwarnings("ignore", message=".*TBB threading layer.*")
    name, baskets = records()
    print(f"{name}: {baskets!r}")
    model = Cvg().fit(baskets)
    asked = baskets[: int(sys.argv[1])] if len(sys.argv) > 1 else baskets
    for k in (10, 100):
        against_numpy(model, asked, k)
    for k in (10, 100):
        against_implicit(model, asked, k)


if __name__ == "__main__":
    main()
