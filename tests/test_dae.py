"""DAE: the step against its own definition, by finite differences in float64, and what the parameters mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from contract import TOY, Contract
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import make_model
from cooccur.models.dae import Dae
from cooccur.training.batches import Batch
from cooccur.training.dae_learner import Autoencoder, DaeLearner
from cooccur.training.samples import draw_items

N, SCALE = 9, 1.5
BASKETS = Baskets.from_matrix(np.random.default_rng(0).random((6, N)) < [0.45] * (N - 2) + [0.0] * 2)
BATCH = Batch(BASKETS.indptr, BASKETS.indices, np.linspace(0.5, 2, 6).astype(np.float32))
KEEP = np.random.default_rng(1).random(BASKETS.nnz) < 0.6


class TestDae(Contract):
    spec = "dae"
    trained_by_steps = True


def made_up(*sizes: int, kept: float) -> Autoencoder:
    g = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    below = (None, *sizes[:-1])
    layers = [
        (None if b is None else normal(h, b).requires_grad_(), normal(h).requires_grad_())
        for b, h in zip(below, sizes, strict=True)
    ]
    return Autoencoder(normal(N, sizes[0]).requires_grad_(), layers, normal(N, sizes[-1]), normal(N), kept, SCALE)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def objective(dae: Autoencoder, absent_weights: np.ndarray) -> float:
    """The loss of the batch, one record and one item at a time."""
    E, R, b = (tensor.detach().numpy() for tensor in (dae.E, dae.R, dae.b))
    total = 0.0
    for record in range(len(BASKETS)):
        own = slice(BASKETS.indptr[record], BASKETS.indptr[record + 1])
        items, keep = BASKETS.indices[own].tolist(), KEEP[own]
        h = sum((E[i] * SCALE for i, seen in zip(items, keep, strict=True) if seen), np.zeros(E.shape[1]))
        for W, B in dae.layers:
            h = sigmoid((h if W is None else W.detach().numpy() @ h) + B.detach().numpy())
        p = sigmoid(b + R @ h)
        for t in range(N):
            here = t in items
            counts = absent_weights[t] if not here else dae.kept if keep[items.index(t)] else 1.0
            total -= float(BATCH.weights[record]) * counts * np.log(p[t] if here else 1 - p[t])
    return total


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("sizes", "kept"), [((4,), 1.0), ((4,), 0.3), ((4, 3), 1.0), ((4, 3, 2), 0.3)])
def test_loss_and_gradients(sizes: tuple[int, ...], kept: float, sampled: bool) -> None:
    assert 0 < KEEP.sum() < len(KEEP)
    dae, sample, u = made_up(*sizes, kept=kept), None, np.ones(N)
    if sampled:
        sample = draw_items(np.full(N, 1 / N), 4, np.random.default_rng(2), beside=BATCH.indices)
        u = np.zeros(N)
        u[sample.items] = sample.weights
        assert (u[BATCH.indices] == 0).any()
        assert len(sample.items) < N
    assert dae.gradients(BATCH, KEEP, sample) == pytest.approx(objective(dae, u), rel=1e-6)
    assert len(dae.dense()) == 2 + 2 * len(sizes)  # E, R, b, and W_i, B_i but for W_1, which is E
    for name, tensor in dae.dense().items():
        values, gradient = tensor.detach().numpy(), tensor.grad.numpy()
        for at in np.ndindex(values.shape):
            before = values[at]
            values[at] = before + 1e-5
            above = objective(dae, u)
            values[at] = before - 1e-5
            slope = (above - objective(dae, u)) / 2e-5
            values[at] = before
            assert gradient[at] == pytest.approx(slope, rel=1e-5, abs=1e-7), (name, at)


@pytest.mark.parametrize("hidden", ["5", "5x3"])
def test_the_score_is_the_decoder_given_the_whole_basket(hidden: str) -> None:
    """What numpy predicts is what torch learned: the loss of a record without corruption, from the scores."""
    model = Dae(hidden=hidden, epochs=2).fit(TOY)
    data = Baskets.from_lists(TOY)
    z = model._scores(data).astype(np.float64)
    expected = np.logaddexp(0, np.where(data.matrix.toarray() > 0, -z, z)).sum()
    batch = Batch(data.indptr, data.indices, np.ones(len(data), dtype=np.float32))
    learner = DaeLearner(model.set_params(corruption=0.0, kept=1.0), data, fresh=False)
    assert learner.dae.gradients(batch, np.ones(data.nnz, dtype=bool)) == pytest.approx(expected, rel=1e-4)


def test_items_are_dropped_anew_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[np.ndarray] = []
    monkeypatch.setattr(Autoencoder, "gradients", lambda self, batch, keep, sample: dropped.append(~keep) or 0.0)
    learner = DaeLearner(Dae(corruption=0.3), BASKETS, fresh=True)
    for _ in range(500):
        learner.step(BATCH, 1.0)
    assert np.mean(dropped) == pytest.approx(0.3, abs=0.03)
    assert np.mean(dropped, axis=0).min() > 0
    assert np.mean(dropped, axis=0).max() < 1


def test_going_on_starts_from_what_was_learned() -> None:
    model = Dae(hidden="5x3", epochs=2).fit(TOY)
    before = {name: getattr(model, name).copy() for name in model.arrays}
    model.set_params(rate=1e-6).partial_fit(TOY)
    for name, array in before.items():
        np.testing.assert_allclose(getattr(model, name), array, atol=1e-5)
    assert not np.array_equal(model.E_, before["E_"])


@pytest.mark.parametrize("hidden", ["none", "64x", "0", "wide"])
def test_a_hidden_layer_is_needed(hidden: str) -> None:
    with pytest.raises(ParameterError, match=f"dae: hidden = '{hidden}'; expected "):
        make_model("dae", hidden=hidden)
