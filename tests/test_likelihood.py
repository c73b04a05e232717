"""The pseudo-likelihood step against its own definition: loss and gradients by finite differences in float64."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import numpy.typing as npt
import pytest
import torch

from cooccur.baskets import Baskets
from cooccur.models import make_model
from cooccur.models.layers import Kind
from cooccur.training import missing
from cooccur.training.batches import Batch
from cooccur.training.energy_learner import EnergyLearner
from cooccur.training.likelihood import Energy
from cooccur.training.pair_term import PairTerm
from cooccur.training.samples import Sample
from cooccur.training.softmax import choose_left_out

Floats = npt.NDArray[np.float64]
N = 7


def everything_linked() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """A support with all pairs but (0, 3)."""
    rows = [[t for t in range(N) if t != i and {i, t} != {0, 3}] for i in range(N)]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return starts, np.array([t for row in rows for t in row], dtype=np.int32)


def made_up(
    hidden: tuple[int, ...], *, bias: bool, pairs: bool, sharpness: float = 0.0, units: str = "sigmoid",
    spreads: tuple[float, ...] = (0.0,),
) -> Energy:  # fmt: skip
    g = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    energy = Energy(N, normal(N) if bias else None, None, sharpness=sharpness, dtype=torch.float64)
    energy.kinds = [Kind(*both) for both in zip(units.split("+"), spreads, strict=True)]
    if pairs:
        starts, columns = everything_linked()
        energy.pairs = PairTerm.zeros(starts, columns, np.float64)
        energy.pairs.weights[:] = normal(len(columns)).numpy()
    if hidden:
        energy.E = normal(N, hidden[0]).requires_grad_()
        below = (None, *hidden[:-1])
        energy.layers = [
            (None if b is None else normal(h, b).requires_grad_(), normal(h).requires_grad_())
            for b, h in zip(below, hidden, strict=True)
        ]
        energy.R = normal(N, sum(hidden))
    return energy


BASKETS = Baskets.from_matrix(np.random.default_rng(0).random((6, N)) < 0.45)
BATCH = Batch(BASKETS.indptr, BASKETS.indices, np.linspace(0.5, 2, 6).astype(np.float32))


F = {"tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: x * (x > 0)}


def log_odds(energy: Energy, t: int, items: list[int]) -> float:
    """phi(t, v) by the formula, one pair at a time."""
    rest = [i for i in items if i != t]
    phi = float(energy.b[t]) if energy.b is not None else 0.0
    if energy.pairs is not None:
        p = energy.pairs
        for i in rest:
            for q in range(p.starts[i], p.starts[i + 1]):
                phi += float(p.weights[q]) if p.columns[q] == t else 0.0
    if energy.E is not None and energy.R is not None:
        E, layers = energy.E.detach().numpy(), []
        nets = len(energy.kinds)
        a = np.repeat([max(len(rest), 1) ** -kind.spread for kind in energy.kinds], E.shape[1] // nets)
        a = a * E[rest].sum(axis=0)
        for W, B in energy.layers:
            a = (a if W is None else W.detach().numpy() @ layers[-1]) + B.detach().numpy()
            parts = np.split(a, nets)
            layers.append(np.concatenate([F[kind.units](x) for kind, x in zip(energy.kinds, parts, strict=True)]))
        phi += float(energy.R[t].numpy() @ np.concatenate(layers))
    return phi


def objective(energy: Energy) -> float:
    """The loss of the batch, term by term."""
    total = 0.0
    for record in range(len(BASKETS)):
        items = BASKETS.row(record).tolist()
        for t in range(N):
            p = 1 / (1 + np.exp(-log_odds(energy, t, items)))
            if t not in items:
                cost = -np.log(1 - p)
            elif energy.sharpness:
                cost = (1 - p**energy.sharpness) / energy.sharpness
            else:
                cost = -np.log(p)
            total += float(BATCH.weights[record]) * cost
    return total


CASES = [
    ((), True, True, 0.0, "tanh", (0.5,)), ((5,), True, True, 0.0, "sigmoid", (0.0,)),
    ((5, 3), True, True, 0.0, "tanh", (0.5,)), ((4, 3, 2), False, False, 0.0, "sigmoid", (0.5,)),
    ((5, 3), True, True, 0.4, "tanh", (0.0,)), ((), True, False, 0.0, "tanh", (0.5,)),
    ((), False, True, 0.0, "tanh", (0.5,)), ((6, 2), True, True, 0.0, "tanh+relu", (0.5, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("hidden", "bias", "pairs", "sharpness", "units", "spreads"), CASES)
def test_loss_and_gradients(
    hidden: tuple[int, ...], bias: bool, pairs: bool, sharpness: float, units: str, spreads: tuple[float, ...]
) -> None:
    energy = made_up(hidden, bias=bias, pairs=pairs, sharpness=sharpness, units=units, spreads=spreads)
    loss, delta, slot = energy.gradients(BATCH)
    assert loss == pytest.approx(objective(energy), rel=1e-6)
    checked = {name: (tensor.detach().numpy(), tensor.grad.numpy()) for name, tensor in energy.dense().items()}
    if energy.pairs is not None:
        gradient = np.zeros_like(energy.pairs.weights)
        items, out_starts, values = energy.pairs.gradient(delta, BATCH, slot)
        for j, i in enumerate(items):
            row = slice(energy.pairs.starts[i], energy.pairs.starts[i + 1])
            gradient[row] = -values[out_starts[j] : out_starts[j + 1]]
        checked["pairs"] = energy.pairs.weights, gradient
    check_slopes(checked, lambda: objective(energy))


def check_slopes(checked: dict[str, tuple[Floats, Floats]], objective: Callable[[], float]) -> None:
    assert checked
    for name, (values, gradient) in checked.items():
        for at in np.ndindex(values.shape):
            before = values[at]
            values[at] = before + 1e-5
            above = objective()
            values[at] = before - 1e-5
            slope = (above - objective()) / 2e-5
            values[at] = before
            assert gradient[at] == pytest.approx(slope, rel=1e-5, abs=1e-7), (name, at)


@pytest.mark.parametrize("hidden", [(5,), (4, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_which_item_is_missing(hidden: tuple[int, ...], bias: bool) -> None:
    """Loss and gradients where two items of each record are left out: by their definition."""
    energy = made_up(hidden, bias=bias, pairs=False, units="relu")
    left_out = choose_left_out(BATCH, 2, np.random.default_rng(0))

    def objective() -> float:
        total = 0.0
        for place in left_out:
            record, t = BATCH.rows[place], int(BATCH.indices[place])
            items = BASKETS.row(record).tolist()
            rest = [i for i in items if i != t]
            phi = [log_odds(energy, j, rest) for j in range(N) if j == t or j not in items]
            alike = float(np.sum(BATCH.rows[left_out] == record))
            own = log_odds(energy, t, rest)
            total += float(BATCH.weights[record]) / alike * (float(np.log(np.sum(np.exp(phi)))) - own)
        return total

    loss = missing.gradients(energy, BATCH, left_out)
    assert loss == pytest.approx(objective(), rel=1e-6)
    dense = energy.dense().items()
    check_slopes({name: (tensor.detach().numpy(), tensor.grad.numpy()) for name, tensor in dense}, objective)

    everything = Sample(np.arange(N), np.ones(N, dtype=np.float32), np.arange(N))
    exact = {name: tensor.grad.clone() for name, tensor in dense}
    for _, tensor in dense:
        tensor.grad = None
    assert missing.gradients(energy, BATCH, left_out, everything) == pytest.approx(loss)
    for name, tensor in dense:
        torch.testing.assert_close(tensor.grad, exact[name])


def test_tied_gradient_is_the_sum_of_both_directions() -> None:
    energy = made_up((), bias=True, pairs=True)
    assert energy.pairs is not None
    _, delta, slot = energy.gradients(BATCH)
    items, out_starts, values = energy.pairs.gradient(delta, BATCH, slot)
    rows = np.repeat(np.arange(N), np.diff(energy.pairs.starts))
    dense = np.zeros((N, N))
    for j, i in enumerate(items):
        row = slice(energy.pairs.starts[i], energy.pairs.starts[i + 1])
        dense[i, energy.pairs.columns[row]] = values[out_starts[j] : out_starts[j + 1]]
    _, _, symmetric = energy.pairs._symmetric(items, out_starts, values)
    np.testing.assert_allclose(symmetric, (dense + dense.T)[rows, energy.pairs.columns])


@pytest.mark.parametrize(("sampling", "pairs"), [("popular", "learned"), ("uniform", "learned"), ("popular", "no")])
def test_sampled_objective_is_unbiased(sampling: str, pairs: str) -> None:
    """Over many draws loss and gradients of T weighted negatives average to the exact ones."""
    energy = made_up((4,), bias=True, pairs=pairs == "learned")
    model = make_model("dem", pairs=pairs, negatives=3, sampling=sampling, validation=0.0)
    learner = EnergyLearner(model, BASKETS, fresh=True)
    exact_loss, exact_delta, _ = energy.gradients(BATCH)
    exact = {name: tensor.grad.numpy().copy() for name, tensor in energy.dense().items()}
    losses, sums, square = [], {name: np.zeros_like(g) for name, g in exact.items()}, {}
    square = {name: np.zeros_like(g) for name, g in exact.items()}
    exact_delta = exact_delta.clone()  # the next call takes its memory
    delta_sum = np.zeros(exact_delta.shape)
    draws = 6_000
    for _ in range(draws):
        sample = learner._sample(BATCH)
        for tensor in energy.dense().values():
            tensor.grad = None
        loss, delta, _ = energy.gradients(BATCH, sample)
        losses.append(loss)
        delta_sum[:, sample.items] += delta.numpy()
        for name, tensor in energy.dense().items():
            g = tensor.grad.numpy()
            sums[name] += g
            square[name] += g * g
    error = np.std(losses) / np.sqrt(draws)
    assert np.mean(losses) == pytest.approx(exact_loss, abs=4 * error)
    assert error < 0.03 * exact_loss  # else the check above could not fail
    for name, total in sums.items():
        spread = np.sqrt(np.maximum(square[name] / draws - (total / draws) ** 2, 0) / draws)
        assert (np.abs(total / draws - exact[name]) <= 5 * spread + 1e-9).all(), name
    if pairs == "learned":
        np.testing.assert_allclose(delta_sum / draws, exact_delta.numpy(), atol=0.1)


def test_one_thread_or_two_the_pair_term_is_the_same_to_the_bit() -> None:
    baskets = Baskets.from_matrix(np.random.default_rng(3).random((300, 80)) < 0.1)
    results = []
    threads = numba.get_num_threads()
    for count in (1, 2):
        if count > numba.config.NUMBA_NUM_THREADS:
            pytest.skip("this process may use one thread only")
        numba.set_num_threads(count)
        model = make_model("fvbm", epochs=3, batch=32, validation=0.0).fit(baskets)
        results.append((model.weights_.copy(), model.b_.copy()))
    numba.set_num_threads(threads)
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_plain_descent_moves_only_the_rows_that_have_a_gradient() -> None:
    """And ends where descent over all weights ends."""
    model = make_model("dem:paper,hidden=4x3,negatives=3,validation=0")
    some, every = (EnergyLearner(model, BASKETS, fresh=True) for _ in range(2))
    assert len(some.plain) == 3
    every.plain, every.optimiser = [], torch.optim.SGD(every.dense, lr=model._rate())
    for _ in range(5):
        for learner in (some, every):
            learner.step(BATCH, 0.5)
    for found, expected in zip(some.arrays(), every.arrays(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    assert not np.allclose(some.arrays()[0], EnergyLearner(model, BASKETS, fresh=True).arrays()[0])
