"""Graph methods and the random walk against their formulas on dense float64 matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cooccur.baskets import Baskets
from cooccur.models import lrw, make_model
from cooccur.models.base import Model
from cooccur.models.lrw import _walk_over
from cooccur.pairs import cooccurrence

Dense = npt.NDArray[np.float64]
ITEMS = [f"i{n}" for n in range(9)]


@st.composite
def data(draw: st.DrawFn) -> Baskets:
    """Records over nine items; now and then an item that never occurs, or occurs only alone."""
    shape = draw(st.integers(1, 12)), len(ITEMS)
    cells = draw(st.lists(st.sampled_from([0, 0, 1]), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    matrix = np.array(cells).reshape(shape)
    matrix[0, 0] = 1
    return Baskets.from_matrix(matrix, ITEMS)


def pairs(V: Dense, length: float = 0.0) -> Dense:
    """C_it = sum over records of |I_v|^-length, no diagonal, written as three plain loops."""
    C = np.zeros((V.shape[1], V.shape[1]))
    for v in V:
        own = np.flatnonzero(v)
        for i in own:
            for t in own:
                if i != t:
                    C[i, t] += float(len(own)) ** -length
    return C


def expected(V: Dense, ask: Dense, W: Dense) -> Dense:
    """s = v W, the popularity order for a record without an edge, NaN for its own items."""
    scores = ask @ W
    scores[(ask @ (W > 0)).sum(axis=1) == 0] = V.sum(axis=0)
    return np.where(ask > 0, np.nan, scores)


def check(model: Model, baskets: Baskets, W: Dense) -> None:
    V = baskets.matrix.toarray().astype(float)
    ask = np.vstack([V, np.eye(len(ITEMS)), np.zeros(len(ITEMS))])
    np.testing.assert_allclose(model.fit(baskets).scores(ask), expected(V, ask, W), rtol=1e-5, atol=1e-6)


def divided(V: Dense) -> dict[str, Dense]:
    C, n = pairs(V), np.maximum(V.sum(axis=0), 1)
    return {
        "cvg": C,
        "normcvg": C / n[:, None],
        "normcvg:by=source": C / n[:, None],
        "normcvg:by=target": C / n,
        "normcvg:by=both": C / np.sqrt(np.outer(n, n)),
        "normcvg:by=edges": C / np.maximum(C.sum(axis=1), 1)[:, None],
        "lwcvg": pairs(V, 1.0) / n[:, None] ** 0.7,
        "lwcvg:length=0.5,source=1,target=0.3": pairs(V, 0.5) / n[:, None] / n**0.3,
        "lwcvg:length=0,source=0,target=0": C,
    }


@pytest.mark.parametrize("spec", divided(np.eye(2)))
@settings(max_examples=25, deadline=None)
@given(baskets=data())
def test_scores_are_those_of_the_formula(spec: str, baskets: Baskets) -> None:
    check(make_model(spec), baskets, divided(baskets.matrix.toarray())[spec])


@settings(deadline=None)
@given(data(), st.sampled_from([0.0, 1.0, 0.5]))
def test_cooccurrence(baskets: Baskets, length: float) -> None:
    C = cooccurrence(baskets, length)
    np.testing.assert_allclose(C.toarray(), pairs(baskets.matrix.toarray(), length), rtol=1e-6)
    assert (C.data > 0).all()
    assert C.has_sorted_indices


def walks(V: Dense, steps: int, total: bool) -> Dense:
    C = pairs(V)
    P = C / np.maximum(C.sum(axis=1), 1)[:, None]
    powers = [np.linalg.matrix_power(P, step) for step in range(1, steps + 1)]
    return sum(powers) if total else powers[-1]


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@settings(max_examples=20, deadline=None)
@given(baskets=data())
def test_the_walk_is_a_power_of_the_transition_matrix(baskets: Baskets, steps: int, total: bool) -> None:
    W = walks(baskets.matrix.toarray().astype(float), steps, total)
    check(make_model("lrw", steps=steps, total=total), baskets, W)


def test_a_block_of_walkers_ends_where_single_ones_do() -> None:
    """More records than share a pass over the matrix."""
    V = (np.random.default_rng(0).random((150, len(ITEMS))) < 0.3).astype(float)
    baskets = Baskets.from_matrix(V, ITEMS)
    scores = make_model("lrw", steps=3).fit(baskets).scores(baskets)
    np.testing.assert_allclose(scores, expected(V, V, walks(V, 3, False)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("total", [False, True])
@settings(max_examples=20, deadline=None)
@given(baskets=data())
def test_a_walk_over_the_records_needs_no_matrix_of_pairs(baskets: Baskets, total: bool) -> None:
    V = baskets.matrix.toarray().astype(float)
    for steps, found in enumerate(_walk_over(baskets, baskets, 4, total), start=1):
        np.testing.assert_allclose(found, V @ walks(V, steps, total), rtol=1e-4, atol=1e-5)


def test_one_step_is_normcvg_by_edges() -> None:
    baskets = Baskets.from_matrix(np.random.default_rng(1).random((60, 9)) < 0.3, ITEMS)
    walk, graph = (make_model(spec).fit(baskets).scores(baskets) for spec in ("lrw:steps=1", "normcvg:by=edges"))
    np.testing.assert_allclose(walk, graph, rtol=1e-6)


@pytest.mark.parametrize("many_pairs", [False, True])
def test_the_number_of_steps_is_chosen_by_held_out_records(many_pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups that overlap in nothing but chains: neighbours of neighbours are never asked for."""
    near = Baskets.from_lists([["a", "b"], ["c", "d"]] * 50)
    monkeypatch.setattr(lrw, "expected_pairs", lambda baskets: 10**6 if many_pairs else 0)
    model = make_model("lrw").fit(near)
    assert model.steps_.tolist() == [1]  # type: ignore[attr-defined]
    assert model.complete(["a"], k=1).items == ["b"]


