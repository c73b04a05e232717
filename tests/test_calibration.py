"""Calibration: checks with numbers known in closed form, predictors that must fail, and the step that mends them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from cooccur import storage
from cooccur.baskets import Baskets
from cooccur.cli import main
from cooccur.errors import InputError, ModelFileError, ParameterError
from cooccur.evaluation.calibration import (
    Check,
    Curve,
    Evidence,
    check_calibration,
    check_given_rest,
    check_missing_one,
)
from cooccur.evaluation.removal import remove_items
from cooccur.models import calibrated, make_model
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.calibrated import (
    Calibration,
    Histogram,
    broken_line,
    calibrate,
    fit_calibrated,
    given_rest,
    missing_one,
    sigmoid,
)
from cooccur.models.energy import LogOdds
from cooccur.synthetic import Shop, planted_shop


@dataclass(eq=False, kw_only=True)
class Told(LogOdds):
    """A predictor that knows the shop's true log-odds phi and says scale * phi + shift."""

    name: ClassVar[str] = "told"
    level: ClassVar[str] = "Lk"
    score_is: ClassVar[str] = "log-odds"

    def __post_init__(self) -> None:
        self.shop, self.scale, self.shift = planted_shop(), 1.0, 0.0

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        pass

    def _scores(self, baskets: Baskets) -> Floats:
        v = baskets.matrix.toarray()
        phi = np.stack([self.shop.log_odds(t, v) for t in range(len(self.shop.items))], axis=1)
        phi[v > 0] = 9.0  # whoever asks about an item of the record without leaving it out is told nonsense
        return (self.scale * phi + self.shift).astype(np.float32)


@cache
def records() -> tuple[Baskets, Baskets, Baskets]:
    """Of the planted shop: to learn from, to calibrate on, to test on."""
    baskets = planted_shop().sample(24_000, seed=7, sweeps=40)
    return baskets[:12_000], baskets[12_000:16_000], baskets[16_000:]


@cache
def evidence() -> Evidence:
    return Evidence(records()[0])


def told(scale: float = 1.0, shift: float = 0.0, shop: Shop | None = None) -> Told:
    model = Told()
    model.shop, model.scale, model.shift = shop or planted_shop(), scale, shift
    return model.fit(records()[0] if shop is None else Baskets.from_lists([[name] for name in shop.items]))


def checked(model: LogOdds, calibration: Calibration | None = None) -> tuple[Check, Check]:
    """The two questions on the test records."""
    test, used = records()[2], [calibration or Calibration.identity()]
    given = check_given_rest(model, test, evidence(), used)[0]
    return given, check_missing_one(model, remove_items(test, 2), evidence(), used)[0]


def attached(model: Model) -> Calibration:
    assert model.calibration_ is not None
    return model.calibration_


# -- the measure ------------------------------------------------------------------------------------


def test_the_gap_of_a_known_miscalibration() -> None:
    """p is said, p^2 comes true, p uniform: gap = integral of p - p^2 = 1/6; largest around p = 1/2."""
    p = (np.arange(200_000) + 0.5) / 200_000
    seen = Histogram()
    seen.add(np.log(p / (1 - p)), p, p**2)  # expected hits in place of drawn ones
    curve = Curve.of(seen)
    assert len(curve.count) == 20
    np.testing.assert_allclose(curve.count, 10_000, rtol=0.01)
    assert curve.gap == pytest.approx(1 / 6, abs=1e-6)
    assert curve.largest == pytest.approx(0.475 - (0.5**3 - 0.45**3) / 0.15, abs=1e-3)


def test_doubled_log_odds_in_closed_form() -> None:
    """The truth is phi = -1 or 1, said is 2 phi: the gap is sigmoid(2) - sigmoid(1) in both groups."""
    seen = Histogram()
    z = np.repeat([-2.0, 2.0], 500)
    seen.add(z, sigmoid(z), sigmoid(z / 2))
    curve = Curve.of(seen)
    assert curve.count.tolist() == [500, 500]  # equal predictions stay together: two groups, not twenty
    expected = 1 / (1 + np.exp(-2)) - 1 / (1 + np.exp(-1))
    assert (curve.gap, curve.largest) == pytest.approx((expected, expected))


def test_the_noise_is_the_gap_of_a_true_predictor() -> None:
    rng = np.random.default_rng(0)
    gaps, noises = [], []
    for _ in range(50):
        p = rng.uniform(0.01, 0.99, 2000)
        seen = Histogram()
        seen.add(np.log(p / (1 - p)), p, rng.random(2000) < p)
        curve = Curve.of(seen)
        gaps.append(curve.gap)
        noises.append(curve.noise)
    assert np.mean(gaps) == pytest.approx(np.mean(noises), rel=0.1)


