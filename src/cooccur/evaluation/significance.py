"""Is one model better than another, or was it luck? Two paired tests, and Holm's correction for many pairs.

Permutation test: if two models are equally good, the difference d_v of their outcomes on record v could as well have
had the other sign. So p is the share of sign choices s in {-1, +1}^records with

    |sum_v s_v d_v| >= |sum_v d_v|

Several removals from one record are not independent; their differences are summed into one d_v and flip together.

Corrected resampled t-test (Nadeau and Bengio, 2003): over the differences d of k fold means

    t = mean(d) / sqrt((1/k + test/train) var(d)),   k - 1 degrees of freedom

where test/train makes up for training parts that overlap between folds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.errors import ParameterError

FloatArray = npt.NDArray[np.float64]

# Signs are drawn for this many records at once. 2^12 sums are a table of 32 kB, which stays in the first-level cache.
_BLOCK = 12


def paired_permutation(
    a: npt.ArrayLike, b: npt.ArrayLike, groups: npt.ArrayLike, *, draws: int = 10_000, seed: int = 0
) -> float:
    """Two-sided p-value that the means of `a` and `b` differ, by flipping signs record by record.

    `a`, `b` are (n,) outcomes of two models on the same removals, `groups` (n,) the record of each removal. Exact (all
    sign choices) up to 12 records that differ; beyond that `draws` random ones, and p = (1 + hits) / (1 + draws).
    Time grows with records * draws / 12, memory with records + draws.

    >>> paired_permutation([1, 1, 1, 1], [0, 0, 0, 0], groups=[0, 1, 2, 3])
    0.125
    >>> paired_permutation([1, 1, 1, 1], [0, 0, 0, 0], groups=[0, 0, 0, 0])
    1.0
    """
    first, second = _outcomes(a), _outcomes(b)
    records = np.asarray(groups)
    if not first.shape == second.shape == records.shape:
        raise ParameterError(f"{len(first)} and {len(second)} outcomes for {records.size} records; they must pair up")
    if draws < 1:
        raise ParameterError(f"draws is {draws}; it must be at least 1")
    change = first - second
    d = np.bincount(np.unique(records, return_inverse=True)[1], weights=change) if len(change) else change
    # Sums that differ only by rounding are ties, and ties count as hits.
    tiny = 1e-10 * np.abs(change).sum()
    # Exact: a record without a difference adds 0 whatever its sign, so leaving it out changes no sum.
    d = d[np.abs(d) > tiny / max(len(d), 1)]
    extreme = abs(d.sum()) - tiny
    if len(d) <= _BLOCK:
        return float(np.mean(np.abs(_signed_sums(d)) >= extreme))
    rng = np.random.default_rng(seed)
    totals = np.zeros(draws)
    for start in range(0, len(d), _BLOCK):
        # A uniform row of the table of all sign choices is a uniform choice of signs for the whole block.
        table = _signed_sums(d[start : start + _BLOCK])
        totals += table[rng.integers(len(table), size=draws, dtype=np.uint16)]
    return float((1 + np.count_nonzero(np.abs(totals) >= extreme)) / (1 + draws))


def corrected_t(folds_a: npt.ArrayLike, folds_b: npt.ArrayLike, test_share: float) -> float:
    """Two-sided p-value of the corrected resampled t-test over (k,) fold means; nan with fewer than two folds.

    `test_share` is the share of the records that is tested in a fold (0.2 for five folds); 0 gives the usual paired
    t-test, which takes the folds for independent and so believes too much.

    >>> round(corrected_t([3, 4, 5, 4, 5], [1, 3, 2, 3, 2], test_share=0.2), 4)
    0.0407
    >>> round(corrected_t([3, 4, 5, 4, 5], [1, 3, 2, 3, 2], test_share=0), 4)
    0.0111
    """
    from scipy.special import stdtr  # the distribution function alone; scipy.stats is slow to import

    first, second = _outcomes(folds_a), _outcomes(folds_b)
    if first.shape != second.shape:
        raise ParameterError(f"{len(first)} and {len(second)} fold means; they must pair up")
    if not 0 <= test_share < 1:
        raise ParameterError(f"test_share is {test_share}; it must be at least 0 and below 1")
    d, k = first - second, len(first)
    if k < 2:
        return math.nan
    if not d.any():
        return 1.0
    error = math.sqrt((1 / k + test_share / (1 - test_share)) * float(d.var(ddof=1)))
    t = abs(float(d.mean())) / error if error else math.inf
    return float(2 * stdtr(k - 1, -t))


def holm(p: npt.ArrayLike) -> FloatArray:
    """(m,) p-values adjusted for m tests by Holm's step-down rule; nan stays nan and does not count as a test.

    >>> holm([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]  # nan sorts last
    adjusted = np.full(raw.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(len(order), 0, -1)), 1)
    return adjusted


def compare(
    outcomes: Sequence[npt.ArrayLike], groups: npt.ArrayLike, folds: npt.ArrayLike,
    *, test_share: float, draws: int = 10_000, seed: int = 0,
) -> list[dict[str, Any]]:  # fmt: skip
    """Every pair of models (i < j) on the same removals: the difference and both tests, Holm over all pairs.

    `outcomes` holds one (n,) array in 0..1 a model; `groups` (n,) is the record and `folds` (n,) the fold of each
    removal. `difference` is a's mean of fold means less b's, in percentage points; the permutation test is of this
    same figure (removals weigh 1/size of their fold), so that sign and p-value always belong together. A p-value that
    does not exist (the t-test over one fold) is None. With many pairs `draws` is raised to 500 a pair.

    >>> pairs = compare([[1, 1, 0, 1], [0, 1, 0, 0]], groups=[0, 1, 2, 3], folds=[0, 0, 1, 1], test_share=0.5)
    >>> pairs[0]["a"], pairs[0]["b"], pairs[0]["difference"], pairs[0]["p"]
    (0, 1, 50.0, 0.5)
    """
    models = [_outcomes(values) for values in outcomes]
    fold = np.unique(np.asarray(folds), return_inverse=True)[1]
    if any(values.shape != fold.shape for values in models):
        raise ParameterError(f"{[len(values) for values in models]} outcomes for {len(fold)} removals; expected equal")
    sizes = np.bincount(fold)
    means = [np.bincount(fold, weights=values) / sizes for values in models]
    weights = 1 / sizes[fold]
    chosen = list(combinations(range(len(models)), 2))
    # Holm multiplies the smallest p by the number of pairs: 10,000 draws for 105 pairs could not fall below 0.01.
    draws = max(draws, 500 * len(chosen))
    pairs: list[dict[str, Any]] = [
        {
            "a": i,
            "b": j,
            "difference": 100 * float(np.mean(means[i] - means[j])) if len(fold) else 0.0,
            "p": paired_permutation(weights * models[i], weights * models[j], groups, draws=draws, seed=seed),
            "p_t": corrected_t(means[i], means[j], test_share),
        }
        for i, j in chosen
    ]
    for name in ("p", "p_t"):
        for pair, adjusted in zip(pairs, holm([pair[name] for pair in pairs]), strict=True):
            pair[f"{name}_holm"] = None if math.isnan(adjusted) else float(adjusted)
            pair[name] = None if math.isnan(pair[name]) else pair[name]
    return pairs


def _signed_sums(d: FloatArray) -> FloatArray:
    """(2^m,) the sum of (m,) `d` under every choice of signs."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _outcomes(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ParameterError("outcomes must be one row of finite numbers; a model gave something else (NaN?)")
    return array
