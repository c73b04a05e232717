"""The pair term of a DEM that was not learned by steps: chosen among its rivals, and put into the log-odds.

    phi(t, v) = tau (sum_n a_n (b_nt + R_nt . h_n) + sum_m a_m (c_mt + sum_{i in I_v} W_mit) + g p_t)
                + kappa + sum_n l_n m_n(v)

The nets n, hidden layers and a bias each, have learned by themselves (those that started alike are one net, their
mean); the rivals W_m (`rivals.py`, and `links.py` where records bear names of items) from all records. Where sets of
two items say more than items alone, a regression on both (`sets.py`) is one more part, learned and weighed as a net is.
A rival can be asked of any record what it would say had it not learned from it (`linear.py`), so what the rivals count
among themselves is chosen (`blend.py`) on thousands of training records, and what the nets add to their sum on the
records that were held out from the nets, which take part only where that is a gain: but for noise, a DEM is
at least as good as each of its rivals alone.
All of these know how popular an item is, and in their sum that mostly counts too much; so popularity p takes part with
a strength g of either sign. Where records are too few to hold some out there are no nets.
Everything is folded into one b, R0 and R, and what changes no ranking makes the log-odds as likely as they can be on
the held-out records (or on the training records, which the rivals forget): tau and kappa, and where a free net takes
part l_n. Such a net says which item is missing and not whether one is, so the level of its scores means nothing.
m_n(v) is the mean over all items of b_n + R_n . h_n.

Learning the hidden layers on top of a rival's own (leave-one-out) scores was tried and was worse: see the experiments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.evaluation.removal import Removals, remove_items, take_out
from cooccur.models.base import Floats, Progress
from cooccur.pairs import BYTES_A_PAIR
from cooccur.training import blend, links, rivals, sets, support
from cooccur.training.linear import Linear, weighted_sum
from cooccur.training.sets import WithSets

if TYPE_CHECKING:
    from cooccur.models.calibrated import Calibration
    from cooccur.models.dem import Dem

ASKED = 10_000  # removals that the rivals are weighed on
TEMPER_ITEMS, TEMPER_CELLS = 5000, 50_000_000  # probabilities are made honest on so many present items, and scores


@dataclass(frozen=True, eq=False)
class Net:
    """Bias and hidden layers that have learned by themselves; `layers` holds B_1, W_2, B_2 ... one behind the other."""

    b: Floats
    E: Floats
    R: Floats
    layers: Floats
    sizes: npt.NDArray[np.int64]
    free: npt.NDArray[np.int64]  # (nets,) see `Dem.free_`

    @classmethod
    def of(cls, model: Dem) -> Net:
        """A copy of what the model has learned."""
        parts = (model.b_.copy(), model.E_.copy(), model.R_.copy(), model.layers_.copy())
        return cls(*parts, model.sizes_.copy(), model.free_)

    @classmethod
    def none(cls, n: int) -> Net:
        """No hidden layer at all."""
        nothing = np.zeros((n, 0), dtype=np.float32)
        return cls(np.zeros(n, dtype=np.float32), nothing, nothing, nothing[0], *np.zeros((2, 0), dtype=np.int64))

    def lifted(self, share: float) -> Net:
        """`share` of the mean over all items is added to what it says of each."""
        b, R = self.b + share * self.b.mean(), self.R + share * self.R.mean(axis=0)
        return replace(self, b=_float(b), R=_float(R))

    def to(self, model: Dem) -> None:
        """Give it back to the model."""
        model.b_, model.E_, model.R_ = self.b, self.E, self.R
        model.layers_, model.sizes_, model.free_ = self.layers, self.sizes, self.free

    def inner(self) -> list[Floats]:
        """B_1, W_2, B_2, W_3 ..."""
        shapes: list[tuple[int, ...]] = [(self.sizes[0],)]
        for below, size in itertools.pairwise(self.sizes):
            shapes += [(size, below), (size,)]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(self.layers, ends[:-1]), shapes, strict=True)]


def join(nets: Sequence[Net], strengths: Sequence[float]) -> Net:
    """One net whose log-odds are the weighted sum of all: their units side by side, none linked to another's."""
    from scipy.linalg import block_diag

    inner = [
        (np.concatenate(parts) if parts[0].ndim == 1 else block_diag(*parts)).ravel()
        for parts in zip(*(net.inner() for net in nets), strict=True)
    ]
    weighed = list(zip(strengths, nets, strict=True))
    by_layer = zip(*(np.split(a * net.R, np.cumsum(net.sizes)[:-1], axis=1) for a, net in weighed), strict=True)
    R = np.concatenate([part for parts in by_layer for part in parts], axis=1)
    b = np.sum([a * net.b for a, net in weighed], axis=0)
    E = np.concatenate([net.E for net in nets], axis=1)
    sizes, free = np.sum([net.sizes for net in nets], axis=0), np.concatenate([net.free for net in nets])
    return Net(_float(b), E, _float(R), _float(np.concatenate(inner)), sizes, free)