def test_every_item_is_asked_without_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a loop over all pairs; the blocks' size changes nothing."""
    model, test = told(0.7), records()[2][:60]
    n, said, hits = 0, 0.0, 0
    for record in test:
        for t, item in enumerate(test.items):
            rest = Baskets.from_lists([[name for name in record if name != item]]).with_vocabulary(test.items)[0]
            p = float(sigmoid(model._scores(rest)[0, t]))
            if p >= 0.01:
                n, said, hits = n + 1, said + p, hits + (item in record)
    for size in (4 * 40 * 7, 2**24):
        monkeypatch.setattr(calibrated, "BLOCK_BYTES", size)
        curve = check_given_rest(model, test, evidence(), [Calibration.identity()])[0].by_prediction
        assert curve.count.sum() == n
        assert curve.predicted @ curve.count == pytest.approx(said, rel=1e-6)
        assert curve.observed @ curve.count == pytest.approx(hits)


def test_evidence_among_candidates_compares_their_normalised_shares() -> None:
    test = records()[2][:20]
    share = records()[0].frequencies / len(records()[0])
    lift, found = np.exp(evidence()(test)), evidence().among_candidates(test)
    for r in range(len(test)):
        others = np.setdiff1d(np.arange(test.n_items), test.row(r))
        posterior, prior = (p[others] / p[others].sum() for p in (share * lift[r], share))
        np.testing.assert_allclose(found[r, others], np.log(posterior / prior), atol=1e-9)


def test_evidence_is_the_mean_lift_of_the_rest() -> None:
    training, test = records()[0], records()[2][:20]
    v = training.matrix.toarray()
    n, share = v.sum(axis=0), v.mean(axis=0)
    found = evidence()(test)
    for r, t in product(range(len(test)), range(test.n_items)):
        rest = [i for i in test.row(r) if i != t]
        given = [((v[:, i] * v[:, t]).sum() + share[t]) / (n[i] + 1) for i in rest]
        assert found[r, t] == pytest.approx(np.log(np.mean(given) / share[t]) if rest else 0.0, abs=1e-5)


# -- what the model says about the missing one ------------------------------------------------------


def test_the_softmax_of_the_log_odds_is_the_posterior_of_the_removed_item() -> None:
    """All 2^5 baskets of a small shop: which item was taken out, uniformly, of a basket that is now `rest`?"""
    rng = np.random.default_rng(1)
    W = np.triu(rng.normal(size=(5, 5)), 1)
    shop = Shop(tuple("abcde"), rng.normal(size=5), W + W.T, {(0, 1, 2): 2.0, (1, 3, 4): -1.5})
    model = told(shop=shop)
    states = np.array(list(product((0, 1), repeat=5)))
    p = np.exp(-shop.energy(states))
    for rest in states[(states.sum(axis=1) >= 1) & (states.sum(axis=1) < 5)]:
        posterior = np.zeros(5)
        for state, weight in zip(states, p, strict=True):
            if (state >= rest).all() and state.sum() == rest.sum() + 1:
                posterior[(state - rest).argmax()] = weight / state.sum()
        posterior /= posterior.sum()
        found = missing_one(model, rest[None, :], k=5)
        there = found.items[0] >= 0
        assert there.sum() == 5 - rest.sum()
        np.testing.assert_allclose(found.scores[0][there], posterior[found.items[0][there]], atol=1e-5)


def test_a_full_basket_misses_nothing() -> None:
    model = make_model("independent").fit([["a", "b"], ["a"]])
    found = missing_one(model, [["a", "b"]])
    assert found.items.tolist() == [[-1, -1]]
    assert np.isnan(found.scores).all()


# -- the step ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", [lambda x: 0.5 * x + 1, lambda x: np.where(x < 0, 2 * x, 0.4 * x), lambda x: x])
def test_a_broken_line_finds_the_map(truth: Any) -> None:
    x = np.linspace(-5, 5, 4001)
    seen = Histogram()
    for _ in range(50):
        seen.add(x, sigmoid(x), sigmoid(truth(x)))
    knots = broken_line(seen)
    assert (np.diff(knots) > 0).all()
    np.testing.assert_allclose(sigmoid(np.interp(x, *knots)), sigmoid(truth(x)), atol=0.01)


def test_the_line_rises_even_where_the_truth_falls() -> None:
    seen = Histogram()
    for _ in range(100):
        seen.add([-1.0, 1.0], [0.27, 0.73], [0.8, 0.2])
    assert (np.diff(broken_line(seen)) > 0).all()


