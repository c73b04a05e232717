"""Metrics against brute force: all orders of the tied candidates, each as likely as the other."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooccur.errors import InputError, ParameterError
from cooccur.evaluation.metrics import Ranks, ndcg_at, percentile_rank, reciprocal_rank, summarise, top_at

scores = st.lists(st.integers(0, 3), min_size=1, max_size=6)  # few values, so that ties are common


def ranks_of(values: list[int]) -> Ranks:
    """The hidden item is the first candidate."""
    array = np.array(values)
    return Ranks([(array > array[0]).sum()], [(array == array[0]).sum()], [len(array)])


def places(values: list[int]) -> list[int]:
    """The hidden item's place in every order that agrees with the scores."""
    orders = permutations(range(len(values)))
    return [o.index(0) + 1 for o in orders if all(values[x] >= values[y] for x, y in pairwise(o))]


@given(scores, st.integers(1, 8))
def test_expectation_equals_the_mean_over_all_tied_orders(values: list[int], k: int) -> None:
    ranks, all_places = ranks_of(values), places(values)
    others = max(len(values) - 1, 1)
    for value, brute in (
        (top_at(ranks, k), [place <= k for place in all_places]),
        (reciprocal_rank(ranks), [1 / place for place in all_places]),
        (ndcg_at(ranks, k), [1 / math.log2(1 + place) if place <= k else 0 for place in all_places]),
        (percentile_rank(ranks), [(place - 1) / others for place in all_places]),
    ):
        assert value.item() == pytest.approx(sum(brute) / len(brute), abs=1e-12)


def test_brute_force_itself_sees_the_ties() -> None:
    assert sorted(places([1, 1, 2])) == [2, 3]


@pytest.mark.parametrize("k", [1, 3, 7, 50])
def test_a_constant_model_gets_k_of_the_candidates(k: int) -> None:
    candidates = np.array([7, 20, 100])
    ranks = Ranks(np.zeros(3, int), candidates, candidates)
    np.testing.assert_allclose(top_at(ranks, k), np.minimum(k / candidates, 1))
    np.testing.assert_allclose(percentile_rank(ranks), 0.5)


def test_perfect_and_worst() -> None:
    perfect = Ranks([0, 0], [1, 1], [50, 1])
    best = summarise(perfect, np.array([True, True]), ks=(1, 5))
    assert {best[key] for key in ("top1", "top5", "mrr", "ndcg5", "top1_seen", "ndcg5_seen")} == {100.0}
    assert best["percentile"] == 0.0

    worst = summarise(Ranks([49], [1], [50]), np.array([True]), ks=(1, 5))
    assert (worst["top1"], worst["top5"], worst["ndcg5"], worst["percentile"]) == (0.0, 0.0, 0.0, 100.0)
    assert worst["mrr"] == pytest.approx(2.0)


def test_precision_far_down_a_large_catalogue() -> None:
    ranks = Ranks([999_999, 0], [1, 1_000_000], [1_000_000, 1_000_000])
    one, mean = reciprocal_rank(ranks)
    assert one == pytest.approx(1e-6, rel=1e-8)
    assert mean == pytest.approx((math.log(1e6) + 0.5772156649015329 + 0.5e-6) / 1e6, rel=1e-10)


def test_summary_keys_and_the_seen_part() -> None:
    ranks = Ranks([0, 1, 30], [1, 1, 1], [31, 31, 31])
    summary = summarise(ranks, np.array([False, True, True]))
    assert list(summary) == [
        *("top1", "top10", "mrr", "ndcg10", "percentile"),
        *("top1_seen", "top10_seen", "mrr_seen", "ndcg10_seen", "percentile_seen"),
        *("n_test", "n_seen"),
    ]
    assert summary["top1"] == pytest.approx(100 / 3)
    assert (summary["top1_seen"], summary["top10_seen"]) == (0.0, 50.0)
    assert (summary["n_test"], summary["n_seen"]) == (3, 2)


def test_no_removals_give_none() -> None:
    summary = summarise(Ranks([0], [1], [3]), np.array([False]))
    assert summary["top1"] == 100.0
    assert summary["top1_seen"] is None
    assert summary["mrr_seen"] is None
    assert summarise(Ranks([], [], []), np.array([], dtype=bool))["mrr"] is None


@pytest.mark.parametrize(
    ("greater", "equal", "candidates"),
    [([0], [0], [3]), ([-1], [1], [3]), ([3], [1], [3]), ([0, 0], [1], [3]), (0, 1, 3)],
    ids=["NaN score", "negative", "below the last place", "lengths differ", "not arrays"],
)
def test_impossible_ranks_are_refused(greater: object, equal: object, candidates: object) -> None:
    with pytest.raises(InputError):
        Ranks(greater, equal, candidates)


def test_the_message_names_the_removal() -> None:
    with pytest.raises(InputError, match=r"removal 1: 0 candidates above and 0 level of 3; .*NaN"):
        Ranks([0, 0], [1, 0], [3, 3])


def test_bad_parameters() -> None:
    ranks = Ranks([0], [1], [3])
    for call in (lambda: top_at(ranks, 0), lambda: ndcg_at(ranks, 0), lambda: summarise(ranks, np.array([True]), ())):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(InputError, match="seen"):
        summarise(ranks, np.array([True, False]))
