"""Calibration: what is said to be so with probability 0.3 is so three times in ten.

A model's log-odds phi may rank well and yet be too bold or too shy. Two maps, learned from records that the model has
not learned from, mend that for the two questions one can ask:

    p(t is present | the rest)          = sigmoid(f(phi_t))
    p(t is the one missing | the rest)  = sigmoid(g(logit softmax_t(beta phi)))      softmax over all items not in it

The softmax is the energy's own answer: p(rest and t) is proportional to exp(phi(t, rest)), so a model that is true has
beta = 1 and f, g the identity. f and g are broken lines that rise everywhere, and the same ones for all items; so no
order within a record changes. They are learned by logistic regression, their knots where the held-out records know
most (equal shares of the information p (1 - p)); a weak prior holds each slope near 1 where they know little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import InputError, ParameterError
from cooccur.evaluation.removal import remove_items
from cooccur.models.answers import BatchCompletion
from cooccur.models.arrays import Array, check_arrays
from cooccur.models.base import BLOCK_BYTES, Floats, Model, Progress, as_baskets, part_of, silent
from cooccur.models.energy import LogOdds

Doubles = npt.NDArray[np.float64]
Given = tuple[Floats, npt.NDArray[np.bool_]]  # log-odds, and whether the item is there
Missing = tuple[Floats, npt.NDArray[np.int64]]  # (removals, n) log-odds, NaN: no candidate; (removals,) what was taken

END = 30.0  # log-odds beyond this are as good as certain
CELLS = 2**16  # of the histogram that stands for all pairs: 0.001 of log-odds wide
FLOOR = 1e-3  # f is learned from pairs of at least this predicted probability
SEGMENTS = 8  # 3 to 8 were alike on validation records of jester and retail, a straight line mostly worse
CALIBRATION = {
    "given_rest": Array("float64", "2,knots"),
    "missing_one": Array("float64", "2,others"),
    "beta": Array("float64", "1", low=1e-9),
}
SLOPE = 0.02  # the least, so that what was in order stays so
PRIOR = 10.0  # how many observations' worth a slope of 1 is held
AT_MOST = 5000  # records held out; more would sharpen nothing that one sees
REMOVALS = 10_000


@dataclass(frozen=True, eq=False)
class Calibration:
    """The two maps: `given_rest` and `missing_one` (2, knots) are f and g, their x above their y; `beta` (1,).

    >>> Calibration.identity().present(np.array([0.0, 2.0])).round(3)
    array([0.5  , 0.881])
    """

    given_rest: Doubles
    missing_one: Doubles
    beta: Doubles

    def __post_init__(self) -> None:
        check_arrays(CALIBRATION, self.arrays(), {})
        for line in (self.given_rest, self.missing_one):
            if line.shape[1] < 2 or not (np.diff(line) > 0).all():
                raise ValueError("a calibration whose knots do not rise")

    @classmethod
    def identity(cls) -> Self:
        """Leaves everything as the model says it."""
        line = np.array([[-END, END], [-END, END]])
        return cls(line, line, np.ones(1))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def arrays(self) -> dict[str, Doubles]:
        """What the model file keeps."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def log_odds(self, phi: npt.ArrayLike) -> Doubles:
        """f: the calibrated log-odds that an item is present, from the model's."""
        return np.asarray(np.interp(np.asarray(phi, dtype=np.float64), *self.given_rest))

    def present(self, phi: npt.ArrayLike) -> Doubles:
        """The calibrated probability that an item is present."""
        return sigmoid(self.log_odds(phi))

    def missing(self, scores: Floats, k: int) -> tuple[npt.NDArray[np.int32], Doubles]:
        """The k best items of each row of log-odds (NaN: no candidate) and the log-odds that each is the one missing.

        -1 and NaN where there are no more. Exponentials and a map keep the order, so these are the model's own best.

        >>> two = np.log(np.array([[3, 1, np.nan]], dtype=np.float32))
        >>> items, odds = Calibration.identity().missing(two, k=3)
        >>> items, sigmoid(odds).round(3)
        (array([[ 0,  1, -1]], dtype=int32), array([[0.75, 0.25,  nan]]))
        """
        items, best = ops.top_k(scores, k)
        log_p = self.beta * best - _log_sum(self.beta * scores.astype(np.float64))[:, None]
        log_p = np.minimum(log_p, -1e-12)  # the only candidate: all but certain
        return items.astype(np.int32), np.asarray(np.interp(log_p - np.log(-np.expm1(log_p)), *self.missing_one))


