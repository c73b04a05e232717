"""How much each of several scores should count: s(t) = sum_m a_m s_m(t), the a_m chosen on held-out removals.

The a_m are looked for on a grid of powers of two, in units in which each score varies alike within a record. From the
best single score on, one a_m after the other moves to where Top@1 + Top@10 of the removals is highest, until none
gains; so on these removals the sum is never behind its best part. Only items that some part has among its first
`FIRST` are looked at (and the target): what no part puts there does not get to the first ten. That makes a trial cost
removals * FIRST * parts, whatever the number of items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.evaluation.removal import Removals

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Part = Callable[[Baskets], Floats]  # (records, n_items) scores

FIRST = 60
GRID = (0.0, *(2.0**k for k in range(-5, 6)))
LEAST_GAIN = 0.05  # percentage points: below that it is noise, and fewer parts are better


def strengths(parts: Sequence[Part], removals: Removals) -> tuple[Doubles, float]:
    """(parts,) a_m, and the Top@1 + Top@10 in percent that they reach; a part that does not help gets 0.

    >>> rest = Baskets.from_matrix(np.zeros((3, 3)))
    >>> parts = [lambda b: np.eye(3, dtype=np.float32), lambda b: np.tile(np.float32([3, 2, 1]), (3, 1))]
    >>> strengths(parts, Removals(rest, np.arange(3), np.arange(3)))[0].tolist()[1]
    0.0
    """
    cells, target = _cells(parts, removals)
    cells -= target[:, None, :]  # an item is before the target where the blend of this is above 0
    seen = ~np.isnan(cells[..., 0]).all(axis=1)
    unit = np.sqrt(np.nanmean(np.nanvar(cells[seen], axis=1), axis=0)) + 1e-12
    cells /= unit.astype(np.float32)
    alone = [_value(cells, np.eye(len(parts))[m]) for m in range(len(parts))]
    best = max(alone)
    a = np.eye(len(parts))[alone.index(best)]
    moved = len(parts) > 1
    while moved:
        moved = False
        for m in range(len(parts)):
            trials = [np.where(np.arange(len(parts)) == m, value, a) for value in GRID]
            values = [_value(cells, trial) if trial.any() else 0.0 for trial in trials]
            if max(values) > best + LEAST_GAIN:
                best = max(values)
                a, moved = trials[values.index(best)], True
    return a / unit, best


def _value(cells: Floats, a: Doubles) -> float:
    before = (cells @ a.astype(np.float32) > 0).sum(axis=1)
    return 100 * float((before < 1).mean() + (before < 10).mean())


def _cells(parts: Sequence[Part], removals: Removals) -> tuple[Floats, Floats]:
    """(removals, items looked at, parts) scores, NaN where there is nothing to look at; (removals, parts) the targets'.

    NaN is above nothing, so it never counts as being before the target.
    """
    cells, targets = [], []
    for start in range(0, len(removals), 256):
        some = removals[slice(start, start + 256)]
        rows = np.arange(len(some))
        blocks, firsts = [np.array(part(some.rest), dtype=np.float32) for part in parts], []
        targets.append(np.stack([block[rows, some.target] for block in blocks], axis=-1))
        for block in blocks:
            ops.mask(block, some.rest.indptr, some.rest.indices)
            block[rows, some.target] = np.nan
            firsts.append(ops.top_k(block, min(FIRST, block.shape[1]))[0])
        items = np.sort(np.concatenate(firsts, axis=1), axis=1)
        seen = np.stack([block[rows[:, None], np.maximum(items, 0)] for block in blocks], axis=-1)
        seen[:, 1:][items[:, 1:] == items[:, :-1]] = np.nan
        seen[items < 0] = np.nan
        cells.append(seen)
    return np.concatenate(cells), np.concatenate(targets)
