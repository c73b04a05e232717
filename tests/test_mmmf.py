"""MMMF: the turns end at the soft-thresholded singular value decomposition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from contract import TOY, Contract
from cooccur.models import mmmf as mmmf_module
from cooccur.models.mmmf import Mmmf, _objective, _ridge


class TestMmmf(Contract):
    spec = "mmmf"
    trained_by_steps = True  # l2 is chosen on held-out records, and which these are depends on the order


class TestMmmfWithGivenL2(Contract):
    spec = "mmmf:l2=2"


@pytest.fixture
def data() -> npt.NDArray[np.int64]:
    return (np.random.default_rng(1).random((200, 9)) < np.linspace(0.6, 0.1, 9)).astype(np.int64)


def test_the_turns_end_at_the_soft_thresholded_svd(
    monkeypatch: pytest.MonkeyPatch, data: npt.NDArray[np.int64]
) -> None:
    monkeypatch.setattr(mmmf_module, "ENOUGH", 0.0)
    model = Mmmf(factors=3, l2=2, iterations=2000).fit(data)
    _, sigma, Ut = np.linalg.svd(data.astype(float), full_matrices=False)
    M = Ut[:3].T * np.maximum(1 - 2 / sigma[:3], 0) @ Ut[:3]
    np.testing.assert_allclose(model.fold_in_ @ model.F_.T, M, atol=1e-4)
    np.testing.assert_allclose(
        np.nan_to_num(model.scores(data[:5])), np.where(data[:5] == 1, 0, data[:5] @ M), atol=1e-4
    )


def test_a_half_step_is_the_minimum_over_its_factor() -> None:
    rng = np.random.default_rng(0)
    V, F = rng.random((6, 4)), rng.random((4, 2))
    Z = _ridge(V @ F, F, 0.3)
    gradient = -2 * (V - Z @ F.T) @ F + 2 * 0.3 * Z
    np.testing.assert_allclose(gradient, 0, atol=1e-10)


def test_the_objective_is_the_one_on_paper() -> None:
    rng = np.random.default_rng(0)
    V = (rng.random((6, 4)) < 0.5).astype(float)
    Z, F = rng.random((6, 2)), rng.random((4, 2))
    expected = ((V - Z @ F.T) ** 2).sum() + 0.3 * ((F**2).sum() + (Z**2).sum())
    assert _objective(int(V.sum()), V.T @ Z, Z, F, 0.3) == pytest.approx(expected)


def test_more_turns_never_make_the_objective_worse(data: npt.NDArray[np.int64]) -> None:
    def value(turns: int) -> float:
        F = Mmmf(factors=3, l2=2, iterations=turns).fit(data).F_.astype(float)
        Z = _ridge(data @ F, F, 2)
        return _objective(int(data.sum()), data.T @ Z, Z, F, 2)

    values = [value(turns) for turns in (1, 2, 4, 8)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_the_reasons_add_up_to_the_score_exactly() -> None:
    reason = Mmmf(factors=2).fit(TOY).explain(["milk", "bread"], "butter")
    assert reason.prior == pytest.approx(0, abs=1e-6)
    assert sum(value for _, value in reason.shares) == pytest.approx(reason.score, abs=1e-6)


def test_an_item_in_no_record_is_neutral() -> None:
    model = Mmmf(factors=2).fit(np.array([[1, 1, 0, 0], [1, 0, 1, 0]]))
    known, lost = model.scores(np.array([[1, 0, 0, 0], [1, 0, 0, 1]]))
    np.testing.assert_array_equal(known[1:3], lost[1:3])
    assert known[3] == 0
    assert model._affinity(3).tolist() == [0, 0, 0, 0]


def test_l2_is_chosen_from_the_grid_and_kept(monkeypatch: pytest.MonkeyPatch, data: npt.NDArray[np.int64]) -> None:
    monkeypatch.setattr(mmmf_module, "GRID", (1 / 32, 100.0))  # the second leaves nothing but zeros
    chosen = Mmmf(factors=3).fit(data)
    assert chosen.l2_[0] == pytest.approx(np.sqrt(data.sum()) / 32)
    given = Mmmf(factors=3, l2=float(np.sqrt(data.sum()) / 32)).fit(data)
    np.testing.assert_array_equal(chosen.F_, given.F_)