def test_the_truth_passes_and_stays_as_it_is() -> None:
    model = told()
    assert all(check.passes() for check in checked(model))
    calibration = attached(calibrate(model, records()[1]))
    assert all(check.passes() for check in checked(model, calibration))
    assert calibration.beta[0] == pytest.approx(1, abs=0.05)
    phi = np.linspace(-4, 2, 50)
    np.testing.assert_allclose(calibration.present(phi), sigmoid(phi), atol=0.03)


def test_an_over_confident_predictor_fails_before_and_passes_after() -> None:
    model = told(scale=2)
    for check in checked(model):
        assert not check.passes()
        assert check.by_prediction.gap > 0.02
    calibration = attached(calibrate(model, records()[1]))
    for check in checked(model, calibration):
        assert check.passes()
        assert check.by_prediction.gap < 0.01
    assert calibration.beta[0] == pytest.approx(0.5, abs=0.03)


def test_a_calibrated_model_says_the_same_everywhere() -> None:
    learn, held, test = records()
    model = make_model("independent").fit(learn)
    before = model.probabilities(test[:20])
    calibrate(model, held)
    after, scores = model.probabilities(test[:20]), model.scores(test[:20])
    assert np.abs(after - before).max() > 1e-4
    for record, item in ((0, 3), (7, 11), (19, 0)):
        if not np.isnan(scores[record, item]):
            assert after[record, item] == pytest.approx(model.probability(float(scores[record, item])), abs=1e-6)


def test_an_under_confident_and_shifted_one_too() -> None:
    model = told(scale=0.5, shift=1)
    assert not any(check.passes() for check in checked(model))
    assert all(check.passes() for check in checked(model, attached(calibrate(model, records()[1]))))


def test_base_rates_fail_although_they_are_right_on_average() -> None:
    model = make_model("independent").fit(records()[0])
    assert isinstance(model, LogOdds)
    for calibration in (None, attached(calibrate(model, records()[1]))):
        given, missing = checked(model, calibration)
        assert given.by_prediction.gap < 0.01  # what is said comes true, on average ...
        assert given.by_evidence.gap > 0.02  # ... but not for baskets that ask for the item
        assert not given.passes()
        assert not missing.passes()


def test_one_rate_for_all_items_fails() -> None:
    training, _, test = records()
    rate = training.nnz / (len(training) * training.n_items)
    model = told(scale=0, shift=float(np.log(rate / (1 - rate))))
    check = check_given_rest(model, test, evidence(), [Calibration.identity()])[0]
    assert len(check.by_prediction.count) == 1
    assert check.by_prediction.gap < 0.01
    assert not check.passes()


@pytest.mark.parametrize("spec", ["fvbm:epochs=12", "lk-fvbm"])
def test_learned_models_are_true_after_the_step(spec: str) -> None:
    """The fully visible machine where the shop has pairs only, its third-order kin where it has triples."""
    shop = planted_shop(triples=spec == "lk-fvbm").sample(25_000, seed=2, sweeps=40)
    result = check_calibration(shop, spec, share=0.2)
    for question in result["questions"].values():
        assert question["after"]["by_prediction"]["gap"] < 0.01
        assert question["after"]["by_prediction"]["largest"] < 0.03
    records = result["run"]["records"]
    assert records["learned"] + records["held_out"] + records["test"] == 25_000
    assert (records["held_out"], records["test"]) == (4000, 5000)


# -- in use -----------------------------------------------------------------------------------------


def small() -> Model:
    return calibrate(
        make_model("independent").fit([["a", "b"], ["a"], ["c"]] * 30), [["a", "b"], ["c"], ["c"], ["c"]] * 40
    )


def test_complete_says_calibrated_probabilities_in_the_old_order() -> None:
    model = small()
    calibration = attached(model)
    found = model.complete(["c"])
    assert found.items == make_model("independent").fit([["a", "b"], ["a"], ["c"]] * 30).complete(["c"]).items
    said = [suggestion.probability for suggestion in found]
    np.testing.assert_allclose(said, calibration.present([suggestion.score for suggestion in found]))
    assert abs(said[0] - sigmoid(found.suggestions[0].score)) > 0.05
    assert said == sorted(said, reverse=True)


def test_the_file_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small()
    model.save(tmp_path / "a.model")
    loaded = storage.load(tmp_path / "a.model")
    assert loaded.complete(["c"]).suggestions == model.complete(["c"]).suggestions
    assert main(["complete", str(tmp_path / "a.model"), "c", "--json"]) == 0
    shown = [row["probability"] for row in json.loads(capsys.readouterr().out)["suggestions"]]
    assert shown == [suggestion.probability for suggestion in model.complete(["c"])]
    np.testing.assert_array_equal(missing_one(loaded, [["c"]]).scores, missing_one(model, [["c"]]).scores)
    model.fit([["a", "b"], ["c"]] * 10)  # another model: what was learned for the old one is gone
    assert model.calibration_ is None
    model.save(tmp_path / "b.model")
    assert storage.load(tmp_path / "b.model").calibration_ is None


