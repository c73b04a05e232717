"""Drawn items that stand for all: of T draws with replacement by q, item t weighs u_t = draws of t / (T q_t).

sum over all t of f(t) is, on average, the sum over the drawn ones of u_t f(t)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct `items` with their `weights` u_t (0 for one that was not drawn but asked for), and `slot` (n,): an
    item's place among them, or -1."""

    items: Ints
    weights: npt.NDArray[np.float32]
    slot: Ints


def draw_items(
    q: npt.NDArray[np.float64], times: int, rng: np.random.Generator, beside: npt.NDArray[np.int32] | None = None,
    weighted: bool = True,
) -> Sample:  # fmt: skip
    """So many draws; items `beside` them are in the sample too. Not `weighted`: u_t = draws of t.

    >>> sample = draw_items(np.array([0.5, 0.5, 0.0]), 4, np.random.default_rng(0), beside=np.array([2]))
    >>> sample.items.tolist(), sample.weights.tolist()
    ([0, 1, 2], [1.5, 0.5, 0.0])
    """
    counts = np.bincount(rng.choice(len(q), times, p=q), minlength=len(q))
    chosen = counts > 0
    if beside is not None:
        chosen[beside] = True
    items = np.flatnonzero(chosen)
    drawn, expected = counts[items], times * q[items] if weighted else 1.0
    slot = np.full(len(q), -1, dtype=np.int64)
    slot[items] = np.arange(len(items))
    return Sample(items, np.where(drawn > 0, drawn / np.maximum(expected, 1e-300), 0).astype(np.float32), slot)
