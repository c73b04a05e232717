"""Baskets: three ways to make one agree, every operation equals the same on python lists, nothing can be changed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix

from cooccur.baskets import Baskets
from cooccur.errors import InputError
from cooccur.models import make_model

Lists = list[list[str]]
lists = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), max_size=8)


def as_sets(baskets: Baskets) -> list[set[str]]:
    return [set(record) for record in baskets]


# -- making one ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(lists)
def test_three_ways_to_make_one_agree(records: Lists) -> None:
    one = Baskets.from_lists(records)
    assert as_sets(one) == [set(record) for record in records]
    assert list(one.items) == list(dict.fromkeys(item for record in records for item in record))
    assert one.duplicates == sum(len(record) - len(set(record)) for record in records)
    pairs = [(row, one.index[item]) for row, record in enumerate(records) for item in record][::-1]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    two = Baskets.from_pairs(rows, columns, one.items, n_records=len(records))
    assert two == one
    assert two.duplicates == one.duplicates
    dense = np.zeros((len(records), one.n_items), dtype=int)
    dense[rows, columns] = 1
    for matrix in (dense, dense.astype(bool), dense.astype(np.float32), csr_matrix(dense), csc_matrix(dense)):
        three = Baskets.from_matrix(matrix, one.items)
        assert three == one
        assert three.duplicates == 0
    np.testing.assert_array_equal(one.matrix.toarray(), dense)


@settings(deadline=None)
@given(lists)
def test_counts(records: Lists) -> None:
    baskets = Baskets.from_lists(records)
    in_records = Counter(item for record in records for item in set(record))
    assert dict(zip(baskets.items, baskets.frequencies.tolist(), strict=True)) == in_records
    assert baskets.lengths.tolist() == [len(set(record)) for record in records]
    assert (len(baskets), baskets.n_items, baskets.nnz) == (len(records), len(in_records), in_records.total())
    assert baskets.records.tolist() == [str(i) for i in range(len(records))]


def test_a_matrix_in_odd_shape() -> None:
    """Unsorted, stored twice, explicit zeros, wide indices: the duplicates are counted, the zeros are not."""
    data, indices, indptr = [1, 1, 0, 1, 0], np.array([3, 1, 0, 3, 2]), np.array([0, 4, 4, 5])
    odd = csr_matrix((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=(3, 4))
    for matrix in (odd, csr_array(odd), odd.tocoo()):
        baskets = Baskets.from_matrix(matrix, "abcd")
        assert list(baskets) == [["b", "d"], [], []]
        assert baskets.duplicates == 1
    assert odd.data.tolist() == data  # the caller's matrix is as it was
    assert odd.indices.tolist() == indices.tolist()


def test_an_entry_stored_256_times_does_not_vanish() -> None:
    matrix = coo_matrix((np.ones(256, dtype=np.uint8), (np.zeros(256, dtype=int), np.zeros(256, dtype=int))))
    baskets = Baskets.from_matrix(matrix)
    assert (list(baskets), baskets.duplicates) == ([["0"]], 255)


def test_nothing_at_all_and_one_item() -> None:
    assert (len(Baskets.from_lists([])), Baskets.from_lists([]).n_items) == (0, 0)
    assert list(Baskets.from_lists([[], []])) == [[], []]
    assert list(Baskets.from_matrix(np.zeros((0, 3)))) == []
    assert list(Baskets.from_matrix(np.ones((2, 1)))) == [["0"], ["0"]]
    assert Baskets.from_lists([]).concat(Baskets.from_lists([])).nnz == 0
    assert Baskets.from_pairs(np.array([], dtype=int), np.array([], dtype=int), ["a"]).lengths.tolist() == []


def test_names_become_strings() -> None:
    assert list(Baskets.from_lists([[1, 2.5, "1"], (3,)])) == [["1", "2.5"], ["3"]]
    numbers = np.array([7, 8], dtype=object)
    for writeable in (True, False):
        numbers.flags.writeable = writeable
        baskets = Baskets.from_matrix(np.eye(2), numbers, records=[10, 11])
        assert (baskets.index, baskets.records.tolist()) == ({"7": 0, "8": 1}, ["10", "11"])
        assert Baskets.from_pairs(np.array([0]), np.array([1]), numbers).names(0) == ["8"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Baskets.from_matrix(np.eye(3), ["a", "b", "a"]),
            "two items are called 'a'; give each item a name of its own",
        ),
        (
            lambda: Baskets.from_pairs(np.array([0]), np.array([0]), ["1", 1]),
            "two items are called '1'; give each item a name of its own",
        ),
        (lambda: Baskets.from_matrix(np.eye(3), ["a", "b"]), "2 item names for a matrix 3 wide"),
        (lambda: Baskets.from_matrix(np.eye(3), records=["r"]), "1 record ids for 3 records"),
        (lambda: Baskets.from_matrix(np.ones(3)), "an array of 1 dimensions; expected records x items"),
        (
            lambda: Baskets.from_matrix([["a"]]),
            "a matrix of <U1; expected numbers 0 and 1; a frame goes through cooccur.read",
        ),
        (
            lambda: Baskets.from_matrix(csr_matrix([[0.0, np.inf]])),
            "the matrix holds NaN or infinity; replace missing values with 0",
        ),
        (
            lambda: Baskets.from_matrix(csr_matrix([[-2, 1]])),
            "the matrix holds a negative value (-2); keep only 0 and 1",
        ),
        (
            lambda: Baskets.from_matrix(np.array([[1, 0.5]])),
            "the matrix holds 0.5; expected 0 and 1; say which values count, for example (matrix >= 4)",
        ),
        (
            lambda: Baskets.from_pairs(np.array([0]), np.array([2]), ["a", "b"]),
            "item number 2; there are 2 items, counted from 0",
        ),
        (
            lambda: Baskets.from_pairs(np.array([0, -1]), np.array([0, 0]), ["a"]),
            "record number -1; there are 1 records, counted from 0",
        ),
        (
            lambda: Baskets.from_pairs(np.array([3]), np.array([0]), ["a"], n_records=3),
            "record number 3; there are 3 records, counted from 0",
        ),
        (lambda: Baskets.from_lists(["ab"]), "record 0 is the text 'ab'; expected a list of items"),
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


# -- nothing can be changed ---------------------------------------------------------------------------


def test_every_array_is_read_only() -> None:
    plain = Baskets.from_lists([["a", "b"], ["b"]])
    for baskets in (plain, plain[:1], plain[1:], plain[[1]], Baskets.from_matrix(np.eye(2), "ab", "xy")):
        for name in ("indptr", "indices", "items", "records", "lengths", "frequencies"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(baskets, name)[0] = getattr(baskets, name)[0]
        with pytest.raises(ValueError, match="read-only"):
            baskets.row(0)[0] = 0
        with pytest.raises(ValueError, match="read-only"):
            baskets.matrix.indices[0] = 0
    changed = plain.matrix
    changed.data[:] = 7  # the values of the matrix are its own
    assert plain.matrix.data.tolist() == [1, 1, 1]


def test_what_the_caller_does_later_changes_nothing() -> None:
    indptr, indices = np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32)
    items, records = np.array(["a", "b"], dtype=object), np.array(["x", "y"], dtype=object)
    matrix = csr_matrix((np.ones(3), indices, indptr))
    expected = [["a", "b"], ["b"]]
    made = [Baskets(indptr, indices, items, records), Baskets.from_matrix(matrix, items, records)]
    rows = np.array([0, 0, 1])
    made.append(Baskets.from_pairs(rows, indices, items, records))
    for array in (indptr, indices, items, records, rows, matrix.indices, matrix.indptr):
        assert array.flags.writeable
        array[:] = array[::-1].copy()
    for baskets in made:
        assert list(baskets) == expected
        assert baskets.records.tolist() == ["x", "y"]


def test_read_only_input() -> None:
    dense = np.eye(2)
    sparse = csr_matrix(dense)
    for array in (dense, sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    assert Baskets.from_matrix(dense) == Baskets.from_matrix(sparse)


# -- making another -----------------------------------------------------------------------------------


@settings(deadline=None)
@given(lists, st.data())
def test_selection_equals_that_of_a_list(records: Lists, data: st.DataObject) -> None:
    baskets = Baskets.from_lists(records)
    wanted = [set(record) for record in records]
    ids = [str(i) for i in range(len(records))]
    cut = data.draw(st.slices(len(records)))
    assert as_sets(baskets[cut]) == wanted[cut]
    assert baskets[cut].records.tolist() == ids[cut]
    again = data.draw(st.slices(len(wanted[cut])))  # ids survive a slice of a slice
    assert baskets[cut][again].records.tolist() == ids[cut][again]
    keep = data.draw(st.lists(st.booleans(), min_size=len(records), max_size=len(records)))
    assert as_sets(baskets[np.array(keep, dtype=bool)]) == [w for w, k in zip(wanted, keep, strict=True) if k]
    if records:
        numbers = data.draw(st.lists(st.integers(-len(records), len(records) - 1)))
        assert as_sets(baskets[numbers]) == [wanted[number] for number in numbers]
        assert baskets[numbers].records.tolist() == [ids[number] for number in numbers]
    assert list(baskets[cut].items) == list(baskets.items)


def test_selections_that_make_no_sense() -> None:
    baskets = Baskets.from_lists([["a"], ["b"], ["c"]])
    for wrong in ([3], [-4], [0.5], np.array([True])):
        with pytest.raises(IndexError):
            baskets[wrong]
    with pytest.raises(TypeError, match=r"baskets\.row\(i\)"):
        baskets[1]


@settings(deadline=None)
@given(lists, lists)
def test_concat(one: Lists, two: Lists) -> None:
    both = Baskets.from_lists(one).concat(Baskets.from_lists(two))
    assert as_sets(both) == [set(record) for record in one + two]
    assert both == Baskets.from_lists([*one, *two])


def test_concat_matches_by_name_and_keeps_the_ids() -> None:
    both = Baskets.from_lists([["a", "b"]], ["x"]).concat(Baskets.from_lists([["b", "c"], ["a"]]))
    assert both.records.tolist() == ["x", "0", "1"]
    assert list(both.items) == ["a", "b", "c"]
    assert list(both) == [["a", "b"], ["b", "c"], ["a"]]


@settings(deadline=None)
@given(
    lists, st.none() | st.integers(0, 8), st.integers(0, 4), st.integers(0, 4), st.none() | st.integers(0, 5)
)  # fmt: skip
def test_filter(records: Lists, top: int | None, frequency: int, shortest: int, longest: int | None) -> None:
    """Items first, by their frequency in the whole data, then the records by what is left of them."""
    baskets = Baskets.from_lists(records)
    count = Counter(item for record in records for item in set(record))
    order = sorted(baskets.items, key=lambda item: -count[item])  # stable: ties to the first
    kept = {item for item in order[: len(order) if top is None else top] if count[item] >= frequency}
    left = [(number, set(record) & kept) for number, record in enumerate(records)]
    left = [(n, r) for n, r in left if shortest <= len(r) <= (len(count) if longest is None else longest)]
    found = baskets.filter(top_items=top, min_frequency=frequency, min_length=shortest, max_length=longest)
    assert list(zip(map(int, found.records), as_sets(found), strict=True)) == left
    assert list(found.items) == [item for item in baskets.items if item in kept]


def test_ties_at_top_items_go_to_the_first() -> None:
    assert list(Baskets.from_lists([["c", "b"], ["a", "d", "d"], ["d"]]).filter(top_items=2).items) == ["c", "d"]


@settings(deadline=None)
@given(lists, st.lists(st.sampled_from("abcxyz"), unique=True))
def test_with_vocabulary(records: Lists, items: list[str]) -> None:
    baskets = Baskets.from_lists(records)
    found, unknown = baskets.with_vocabulary(items)
    assert as_sets(found) == [set(record) & set(items) for record in records]
    assert list(found.items) == items
    assert unknown == [item for item in baskets.items if item not in items]


def test_with_vocabulary_shares_it_and_reports_only_what_occurs() -> None:
    model = Baskets.from_lists([["a", "b"]])
    other, unknown = Baskets.from_matrix(np.array([[1, 0, 1]]), ["x", "y", "b"], ["id"]).with_vocabulary(model.items)
    assert other.items is model.items  # so that comparing vocabularies costs nothing
    assert (list(other), unknown, other.records.tolist()) == ([["b"]], ["x"], ["id"])


# -- looking at it ------------------------------------------------------------------------------------


def test_summary_and_repr() -> None:
    baskets = Baskets.from_lists([["a", "b", "c"], ["a"], [], ["a", "b"]])
    assert repr(baskets) == "Baskets(4 records, 3 items, 6 occurrences)"
    assert baskets.summary() == (
        "4 records over 3 items, 6 occurrences (50% of all cells)\n"
        "record length   median 1.5, mean 1.5, longest 3; 2 with two items or more\n"
        "item frequency  median 2, highest 3; 1 seen once\n"
        "most frequent   a 3, b 2, c 1"
    )
    assert Baskets.from_lists([[], []]).summary() == "2 records over 0 items, all empty"


@settings(deadline=None)
@given(lists, lists)
def test_fingerprint_tells_different_content(one: Lists, two: Lists) -> None:
    first, second = Baskets.from_lists(one), Baskets.from_lists(two)
    assert (first.fingerprint() == second.fingerprint()) == (first == second)
    assert (first == second) == (list(first) == list(second) and list(first.items) == list(second.items))


def test_fingerprint_changes_with_any_change() -> None:
    base = Baskets.from_matrix(np.array([[1, 0], [1, 1]]), ["a", "b"])
    assert len(base.fingerprint()) == 64
    assert base[:].fingerprint() == base.fingerprint()
    assert Baskets.from_lists([["a"], ["b", "a"]], ["x", "y"]).fingerprint() == base.fingerprint()  # ids do not count
    others = [
        base[::-1],
        base[:1],
        base.filter(top_items=1),
        base.with_vocabulary(["b", "a"])[0],
        base.with_vocabulary(["a", "b", "c"])[0],
        Baskets.from_matrix(np.array([[1, 0], [1, 1]]), ["a", "B"]),
        Baskets.from_matrix(np.array([[0, 1], [1, 1]]), ["a", "b"]),
    ]
    prints = {baskets.fingerprint() for baskets in [base, *others]}
    assert len(prints) == 1 + len(others)
    left, right = (Baskets.from_matrix(np.eye(2), names) for names in (["a\0b", "c"], ["a", "b\0c"]))
    assert left.fingerprint() != right.fingerprint()


def test_equality() -> None:
    one = Baskets.from_lists([["a"], ["b"]])
    assert one == Baskets.from_lists([["a"], ["b"]], ["0", "1"])
    assert one != Baskets.from_lists([["a"], ["b"]], ["0", "2"])
    assert one != "something else"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_frame_is_no_matrix() -> None:
    """Its columns have names, which a matrix would lose."""
    import pandas as pd
    import polars as pl

    for frame in (pl.DataFrame({"milk": [1, 0], "bread": [1, 1]}), pd.DataFrame({"milk": [1, 0], "bread": [1, 1]})):
        with pytest.raises(InputError, match=r"a frame goes through cooccur\.read"):
            Baskets.from_matrix(frame)
        with pytest.raises(InputError, match=r"a frame goes through cooccur\.read"):
            make_model("cvg").fit(frame)