GRAPHS = ["cvg", "normcvg", "normcvg:by=target", "normcvg:by=both", "normcvg:by=edges", "lwcvg"]


@pytest.mark.parametrize("spec", GRAPHS)
@settings(max_examples=20, deadline=None)
@given(baskets=data(), at=st.data())
def test_reasons_are_the_edges(spec: str, baskets: Baskets, at: Any) -> None:
    model = make_model(spec).fit(baskets)
    W = divided(baskets.matrix.toarray())[spec]
    basket = at.draw(st.lists(st.sampled_from(ITEMS), unique=True, max_size=4))
    item = at.draw(st.sampled_from(ITEMS))
    others = [name for name in basket if name != item]
    reason = model.explain(basket, item)
    t = ITEMS.index(item)
    assert dict(reason.shares) == pytest.approx({name: W[ITEMS.index(name), t] for name in others}, rel=1e-5)
    assert [abs(share) for _, share in reason.shares] == sorted(
        (abs(share) for _, share in reason.shares), reverse=True
    )
    assert reason.score == pytest.approx(float(model.scores(Baskets.from_lists([others]))[0, t]), rel=1e-5)
    assert reason.score == pytest.approx(
        reason.prior + sum(share for _, share in reason.shares) + reason.rest, rel=1e-5
    )


@pytest.mark.parametrize("spec", [*GRAPHS, "lrw:steps=1", "lrw:steps=4", "lrw:steps=2,total=yes"])
def test_a_basket_without_an_edge_gets_the_popularity_order(spec: str) -> None:
    model = make_model(spec).fit([["a", "b"], ["c", "b"], ["b"], ["c"], ["c"], ["c"], ["alone"], ["alone"]])
    for basket in ([], ["alone"], ["never seen"]):
        found = [(s.item, s.score) for s in model.complete(basket)]
        assert found == [(n, s) for n, s in [("c", 4), ("b", 3), ("alone", 2), ("a", 1)] if n not in basket]
    assert model.complete(["a"], k=1).items == ["b"] or "steps" in spec
    reason = model.explain(["alone"], "c")
    assert (reason.score, reason.prior, reason.rest) == (4, 4, 0)
    assert [share for _, share in reason.shares] == [0]


@pytest.mark.parametrize("spec", ["lrw:steps=1", "lrw:steps=3", "lrw:steps=2,total=yes"])
def test_the_reasons_of_a_walk_are_the_walks_of_its_items(spec: str) -> None:
    model = make_model(spec).fit([["a", "b"], ["b", "c"], ["c", "d", "a"], ["d", "e"]] * 3)
    reason = model.explain(["a", "b"], "d")
    assert reason.prior == 0
    for name, share in reason.shares:
        alone = model.scores([[name]])[0, model.number("d")]
        assert share == pytest.approx(float(alone), rel=1e-5)
    assert sum(share for _, share in reason.shares) + reason.rest == pytest.approx(reason.score)
    assert abs(reason.rest) < 1e-5


@pytest.mark.parametrize("spec", ["cvg", "normcvg", "lwcvg", "lrw:steps=2"])
def test_nothing_is_similar_to_what_was_always_alone(spec: str) -> None:
    model = make_model(spec).fit([["a", "b"], ["a", "b", "c"], ["z"]])
    assert [s.score for s in model.similar_items("z")] == [0, 0, 0]
    assert model.complete(["z"]).items[:2] == ["a", "b"]