def test_a_damaged_calibration_is_an_error(tmp_path: Path) -> None:
    model = small()
    attached(model).given_rest[1] *= -1
    model.save(tmp_path / "a.model")
    with pytest.raises(ModelFileError, match="knots do not rise"):
        storage.load(tmp_path / "a.model")


def test_where_nothing_is_likely_all_stays_as_it_is() -> None:
    """Pairs of items that never come again: no held-out item reaches the least probability that a map learns from."""
    disjoint = [[f"a{i}", f"b{i}"] for i in range(3000)]
    model = fit_calibrated(make_model("independent"), disjoint)
    assert model.probability(0.0) == 0.5
    dem = make_model("dem:hidden=4,epochs=1").fit(disjoint[:300])
    assert len(dem.complete(["a1"], k=3)) == 3


def test_no_record_misses_nothing() -> None:
    assert missing_one(make_model("independent").fit([["a", "b"]]), []).items.shape == (0, 2)


def test_held_out_records_are_not_learned_from() -> None:
    records = Baskets.from_lists([["a", "b"], ["b", "c"], ["a"]] * 40)
    model = fit_calibrated(make_model("independent"), records, share=0.25, seed=4)
    assert model.n_records_ == 90
    again = fit_calibrated(make_model("independent"), records, share=0.25, seed=4)
    for one, other in zip(attached(model).arrays().values(), attached(again).arrays().values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_errors_name_the_remedy() -> None:
    with pytest.raises(ParameterError, match="ease: its score is a predicted share, no log-odds"):
        calibrate(make_model("ease").fit([["a", "b"]]), [["a", "b"]])
    model = make_model("independent").fit([["a", "b"], ["a"]])
    with pytest.raises(InputError, match="no held-out record with two items"):
        calibrate(model, [["a"], ["b", "unknown"]])
    with pytest.raises(ParameterError, match=r"share = 1\.5"):
        fit_calibrated(model, [["a", "b"]], share=1.5)
    with pytest.raises(ParameterError, match="fold 5 of 5"):
        check_calibration(records()[0], "independent", fold=5)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = tmp_path / "shop.txt"
    shop.write_text("".join(";".join(names) + "\n" for names in planted_shop().sample(1500, sweeps=10) if names))
    files = [tmp_path / "report.md", tmp_path / "report.json"]
    ask = ["calibration", str(shop), "-m", "independent", "--seed", "3"]
    assert main([*ask, "-o", str(files[0]), "-o", str(files[1])]) == 0
    assert "evidence" in capsys.readouterr().out
    assert files[0].read_text().count("\n| ") > 40  # two curves of twenty groups
    assert main([*ask, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    written = json.loads(files[1].read_text())
    assert result["questions"] == written["questions"]
    assert (
        sum(result["questions"]["missing_one"]["after"]["by_prediction"]["count"])
        == 10 * (result["run"]["records"]["removals"])
    )
    assert main(["calibration", str(shop), "-m", "ease"]) == 2
    assert "no log-odds" in capsys.readouterr().err
    assert main([*ask, "-o", str(tmp_path / "report.pdf")]) == 2
    assert main([*ask, "--share", "2"]) == 2


@pytest.mark.skipif(not os.environ.get("COOCCUR_DATA"), reason="set COOCCUR_DATA to the folder with the real data")
def test_jester() -> None:
    from cooccur.datasets import load

    jester = load("jester")
    for spec, passes in (("fvbm:epochs=4", True), ("independent", False)):
        for question in check_calibration(jester, spec, seed=1)["questions"].values():
            assert question["after"]["passes"] is passes


@pytest.mark.skipif(not os.environ.get("COOCCUR_DATA"), reason="set COOCCUR_DATA to the folder with the real data")
def test_a_dem_as_fit_leaves_it_knows_how_often_its_suggestions_come_true() -> None:
    """Baskets of one item and of seventy: each lacks one, so a long one must not count more than a short one."""
    from cooccur.datasets import load

    retail = load("retail").filter(top_items=1000)
    check = check_calibration(retail, "dem:hidden=none")["questions"]["missing_one"]["before"]["by_prediction"]
    assert check["gap"] < 0.01
    assert check["largest"] < 0.03


def test_blocks_cover_every_record_once() -> None:
    test = records()[2][:100]
    seen = [which for which, _, _ in given_rest(told(), test)]
    assert [r for which in seen for r in range(which.start, which.stop)] == list(range(100))