def mean_of(nets: Sequence[Net]) -> Net:
    """One net that says what these say on average."""
    return nets[0] if len(nets) == 1 else join(nets, [1 / len(nets)] * len(nets))


def assemble(
    model: Dem, nets: Sequence[Net], baskets: Baskets, learned: Baskets, removals: Removals | None, progress: Progress
) -> None:
    """Put a DEM together: `nets` have `learned` from the `baskets` without the records of the `removals`. Where none
    were held out there are no nets, and the rivals are asked about the training records, which they forget."""
    from cooccur.models.calibrated import END

    chosen = rivals.names(model.pairs, int(np.count_nonzero(baskets.frequencies)))
    if len(nets) == 1 and not chosen and not nets[0].free.any():
        nets[0].to(model)
        return  # it has learned log-odds
    Net.none(len(model.items_)).to(model)
    model.starts_ = np.zeros(len(model.items_) + 1, dtype=np.int64)
    model.columns_, model.weights_ = support.NOTHING.columns, support.NOTHING.counts
    pairs = support.choose(baskets, model.memory, progress) if chosen else support.NOTHING
    linear = rivals.learn(chosen, baskets, pairs, progress)
    named = links.learn(baskets) if model.names and model.pairs == "auto" else []
    model.named_ = bool(named)
    linear += [*named, rivals.popular(baskets)]
    on_sets: list[WithSets] = []
    if model.sets and removals is not None and "centred" in chosen:
        found = sets.learn(learned, removals, int(model.memory * 1e6 / BYTES_A_PAIR), progress)
        on_sets = [found] if found is not None else []
    progress(0.95, "how much each counts")
    said = (
        [*(_net_scores(model, net) for net in nets), *(part.unseen for part in on_sets)],
        [part.unseen for part in linear],
    )
    asked = _asked(baskets, model.random_state)
    held = asked if removals is None else removals
    own, others = _strengths(*said, *(_spoken_of(some, baskets, named) for some in (asked, held)))
    counts = [number for number in range(len(nets)) if own[number]]
    levels = [said[0][number] for number in counts] if any(nets[number].free.any() for number in counts) else []
    phi = _sum([*said[0], *said[1]], [*own, *others])
    tau, kappa, lifts, model.calibration_ = _temper(phi, levels, held)
    model.strengths_ = _float([*own, *others])

    kept = [(nets[number], tau * own[number]) for number in counts]
    if levels:
        kept = [(net.lifted(lift / a), a) for (net, a), lift in zip(kept, lifts, strict=True)]
    whole = join([net for net, _ in kept], [strength for _, strength in kept]) if kept else Net.none(baskets.n_items)
    whole.to(model)  # none: the hidden layers did not help
    if others.any() or own[len(nets) :].any():
        stack = weighted_sum([*linear, *on_sets], tau * np.append(others, own[len(nets) :]))
        if own[len(nets) :].any():
            model.sets_ = on_sets[0].sets
        model.starts_, model.weights_ = stack.W.indptr.astype(np.int64), stack.W.data
        model.columns_ = stack.W.indices.astype(np.int32)
        model.b_ = model.b_ + stack.c
    model.b_ = _float(model.b_ + kappa)
    never = (baskets.frequencies == 0) & (np.bincount(model.columns_, minlength=len(model.items_)) == 0)
    if never.any():  # popularity may count less than nothing, and would put these first
        model.b_[never] = -END
        model.R_ = np.where(never[:, None], np.float32(0), model.R_)


