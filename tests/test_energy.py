"""Energies and log-odds are one model: for few items all 2^N states are enumerated and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import make_model
from cooccur.models.energy import LogOdds
from cooccur.synthetic import planted_shop

N = 8
STATES = (np.arange(2**N)[:, None] >> np.arange(N)) & 1
WITH_ENERGY = [
    "independent", "fvbm:tied=yes,epochs=20", "lk-fvbm:min_count=2", "lk-fvbm:min_count=1,order=4",
    "rbm:hidden=6,rate=0.05", "rbm:hidden=6,rate=0.05,persistent=yes",
]  # fmt: skip


def random_baskets() -> Baskets:
    """Baskets with structure: three kinds of customer with tastes of their own."""
    rng = np.random.default_rng(2)
    taste = rng.uniform(0.05, 0.9, size=(3, N))
    return Baskets.from_matrix((rng.random((400, N)) < taste[rng.integers(3, size=400)]).astype(int))


@pytest.fixture(scope="module", params=WITH_ENERGY)
def fitted(request: pytest.FixtureRequest) -> Any:
    return make_model(request.param).fit(random_baskets())


def conditionals(model: Any) -> npt.NDArray[np.float64]:
    """(states, N) p(v_t = 1 | v_-t) from the joint distribution exp(-E) / Z alone."""
    p = np.exp(-model.energy(STATES))
    p /= p.sum()
    number = np.arange(2**N)[:, None]
    bit = 1 << np.arange(N)
    on, off = p[number | bit], p[number & ~bit]
    return np.asarray(on / (on + off))


def test_log_odds_and_probabilities_are_the_conditionals(fitted: Any) -> None:
    expected = conditionals(fitted)
    assert expected.std(axis=0).max() > 0.05 or fitted.level == "L1"  # something was learned
    np.testing.assert_allclose(1 / (1 + np.exp(-fitted.log_odds(STATES).astype(float))), expected, atol=1e-6)
    np.testing.assert_allclose(fitted.probabilities(STATES), expected, atol=1e-6)


def test_pseudo_log_likelihood_is_the_sum_over_the_conditionals(fitted: Any) -> None:
    p = conditionals(fitted)
    expected = np.log(np.where(STATES == 1, p, 1 - p)).sum(axis=1)
    np.testing.assert_allclose(fitted.pseudo_log_likelihood(STATES), expected, rtol=1e-5)


def test_the_scores_of_absent_items_are_their_log_odds(fitted: Any) -> None:
    absent = STATES == 0
    np.testing.assert_allclose(fitted.scores(STATES)[absent], fitted.log_odds(STATES)[absent], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", ["fvbm:epochs=2", "dem:hidden=4,epochs=2"])
def test_without_a_joint_energy_there_are_still_conditionals(spec: str) -> None:
    model: Any = make_model(spec).fit(random_baskets())
    assert isinstance(model, LogOdds)
    phi = model.log_odds(STATES)
    for t in range(N):
        without = STATES.copy()
        without[:, t] = 0
        np.testing.assert_allclose(phi[:, t], model.scores(without)[:, t], rtol=1e-5, atol=1e-5)
    if model.name == "fvbm":
        with pytest.raises(ParameterError, match="not tied, so there is no joint energy; fit with tied=yes"):
            model.energy(STATES)


def test_fvbm_recovers_the_planted_pairs() -> None:
    """Biases, and all pair weights; those that are truly 0 count too."""
    shop = planted_shop(triples=False)
    model: Any = make_model("fvbm:tied=yes,validation=0,epochs=4,batch=256").fit(shop.sample(60_000, seed=1, sweeps=40))
    W = np.zeros((40, 40))
    W[np.repeat(np.arange(40), np.diff(model.starts_)), model.columns_] = model.weights_
    np.testing.assert_array_equal(W, W.T)
    upper = np.triu_indices(40, 1)
    assert np.corrcoef(model.b_, shop.b)[0, 1] >= 0.95
    assert np.corrcoef(W[upper], shop.W[upper])[0, 1] >= 0.95
