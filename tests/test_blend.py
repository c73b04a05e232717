"""The parts of a DEM: strengths chosen on removals, rivals on one support, nets joined into one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contract import fitted, shop
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.evaluation.removal import Removals, hold_out, remove_items
from cooccur.models import make_model
from cooccur.models.dem import Dem
from cooccur.models.graph import LwCvg
from cooccur.training import blend, rivals, support
from cooccur.training.loop import validate
from cooccur.training.nets import Net, join, mean_of
from cooccur.training.temper import _lifts

RANDOM = Baskets.from_matrix(np.random.default_rng(5).random((900, 30)) < 0.15)


def test_the_blend_is_never_behind_its_best_part_and_leaves_noise_out() -> None:
    train, _ = shop()
    learn, removals = hold_out(train, 0.1, 0, at_most=1000, removals=3000)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(len(removals), train.n_items)).astype(np.float32)
    models = [make_model(spec).fit(learn) for spec in ("ease", "lwcvg")]
    at = iter(range(0, len(removals), 256))

    def random(some: Removals) -> np.ndarray:
        start = next(at)
        return noise[start : start + len(some)]

    noise *= 0.1  # of the size of the other scores, so that strengths compare
    parts = [lambda some, model=model: model._scores(some.rest) for model in models]
    a = blend.strengths([*parts, random], removals)
    alone = [sum(validate(model._scores, removals)) for model in models]
    assert a[2] < 0.02 * max(a)
    both = sum(validate(lambda rest: a[0] * models[0]._scores(rest) + a[1] * models[1]._scores(rest), removals))
    assert both >= max(alone) - 0.2


def drawn(n: int, items: int, seed: int, signals: tuple[float, ...]) -> tuple[list[blend.Part], Removals]:
    """Parts that say much the same, as real ones do: most of their noise is shared. `signals` is what each adds to the
    target. There is nothing in the records."""
    rng = np.random.default_rng(seed)
    target, common = rng.integers(0, items, n), 3 * rng.normal(size=(n, items))
    scores = [(common + rng.normal(size=(n, items))).astype(np.float32) for _ in signals]
    for part, signal in zip(scores, signals, strict=True):
        part[np.arange(n), target] += signal

    def said(part: np.ndarray) -> blend.Part:
        places = iter(range(0, n, 256))

        def rows(some: Removals) -> np.ndarray:
            start = next(places)
            return part[start : start + len(some)]

        return rows

    return [said(part) for part in scores], Removals(Baskets.from_matrix(np.zeros((n, items))), target, np.arange(n))


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_one_worth_both_count(seed: int) -> None:
    """Which is better on 300 removals is luck; the truth is half each."""
    a = blend.strengths(*drawn(300, 100, seed, (4.0, 4.0)))
    assert min(a) > 0.25 * sum(a)


@pytest.mark.parametrize("seed", range(4))
def test_targets_out_of_sight_have_no_say(seed: int) -> None:
    """No part has most targets among its first sixty."""
    a = blend.strengths(*drawn(1500, 3000, seed, (3.0, 3.0, 0.0)))
    assert min(a[:2]) > 0.1 * sum(a)
    assert a[2] < 0.1 * sum(a)


@pytest.mark.parametrize("seed", range(4))
def test_a_part_that_does_not_gain_leaves_the_others_as_they_are(seed: int) -> None:
    stands = [0.0, 7.0]
    assert blend.strengths(*drawn(3000, 100, seed, (4.2, 4.0)), unless=stands)[0] > 0
    silent = drawn(600, 100, seed, (0.0, 4.0))
    assert blend.strengths(*silent, unless=stands).tolist() == stands
    parts, removals = drawn(30, 100, seed, (3.0, 4.0))  # what so few records say is luck
    assert blend.strengths(parts, removals, unless=stands).tolist() == stands


@pytest.mark.parametrize("own", [True, False])
def test_a_record_is_asked_about_the_strengths_of_samples_that_it_is_not_in(
    own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either net knows one half of the records and misleads in the other; each sample holds one half and names the net
    that knows it, or the other one. In their sum the nets know all targets, whichever it was."""
    n, items = 60, 30
    first, scores = np.arange(n) < n // 2, np.random.default_rng(0).normal(size=(3, n, items)).astype(np.float32)
    scores[0, :, 0], scores[1, :, 0] = np.where(first, 20, -9), np.where(first, -9, 20)
    parts = [lambda some, x=x: x[some.record] for x in scores]
    removals = Removals(Baskets.from_matrix(np.zeros((n, items))), np.zeros(n, dtype=np.int64), np.arange(n))
    bags = np.eye(3)[[0, 1] if own else [1, 0]]
    monkeypatch.setattr(blend, "_best", lambda *_: (bags, np.stack([first, ~first]).astype(np.int64)))
    stands = blend.strengths(parts, removals, unless=[0.0, 0.0, 1.0]).tolist() == [0, 0, 1]
    assert stands == own


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_strengths_go_part_of_the_way_to_the_best(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parts are as good alone; together they are better, and the best is half of each."""
    parts, removals = drawn(600, 50, 0, (3.0, 3.0))
    half = np.full((blend.BAGS, 2), 0.5)
    monkeypatch.setattr(blend, "_best", lambda *_: (half, np.zeros((blend.BAGS, 600), dtype=np.int64)))
    monkeypatch.setattr(blend, "_trust", lambda gains: share)
    whole = blend.strengths(parts, removals)
    parts, removals = drawn(600, 50, 0, (3.0, 3.0))
    a = blend.strengths(parts, removals, unless=[0.0, 1.0])
    np.testing.assert_allclose(a / whole, [share, 2 - share], rtol=1e-6)


def test_the_mean_of_nets_says_what_they_say_on_average() -> None:
    model = make_model("dem:hidden=4x3,epochs=1,pairs=no,start=calm,nets=1").fit(RANDOM)
    rng, learned = np.random.default_rng(2), Net.of(model)
    nets = [
        replace(learned, R=rng.normal(size=model.R_.shape), layers=rng.normal(size=model.layers_.shape))
        for _ in range(3)
    ]
    said = []
    for net in (*nets, mean_of(nets)):
        net.to(model)
        said.append(model._scores(RANDOM[:9]))
    np.testing.assert_allclose(said[3], np.mean(said[:3], axis=0), rtol=1e-4, atol=1e-5)


def test_nets_without_a_record_to_ask_are_left_out() -> None:
    """All records are alike: each target is the only candidate."""
    model = make_model("dem:hidden=4,epochs=1").fit([["a", "b", "c"]] * 300)
    assert not model.strengths_[:3].any()
    assert model.strengths_[3:].any()


def test_popularity_that_two_parts_share_is_taken_out_once() -> None:
    """Both know the log of the popularity, which is all that draws the targets, and a little about each target of their
    own: in their sum it counts twice."""
    rng = np.random.default_rng(3)
    items, n = 300, 3000
    p = 4 * rng.random(items)
    target = rng.choice(items, n, p=np.exp(p) / np.exp(p).sum())
    removals = Removals(Baskets.from_matrix(np.zeros((n, items))), target, np.arange(n))
    at = np.arange(items) == target[:, None]
    scores = [(p + rng.normal(size=(n, items)) + at).astype(np.float32) for _ in range(2)]  # log-odds, each by itself
    parts = [lambda some, x=x: x[some.record] for x in scores]
    popular = lambda some: np.tile(np.float32(p), (len(some), 1))  # noqa: E731
    a = blend.strengths(parts, removals, popular)
    assert a[2] < 0
    assert (2 * a[0] + a[2]) / a[0] == pytest.approx(1, abs=0.25)
    before, after = ((scores[0] + scores[1] + more * p).argmax(axis=1) == target for more in (0, a[2] / a[0]))
    assert after.mean() > before.mean()


def test_rivals_are_the_models_they_are_named_after() -> None:
    pairs = support.choose(RANDOM, 10)
    counts, centred = rivals.learn(("counts", "centred"), RANDOM, pairs, lambda share, words: None)
    some = RANDOM[RANDOM.lengths > 0]
    np.testing.assert_allclose(counts.scores(some), LwCvg().fit(RANDOM)._scores(some), atol=1.1e-4)
    empty = Baskets.from_matrix(np.zeros((1, 30)))
    np.testing.assert_array_equal(np.argsort(counts.scores(empty)[0]), np.argsort(RANDOM.frequencies))
    ease = rivals.closed_form("centred", RANDOM).fit(RANDOM)
    assert len(pairs.columns) == 30 * 29  # all pairs occur, so nothing of the closed form is cut off
    np.testing.assert_allclose(centred.scores(some), ease._scores(some), rtol=1e-4, atol=1e-5)


def test_rivals_on_a_support_cut_to_a_budget() -> None:
    whole = support.choose(RANDOM, 10)
    half = support.choose(RANDOM, whole.found * support.BYTES_A_PAIR / 2e6)
    assert len(half.columns) < len(whole.columns)
    for name in ("counts", "centred"):
        (full,) = rivals.learn((name,), RANDOM, whole, lambda share, words: None)
        (cut,) = rivals.learn((name,), RANDOM, half, lambda share, words: None)
        kept = cut.W.toarray() != 0
        assert kept[np.repeat(np.arange(30), np.diff(half.starts)), half.columns].all()
        np.testing.assert_array_equal(cut.W.toarray()[kept], full.W.toarray()[kept])
        assert kept.sum() <= len(half.columns) * (1 if name == "counts" else 2) * 1.02


def test_the_closed_form_keeps_its_largest_weights_beyond_the_pairs_that_occur() -> None:
    rare = Baskets.from_matrix(np.random.default_rng(6).random((300, 60)) < np.linspace(0.01, 0.2, 60))
    found = support.choose(rare, 10).found
    half = support.choose(rare, found * support.BYTES_A_PAIR / 4e6)  # so that some must go
    (cut,) = rivals.learn(("centred",), rare, half, lambda share, words: None)
    B, kept = rivals.closed_form("centred", rare).fit(rare).B_, cut.W.toarray() != 0
    together = np.zeros((60, 60), dtype=bool)
    together[np.repeat(np.arange(60), np.diff(half.starts)), half.columns] = True
    beyond = kept & ~together
    left = ~kept & ~together & ~np.eye(60, dtype=bool)
    assert 0.9 * len(half.columns) < beyond.sum() <= 1.02 * len(half.columns)
    assert left.sum() > 100
    assert np.abs(B[beyond]).min() >= np.abs(B[left]).max()


@pytest.mark.parametrize(("name", "error"), [("counts", 1e-4), ("centred", 2e-3), ("dropped", 0.04)])
def test_a_rival_can_forget_a_record(name: str, error: float) -> None:
    """Its answer without a record against that of one which never saw it; the error is a share of what forgetting
    changes (the ridge of the items that are dropped moves a little with each record)."""
    uneven = Baskets.from_matrix(np.random.default_rng(5).random((300, 30)) < np.linspace(0.03, 0.4, 30))
    (rival,) = rivals.learn((name,), uneven, support.choose(uneven, 10), lambda share, words: None)
    fit = np.flatnonzero(uneven.lengths >= 2)[:30]
    removals = remove_items(uneven[fit])
    unseen, seen = rival.unseen(removals), rival.scores(removals.rest)
    off, moved = [], []
    for row, record in enumerate(fit[removals.record]):
        others = uneven[np.arange(len(uneven)) != record]
        (never,) = rivals.learn((name,), others, support.choose(others, 10), lambda share, words: None)
        one = removals[slice(row, row + 1)]
        candidates = np.setdiff1d(np.arange(30), one.rest.row(0))
        expected = never.scores(one.rest)[0, candidates]
        off.append(np.abs(unseen[row, candidates] - expected).mean())
        moved.append(np.abs(seen[row, candidates] - expected).mean())
    assert np.mean(off) < error * np.mean(moved)


def test_forgetting_does_not_need_the_pairs_over_the_budget_nor_the_items_that_took_no_part() -> None:
    half = support.choose(RANDOM, support.choose(RANDOM, 10).found * support.BYTES_A_PAIR / 2e6)
    removals = remove_items(RANDOM[RANDOM.lengths >= 2][:50])
    (counts,) = rivals.learn(("counts",), RANDOM, half, lambda share, words: None)
    assert (counts.unseen(removals) >= -1e-6).all()  # a pair that was not kept is not taken away
    rare = Baskets.from_matrix(np.hstack([RANDOM.matrix.toarray(), np.zeros((len(RANDOM), 1))]))
    (centred,) = rivals.learn(("centred",), rare, support.choose(rare, 10), lambda share, words: None)
    assert np.isfinite(centred.unseen(remove_items(rare[rare.lengths >= 2][:50]))).all()


@pytest.mark.parametrize("hidden", ["6", "6x4", "5x4x3"])
def test_nets_side_by_side_are_their_weighted_sum(hidden: str) -> None:
    models = [
        make_model(f"dem:hidden={hidden},pairs=no,validation=0,epochs=2,start={start},random_state=1").fit(RANDOM)
        for start in ("bold", "free")
    ]
    joined = make_model(f"dem:hidden={hidden},pairs=no,validation=0,epochs=1").fit(RANDOM)
    join([Net.of(model) for model in models], [0.3, 2.0]).to(joined)
    expected = 0.3 * models[0]._scores(RANDOM) + 2.0 * models[1]._scores(RANDOM)
    np.testing.assert_allclose(joined._scores(RANDOM), expected, rtol=1e-4, atol=1e-4)
    before = joined._scores(RANDOM)
    joined.partial_fit(RANDOM, epochs=1)  # it goes on from the joined layers
    assert joined.R_.shape[1] == 2 * models[0].R_.shape[1]
    assert 0 < np.abs(joined._scores(RANDOM) - before).max() < 10


def test_on_held_out_records_a_dem_is_not_behind_its_rivals() -> None:
    train, _ = shop()
    model = fitted("dem", False)
    assert isinstance(model, Dem)
    learn, removals = model._hold_out(train)
    value = sum(validate(model._scores, removals))
    for spec in ("ease", "edlae:length=0.5", "lwcvg"):
        assert value > sum(validate(make_model(spec).fit(learn)._scores, removals)), spec
    assert len(model.strengths_) == 8  # three nets, sets, three rivals, popularity
    assert model.strengths_[:3].any()  # the planted recipes need hidden layers


def test_what_has_learned_no_log_odds_is_brought_to_them() -> None:
    alone = {
        start: make_model(f"dem:hidden=8,pairs=no,epochs=2,start={start}").fit(RANDOM) for start in ("free", "calm")
    }
    assert alone["free"].calibration_ is not None
    assert alone["calm"].calibration_ is None


def test_a_level_that_the_scores_lack_is_found() -> None:
    """Items are there with log-odds s + 1.5 m, and the scores say s + m - 3 m'; m and m' are levels of the record."""
    rng = np.random.default_rng(0)
    s, m, other = rng.normal(size=(600, 20)), rng.normal(size=(600, 1)), rng.normal(size=(600, 1))
    there = rng.random(s.shape) < 1 / (1 + np.exp(-s - 1.5 * m))
    record, target = np.nonzero(there)  # a removal of each item that is there; the others of its record are barred
    scores = (s + m - 3 * other)[record]
    barred = there[record]
    barred[np.arange(len(record)), target] = False
    scores[barred] = np.nan
    means = np.hstack((m, other))[record]
    first = np.diff(record, prepend=-1) > 0
    halves = [slice(0, 2000), slice(2000, None)]
    lifts = _lifts(*([array[half] for half in halves] for array in (scores, means, target, first)))
    np.testing.assert_allclose(lifts, [0.5, 3], atol=0.25)


def test_its_log_odds_are_those_of_held_out_records() -> None:
    """Whatever was added up, probabilities near a half come true about half of the time."""
    _, test = shop()
    model = fitted("dem", False)
    p = model.probabilities(test).ravel()
    there = test.matrix.toarray().ravel() > 0
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.6)):
        some = (p >= low) & (p < high)
        assert some.sum() > 500
        assert there[some].mean() == pytest.approx(p[some].mean(), abs=0.06), (low, high)


def test_a_pair_term_alone_is_a_dem_too() -> None:
    train, _ = shop()
    model, counts = make_model("dem:hidden=none,pairs=counts").fit(train), LwCvg().fit(train)
    some = train[train.lengths > 1][:50]
    np.testing.assert_array_equal(model._scores(some).argmax(axis=1), counts._scores(some).argmax(axis=1))


def test_what_it_learned_from_a_record_does_not_make_it_bold_on_others() -> None:
    """When the log-odds were made likely on records that the pair term knew, a "68 %" came true 41 times in 100."""
    train, test = shop()
    p = make_model("dem:hidden=none,pairs=closed").fit(train[:260]).probabilities(test).ravel()
    there = test.matrix.toarray().ravel() > 0
    likely = p >= 0.5
    assert likely.sum() > 200
    assert -0.05 < there[likely].mean() - p[likely].mean() < 0.15  # rather too timid


def test_the_epoch_can_be_chosen_by_held_out_likelihood() -> None:
    train, _ = shop()
    model = make_model("fvbm:epochs=6,criterion=likelihood,patience=6,schedule=constant").fit(train)
    values = [epoch.likelihood for epoch in model.history_.epochs]
    assert model.history_.best == int(np.argmax(values))
    held = model._hold_out(train)[1].complete()
    assert model.pseudo_log_likelihood(held).mean() == pytest.approx(max(values), rel=1e-6)
    with pytest.raises(ParameterError, match="lbl: it has no pseudo-likelihood; use criterion=accuracy"):
        make_model("lbl:criterion=likelihood").fit(train)


def test_decay_pulls_the_hidden_layers_and_not_the_bias() -> None:
    sizes = []
    for decay in (0.0, 0.05):
        model = make_model(f"dem:pairs=no,hidden=8,validation=0,epochs=5,decay={decay}").fit(RANDOM)
        sizes.append((np.abs(model.E_).mean(), np.abs(model.R_).mean(), np.abs(model.b_).mean()))
    assert sizes[1][0] < 0.5 * sizes[0][0]
    assert sizes[1][1] < 0.5 * sizes[0][1]
    assert sizes[1][2] > 0.8 * sizes[0][2]


def test_complete_puts_the_removed_items_back() -> None:
    _, removals = hold_out(RANDOM, 0.1, 0, at_most=100, removals=300)
    whole = removals.complete()
    assert len(whole) == len(np.unique(removals.record))
    for row, number in enumerate(np.unique(removals.record)):
        first = int(np.flatnonzero(removals.record == number)[0])
        assert whole.row(row).tolist() == sorted([*removals.rest.row(first).tolist(), int(removals.target[first])])
