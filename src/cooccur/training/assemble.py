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
Everything is folded into one b, R0 and R. tau, kappa and the l_n, which change no ranking, make it log-odds
(`temper.py`), on the held-out records or on the training records, which the rivals forget.

Learning the hidden layers on top of a rival's own (leave-one-out) scores was tried and was worse: see the experiments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cooccur.baskets import Baskets
from cooccur.evaluation.removal import Removals, remove_items
from cooccur.models.base import Floats, Progress, part_of
from cooccur.models.calibrated import END
from cooccur.pairs import BYTES_A_PAIR
from cooccur.training import blend, links, rivals, sets, support
from cooccur.training.linear import Linear, weighted_sum
from cooccur.training.nets import Net, join
from cooccur.training.temper import temper

if TYPE_CHECKING:
    from cooccur.models.dem import Dem

ASKED = 10_000  # removals that the rivals are weighed on


def assemble(
    model: Dem, nets: Sequence[Net], baskets: Baskets, learned: Baskets, removals: Removals | None, lead: float,
    progress: Progress,
) -> None:  # fmt: skip
    """Put a DEM together: `nets` have `learned` from the `baskets` without the records of the `removals`. Where none
    were held out there are no nets, and the rivals are asked about the training records, which they forget. `lead` is
    that of a few sets (`sets.py`)."""
    chosen = rivals.names(model.pairs, int(np.count_nonzero(baskets.frequencies)))
    if len(nets) == 1 and not chosen and not nets[0].free.any():
        nets[0].to(model)
        return  # it has learned log-odds
    Net.none(baskets.n_items).to(model)
    model.starts_ = np.zeros(baskets.n_items + 1, dtype=np.int64)
    model.columns_, model.weights_ = support.NOTHING.columns, support.NOTHING.counts
    pairs = support.choose(baskets, model.memory, progress) if chosen else support.NOTHING
    named = links.learn(baskets) if model.names and model.pairs == "auto" else []
    model.named_ = bool(named)
    linear = [*rivals.learn(chosen, baskets, pairs, part_of(progress, 0, 0.3)), *named, rivals.popular(baskets)]
    on_sets: list[sets.WithSets] = []
    if model.sets and removals is not None and "centred" in chosen:
        room = int(model.memory * 1e6 / BYTES_A_PAIR)
        on_sets = sets.learn(learned, lead, room, part_of(progress, 0.3, 0.8))

    progress(0.8, "how much each counts")
    by_nets = [_net_scores(model, net) for net in nets]
    held_out, of_all = [*by_nets, *(part.unseen for part in on_sets)], [part.unseen for part in linear]
    asked = _asked(baskets, model.random_state)
    held = asked if removals is None else removals
    own, others = _strengths(held_out, of_all, *(_spoken_of(some, baskets, named) for some in (asked, held)))
    model.strengths_ = _float([*own, *others])
    counts = [number for number in range(len(nets)) if own[number]]
    any_free = any(nets[number].free.any() for number in counts)
    phi = _sum([*held_out, *of_all], [*own, *others])
    odds = temper(phi, [by_nets[number] for number in counts] if any_free else [], held)
    model.calibration_ = odds.calibration

    kept, strengths = [nets[number] for number in counts], [odds.tau * own[number] for number in counts]
    if any_free:
        kept = [net.lifted(lift / a) for net, lift, a in zip(kept, odds.lifts, strengths, strict=True)]
    (join(kept, strengths) if kept else Net.none(baskets.n_items)).to(model)  # none: hidden layers do not help
    by_sets = own[len(nets) :]
    if others.any() or by_sets.any():
        stack = weighted_sum([*linear, *on_sets], odds.tau * np.append(others, by_sets))
        if by_sets.any():
            model.sets_ = on_sets[0].sets
        model.starts_, model.weights_ = stack.W.indptr.astype(np.int64), stack.W.data
        model.columns_ = stack.W.indices.astype(np.int32)
        model.b_ = model.b_ + stack.c
    model.b_ = _float(model.b_ + odds.kappa)
    never = (baskets.frequencies == 0) & (np.bincount(model.columns_, minlength=baskets.n_items) == 0)
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


def _float(numbers: ArrayLike) -> Floats:
    return np.asarray(numbers, dtype=np.float32)
