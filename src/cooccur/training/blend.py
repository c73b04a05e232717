"""How much each of several scores should count: s(t) = sum_m a_m s_m(t) + g p(t), chosen on held-out removals.

The a_m >= 0 are what the parts count, and g, of either sign, what popularity p counts beside them: each part has some
of it already, and their sum mostly too much. Best is what makes most of

    sum over removals of  sum_{k = 1, 10}  1 / (1 + (r / (k + 1/2))^2)        r = 1 + sum_j sigma(SHARP (s(j) - s(t)))

with t the removed item: Top@1 + Top@10, but for ranks and ends that give way, so that a few hundred records tell more
of it than whether t was just inside or outside. What is best on one sample is partly luck, so the answer is the mean
over `BAGS` samples of the records with replacement. Scores spread alike in every record: else the few that are very
long would decide alone. What is better on these records may be luck as well: a simpler answer can be named, and the
answer goes from that one to the best only part of the way, and nowhere `unless` that is a gain on records that had no
say, each asked about the mean over the samples that it is not in. The part is 1 - 1 / z^2 if the best gains z standard
errors on these (so are means shrunk towards a guess, by James and Stein), but `TRUST` at least.

The items j that are looked at are those that some part has among its first `FIRST`, with popularity or less of it:
others do not get among the first ten. That makes a trial cost removals * FIRST * parts^2, whatever the number of items.
A removal whose target no part has there has nothing to say. A part whose share stays below `LEAST` is left out.
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
BAGS = 10
SHARP = 50.0  # over the spread of the scores in a record
LESS = 0.3  # popularity, in spreads, that is taken from a part for its second list
MOST = (-1.0, 10.0)  # what popularity may count beside all parts together
LITTLE = 1e-6  # where nothing but popularity counts
FLAT = 1e-6  # no more is gained by a step
LEAST = 0.02  # of the sum of all shares
TRUST = 0.75  # at least, in what is best on the records that are asked, where there is a simpler answer
SILENT = 1e-4  # scores that spread no more are a tie break


def strengths(
    parts: Sequence[Part], removals: Removals, popular: Part | None = None, unless: Sequence[float] | None = None
) -> Doubles:
    """(parts,) a_m, and g behind them where there is a `popular` part: on the way from `unless` (parts,), with no more
    of popularity, and just that unless they gain.

    >>> from cooccur.baskets import Baskets
    >>> rest = Baskets.from_matrix(np.zeros((3, 3)))
    >>> parts = [lambda b: np.eye(3, dtype=np.float32), lambda b: np.tile(np.float32([3, 2, 1]), (3, 1))]
    >>> a = strengths(parts, Removals(rest, np.arange(3), np.arange(3)))
    >>> bool(a[0] > a[1])
    True
    """
    cells, target = _cells(parts, removals, popular)
    cells -= target[:, None, :]  # an item is before the target where the blend of this is above 0
    seen = ~np.isnan(cells[..., 0]).all(axis=1)
    signed = np.arange(cells.shape[2]) >= len(parts)
    stands = None if unless is None else np.concatenate((unless, np.zeros(np.count_nonzero(signed))))
    if not seen.any():  # no target has a rival
        return np.where(signed, 0.0, 1.0) if stands is None else stands
    variances = np.nanvar(cells[seen], axis=1)
    unit = np.sqrt(_typical(variances))
    unit = np.where(unit > SILENT, unit, 1.0)
    cells /= unit.astype(np.float32)
    cells[seen] /= np.sqrt((variances / unit**2).mean(axis=1) + 1e-12).astype(np.float32)[:, None, None]
    in_sight = (cells > 0).sum(axis=1).min(axis=1) < FIRST
    asked = in_sight & seen
    if not asked.any():
        return np.where(signed, 0.0, 1.0) / unit if stands is None else stands
    _, record = np.unique(removals.record[asked], return_inverse=True)
    x, nothing = np.nan_to_num(cells[asked]), np.isnan(cells[asked, :, 0])
    bags, times = _best(x, nothing, signed, record)
    a = bags.mean(axis=0)
    a[(a < LEAST) & ~signed] = 0
    if stands is not None:
        simple = stands * unit / (stands * unit).sum()
        out = times == 0
        without = np.where(out.any(axis=0)[:, None], out.T @ bags / np.maximum(out.sum(axis=0), 1)[:, None], simple)
        plain = _hits(x, nothing, simple)[0].sum(axis=0)
        gains = _hits(x, nothing, without[record])[0].sum(axis=0) - plain
        far = _trust(np.bincount(record, gains).astype(np.float64))
        if (_hits(x, nothing, (simple + far * (without - simple))[record])[0].sum(axis=0) - plain).sum() <= 0:
            return stands
        a = simple + far * (a - simple)
    return np.asarray(a / unit)


def _trust(gains: Doubles) -> float:
    """How far to go for these gains of single records.

    >>> _trust(np.array([1.0, -1.0, 2.0])), round(_trust(np.array([5.0, 6.0, 7.0, 6.0])), 3)
    (0.75, 0.997)
    """
    z = max(0.0, gains.mean()) * len(gains) ** 0.5 / max(gains.std(), 1e-12)
    return float(max(TRUST, 1 - 1 / max(z, 1.0) ** 2))


def _hits(x: Floats, nothing: npt.NDArray[np.bool_], a: Doubles) -> tuple[Doubles, Doubles, Floats]:
    """(2, removals) Top@1 and Top@10 with ends that give way; (removals,) r; (removals, items) sigma.

    x (removals, items, parts) are the differences to the target, `nothing` tells where there is no item; a (parts,), or
    (removals, parts) for each its own.
    """
    from scipy.special import expit

    before = expit(SHARP * (x @ a.astype(np.float32)[..., None])[..., 0])
    before[nothing] = 0
    r = 1 + before.sum(axis=1)
    return np.stack([1 / (1 + (r / (k + 0.5)) ** 2) for k in (1, 10)]), r, before


def _best(
    x: Floats, nothing: npt.NDArray[np.bool_], signed: npt.NDArray[np.bool_], record: npt.NDArray[np.int64]
) -> tuple[Doubles, npt.NDArray[np.int64]]:
    """(BAGS, parts) shares, 1 in sum but for the signed, the best of each sample; (BAGS, records) how often it holds
    each record. `record` (removals,) 0, 1, 2 ..."""
    from scipy.optimize import minimize

    alike = ~signed / np.count_nonzero(~signed)
    bounds = [MOST if free else (0, None) for free in signed]

    def way_up(start: Doubles, times: Doubles) -> tuple[float, Doubles]:
        def loss(v: Doubles) -> tuple[float, Doubles]:
            total = max(v[~signed].sum(), LITTLE)
            a = v / total
            hits, r, before = _hits(x, nothing, a)
            by_r = -2 * (hits * (1 - hits)).sum(axis=0) / r * times
            slope = np.einsum("r,rc,rcm->m", by_r, SHARP * before * (1 - before), x, optimize=True)
            return -float(hits.sum(axis=0) @ times), -(slope - slope @ a * ~signed) / total

        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": FLAT})
        return float(found.fun), np.clip(found.x / max(found.x[~signed].sum(), LITTLE), *MOST)

    starts = [alike, *(0.8 * np.eye(len(signed)) + 0.2 * alike)[~signed]]  # there may be several hills
    _, best = min((way_up(start, np.full(len(x), 1 / len(x))) for start in starts), key=lambda found: found[0])
    rng = np.random.default_rng(0)
    n = int(record.max()) + 1
    times = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(BAGS)])
    start = 0.9 * best + 0.1 * alike
    return np.stack([way_up(start, drawn[record] / len(x))[1] for drawn in times]), times


def _typical(variances: Floats) -> Doubles:
    """(parts,) the median; of a part that is silent in most records, the median of the others."""
    found = np.zeros(variances.shape[1])
    for m, own in enumerate(variances.T):
        speaks = own > SILENT**2
        if speaks.any():
            found[m] = np.median(own if speaks.mean() > 0.5 else own[speaks])
    return found


def _cells(parts: Sequence[Part], removals: Removals, popular: Part | None) -> tuple[Floats, Floats]:
    """(removals, items looked at, parts) scores, NaN where there is nothing to look at; (removals, parts) the targets'.

    NaN is above nothing, so it never counts as being before the target.
    """
    cells, targets = [], []
    for start in range(0, len(removals), 256):
        some = removals[slice(start, start + 256)]
        rows = np.arange(len(some))
        blocks = [np.array(part(some), dtype=np.float32) for part in ([*parts, popular] if popular else parts)]
        targets.append(np.stack([block[rows, some.target] for block in blocks], axis=-1))
        spread = float(blocks[-1][0].std())  # of the popularity, where it takes part
        for block in blocks:
            ops.mask(block, some.rest.indptr, some.rest.indices)
            block[rows, some.target] = np.nan
        firsts = [_first(block) for block in blocks]
        if popular:
            unit = blocks[-1] * np.float32(LESS / max(spread, SILENT))
            for block, first in zip(blocks[:-1], firsts[:-1], strict=True):
                firsts = [*firsts, _first(block - _spread(block, first) * unit)]
        items = np.sort(np.concatenate(firsts, axis=1), axis=1)
        items[:, 1:][items[:, 1:] == items[:, :-1]] = -1
        items = -np.sort(-items, axis=1)
        items = items[:, : max(1, int((items >= 0).sum(axis=1).max()))]
        seen = np.stack([np.take_along_axis(block, np.maximum(items, 0), axis=1) for block in blocks], axis=-1)
        seen[items < 0] = np.nan
        cells.append(seen)
    most = max(block.shape[1] for block in cells)
    cells = [np.pad(seen, ((0, 0), (0, most - seen.shape[1]), (0, 0)), constant_values=np.nan) for seen in cells]
    return np.concatenate(cells), np.concatenate(targets)


def _spread(block: Floats, first: npt.NDArray[np.int64]) -> np.float32:
    """Of the scores of the first items, in a typical record."""
    full = first[:, -1] >= 0
    found = np.take_along_axis(block[full], first[full], axis=1).std(axis=1)
    return np.float32(np.median(found) if len(found) else 0)


def _first(block: Floats) -> npt.NDArray[np.int64]:
    return np.asarray(ops.top_k(block, min(FIRST, block.shape[1]))[0], dtype=np.int64)
