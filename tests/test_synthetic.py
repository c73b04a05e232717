"""The planted shop: its log-odds and its samples are those of its energy, by enumerating all states."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from cooccur.errors import ParameterError
from cooccur.synthetic import BIASES, PAIRS, RECIPES, Shop, planted_shop

Floats = npt.NDArray[np.float64]


def part(shop: Shop, names: list[str]) -> Shop:
    """The shop with these items alone."""
    at = [shop.items.index(name) for name in names]
    kept = {
        (at.index(i), at.index(j), at.index(k)): weight
        for (i, j, k), weight in shop.triples.items()
        if {i, j, k} <= set(at)
    }
    return Shop(tuple(names), shop.b[at], shop.W[np.ix_(at, at)], kept)


def states(n: int) -> Floats:
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def probabilities(shop: Shop) -> Floats:
    """exp(-E) / Z of every state."""
    weights = np.exp(-shop.energy(states(len(shop.items))))
    return np.asarray(weights / weights.sum())


MIXED = ["bananas", "milk", "oat milk", "flour", "eggs", "maple syrup", "cereal"]
SMALL = {
    "a recipe, pairs and a product by itself": part(planted_shop(), MIXED),
    "a triple without pairs": Shop(tuple("abc"), np.array([-0.5, 0.2, 0.0]), np.zeros((3, 3)), {(0, 1, 2): 1.5}),
}


@pytest.mark.parametrize("shop", SMALL.values(), ids=SMALL)
def test_log_odds_are_differences_of_energy(shop: Shop) -> None:
    v = states(len(shop.items))
    for t in range(len(shop.items)):
        absent, present = v.copy(), v.copy()
        absent[:, t], present[:, t] = 0, 1
        wanted = shop.energy(absent) - shop.energy(present)
        np.testing.assert_allclose(shop.log_odds(t, v), wanted, atol=1e-12)
        np.testing.assert_array_equal(shop.log_odds(t, absent), shop.log_odds(t, present))  # t is not looked at


def test_energy_by_hand() -> None:
    shop = SMALL["a triple without pairs"]
    np.testing.assert_allclose(shop.energy([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]), [0, 0.5, 0.3, -1.2])
    pair = Shop(("a", "b"), np.array([1.0, 2.0]), np.array([[0.0, 0.5], [0.5, 0.0]]), {})
    assert pair.energy([1, 1]).tolist() == [-3.5]  # a pair counts once


@pytest.mark.parametrize("shop", SMALL.values(), ids=SMALL)
def test_samples_follow_the_energy(shop: Shop) -> None:
    records = 40_000
    sample = shop.sample(records, seed=1).matrix.toarray()
    code = (sample @ 2 ** np.arange(len(shop.items))[::-1]).astype(int)  # row of `states`
    p = probabilities(shop)
    found = np.bincount(code, minlength=len(p))
    likely = records * p >= 5
    chi2 = ((found - records * p) ** 2 / (records * p))[likely].sum()
    freedom = likely.sum() - 1
    assert chi2 < freedom + 4 * np.sqrt(2 * freedom)
    assert found[~likely].sum() < 3 * records * p[~likely].sum() + 5


@pytest.mark.parametrize(("names", "share"), RECIPES)
def test_no_pair_of_a_recipe_reveals_it(names: tuple[str, str, str], share: float) -> None:
    p = probabilities(part(planted_shop(), list(names))).reshape(2, 2, 2)
    for axis in range(3):
        two = p.sum(axis=axis)
        np.testing.assert_allclose(two, np.outer([1 - share, share], [1 - share, share]), atol=1e-12)
        third = np.moveaxis(p, axis, 2)[1, 1]
        assert third[1] / third.sum() > 0.85  # two of them, and the third is nearly certain


def test_without_triples_the_products_are_as_popular_and_independent() -> None:
    shop = planted_shop(triples=False)
    assert shop.triples == {}
    for names, share in RECIPES:
        at = [shop.items.index(name) for name in names]
        np.testing.assert_allclose(1 / (1 + np.exp(-shop.b[at])), share)
        assert not shop.W[at].any()


def test_the_tables_name_each_product_once() -> None:
    shop = planted_shop()
    in_recipes = [name for names, _ in RECIPES for name in names]
    assert len(set(shop.items)) == len(shop.items) == len(BIASES) + len(in_recipes)
    assert {name for pair in PAIRS for name in pair} <= set(BIASES)
    assert len({frozenset(pair) for pair in PAIRS}) == len(PAIRS)
    np.testing.assert_array_equal(shop.W, shop.W.T)
    assert not shop.W.diagonal().any()
    assert all(shop.W[shop.items.index(a), shop.items.index(b)] == weight for (a, b), weight in PAIRS.items())
    assert (shop.W != 0).sum() == 2 * len(PAIRS) + 6 * len(RECIPES)


def test_same_seed_same_baskets() -> None:
    one, two, other = (planted_shop().sample(200, seed=seed, sweeps=3) for seed in (4, 4, 5))
    assert one == two
    assert one != other
    assert (len(one), list(one.items)) == (200, list(planted_shop().items))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"records": 0}, "records = 0, sweeps = 100; expected 1 or more of each"),
        ({"sweeps": 0}, "records = 20000, sweeps = 0; expected 1 or more of each"),
    ],
)
def test_nothing_to_draw(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        planted_shop().sample(**arguments)
    assert str(caught.value) == message
