"""One hidden layer by hand says and learns what autograd does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cooccur.models import make_model
from cooccur.models.layers import Kind
from cooccur.synthetic import planted_shop
from cooccur.training import missing
from cooccur.training.batches import Batch
from cooccur.training.energy_learner import EnergyLearner
from cooccur.training.likelihood import Energy
from cooccur.training.one_layer import UNITS, quick_tanh
from cooccur.training.softmax import choose_left_out

BASKETS = planted_shop().sample(60)
BATCH = Batch(BASKETS.indptr, BASKETS.indices, np.linspace(0.5, 2, len(BASKETS)).astype(np.float32))


def made(kind: Kind, dropout: float, dtype: torch.dtype) -> Energy:
    g, n = torch.Generator().manual_seed(2), BASKETS.n_items
    b, B = (torch.randn(size, generator=g, dtype=dtype) for size in (n, 16))
    E, R = (0.5 * torch.randn(n, 16, generator=g, dtype=dtype) for _ in range(2))
    return Energy(
        n, b, None, E.requires_grad_(), [(None, B.requires_grad_())], R, dropout=dropout, kinds=(kind,), dtype=dtype,
        generator=g,
    )  # fmt: skip


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-9), (torch.float32, 2e-4)])
@pytest.mark.parametrize("spread", [0.0, 0.5])
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("which", [False, True])
def test_it_is_what_autograd_finds(
    units: str, spread: float, dtype: torch.dtype, close: float, which: bool, dropout: float
) -> None:  # fmt: skip
    left_out = choose_left_out(BATCH, 2, np.random.default_rng(0))
    found = []
    for by_hand in (True, False):
        energy = made(Kind(units, spread), dropout, dtype)
        assert energy.by_hand is not None
        if not by_hand:
            energy.by_hand = None
        for _ in range(2):  # the second time in the memory of the first
            loss = missing.gradients(energy, BATCH, left_out) if which else energy.gradients(BATCH)[0]
        found.append((loss, {name: part.grad.numpy() for name, part in energy.dense().items()}))
    (hand, ours), (auto, theirs) = found
    assert hand == pytest.approx(auto, rel=close)
    for name, expected in theirs.items():
        assert np.abs(expected).max() > 0.01
        np.testing.assert_allclose(ours[name], expected, rtol=close, atol=close * np.abs(expected).max(), err_msg=name)


def test_other_layers_are_left_to_autograd() -> None:
    assert EnergyLearner(make_model("dem:hidden=8x4,pairs=no"), BASKETS, fresh=True).energy.by_hand is None
    portable = EnergyLearner(make_model("dem:hidden=8,pairs=no"), BASKETS, fresh=True, portable=True)
    assert portable.energy.by_hand is None


def test_the_quick_tanh() -> None:
    x = np.concatenate((np.linspace(-12, 12, 200_001), [-1e30, 1e30, 1e-20, 0])).astype(np.float32)[:, None]
    found = x.copy()
    quick_tanh(found)
    np.testing.assert_allclose(found, np.tanh(x.astype(np.float64)), atol=2e-7)
    assert np.abs(found).max() <= 1
    assert found[-1] == 0