def _strengths(
    nets: Sequence[blend.Part], linear: Sequence[blend.Part], asked: Removals, held: Removals
) -> tuple[blend.Doubles, blend.Doubles]:
    """(nets,) and (rivals,), popularity the last: first what each rival counts beside the others, then the nets (and
    what was learned on sets) beside their sum, each time with as much popularity as is best. Those that do not gain
    are left out."""
    *pairs, popular = linear
    among = blend.strengths(pairs, asked, popular) if pairs else np.zeros(1)
    if not nets:
        return np.zeros(0), among
    if not pairs:
        a = blend.strengths(nets, held, popular)
        return a[:-1], a[-1:]
    a = blend.strengths([*nets, _sum(linear, among)], held, popular, unless=[0.0] * len(nets) + [1.0])
    others = among * a[-2]
    others[-1] += a[-1]
    return a[:-2], others


def _sum(parts: Sequence[blend.Part], strengths: Iterable[float]) -> blend.Part:
    kept = [(a, part) for a, part in zip(strengths, parts, strict=True) if a]
    return lambda some: _float(sum(a * part(some) for a, part in kept))


def _asked(baskets: Baskets, seed: int) -> Removals:
    """Removals from the training records themselves."""
    fit = np.flatnonzero(baskets.lengths >= 2)
    some = np.sort(np.random.default_rng([seed, 5]).permutation(fit)[:ASKED])
    return remove_items(baskets[some], min(10, max(1, ASKED // len(some))), seed)


def _spoken_of(removals: Removals, baskets: Baskets, named: Sequence[Linear]) -> Removals:
    """Those whose rest holds an item that has met another, or has a link, but for this record: the others get no sum of
    parts (`Dem._scores`), so they have no say in it."""
    met = baskets[baskets.lengths >= 2].frequencies > 1
    for part in named:
        met |= np.diff(part.W.indptr) > 1
    spoken = removals.rest.totals(met) > 0
    return removals[spoken] if spoken.any() else removals


def _net_scores(model: Dem, net: Net) -> blend.Part:
    def scores(some: Removals) -> Floats:
        net.to(model)
        return model._scores(some.rest)

    return scores


def _temper(
    phi: blend.Part, levels: Sequence[blend.Part], held: Removals
) -> tuple[float, float, blend.Doubles, Calibration]:
    """tau, kappa and l (levels,), the likeliest on these records: each item given the rest, as if none had been learned
    from. And the calibration of what comes out: of that question on the same, for they do not mend what was no log-odds
    at first, and of the other question on the removals, one item of each record however long it is."""
    from cooccur.models.calibrated import END, Histogram, broken_line, learn, sigmoid

    records = held.complete()
    room = max(1, min(TEMPER_ITEMS, TEMPER_CELLS // records.n_items))
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
        said = [_float(scores + (mean @ lifts)[:, None]) for scores, mean in zip(said, means, strict=True)]
    seen = Histogram()
    for values, there in _given_rest(said, targets, first):
        seen.add(values, sigmoid(values), there)
    (low, high), (at_low, at_high) = broken_line(seen, segments=1)
    tau = (at_high - at_low) / (high - low)
    kappa = at_low - tau * low
    said = [_float(tau * scores + kappa) for scores in said]
    tau /= size
    of_single = [_float(tau * scores) for scores in of_single]  # what is the same for all items changes no softmax
    calibration = learn(
        _given_rest(said, targets, first), lambda: zip(of_single, (some.target for some in single), strict=True)
    )
    return float(tau), float(kappa), tau * lifts, calibration


def _blocks(removals: Removals) -> list[Removals]:
    return [removals[slice(start, start + 256)] for start in range(0, len(removals), 256)]


def _masked(phi: blend.Part, asked: Sequence[Removals]) -> list[Floats]:
    """The scores of each block, NaN where an item is in the rest."""
    said = [phi(some) for some in asked]
    for some, scores in zip(asked, said, strict=True):
        ops.mask(scores, some.rest.indptr, some.rest.indices)
    return said


def _lifts(
    said: Sequence[Floats], means: Sequence[Floats], targets: Sequence[npt.NDArray[np.int64]],
    first: Sequence[npt.NDArray[np.bool_]],
) -> blend.Doubles:  # fmt: skip
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

    def loss(w: blend.Doubles) -> tuple[float, blend.Doubles]:
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


def _float(array: Any) -> Floats:
    return np.asarray(array, dtype=np.float32)
