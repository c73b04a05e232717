"""The tests keep their promise: the error rate is the nominal one, and small cases agree with enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cooccur.errors import ParameterError
from cooccur.evaluation.significance import compare, corrected_t, holm, paired_permutation

small = st.lists(st.sampled_from([-1.0, -0.3, 0.0, 0.1, 0.2, 1.0]), min_size=1, max_size=7)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(small)
def test_small_cases_equal_full_enumeration(d: list[float]) -> None:
    sums = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in product((1, -1), repeat=len(d))]
    expected = np.mean([total >= abs(sum(d)) - 1e-9 for total in sums])
    assert paired_permutation(d, np.zeros(len(d)), np.arange(len(d))) == pytest.approx(expected)


def test_random_draws_agree_with_the_exact_distribution() -> None:
    # 20 differences of 1, 15 of them in a's favour: a sign test, so the binomial distribution is the right answer.
    d = np.array([1.0] * 15 + [-1.0] * 5)
    expected = stats.binomtest(15, 20).pvalue
    assert paired_permutation(d, 0 * d, np.arange(20), draws=100_000) == pytest.approx(expected, abs=0.003)


def test_p_is_never_zero() -> None:
    d = np.ones(100)
    assert paired_permutation(d, 0 * d, np.arange(100), draws=99) == 0.01


def test_p_is_uniform_when_the_models_are_equal() -> None:
    rng = np.random.default_rng(1)
    p = [paired_permutation(*rng.random((2, 40)), np.arange(40), draws=400, seed=i) for i in range(500)]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.08


def test_draws_of_one_record_stay_together() -> None:
    """Eight removals of a record that always agree: taken for independent they would shout; grouped they do not."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), 8)
    grouped, ignored = [], []
    for i in range(300):
        a, b = np.repeat(rng.random((2, 40)), 8, axis=1)
        grouped.append(paired_permutation(a, b, groups, draws=300, seed=i) <= 0.05)
        ignored.append(paired_permutation(a, b, np.arange(320), draws=300, seed=i) <= 0.05)
    assert 0.02 < np.mean(grouped) < 0.09
    assert np.mean(ignored) > 0.3


def test_a_clear_difference_is_found() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.random(2000) < 0.25).astype(float), (rng.random(2000) < 0.15).astype(float)
    assert paired_permutation(a, b, np.arange(2000), draws=999) == 0.001


@pytest.mark.parametrize("records", [9, 60], ids=["exact", "drawn"])
def test_invariances(records: int) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, (2, 3 * records)) * 1.0
    groups = np.repeat(np.arange(records), 3)
    p = paired_permutation(a, b, groups, draws=20_000)
    assert paired_permutation(b, a, groups, draws=20_000) == p
    assert paired_permutation(a, b, groups + 1_000_000, draws=20_000) == p
    assert paired_permutation(7 * a, 7 * b, groups, draws=20_000) == pytest.approx(p)
    with_ties = paired_permutation([*a, 1, 0], [*b, 1, 0], [*groups, -1, -2], draws=20_000)
    assert with_ties == pytest.approx(p, abs=0.015)  # records that agree do not matter
    order = rng.permutation(len(a))
    assert paired_permutation(a[order], b[order], groups[order], draws=20_000) == pytest.approx(p)
    renamed = rng.permutation(records)[groups]  # another order of records draws other signs
    assert paired_permutation(a, b, renamed, draws=20_000) == pytest.approx(p, abs=0.015)


def test_same_seed_same_p() -> None:
    a, b = np.random.default_rng(5).random((2, 50))
    p = [paired_permutation(a, b, np.arange(50), draws=1000, seed=seed) for seed in (0, 0, 1)]
    assert p[0] == p[1] != p[2]


def test_rounding_does_not_break_ties() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in floating point; the record agrees all the same.
    assert paired_permutation([0.1, 0.2, 0, 1], [0, 0, 0.3, 0], [0, 0, 0, 1]) == 1.0


def test_equal_models_and_no_removals() -> None:
    assert paired_permutation(np.ones(30), np.ones(30), np.arange(30)) == 1.0
    assert paired_permutation([], [], []) == 1.0


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=8))
def test_without_correction_it_is_the_paired_t_test(folds: list[tuple[int, int]]) -> None:
    a, b = np.array(folds, dtype=float).T
    if np.ptp(a - b) == 0:
        assert corrected_t(a, b, 0) == (1.0 if a[0] == b[0] else 0.0)
    else:
        assert corrected_t(a, b, 0) == pytest.approx(stats.ttest_rel(a, b).pvalue)
        assert corrected_t(a, b, 0.2) >= corrected_t(a, b, 0)
        assert corrected_t(b, a, 0.2) == corrected_t(a, b, 0.2)


