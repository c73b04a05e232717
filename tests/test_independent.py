"""Independent items: the log-odds are the smoothed logit of the item's frequency."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import Contract
from cooccur.baskets import Baskets
from cooccur.models.independent import Independent


class TestIndependent(Contract):
    spec = "independent"
    beats_popularity = False


def test_log_odds_are_the_smoothed_logit() -> None:
    model = Independent(smoothing=1).fit([["a", "b"], ["a"], ["a", "c"]])
    np.testing.assert_allclose(model.b_, np.log([4 / 1, 2 / 3, 2 / 3]), rtol=1e-6)


def test_an_item_in_no_record_or_in_all_stays_finite() -> None:
    model = Independent().fit(np.array([[1, 0], [1, 0]]))
    assert model.b_.tolist() == pytest.approx([np.log(5), -np.log(5)])


@given(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=30))
def test_the_order_is_popularity(records: list[set[str]]) -> None:
    baskets = Baskets.from_lists(records)
    b = Independent().fit(baskets).b_
    n = baskets.frequencies
    assert ((b[:, None] > b) == (n[:, None] > n)).all()


def test_the_log_odds_are_differences_of_the_energy() -> None:
    model = Independent().fit([["a", "b"], ["a"], ["c"], ["a", "c"]])
    states = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    for t in range(3):
        with_t, without = states.copy(), states.copy()
        with_t[:, t], without[:, t] = 1, 0
        difference = model.energy(without) - model.energy(with_t)
        np.testing.assert_allclose(model.log_odds(states)[:, t], difference, rtol=1e-6)
    p = np.array([3.5, 1.5, 2.5]) / 5
    np.testing.assert_allclose(model.probabilities(states), np.tile(p, (8, 1)), rtol=1e-6)
    expected = np.log(np.where(states == 1, p, 1 - p)).sum(axis=1)
    np.testing.assert_allclose(model.pseudo_log_likelihood(states), expected, rtol=1e-6)