def missing_one(model: Model, baskets: Any, k: int = 10) -> BatchCompletion:
    """The k best items of many records, where `scores` are the probabilities that the item is the one missing.

    >>> from cooccur.models import make_model
    >>> model = make_model("independent").fit([["a", "b"], ["a", "c"], ["a", "c"]])
    >>> missing_one(model, [["a"]]).scores.round(2)
    array([[0.74, 0.26,  nan]], dtype=float32)
    """
    odds = needs_log_odds(model)
    known, unknown = odds._known(baskets)
    calibration = odds.calibration_ or Calibration.identity()
    k = min(k, known.n_items)
    items, found = np.empty((len(known), k), dtype=np.int32), np.empty((len(known), k))
    for which, scores in odds.blocks(known):
        items[which], found[which] = calibration.missing(scores, k)
    return BatchCompletion(items, sigmoid(found).astype(np.float32), odds.items_, tuple(unknown), odds.titles_)


# -- learning it ------------------------------------------------------------------------------------


def calibrate(model: Model, held_out: Any, *, seed: int = 0) -> Model:
    """Learn the calibration of a fitted model from records that it has not seen, and attach it to the model.

    >>> from cooccur.models import make_model
    >>> model = make_model("independent").fit([["a"], ["a", "b"]] * 50)
    >>> round(calibrate(model, [["a"], ["a", "b"], ["a", "b"], ["a", "b"]] * 50).probability(0.0), 2)
    0.75
    """
    odds = needs_log_odds(model)
    known, _ = odds._known(as_baskets(held_out))
    removals = remove_items(known, min(10, max(1, REMOVALS // max(1, len(known)))), seed)
    if not len(removals):
        raise InputError("no held-out record with two items that the model knows", remedy="hold out more records")
    given = ((phi, present) for _, phi, present in given_rest(odds, known))
    model.calibration_ = learn(
        given, lambda: ((scores, removals.target[which]) for which, scores in odds.blocks(removals.rest))
    )
    return model


def learn(given: Iterable[Given], missing: Callable[[], Iterable[Missing]]) -> Calibration:
    """The maps from log-odds given the rest, and from those of rests with their missing items (gone through again and
    again)."""
    pairs = Histogram()
    for phi, present in given:
        likely = phi >= logit(FLOOR)
        pairs.add(phi[likely], sigmoid(phi[likely]), present[likely])
    plain = Calibration.identity()
    softmax = Calibration(plain.given_rest, plain.missing_one, _temperature(missing))
    suggested = Histogram()
    for scores, target in missing():
        items, found = softmax.missing(scores, 10)
        there = items >= 0
        suggested.add(found[there], sigmoid(found[there]), (items == target[:, None])[there])
    return Calibration(broken_line(pairs), broken_line(suggested), softmax.beta)


def fit_calibrated(
    model: Model, baskets: Any, *, share: float = 0.1, seed: int = 0, progress: Progress = silent, **more: Any
) -> Model:
    """Learn from most of the records, and calibrate on the share that was held out (at most 5000 records). `more` goes
    to the model's `fit`."""
    needs_log_odds(model)
    learn, held = split(as_baskets(baskets), share, seed)
    model.fit(learn, progress=part_of(progress, 0, 0.9), **more)
    progress(0.9, "calibrating")
    return calibrate(model, held, seed=seed)


def split(baskets: Baskets, share: float, seed: int) -> tuple[Baskets, Baskets]:
    """The records to learn from, and the share of them to calibrate on.

    >>> learn, held = split(Baskets.from_lists([["a"], ["b"], ["a"], ["b"]]), share=0.25, seed=0)
    >>> len(learn), len(held)
    (3, 1)
    """
    if not 0 < share < 1:
        raise ParameterError(f"share = {share}; expected a number between 0 and 1")
    order = np.random.default_rng([seed, 3]).permutation(len(baskets))
    held = np.zeros(len(baskets), dtype=bool)
    held[order[: min(AT_MOST, round(share * len(baskets)))]] = True
    return baskets[~held], baskets[held]


def needs_log_odds(model: Model) -> LogOdds:
    """The model, if its score is a log-odds; else an error."""
    if not isinstance(model, LogOdds):
        raise ParameterError(
            f"{model.name}: its score is a {model.score_is}, no log-odds; take independent, fvbm, lk-fvbm, dem or rbm"
        )
    return model


def given_rest(model: LogOdds, baskets: Baskets) -> Iterator[tuple[slice, Floats, npt.NDArray[np.bool_]]]:
    """In blocks: which records, (records, n_items) phi of every item given the rest, and whether it is there."""
    rows = max(1, BLOCK_BYTES // (4 * baskets.n_items))
    for start in range(0, len(baskets), rows):
        which = slice(start, min(start + rows, len(baskets)))
        block = baskets[which]
        present = np.zeros((len(block), block.n_items), dtype=bool)
        present[np.repeat(np.arange(len(block)), block.lengths), block.indices] = True
        yield which, model.log_odds(block), present


class Histogram:
    """Any number of predictions in bounded memory, in order of a log-odds or another number between -30 and 30.

    Of each cell: `count`, `hits` (how many came true) and `predicted` (their probabilities summed).
    """

    def __init__(self) -> None:
        self.count, self.hits, self.predicted = (np.zeros(CELLS) for _ in range(3))

    def add(self, order: npt.ArrayLike, p: npt.ArrayLike, hit: npt.ArrayLike) -> None:
        """Predictions (n,): where they stand in the order, what they say, and whether it came true."""
        cell = ((np.asarray(order) + END) * (CELLS / (2 * END))).astype(np.int64).clip(0, CELLS - 1)
        self.count += np.bincount(cell, minlength=CELLS)
        self.hits += np.bincount(cell, hit, CELLS)
        self.predicted += np.bincount(cell, p, CELLS)


def broken_line(seen: Histogram, segments: int = SEGMENTS) -> Doubles:
    """(2, knots) the rising broken line that makes log-odds fit what came true, by penalised likelihood."""
    from scipy.optimize import minimize

    full = seen.count > 0
    if not full.any():  # nothing was said to be likely at all
        return Calibration.identity().given_rest
    n, hits, p = seen.count[full], seen.hits[full], seen.predicted[full] / seen.count[full]
    x = logit(p).clip(-END, END)
    information = np.cumsum(n * p * (1 - p))
    inner = np.interp(np.arange(1, segments) / segments * information[-1], information, x)
    knots = np.unique(np.concatenate(([-END], inner, [END])))
    low, high = knots[:-1], knots[1:]

    def basis(x: Doubles) -> Doubles:  # z = w_0 + sum_j w_j (the part of the way from 0 to x that lies in segment j)
        steps = np.clip(x[:, None], low, high) - np.clip(0.0, low, high)
        return np.column_stack((np.ones(len(x)), steps))

    X, total = basis(x), n.sum()

    def loss(w: Doubles) -> tuple[float, Doubles]:
        z, off = X @ w, w[1:] - 1
        value = n @ np.logaddexp(0, z) - hits @ z + 0.5 * PRIOR * off @ off
        slope = X.T @ (n * sigmoid(z) - hits) + PRIOR * np.concatenate(([0], off))
        return value / total, slope / total

    start = np.concatenate(([0.0], np.ones(len(low))))
    bounds = [(-END, END)] + [(SLOPE, 10.0)] * len(low)
    w = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12}).x
    return np.stack((knots, basis(knots) @ w))


def _temperature(missing: Callable[[], Iterable[Missing]]) -> Doubles:
    """(1,) the beta under which the removed items are likeliest, by Newton steps that at most double or halve it."""
    beta = 1.0
    for _ in range(20):
        slope = curvature = 0.0
        for scores, target in missing():
            phi = scores.astype(np.float64)
            p = np.exp(beta * phi - _log_sum(beta * phi)[:, None])
            mean = np.nansum(p * phi, axis=1)
            slope += float((phi[np.arange(len(phi)), target] - mean).sum())
            curvature += float((np.nansum(p * phi**2, axis=1) - mean**2).sum())
        before, beta = beta, float(np.clip(beta + slope / max(curvature, 1e-12), beta / 2, 2 * beta))
        if abs(beta - before) < 1e-3 * beta or not 0.01 < beta < 100:
            break
    return np.array([beta])


def _log_sum(x: Doubles) -> Doubles:
    """(rows,) ln sum exp of each row, NaN left out."""
    top = np.fmax.reduce(x, axis=1)
    with np.errstate(divide="ignore"):  # a row without a candidate
        return np.asarray(top + np.log(np.nansum(np.exp(x - top[:, None]), axis=1)))


def sigmoid(x: npt.ArrayLike) -> Doubles:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * np.asarray(x, dtype=np.float64))))


def logit(p: npt.ArrayLike) -> Doubles:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-np.asarray(p)))