def test_corrected_t_by_hand() -> None:
    # d = 1, 2, 3: mean 2, variance 1; test/train = 1/2: t = 2 / sqrt(1/3 + 1/2) = 2.19089, 2 degrees of freedom.
    assert corrected_t([1, 2, 3], [0, 0, 0], 1 / 3) == pytest.approx(2 * stats.t.sf(2 / math.sqrt(5 / 6), 2))


def test_one_fold_has_no_t_test() -> None:
    assert math.isnan(corrected_t([1], [0], 0.2))


def test_holm_by_hand() -> None:
    # sorted: 0.005 * 4, 0.01 * 3 = 0.03, 0.03 * 2 = 0.06, 0.04 * 1 = 0.04 raised to 0.06
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, math.nan, 0.7]), [1.0, math.nan, 1.0])
    assert holm([]).tolist() == []


@given(p_values)
def test_holm_never_lowers_and_follows_the_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(np.array(p) * len(p), 1)).all()  # never worse than Bonferroni
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    np.testing.assert_array_equal(holm(p[::-1]), adjusted[::-1])


def test_compare_all_pairs() -> None:
    rng = np.random.default_rng(6)
    n = 600
    good, poor, twin = (rng.random((3, n)) < [[0.5], [0.2], [0.2]]).astype(float)
    folds = np.arange(n) % 5
    pairs = compare([good, poor, twin], np.arange(n), folds, test_share=0.2, draws=2000)
    assert [(pair["a"], pair["b"]) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    assert list(pairs[0]) == ["a", "b", "difference", "p", "p_t", "p_holm", "p_t_holm"]
    assert pairs[0]["difference"] == pytest.approx(100 * (good.mean() - poor.mean()))
    assert max(pairs[0]["p_holm"], pairs[1]["p_holm"], pairs[0]["p_t_holm"]) < 0.01 < 0.05 < pairs[2]["p_holm"]
    for name in ("p", "p_t"):
        np.testing.assert_allclose([q[f"{name}_holm"] for q in pairs], holm([q[name] for q in pairs]))
    means = [[values[folds == fold].mean() for fold in range(5)] for values in (good, poor)]
    assert pairs[0]["p_t"] == pytest.approx(corrected_t(*means, 0.2))


def test_difference_and_test_are_of_the_mean_over_folds() -> None:
    """Folds of unlike size: b has more hits in all, a has the higher mean of fold means, and a's side is tested."""
    a, b = np.zeros(100), np.zeros(100)
    a[:6] = 1  # fold 0 has 10 removals, of which a hits 6
    b[10:18] = 1  # fold 1 has 90, of which b hits 8
    folds = np.array([0] * 10 + [1] * 90)
    (pair,) = compare([a, b], np.arange(100), folds, test_share=0.5)
    assert pair["difference"] == pytest.approx(50 * (6 / 10 - 8 / 90))
    assert pair["p"] < 0.05 < 0.5 < paired_permutation(a, b, np.arange(100))


def test_many_pairs_can_still_be_significant() -> None:
    """15 models are 105 pairs; with 10,000 draws Holm's smallest p would be 105/10,001, above 0.01."""
    outcomes = np.zeros((15, 20))
    outcomes[0] = 1
    pairs = compare(outcomes, np.arange(20), np.zeros(20), test_share=0.2)
    assert [pair["p_holm"] < 0.01 for pair in pairs] == [pair["a"] == 0 for pair in pairs]


def test_one_fold_gives_none_for_json() -> None:
    (pair,) = compare([[1, 0, 1], [0, 0, 1]], [0, 1, 2], [0, 0, 0], test_share=0.2)
    assert pair["p_t"] is None
    assert pair["p_t_holm"] is None
    assert pair["p"] == pair["p_holm"] == 1.0


def test_bad_input_is_refused() -> None:
    for call in (
        lambda: paired_permutation([1, 2], [1], [0, 1]),
        lambda: paired_permutation([1, math.nan], [1, 1], [0, 1]),
        lambda: paired_permutation([1], [1], [0], draws=0),
        lambda: corrected_t([1, 2], [1], 0.2),
        lambda: corrected_t([1, 2], [1, 1], 1.0),
        lambda: compare([[1, 2], [1]], [0, 1], [0, 0], test_share=0.2),
    ):
        with pytest.raises(ParameterError):
            call()
