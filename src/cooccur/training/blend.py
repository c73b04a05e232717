"""How much each of several scores should count: s(t) = sum_m a_m s_m(t), the a_m >= 0 chosen on held-out removals.

    maximise  sum over removals of  ln softmax_t(s)      t the removed item, among the items looked at

is smooth and concave in the few a_m, so a few hundred records fix them well. But likelihood is not the metric, so that
answer and each part alone are compared by Top@1 + Top@10, and from the best of these on, one a_m after the other moves
on a grid of powers of two for as long as that gains more than noise (`NOISE`), within which the likeliest answer is
preferred: on these removals the sum is behind its best part by less than that, if at all. Only items that some part has
among its first `FIRST` are looked at: what no part puts there does not get among the first ten. That makes a trial cost
removals * FIRST * parts, whatever the number of items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.evaluation.removal import Removals

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Part = Callable[[Removals], Floats]  # (removals, n_items) scores

FIRST = 60
GRID = 2.0 ** np.arange(-5, 6)
SILENT = 1e-4  # scores that spread no more are a tie break
TIE = 1e-5  # in spreads: what is nearer than that is level
NOISE = 12.0  # percentage points over the root of the removals: a quarter of a standard error; gains below are luck


def strengths(parts: Sequence[Part], removals: Removals, even: bool = False) -> tuple[Doubles, float]:
    """(parts,) a_m, and the Top@1 + Top@10 in percent that they reach.

    `even`: the likelihood is that of scores which spread alike in every record. Where they grow with the record and
    some are very long, as on social graphs, these few would decide alone.

    >>> from cooccur.baskets import Baskets
    >>> rest = Baskets.from_matrix(np.zeros((3, 3)))
    >>> parts = [lambda b: np.eye(3, dtype=np.float32), lambda b: np.tile(np.float32([3, 2, 1]), (3, 1))]
    >>> a, value = strengths(parts, Removals(rest, np.arange(3), np.arange(3)))
    >>> bool(a[0] > a[1]), value
    (True, 200.0)
    """
    cells, target = _cells(parts, removals)
    cells -= target[:, None, :]  # an item is before the target where the blend of this is above 0
    seen = ~np.isnan(cells[..., 0]).all(axis=1)
    if not seen.any():  # no target has a rival
        return np.ones(len(parts)), 200.0
    variances = np.nanvar(cells[seen], axis=1)
    unit = np.sqrt(_typical(variances) if even else np.nanmean(variances, axis=0))
    unit = np.where(unit > SILENT, unit, 1.0)
    cells /= unit.astype(np.float32)
    if even:
        cells[seen] /= np.sqrt((variances / unit**2).mean(axis=1) + 1e-12).astype(np.float32)[:, None, None]
    likely = _likeliest(cells)
    least = NOISE / np.sqrt(len(removals))
    starts = [likely, *np.eye(len(parts))] if likely.any() else list(np.eye(len(parts)))
    values = [_value(cells, start) for start in starts]
    best = max(values)
    a = starts[values.index(best)]
    if best < values[0] + least:
        best, a = values[0], starts[0]
    moved = len(parts) > 1
    while moved:
        moved = False
        for m in range(len(parts)):
            trials = [np.where(np.arange(len(parts)) == m, step, a) for step in (0.0, *(max(a) * GRID))]
            found = [_value(cells, trial) if trial.any() else 0.0 for trial in trials]
            if max(found) > best + least:
                best = max(found)
                a, moved = trials[found.index(best)], True
    return a / unit, best


def _typical(variances: Floats) -> Floats:
    """(parts,) the median; of a part that is silent in most records, the median of the others."""
    speaks = variances > SILENT**2
    heard = np.where(speaks | (speaks.mean(axis=0) > 0.5), variances, np.nan)
    return np.asarray(np.nan_to_num(np.nanmedian(heard, axis=0)))


def _likeliest(cells: Floats) -> Doubles:
    """(parts,) the a_m that make the targets likeliest; `cells` are the differences to the target."""
    from scipy.optimize import minimize

    nothing = np.isnan(cells[..., 0])
    x = np.where(np.isnan(cells), 0, cells)

    def loss(a: Doubles) -> tuple[float, Doubles]:
        z = x @ a.astype(np.float32)
        z[nothing] = -np.inf
        top = np.maximum(z.max(axis=1), 0)
        e = np.exp(z - top[:, None])
        total = e.sum(axis=1) + np.exp(-top)
        slope = np.einsum("rc,rcm->m", e / total[:, None], x, optimize=True)
        return float((np.log(total) + top).mean()), slope.astype(np.float64) / len(x)

    start = np.full(x.shape[2], 0.3)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, 100)] * len(start)).x)


def _value(cells: Floats, a: Doubles) -> float:
    """Ties count in expectation: where nothing connects them, a pair term says the same of all, but for rounding."""
    ahead, close = cells @ a.astype(np.float32), TIE * max(a)
    before, level = (ahead > close).sum(axis=1), (np.abs(ahead) <= close).sum(axis=1)
    return 100 * float(sum(np.clip((k - before) / (level + 1), 0, 1).mean() for k in (1, 10)))


def _cells(parts: Sequence[Part], removals: Removals) -> tuple[Floats, Floats]:
    """(removals, items looked at, parts) scores, NaN where there is nothing to look at; (removals, parts) the targets'.

    NaN is above nothing, so it never counts as being before the target.
    """
    cells, targets = [], []
    for start in range(0, len(removals), 256):
        some = removals[slice(start, start + 256)]
        rows = np.arange(len(some))
        blocks, firsts = [np.array(part(some), dtype=np.float32) for part in parts], []
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
