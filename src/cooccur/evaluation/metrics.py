"""How well hidden items are ranked: Top@K, reciprocal rank, NDCG and percentile, ties in expectation.

One removal hides one item of a record and ranks it among the candidates, the items that are not in the rest of the
record. With `g` candidates scored strictly higher and `e` scored the same (the hidden item included), the hidden item
is at each of the places g+1 .. g+e with probability 1/e, so a metric that gains w(place) is worth

    (1/e) sum_{place = g+1}^{g+e} w(place)

with w = 1 up to K (Top@K), 1/place (reciprocal rank), 1/log2(1 + place) up to K (NDCG@K: one relevant item, so the
ideal gain is 1). A model that gives every candidate the same score gets K/candidates in Top@K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cooccur.errors import InputError, ParameterError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where the hidden items came, one entry per removal; all that a metric needs.

    Parameters
    ----------
    greater : (n,) how many candidates score strictly higher than the hidden item.
    equal : (n,) how many score the same, the hidden item included, so at least 1.
    candidates : (n,) how many candidates there are.

    >>> len(Ranks(greater=[0, 3], equal=[1, 2], candidates=[9, 9]))
    2
    """

    greater: npt.NDArray[np.int64]
    equal: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("greater", "equal", "candidates"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        if not (self.greater.ndim == 1 and self.greater.shape == self.equal.shape == self.candidates.shape):
            raise InputError("greater, equal and candidates must be three arrays of the same length")
        # A score of NaN equals nothing, not even itself: it would pass for a perfect rank if it were let through.
        wrong = (self.greater < 0) | (self.equal < 1) | (self.greater + self.equal > self.candidates)
        if wrong.any():
            i = int(wrong.argmax())
            raise InputError(
                f"removal {i}: {self.greater[i]} candidates above and {self.equal[i]} level of {self.candidates[i]}",
                remedy="check that the model's scores are numbers (not NaN) and that the hidden item is a candidate",
            )

    def __len__(self) -> int:
        return len(self.greater)


def top_at(ranks: Ranks, k: int) -> FloatArray:
    """(n,) probability that the hidden item is among the first `k`.

    >>> top_at(Ranks(greater=[0, 3, 0], equal=[1, 1, 4], candidates=[9, 9, 4]), k=1).tolist()
    [1.0, 0.0, 0.25]
    """
    return _expected(ranks, np.ones(_within(k, ranks)))


def reciprocal_rank(ranks: Ranks) -> FloatArray:
    """(n,) expectation of 1/place.

    >>> reciprocal_rank(Ranks(greater=[0, 0], equal=[1, 2], candidates=[9, 9])).tolist()
    [1.0, 0.75]
    """
    last = int((ranks.greater + ranks.equal).max(initial=0))
    return _expected(ranks, 1 / np.arange(1, last + 1))


def ndcg_at(ranks: Ranks, k: int) -> FloatArray:
    """(n,) expectation of 1/log2(1 + place), 0 beyond place `k`.

    >>> ndcg_at(Ranks(greater=[0, 2, 5], equal=[1, 1, 1], candidates=[9, 9, 9]), k=5).round(6).tolist()
    [1.0, 0.5, 0.0]
    """
    return _expected(ranks, 1 / np.log2(np.arange(2, _within(k, ranks) + 2)))


def percentile_rank(ranks: Ranks) -> FloatArray:
    """(n,) share of the other candidates that are ranked before the hidden item: 0 is best, 1 is worst.

    >>> percentile_rank(Ranks(greater=[0, 2, 0, 0], equal=[1, 1, 3, 1], candidates=[3, 3, 3, 1])).tolist()
    [0.0, 1.0, 0.5, 0.0]
    """
    before = ranks.greater + (ranks.equal - 1) / 2
    return np.asarray(before / np.maximum(ranks.candidates - 1, 1), dtype=np.float64)


def summarise(ranks: Ranks, seen: npt.NDArray[np.bool_], ks: Sequence[int] = (1, 10)) -> dict[str, float | None]:
    """Means in percent over all removals, and with the suffix `_seen` over those whose item training saw.

    `seen` is (n,) bool. Keys: `top<k>` for each k, `mrr`, `ndcg<largest k>`, `percentile`, each also with `_seen`, and
    the counts `n_test` and `n_seen`. A mean over no removals is None.

    >>> ranks = Ranks(greater=[0, 4], equal=[1, 1], candidates=[5, 5])
    >>> summary = summarise(ranks, np.array([True, False]), ks=(1,))
    >>> summary["top1"], summary["top1_seen"], summary["percentile"], summary["n_test"], summary["n_seen"]
    (50.0, 100.0, 50.0, 2, 1)
    """
    seen = np.asarray(seen, dtype=np.bool_)
    if seen.shape != (len(ranks),):
        raise InputError(f"`seen` has shape {seen.shape}; expected one entry for each of {len(ranks)} removals")
    if not ks:
        raise ParameterError("no K was given; name at least one, for example 1")
    outcomes = {f"top{k}": top_at(ranks, k) for k in sorted(ks)}
    outcomes["mrr"] = reciprocal_rank(ranks)
    outcomes[f"ndcg{max(ks)}"] = ndcg_at(ranks, max(ks))
    outcomes["percentile"] = percentile_rank(ranks)
    result = {name: _percent(values) for name, values in outcomes.items()}
    result |= {f"{name}_seen": _percent(values[seen]) for name, values in outcomes.items()}
    return result | {"n_test": len(ranks), "n_seen": int(seen.sum())}


def _expected(ranks: Ranks, gains: FloatArray) -> FloatArray:
    """(n,) mean of `gains` (of places 1, 2, ...; later places gain nothing) over the tied places."""
    sums = np.concatenate(([0.0], np.cumsum(gains)))
    first = np.minimum(ranks.greater, len(gains))
    last = np.minimum(ranks.greater + ranks.equal, len(gains))
    return np.asarray((sums[last] - sums[first]) / ranks.equal, dtype=np.float64)


def _percent(values: FloatArray) -> float | None:
    return 100 * float(values.mean()) if len(values) else None


def _within(k: int, ranks: Ranks) -> int:
    if k < 1:
        raise ParameterError(f"K is {k}; it must be at least 1")
    return min(k, max(1, int(ranks.candidates.max(initial=1))))  # beyond the candidates nothing changes
