"""LBL: the softmax step against its own definition, by finite differences in float64, and what sampling leaves true."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from contract import TOY, Contract
from cooccur.baskets import Baskets
from cooccur.models.lbl import Lbl
from cooccur.training import softmax
from cooccur.training.batches import Batch
from cooccur.training.samples import draw_items
from cooccur.training.softmax import LogBilinear, choose_left_out

N = 7
BASKETS = Baskets.from_matrix(np.random.default_rng(0).random((6, N)) < 0.45)
BATCH = Batch(BASKETS.indptr, BASKETS.indices, np.linspace(0.5, 2, 6).astype(np.float32))
EACH = np.arange(BASKETS.nnz)


class TestLbl(Contract):
    spec = "lbl"
    trained_by_steps = True


class TestLblWithTwoVectorsAndSampledRivals(Contract):
    spec = "lbl:tied=no,negatives=20"
    trained_by_steps = True


def made_up(*, tied: bool = False, bias: bool = True) -> LogBilinear:
    g = torch.Generator().manual_seed(1)
    f, o, b = (torch.randn(*shape, generator=g, dtype=torch.float64) for shape in ((N, 3), (N, 3), (N,)))
    return LogBilinear(f, None if tied else o, b if bias else None)


def objective(model: LogBilinear, left_out: np.ndarray, rival_weights: np.ndarray | None = None) -> float:
    """The loss of the batch, one left-out item at a time."""
    f = model.f.numpy()
    g = f if model.g is None else model.g.numpy()
    b = np.zeros(N) if model.b is None else model.b.numpy()
    u = np.ones(N) if rival_weights is None else rival_weights
    total = 0.0
    for record in range(len(BASKETS)):
        items = BASKETS.row(record).tolist()
        gone = [place for place in left_out if BASKETS.indptr[record] <= place < BASKETS.indptr[record + 1]]
        for t in BASKETS.indices[gone].tolist():
            x = sum((f[i] for i in items if i != t), np.zeros(3))
            z = b + g @ x
            rivals = sum(u[j] * np.exp(z[j]) for j in range(N) if j not in items)
            weight = float(BATCH.weights[record]) * len(items) / len(gone)
            total += weight * (np.log(np.exp(z[t]) + rivals) - z[t])
    return total


def check_gradients(model: LogBilinear, left_out: np.ndarray, rival_weights: np.ndarray | None) -> None:
    for name, tensor in model.dense().items():
        values, gradient = tensor.numpy(), tensor.grad.numpy()
        for at in np.ndindex(values.shape):
            before = values[at]
            values[at] = before + 1e-5
            above = objective(model, left_out, rival_weights)
            values[at] = before - 1e-5
            slope = (above - objective(model, left_out, rival_weights)) / 2e-5
            values[at] = before
            assert gradient[at] == pytest.approx(slope, rel=1e-5, abs=1e-7), (name, at)


@pytest.mark.parametrize("cells", [softmax.CELLS, 3 * N])
@pytest.mark.parametrize(("tied", "bias"), [(False, True), (True, True), (True, False), (False, False)])
def test_loss_and_gradients(tied: bool, bias: bool, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "CELLS", cells)
    model = made_up(tied=tied, bias=bias)
    assert model.gradients(BATCH, EACH) == pytest.approx(objective(model, EACH), rel=1e-6)
    check_gradients(model, EACH, None)


@pytest.mark.parametrize("tied", [False, True])
def test_loss_and_gradients_of_some_left_out_items_and_sampled_rivals(tied: bool) -> None:
    rng = np.random.default_rng(2)
    sample, left_out = draw_items(np.full(N, 1 / N), 5, rng), choose_left_out(BATCH, 2, rng)
    assert 1 < len(sample.items) < N
    assert len(left_out) < BASKETS.nnz
    u = np.zeros(N)
    u[sample.items] = sample.weights
    model = made_up(tied=tied)
    assert model.gradients(BATCH, left_out, sample) == pytest.approx(objective(model, left_out, u), rel=1e-6)
    check_gradients(model, left_out, u)


def test_a_few_left_out_items_stand_for_all_of_them() -> None:
    """Over many draws loss and gradient average to those of all items."""
    model, rng = made_up(), np.random.default_rng(3)
    exact = model.gradients(BATCH, EACH)
    exact_f = model.f.grad.clone()
    draws = 3000
    losses, slopes = [], []
    for _ in range(draws):
        for part in model.dense().values():
            part.grad = None
        losses.append(model.gradients(BATCH, choose_left_out(BATCH, 1, rng)))
        slopes.append(model.f.grad.numpy().copy())
    error = np.std(losses) / np.sqrt(draws)
    assert np.mean(losses) == pytest.approx(exact, abs=4 * error)
    assert error < 0.02 * exact  # else the check above could not fail
    spread = np.std(slopes, axis=0) / np.sqrt(draws)
    assert (np.abs(np.mean(slopes, axis=0) - exact_f.numpy()) <= 5 * spread + 1e-9).all()


def test_the_sum_over_sampled_rivals_is_unbiased() -> None:
    rng, terms = np.random.default_rng(4), np.exp(np.random.default_rng(5).standard_normal(N))
    draw = np.linspace(1, 3, N) / np.linspace(1, 3, N).sum()
    sums = []
    for _ in range(20_000):
        sample = draw_items(draw, 4, rng)
        assert (sample.items[sample.slot[sample.items]] == sample.items).all()
        sums.append(terms[sample.items] @ sample.weights)
    error = np.std(sums) / np.sqrt(len(sums))
    assert np.mean(sums) == pytest.approx(terms.sum(), abs=4 * error)
    assert error < 0.01 * terms.sum()


def test_more_sampled_rivals_come_closer_to_the_exact_softmax() -> None:
    model, rng = made_up(), np.random.default_rng(6)
    draw = np.linspace(1, 3, N) / np.linspace(1, 3, N).sum()
    exact = model.gradients(BATCH, EACH)
    off = [
        np.mean([abs(model.gradients(BATCH, EACH, draw_items(draw, times, rng)) - exact) for _ in range(40)])
        for times in (3, 100, 100_000)
    ]
    assert off[0] > 3 * off[1] > 9 * off[2]
    assert off[2] < 0.01 * exact


def test_left_out_items_are_distinct_and_as_many_as_asked() -> None:
    rng, seen = np.random.default_rng(7), set()
    for _ in range(60):
        chosen = choose_left_out(BATCH, 2, rng)
        assert len(set(chosen.tolist())) == len(chosen)
        per_record = np.bincount(BATCH.rows[chosen], minlength=len(BATCH))
        assert per_record.tolist() == np.minimum(BASKETS.lengths, 2).tolist()
        seen |= set(chosen.tolist())
    assert seen == set(EACH.tolist())
    assert choose_left_out(BATCH, 0, rng).tolist() == EACH.tolist()


def test_without_a_bias_an_empty_basket_gets_the_popularity_order() -> None:
    model = Lbl(bias=False, epochs=2).fit(TOY)
    assert model.complete([]).items[0] == "bread"
    assert not model.b_.any()


def test_tied_is_one_vector_an_item() -> None:
    one, two = (Lbl(tied=tied, epochs=2).fit(TOY) for tied in (True, False))
    np.testing.assert_array_equal(one.F_, one.G_)
    assert not np.array_equal(two.F_, two.G_)


def test_going_on_starts_from_what_was_learned() -> None:
    model = Lbl(epochs=2).fit(TOY)
    before = model.F_.copy()
    model.set_params(rate=1e-6).partial_fit(TOY)
    np.testing.assert_allclose(model.F_, before, atol=1e-5)
    assert not np.array_equal(model.F_, before)


def test_the_reasons_are_the_products_of_the_vectors() -> None:
    model = Lbl(epochs=2).fit(TOY)
    reason = model.explain(["milk", "bread"], "butter")
    milk, butter = model.number("milk"), model.number("butter")
    assert dict(reason.shares)["milk"] == pytest.approx(float(model.F_[milk] @ model.G_[butter]), abs=1e-6)
    assert reason.prior == pytest.approx(float(model.b_[butter]), abs=1e-5)
