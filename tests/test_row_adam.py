"""Adam by rows ends where torch's Adam over all rows ends."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cooccur.models import make_model
from cooccur.synthetic import planted_shop
from cooccur.training.batches import Batch
from cooccur.training.energy_learner import EnergyLearner
from cooccur.training.learner import Learner
from cooccur.training.row_adam import REACH, RowAdam
from cooccur.training.steps import descend, gradient

N, H = 60, 3


def run(steps: int, every: int) -> tuple[torch.Tensor, torch.Tensor, RowAdam]:
    """The same gradients for both; one row has none after the first step, so it slides far."""
    rng = np.random.default_rng(0)
    some = torch.from_numpy(rng.normal(size=(N, H)).astype(np.float32))
    whole = some.clone()
    pull, start = torch.from_numpy(rng.normal(size=(N, H)).astype(np.float32)), some.clone()
    adam, dense = RowAdam(some, 0.02), torch.optim.Adam([whole], lr=0.02)
    for step in range(steps):
        rows = np.sort(rng.choice(N - 1, 4, replace=False)) if step else np.array([N - 1])
        rate = 1 - 0.5 * step / steps
        adam.bring(rows)
        slope = pull[rows] + torch.from_numpy(rng.normal(size=(len(rows), H)).astype(np.float32))
        for parameter in (some, whole):
            gradient(parameter)[rows] += slope
        adam.step(8, rate)
        descend(dense, 8, rate)
        if step % every == every - 1:
            adam.settle()
    adam.settle()
    moved = (start - whole).abs().max(dim=1).values
    assert moved[-1] > 0.01  # it slides
    assert steps < N or moved.min() > 0.01
    return some, whole, adam


@pytest.mark.parametrize(("steps", "every"), [(5, 100), (3 * REACH, 10_000), (3 * REACH, 50)])
def test_by_rows_it_ends_where_all_rows_end(steps: int, every: int) -> None:
    some, whole, adam = run(steps, every)
    np.testing.assert_allclose(some.numpy(), whole.numpy(), atol=1e-4)
    assert not adam.g.any()


def test_a_row_is_left_alone_until_it_is_needed() -> None:
    w = torch.ones(3, 1)
    adam = RowAdam(w, 0.1)
    for rows in ([0, 1], [1]):
        adam.bring(np.array(rows))
        gradient(w)[rows] = 1
        adam.step(1)
    still = w[0].item()
    adam.bring(np.array([0]))
    assert w[0].item() < still
    assert w[2].item() == 1


@pytest.mark.parametrize(
    "spec",
    ["dem:pairs=no,start=calm", "dem:pairs=no,start=free", "multvae:hidden=8x4", "dae:hidden=8", "lbl", "lbl:tied=yes"],
)
def test_learners_that_draw_items_move_the_rows_they_have_seen(spec: str) -> None:
    """Each row of the items ends where it would if all rows moved at each step, and a new learner goes on from the
    state of the old one to the bit."""
    baskets = planted_shop().sample(300)
    model = make_model(spec, negatives=5, validation=0.0, batch=10)
    if spec.startswith("dem"):
        model._begin(model.start)
        model._alone = True

    def made() -> Learner:
        return model._learner(baskets, True, lambda *_: None)

    some, every, third = made(), made(), made()
    assert some.by_rows
    assert all(adam.parameter.shape[0] == baskets.n_items for adam in some.by_rows)
    all_rows = np.arange(baskets.n_items)
    every.bring = lambda *rows: [adam.bring(all_rows) for adam in every.by_rows]  # type: ignore[method-assign]
    parts = [baskets[start : start + 10] for start in range(0, 200, 10)]
    weights = np.ones(10, dtype=np.float32)
    for part in parts[:10]:
        for learner in (some, every):
            learner.step(Batch(part.indptr, part.indices, weights), 1.0)
    for found, expected in zip(some.settled(), every.settled(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    third.set_state({name: np.array(value) for name, value in some.state().items()})
    for part in parts[10:]:
        for learner in (some, third):
            learner.step(Batch(part.indptr, part.indices, weights), 0.5)
    for found, expected in zip(some.settled(), third.settled(), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_all_rows_move_where_all_are_asked_or_pulled() -> None:
    baskets = planted_shop().sample(100)
    for spec in ("dem:pairs=no,start=calm", "dem:pairs=no,start=calm,negatives=5,decay=0.1"):
        assert not EnergyLearner(make_model(spec), baskets, fresh=True).by_rows
