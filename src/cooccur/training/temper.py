"""What changes no ranking makes the log-odds of a sum of parts as likely as they can be.

    log-odds of t given v = tau (phi(t, v) + sum_n l_n m_n(v)) + kappa

tau, kappa and the l_n are the likeliest where each item of a held-out record is asked for given the rest. Where a free
net takes part l_n counts its level m_n(v), the mean over all items of what it says: such a net knows which item is
missing and not whether one is, so the level of its scores means nothing. What is still not right then goes into the
calibration that comes with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.evaluation.removal import Removals, take_out
from cooccur.models.base import Floats
from cooccur.models.calibrated import END, Calibration, Histogram, broken_line, learn, sigmoid
from cooccur.training.blend import Doubles, Part

ITEMS, CELLS = 5000, 50_000_000  # present items that are asked for, and scores, at most


@dataclass(frozen=True, eq=False)
class Odds:
    """`lifts` (levels,) are tau l."""

    tau: float
    kappa: float
    lifts: Doubles
    calibration: Calibration


def temper(phi: Part, levels: Sequence[Part], held: Removals) -> Odds:
    """The likeliest on these records, each item given the rest, as if none had been learned from. The calibration of
    that question is learned from the same, for they do not mend what was no log-odds at first; of the other question
    from the removals, one item of each record however long it is."""
    records = held.complete()
    room = max(1, min(ITEMS, CELLS // records.n_items))
    removals = take_out(records, np.arange(min(room, records.nnz)))
    asked, single = _blocks(removals), _blocks(held[np.arange(0, len(held), -(-len(held) // room))])
    said, of_single = _masked(phi, asked), _masked(phi, single)
    size = max(1.0, max(float(np.nanmax(np.abs(scores))) for scores in said) / END)
    said = [scores / size for scores in said]
    targets = [some.target for some in asked]
    first = np.split(np.diff(removals.record, prepend=-1) > 0, np.arange(256, len(removals), 256))

    lifts = np.zeros(len(levels))
    if levels:
        means = [np.stack([part(some).mean(axis=1) / size for part in levels], axis=1) for some in asked]
        lifts = _lifts(said, means, targets, first)
        said = [(scores + (mean @ lifts)[:, None]).astype(np.float32) for scores, mean in zip(said, means, strict=True)]
    seen = Histogram()
    for values, there in _given_rest(said, targets, first):
        seen.add(values, sigmoid(values), there)
    (low, high), (at_low, at_high) = broken_line(seen, segments=1)
    tau = (at_high - at_low) / (high - low)
    kappa = at_low - tau * low
    said = [(tau * scores + kappa).astype(np.float32) for scores in said]
    tau /= size
    of_single = [
        (tau * scores).astype(np.float32) for scores in of_single
    ]  # what is the same for all items changes no softmax
    calibration = learn(
        _given_rest(said, targets, first), lambda: zip(of_single, (some.target for some in single), strict=True)
    )
    return Odds(float(tau), float(kappa), tau * lifts, calibration)


def _blocks(removals: Removals) -> list[Removals]:
    return [removals[slice(start, start + 256)] for start in range(0, len(removals), 256)]


def _masked(phi: Part, asked: Sequence[Removals]) -> list[Floats]:
    """The scores of each block, NaN where an item is in the rest."""
    said = [phi(some) for some in asked]
    for some, scores in zip(asked, said, strict=True):
        ops.mask(scores, some.rest.indptr, some.rest.indices)
    return said


def _lifts(
    said: Sequence[Floats], means: Sequence[Floats], targets: Sequence[npt.NDArray[np.int64]],
    first: Sequence[npt.NDArray[np.bool_]],
) -> Doubles:  # fmt: skip
    """(levels,) with these factors the means are added to the scores, for the likeliest logistic regression."""
    from scipy.optimize import minimize
    from scipy.special import expit

    x, there = (np.concatenate(parts) for parts in zip(*_given_rest(said, targets, first), strict=True))
    columns = [x, np.ones(len(x))]
    for k in range(means[0].shape[1]):
        alike = [np.where(np.isnan(scores), scores, mean[:, [k]]) for scores, mean in zip(said, means, strict=True)]
        columns.append(np.concatenate([values for values, _ in _given_rest(alike, targets, first)]))
    features = np.column_stack(columns).astype(np.float64)
    size = np.maximum(features.std(axis=0), 1e-6)
    size[1] = 1  # the constant

    def loss(w: Doubles) -> tuple[float, Doubles]:
        z = features @ (w / size)
        slope = (expit(z) - there) @ features / size
        return float((np.logaddexp(0, z) - there * z).mean()), slope / len(z)

    start, bounds = np.eye(features.shape[1])[0] * size[0], [(0.05 * size[0], None)] + [(None, None)] * (len(size) - 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x / size
    return np.asarray(found[2:] / found[0])


def _given_rest(
    said: Iterable[Floats], targets: Iterable[npt.NDArray[np.int64]], first: Iterable[npt.NDArray[np.bool_]]
) -> Iterator[tuple[Floats, npt.NDArray[np.bool_]]]:
    """Each present item given the rest; the absent ones in the first removal of a record, so given the rest but for
    the item that it took."""
    for scores, target, which in zip(said, targets, first, strict=True):
        own, others = scores[np.arange(len(target)), target], scores[which]
        others[np.arange(len(others)), target[which]] = np.nan
        absent = others[~np.isnan(others)]
        yield np.concatenate((own, absent)), np.arange(len(own) + len(absent)) < len(own)
