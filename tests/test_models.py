"""Each model keeps the contract."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contract import Contract
from cooccur.baskets import Baskets
from cooccur.models import make_model

POPULARITY = make_model("popularity").fit([["a", "b"], ["c", "1"]])


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "x", "y", 1, 2]), max_size=6), max_size=4))
def test_lists_of_names_are_numbered_as_any_records_are(lists: list[list[object]]) -> None:
    quick, slow = POPULARITY._known(lists), Baskets.from_lists(lists).with_vocabulary(POPULARITY.items_)
    assert quick == slow


class TestPopularity(Contract):
    spec = "popularity"
    beats_popularity = False


class TestCvg(Contract):
    spec = "cvg"


class TestNormCvg(Contract):
    spec = "normcvg"


class TestLwCvg(Contract):
    spec = "lwcvg"


class TestLrw(Contract):
    spec = "lrw"
