"""How much each of several scores should count: s(t) = sum_m a_m s_m(t), the a_m >= 0 chosen on held-out removals.

Only items that some part has among its first `FIRST` are looked at: what no part puts there does not get among the
first ten. That makes a trial cost removals * FIRST * parts, whatever the number of items. A removal whose target no
part has there has nothing to say either. Of the others two answers are taken, and the mean of both, because each errs
on a few hundred records, and not alike:

    likeliest   maximise  sum over removals of  ln softmax_t(s)      t the removed item, among the items looked at, with
                scores that spread alike in every record: else the few that are very long would decide alone
    bagged      the a_m on a coarse grid with the best Top@1 + Top@10, the mean over `BAGS` samples of the records with
                replacement: the best on one sample is mostly luck, what is best on most of them is not

A part whose share stays below `LEAST` is left out, and should the outcome be behind the best part alone by more than
noise, that part alone is the answer.
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
STEPS = (0.0, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)  # what an a_m is tried at, beside a largest one of 1
BAGS = 20
LEAST = 0.02  # of the sum of all shares
SILENT = 1e-4  # scores that spread no more are a tie break
TIE = 1e-5  # in spreads: what is nearer than that is level
NOISE = 24.0  # percentage points over the root of the removals: half a standard error


def strengths(parts: Sequence[Part], removals: Removals) -> tuple[Doubles, float]:
    """(parts,) a_m, and the Top@1 + Top@10 in percent that they reach.

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
    unit = np.sqrt(_typical(variances))
    unit = np.where(unit > SILENT, unit, 1.0)
    cells /= unit.astype(np.float32)
    cells[seen] /= np.sqrt((variances / unit**2).mean(axis=1) + 1e-12).astype(np.float32)[:, None, None]
    in_sight = (cells > 0).sum(axis=1).min(axis=1) < FIRST
    value = _Hits(cells[in_sight], len(removals))
    alone = [tuple(one) for one in np.eye(len(parts))]
    best = max(alone, key=value)
    a = np.array(best)
    if len(parts) > 1 and in_sight.any():
        likely = _likeliest(cells[in_sight])
        shares = _bagged(value, [*alone, _on_grid(likely)], removals.record[in_sight])
        shares += likely / likely.sum() if likely.any() else shares
        shares[shares < LEAST * shares.sum()] = 0
        if value(tuple(shares)) > value(best) - NOISE / np.sqrt(len(removals)):
            a = shares
    return a / unit, value(tuple(a))


class _Hits:
    """Top@1 + Top@10 in percent of `total` removals, those that `cells` has and others that are misses. What was asked
    before is kept, one number a removal, so that a weighted mean of it costs next to nothing."""

    def __init__(self, cells: Floats, total: int) -> None:
        self.cells, self.total = cells, total
        self.known: dict[tuple[float, ...], Doubles] = {}

    def __call__(self, a: tuple[float, ...], times: npt.NDArray[np.int64] | None = None) -> float:
        """`times` (removals,) each counts."""
        if a not in self.known:
            self.known[a] = self._hits(np.array(a))
        hits = self.known[a]
        return 100 / self.total * float(hits.sum() if times is None else hits @ times)

    def _hits(self, a: Doubles) -> Doubles:
        """Ties count in expectation: where no pair is known, a pair term says the same of all, but for rounding."""
        ahead, close = self.cells @ a.astype(np.float32), TIE * max(a)
        before, level = (ahead > close).sum(axis=1), (np.abs(ahead) <= close).sum(axis=1)
        return np.asarray(sum(np.clip((k - before) / (level + 1), 0, 1) for k in (1, 10)), dtype=np.float64)


def _bagged(value: _Hits, starts: Sequence[tuple[float, ...]], record: npt.NDArray[np.int64]) -> Doubles:
    """(parts,) shares: the mean over samples of the records of the best on each, one a_m moving after the other."""
    rng = np.random.default_rng(0)
    _, at = np.unique(record, return_inverse=True)
    n, total = int(at.max()) + 1, np.zeros(len(starts[0]))
    for _ in range(BAGS):
        times = np.bincount(rng.integers(0, n, n), minlength=n)[at]
        a = max(starts, key=lambda start: value(start, times))
        best, moved = value(a, times), True
        while moved:
            moved = False
            for m in range(len(a)):
                for step in STEPS:
                    trial = _scaled((*a[:m], step, *a[m + 1 :]))
                    if any(trial) and (found := value(trial, times)) > best:
                        best, a, moved = found, trial, True
        total += np.array(a) / sum(a)
    return total / BAGS


def _scaled(a: tuple[float, ...]) -> tuple[float, ...]:
    """The largest is 1, and what is very small beside it is 0."""
    most = max(a) or 1.0
    return tuple(x / most if x >= most / 64 else 0.0 for x in a)


def _on_grid(a: Doubles) -> tuple[float, ...]:
    """The same on the grid, nearly.

    >>> _on_grid(np.array([0.1, 0.03, 0]))
    (1.0, 0.25, 0.0)
    """
    if not a.any():
        return tuple(np.ones(len(a)))
    exponents = np.round(np.log(np.maximum(a / a.max(), 1e-9)) / np.log(4))
    return _scaled(tuple(np.where(exponents > -3, 4.0**exponents, 0.0).tolist()))


def _typical(variances: Floats) -> Doubles:
    """(parts,) the median; of a part that is silent in most records, the median of the others."""
    found = np.zeros(variances.shape[1])
    for m, own in enumerate(variances.T):
        speaks = own > SILENT**2
        if speaks.any():
            found[m] = np.median(own if speaks.mean() > 0.5 else own[speaks])
    return found


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
