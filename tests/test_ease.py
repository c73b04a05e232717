"""EASE: the closed form solves the regressions it stands for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from contract import TOY, Contract
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import ease as ease_module
from cooccur.models import make_model
from cooccur.models.ease import Ease


class TestEase(Contract):
    spec = "ease"


class TestEasePlain(Contract):
    spec = "ease:plain"


@pytest.fixture
def data() -> npt.NDArray[np.int64]:
    """200 records over 9 items; the last item is in none of them."""
    matrix = (np.random.default_rng(1).random((200, 9)) < np.linspace(0.6, 0.1, 9)).astype(np.int64)
    matrix[:, 8] = 0
    return matrix


@pytest.mark.parametrize("centred", [False, True])
def test_each_column_is_the_ridge_regression_on_the_other_items(data: npt.NDArray[np.int64], centred: bool) -> None:
    model = Ease(l2=3, centred=centred).fit(data)
    X = data[:, :8] - (data[:, :8].mean(axis=0) if centred else 0.0)
    for t in range(8):
        others = np.delete(X, t, axis=1)
        weights = np.linalg.solve(others.T @ others + 3 * np.eye(7), others.T @ X[:, t])
        np.testing.assert_allclose(np.delete(model.B_[:, t], t), weights, atol=1e-5)
        assert model.B_[t, t] == 0


def test_centred_score_is_the_share_plus_the_weighted_deviations(data: npt.NDArray[np.int64]) -> None:
    model = Ease(l2=3, centred=True).fit(data)
    m = data.mean(axis=0)[:8]
    v = np.array([[1, 0, 1, 0, 0, 1, 0, 0]])
    expected = m + (v - m) @ model.B_
    scores = model.scores(np.append(v, [[0]], axis=1))[0]
    np.testing.assert_allclose(scores[:8][v[0] == 0], expected[0][v[0] == 0], atol=1e-6)
    assert scores[8] == 0  # in no record: its share


def test_dense_blocks_give_the_same_inverse(monkeypatch: pytest.MonkeyPatch, data: npt.NDArray[np.int64]) -> None:
    whole = Ease().fit(data).B_
    monkeypatch.setattr(ease_module, "BLOCK", 3)
    np.testing.assert_allclose(Ease().fit(data).B_, whole, atol=1e-6)


def test_above_max_items_only_the_most_frequent_take_part(data: npt.NDArray[np.int64]) -> None:
    model = Ease(l2=3, max_items=4).fit(data)
    most = np.sort(np.argsort(-data.sum(axis=0), kind="stable")[:4])
    assert model.kept_.tolist() == most.tolist()
    small = Ease(l2=3).fit(data[:, most])
    ask = data[:20].copy()
    ask[:, np.setdiff1d(np.arange(9), most)] = 0
    np.testing.assert_allclose(model.scores(ask)[:, most], small.scores(ask[:, most]), atol=1e-6)
    left_out = np.setdiff1d(np.arange(9), most)
    ask[:, most[0]] = 1
    np.testing.assert_allclose(model.scores(ask)[:, left_out], np.tile(data.mean(axis=0)[left_out], (20, 1)), rtol=1e-5)
    only_left_out = np.zeros((1, 9), dtype=int)
    only_left_out[0, left_out[0]] = 1
    np.testing.assert_allclose(model.scores(only_left_out)[0, most], data.mean(axis=0)[most], rtol=1e-5)


def test_an_item_that_was_left_out_has_reasons_and_neighbours() -> None:
    model = Ease(max_items=3).fit(TOY)
    assert model.number("honey") not in model.kept_
    assert model.similar_items("honey", k=1).suggestions[0].score == 0
    assert model.explain(["milk", "bread"], "honey").shares == (("milk", 0.0), ("bread", 0.0))
    reason = model.explain(["milk", "honey"], "bread")
    assert dict(reason.shares)["honey"] == 0
    assert dict(reason.shares)["milk"] > 0


@pytest.mark.parametrize("centred", [False, True])
def test_the_reasons_are_the_weights(centred: bool) -> None:
    model = Ease(centred=centred).fit(TOY)
    milk, tea, bread = (model.number(name) for name in ("milk", "tea", "bread"))
    reason = model.explain(["milk", "tea"], "bread")
    assert dict(reason.shares) == {"milk": float(model.B_[milk, bread]), "tea": float(model.B_[tea, bread])}
    assert reason.prior == pytest.approx(float(model.c_[bread]), abs=1e-6)
    assert reason.rest == 0


def test_similar_items_is_the_partial_correlation(data: npt.NDArray[np.int64]) -> None:
    model = Ease(l2=3, centred=True).fit(data)
    X = data[:, :8] - data[:, :8].mean(axis=0)
    P = np.linalg.inv(X.T @ X + 3 * np.eye(8))
    affinity = model._affinity(2)[:8]
    expected = -P[2] / np.sqrt(P[2, 2] * P.diagonal())
    expected[2] = 0
    np.testing.assert_allclose(affinity, expected, atol=1e-5)


def test_a_matrix_that_cannot_be_inverted_is_one_clear_error() -> None:
    matrix = np.ones((100_000, 3), dtype=np.int8)  # equal columns, and a ridge below single precision
    with pytest.raises(ParameterError, match="cannot be inverted in single precision; raise l2"):
        Ease(l2=0.001, centred=False).fit(matrix)


def test_presets() -> None:
    assert make_model("ease:centred").get_params()["centred"] is True
    assert make_model("ease:plain").get_params()["centred"] is False
    assert Baskets.from_lists(TOY).n_items == len(Ease().fit(TOY).kept_)


def test_l2_follows_the_mean_length_of_records_that_have_an_item() -> None:
    model = Ease().fit(np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0]]))
    assert model.l2_.tolist() == [6.0]
    assert Ease(l2=5).fit(TOY).l2_.tolist() == [5.0]
