"""The Lk machine: the sets it stores, its gradient at the end of the climb, and the shop's weights recovered."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import Contract
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import make_model
from cooccur.models.lk_fvbm import LkFvbm, frequent_sets, holds
from cooccur.synthetic import planted_shop


class TestLkFvbm(Contract):
    spec = "lk-fvbm"


records = st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=25)


@given(records, st.integers(2, 4), st.integers(1, 4))
def test_the_sets_are_those_that_counting_finds(lists: list[set[int]], order: int, least: int) -> None:
    V = np.array([[i in record for i in range(7)] for record in lists]).astype(int)
    found = [tuple(i for i in row if i >= 0) for row in frequent_sets(Baskets.from_matrix(V), order, least).tolist()]
    sizes = range(2, order + 1)
    expected = [s for size in sizes for s in combinations(range(7), size) if V[:, list(s)].all(axis=1).sum() >= least]
    assert found == expected


def test_holds_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    V = (np.random.default_rng(0).random((30, 5)) < 0.6).astype(int)
    sets = np.array([[0, -1, -1], [4, -1, -1], [1, 3, -1], [0, 2, 4]], dtype=np.int32)
    monkeypatch.setattr("cooccur.models.lk_fvbm.CELLS", 4 * 7)
    expected = np.column_stack([V[:, [i for i in s if i >= 0]].all(axis=1) for s in sets.tolist()])
    np.testing.assert_array_equal(holds(Baskets.from_matrix(V), sets).toarray(), expected)


def objective(model: LkFvbm, V: np.ndarray) -> float:
    """What is minimised, one set at a time."""
    phi = np.tile(model.b_.astype(float), (len(V), 1))
    for row, w in zip(model.sets_.tolist(), model.weights_.astype(float), strict=True):
        items = [i for i in row if i >= 0]
        for t in items:
            phi[:, t] += w * V[:, [i for i in items if i != t]].all(axis=1)
    return float(np.logaddexp(0, (1 - 2 * V) * phi).sum() + model.l2 / 2 * (model.weights_.astype(float) ** 2).sum())


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_climb_ends_where_the_objective_is_flat(order: int) -> None:
    V = (np.random.default_rng(1).random((150, 6)) < 0.5).astype(int)
    model = LkFvbm(order=order, min_count=2, l2=0.5).fit(V)
    assert (model.sets_ >= 0).sum(axis=1).max() == order
    for values in (model.b_, model.weights_):
        for at in range(len(values)):
            kept, slopes = values[at], []
            for step in (1e-2, -1e-2):
                values[at] = kept + step
                slopes.append(objective(model, V))
            values[at] = kept
            assert (slopes[0] - slopes[1]) / 2e-2 == pytest.approx(0, abs=0.02)
            assert min(slopes) > objective(model, V)


def test_it_recovers_the_planted_shop() -> None:
    """Biases, pairs and triples; those that are truly 0, or too rare to be stored, count too."""
    shop = planted_shop()
    model = make_model("lk-fvbm:min_count=300,iterations=40").fit(shop.sample(60_000, seed=1, sweeps=50))
    assert isinstance(model, LkFvbm)
    learned = {tuple(i for i in row if i >= 0): w for row, w in zip(model.sets_.tolist(), model.weights_, strict=True)}
    pairs, triples = list(combinations(range(40), 2)), list(combinations(range(40), 3))
    truth = [shop.b, [shop.W[pair] for pair in pairs], [shop.triples.get(triple, 0) for triple in triples]]
    found = [model.b_, [learned.get(pair, 0) for pair in pairs], [learned.get(triple, 0) for triple in triples]]
    correlations = [np.corrcoef(one, two)[0, 1] for one, two in zip(truth, found, strict=True)]
    assert min(correlations) >= 0.95, correlations
    heaviest = [set(names) for names, _ in model.sets()[-4:]]
    planted = [{shop.items[i] for i in triple} for triple in shop.triples]
    assert all(names in heaviest for names in planted)


def test_too_many_items_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"lk-fvbm: 7 items, max_items = 6; keep the most frequent ones"):
        LkFvbm(max_items=6).fit(np.ones((2, 7), dtype=int))


def test_without_any_frequent_set_the_items_are_independent() -> None:
    model = LkFvbm(min_count=50).fit([["a", "b"], ["a"], ["c", "a"]] * 2 + [["b"]])
    assert len(model.weights_) == 0
    assert model.complete(["b"]).items == ["a", "c"]
    np.testing.assert_allclose(model.b_, np.log([6 / 1, 3 / 4, 2 / 5]), atol=1e-3)
