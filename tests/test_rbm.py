"""The RBM: the kernel beside the formula, the gradients beside enumeration of all states, and the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from contract import Contract
from cooccur.baskets import Baskets
from cooccur.models.rbm import Rbm, log_products
from cooccur.training import rbm_learner
from cooccur.training.batches import Batch
from cooccur.training.rbm_learner import RbmLearner, Visible

Doubles = npt.NDArray[np.float64]
N, H = 5, 3
STATES = (np.arange(2**N)[:, None] >> np.arange(N)) & 1


class TestRbm(Contract):
    spec = "rbm:rate=0.03,epochs=40,validation=0"
    trained_by_steps = True


# -- prediction ---------------------------------------------------------------------------------------


def softplus(x: Doubles) -> Doubles:
    return np.asarray(np.logaddexp(0, x))


@pytest.mark.parametrize(("size", "group"), [(1.0, 7), (1.0, 1), (1.0, 2), (30.0, 7), (300.0, 2)])
def test_the_kernel_is_the_formula(size: float, group: int) -> None:
    """Also where a single factor of the product leaves the range of a float, or would cancel."""
    rng = np.random.default_rng(0)
    a, W = size * rng.normal(size=(20, 7)), size / 3 * rng.normal(size=(300, 7))
    found = log_products(a, np.ascontiguousarray(np.exp(W.T)), group)
    expected = (softplus(a[:, None] + W) - softplus(a)[:, None]).sum(axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_large_weights_take_several_products() -> None:
    model = Rbm(hidden=40, epochs=1).fit([["a", "b"], ["b", "c"]])
    model.W_ = np.full((3, 40), 30, dtype=np.float32)  # a product of 40 factors would be e^1200
    model.b_, model.c_ = np.zeros(3, dtype=np.float32), np.zeros(40, dtype=np.float32)
    np.testing.assert_allclose(model.scores([["a"]])[0, 1:], 40 * 30, rtol=1e-6)


# -- learning -----------------------------------------------------------------------------------------


def learner(**params: Any) -> RbmLearner:
    """A made-up machine over N items; the records it was made from do not matter."""
    made = RbmLearner(Rbm(hidden=H, **params), Baskets.from_matrix(STATES[1:]), fresh=True)
    made.W[:] = torch.randn(N, H, generator=torch.Generator().manual_seed(0))
    made.b[:] = torch.tensor([-1.0, 0.3, -0.5, 0.8, -0.2])
    made.c[:] = torch.tensor([0.5, -0.5, 0.1])
    return made


def log_likelihood(b: Doubles, W: Doubles, c: Doubles, V: npt.NDArray[Any], weights: Doubles) -> float:
    def minus_energy(v: npt.NDArray[Any]) -> Doubles:
        return np.asarray(v @ b + softplus(v @ W + c).sum(axis=1))

    return float(weights @ (minus_energy(V) - np.logaddexp.reduce(minus_energy(STATES))))


def slopes(made: RbmLearner, V: npt.NDArray[Any], weights: Doubles) -> list[Doubles]:
    """The exact gradient of the log-likelihood, by finite differences over an enumeration of all states."""
    parameters = [array.astype(np.float64) for array in made.arrays()]
    result = [np.zeros_like(array) for array in parameters]
    for array, slope in zip(parameters, result, strict=True):
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + 1e-5
            above = log_likelihood(*parameters, V, weights)
            array[at] = kept - 1e-5
            slope[at] = (above - log_likelihood(*parameters, V, weights)) / 2e-5
            array[at] = kept
    return result


def batch_of(V: npt.NDArray[Any], weights: npt.NDArray[np.float32]) -> Batch:
    baskets = Baskets.from_matrix(V)
    return Batch(baskets.indptr, baskets.indices, weights)


def uphill(made: RbmLearner, batch: Batch) -> list[torch.Tensor]:
    made.optimiser.zero_grad()
    made.gradients(batch)
    return [-part.grad for part in (made.b, made.W, made.c)]


def records(count: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    rng = np.random.default_rng(1)
    return (rng.random((count, N)) < [0.8, 0.7, 0.1, 0.2, 0.5]).astype(int), rng.uniform(0.5, 1.5, count).astype("f4")


def test_the_free_energy_gradient() -> None:
    """Both phases are sums of -dE: against finite differences of the energy itself."""
    made = learner()
    V, weights = records(12)
    made.pull(Visible.of(Baskets.from_matrix(V)), torch.from_numpy(weights))
    found = [part.grad for part in (made.b, made.W, made.c)]
    parameters = [array.astype(np.float64) for array in made.arrays()]

    def total() -> float:
        b, W, c = parameters
        return float(weights @ (V @ b + softplus(V @ W + c).sum(axis=1)))

    for array, gradient in zip(parameters, found, strict=True):
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + 1e-5
            above = total()
            array[at] = kept - 1e-5
            slope = (above - total()) / 2e-5
            array[at] = kept
            assert float(gradient[at]) == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("persistent", [False, True])
def test_long_chains_give_the_exact_gradient(persistent: bool) -> None:
    made = learner(steps=60, persistent=persistent, chains=20_000)
    V, weights = records(20_000)
    exact = slopes(made, V, weights.astype(np.float64))
    batch = batch_of(V, weights)
    for found, slope in zip(uphill(made, batch), exact, strict=True):
        np.testing.assert_allclose(found.numpy() / len(V), slope / len(V), atol=0.015)  # 4 standard errors
        assert np.abs(slope / len(V)).max() > 0.06  # else the line above could not fail


def test_one_step_is_biased_unless_the_chains_persist() -> None:
    """CD-1 starts at the records and stays near them; persistent chains reach the model however short a step is."""
    V, weights = records(20_000)
    batch, errors = batch_of(V, weights), []
    for persistent in (False, True):
        made = learner(steps=1, persistent=persistent, chains=20_000)
        exact = slopes(made, V, weights.astype(np.float64))
        for _ in range(60):
            found = uphill(made, batch)
        errors.append(max(np.abs(f.numpy() - s).max() / len(V) for f, s in zip(found, exact, strict=True)))
    assert errors[0] > 0.05
    assert errors[1] < 0.02


def test_the_loss_is_an_estimate_of_the_pseudo_likelihood() -> None:
    made = learner()
    V, weights = records(30)
    made.model.fit(V)
    made.model._keep(made)
    exact = -float(made.model.pseudo_log_likelihood(V) @ weights)
    draws = [made.pseudo_likelihood(batch_of(V, weights)) for _ in range(3000)]
    error = np.std(draws) / np.sqrt(len(draws))
    assert np.mean(draws) == pytest.approx(exact, abs=4 * error)
    assert error < 0.01 * exact


@pytest.mark.parametrize("persistent", [False, True])
def test_learning_raises_the_exact_likelihood(persistent: bool) -> None:
    V = np.repeat([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]], 100, axis=0)
    model = Rbm(hidden=H, epochs=60, persistent=persistent, batch=20, rate=0.01).fit(V)
    ones = np.full(len(V), 1 / len(V))
    parameters = [array.astype(np.float64) for array in (model.b_, model.W_, model.c_)]
    p = V.mean(axis=0)
    independent = float((p * np.log(p) + (1 - p) * np.log(1 - p)).sum())
    # independent items have -3.18, the three records that there are -ln 3 = -1.10
    assert log_likelihood(*parameters, V, ones) > 0.65 * independent


def test_the_same_seed_is_the_same_to_the_bit_and_another_is_not() -> None:
    baskets = Baskets.from_matrix(records(200)[0])
    one, two, other = (
        Rbm(hidden=4, epochs=3, persistent=True, random_state=seed).fit(baskets) for seed in (0, 0, 1)
    )  # fmt: skip
    np.testing.assert_array_equal(one.W_, two.W_)
    np.testing.assert_array_equal(one.b_, two.b_)
    assert not np.array_equal(one.W_, other.W_)


def test_going_on_changes_what_was_learned() -> None:
    baskets = Baskets.from_matrix(records(200)[0])
    model = Rbm(hidden=4, epochs=2).fit(baskets)
    before = model.W_.copy()
    model.partial_fit(baskets, epochs=1)
    assert 0 < np.abs(model.W_ - before).max() < 0.5


def test_decay_keeps_the_weights_small() -> None:
    baskets = Baskets.from_matrix(records(300)[0])
    free, held = (Rbm(hidden=4, epochs=60, decay=decay).fit(baskets) for decay in (0.0, 0.5))
    assert np.abs(held.W_).mean() < 0.5 * np.abs(free.W_).mean()


@pytest.mark.parametrize("chunk", [1, 2, 1024])
def test_items_drawn_in_pieces_keep_their_numbers(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With biases that leave no doubt, what is drawn is known, however the items are cut into pieces."""
    monkeypatch.setattr(rbm_learner, "CHUNK", chunk)
    made = RbmLearner(Rbm(hidden=2), Baskets.from_matrix(STATES[1:]), fresh=True)
    there = np.arange(len(made.b)) % 3 != 1
    with torch.no_grad():
        made.W.zero_()
        made.b.copy_(torch.from_numpy(np.where(there, 50.0, -50.0)))
    drawn = made.gibbs(Visible(torch.tensor([0, 1]), torch.tensor([0, 3]), 4))
    found = np.zeros((4, len(there)), dtype=bool)
    found[drawn.rows.numpy(), drawn.items.numpy()] = True
    np.testing.assert_array_equal(found, np.tile(there, (4, 1)))
