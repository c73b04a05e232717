"""LDA: what a record is about follows from the topics alone, without the library that learned them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from contract import TOY, Contract
from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.models import lda as lda_module
from cooccur.models.lda import Lda

pytest.importorskip("tomotopy", reason="learning LDA needs `pip install cooccur[lda]`")


class TestLda(Contract):
    spec = "lda:topics=16"  # the shop has 40 products
    trained_by_steps = True


@pytest.fixture
def hand_made() -> Lda:
    """Two topics over three items, set by hand."""
    model = Lda(topics=2, prior=1, steps=200)
    model.items_ = np.array(["a", "b", "c"], dtype=object)
    model.frequencies_ = np.array([2, 1, 1])
    model.phi_ = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], dtype=np.float32)
    model.share_ = np.array([0.75, 0.25], dtype=np.float32)
    return model


def test_an_empty_record_has_the_overall_mixture(hand_made: Lda) -> None:
    np.testing.assert_allclose(hand_made.scores([[]])[0], [0.55, 0.225, 0.225], rtol=1e-6)


def test_the_mixture_is_a_fixed_point_of_the_formula(hand_made: Lda) -> None:
    v = Baskets.from_lists([["a", "c"]]).with_vocabulary(hand_made.items_)[0]
    theta = hand_made._mixture(v, hand_made.phi_.T.copy())[0].astype(float)
    phi = hand_made.phi_[:, [0, 2]].astype(float)
    again = (hand_made.share_ + (theta[:, None] * phi / (theta @ phi)).sum(axis=1)) / (1 + 2)
    np.testing.assert_allclose(theta, again, rtol=1e-5)
    assert theta.sum() == pytest.approx(1)
    np.testing.assert_allclose(hand_made.scores(v)[0, 1], theta @ hand_made.phi_[:, 1], rtol=1e-6)


def test_scores_are_probabilities_and_topics_distributions() -> None:
    model = Lda(topics=3).fit(TOY)
    np.testing.assert_allclose(model.phi_.sum(axis=1), 1, rtol=1e-5)
    assert model.share_.sum() == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(model._scores(Baskets.from_lists(TOY)).sum(axis=1), 1, rtol=1e-5)


def test_two_topics_part_two_kinds_of_records() -> None:
    model = Lda(topics=2).fit(TOY)
    assert set(model.complete(["milk"], k=2).items) == {"bread", "butter"}
    assert set(model.complete(["honey"], k=2).items) == {"tea", "mint"}


def test_an_item_in_no_record_changes_nothing() -> None:
    model = Lda(topics=2).fit(np.array([[1, 1, 0, 0], [0, 1, 1, 0]] * 5))
    with_it, without = model.scores(np.array([[1, 0, 0, 1], [1, 0, 0, 0]]))
    np.testing.assert_array_equal(with_it[1:3], without[1:3])
    assert without[3] == 0


def test_parts_cover_all_records_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Lda(topics=4).fit(TOY)
    data = Baskets.from_lists([*TOY, [], ["milk"], []])
    whole = model.scores(data)
    monkeypatch.setattr(lda_module, "CELLS", 4 * 5)  # five occurrences at once
    parts = list(model._parts(data))
    assert len(parts) > 10
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(len(data)))
    assert max(data[part].nnz for part in parts) <= 5
    np.testing.assert_allclose(model.scores(data), whole, rtol=1e-5)


def test_another_seed_gives_other_topics() -> None:
    one, two = (Lda(topics=4, random_state=seed).fit(TOY) for seed in (0, 1))
    assert not np.array_equal(one.phi_, two.phi_)


def test_a_missing_library_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Lda(topics=2).fit(TOY)
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(CooccurError, match=r"pip install 'cooccur\[lda\]'"):
        Lda().fit(TOY)
    assert len(model.complete(["milk"])) == 5  # asking needs no library
