"""The kernels against slow and obvious versions of themselves, and bitwise equal at one thread and at two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random_array

from cooccur import kernels, ops

Floats = npt.NDArray[np.float32]
BLOCK = kernels.BLOCK
few = st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.0, np.inf, -np.inf, np.nan])  # many ties
many = st.floats(width=32)
widths = st.sampled_from([1, 2, 5, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1, 100])


@st.composite
def score_blocks(draw: st.DrawFn) -> Floats:
    rows, width = draw(st.integers(0, 3)), draw(widths)
    cells = draw(st.lists(draw(st.sampled_from([few, many])), min_size=rows * width, max_size=rows * width))
    return np.array(cells, dtype=np.float32).reshape(rows, width)


@pytest.fixture(autouse=True)
def restore_threads() -> Iterator[None]:
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def both(run: Callable[[], Any]) -> list[Any]:
    """The results with one thread and with two."""
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two threads")
    results = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        results.append(run())
    return results


def sorted_top_k(row: Floats, k: int) -> tuple[list[int], list[float]]:
    order = sorted((t for t in range(len(row)) if not np.isnan(row[t])), key=lambda t: (-row[t], t))[:k]
    missing = k - len(order)
    return order + [-1] * missing, [float(row[t]) for t in order] + [np.nan] * missing


@settings(deadline=None)
@given(score_blocks(), st.data())
def test_top_k_is_a_full_stable_sort(scores: Floats, data: st.DataObject) -> None:
    width = scores.shape[1]
    k = data.draw(st.sampled_from([0, 1, 2, width - 1, width, width + 3]))
    before = scores.copy()
    items, values = kernels.top_k(scores, k)
    assert items.shape == values.shape == (len(scores), k)
    assert (items.dtype, values.dtype) == (np.int32, np.float32)
    for r, row in enumerate(scores):
        wanted = sorted_top_k(row, k)
        assert items[r].tolist() == wanted[0]
        np.testing.assert_array_equal(values[r], np.array(wanted[1], dtype=np.float32))
        alone = ops.top_k(scores[r : r + 1], k)
        assert (alone[0].tobytes(), alone[1].tobytes()) == (items[r].tobytes(), values[r].tobytes())
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("order", [1, -1])
def test_top_k_of_sorted_rows(order: int) -> None:
    """The worst and the best case of the heap."""
    row = np.arange(1000, dtype=np.float32)[::order]
    items, values = kernels.top_k(row[None, :].copy(), 40)
    assert values[0].tolist() == list(range(999, 959, -1))
    assert items[0].tolist() == sorted_top_k(row, 40)[0]


@settings(deadline=None)
@given(score_blocks(), st.data())
def test_ranks_by_counting(scores: Floats, data: st.DataObject) -> None:
    targets = np.array([data.draw(st.integers(0, scores.shape[1] - 1)) for _ in scores], dtype=np.int64)
    greater, equal = kernels.ranks(scores, targets)
    for r, target in enumerate(targets):
        row = scores[r].tolist()
        assert greater[r] == sum(value > row[target] for value in row)
        assert equal[r] == sum(value == row[target] for value in row)


def test_ranks_and_top_k_agree() -> None:
    scores = np.random.default_rng(0).integers(0, 50, (20, 200)).astype(np.float32)
    items, _ = kernels.top_k(scores, 200)
    for place in (0, 7, 199):
        greater, equal = kernels.ranks(scores, items[:, place].astype(np.int64))
        assert ((greater <= place) & (place < greater + equal)).all()


def sparse(rows: int, columns: int, density: float, seed: int) -> csr_matrix:
    """Whole numbers, so that sums in float32 are exact in any order."""
    rng = np.random.default_rng(seed)
    found = csr_matrix(
        random_array((rows, columns), density=density, rng=rng, data_sampler=lambda size: rng.integers(1, 9, size))
    )
    found.sort_indices()
    return found.astype(np.float32)


sizes = st.tuples(st.integers(0, 12), st.integers(1, 70), st.sampled_from([0.0, 0.1, 0.6]), st.integers(0, 10**6))


@settings(deadline=None)
@given(sizes)
def test_add_rows_is_a_sparse_product(size: tuple[int, int, float, int]) -> None:
    records, n, density, seed = size
    V, W = sparse(records, n, density, seed), sparse(n, n, density, seed + 1)
    V.data[:] = 1
    start = np.random.default_rng(seed).integers(-5, 5, (records, n)).astype(np.float32)
    scores = start.copy()
    kernels.add_rows(scores, V.indptr.astype(np.int64), V.indices, W.indptr.astype(np.int64), W.indices, W.data)
    np.testing.assert_array_equal(scores, start + (V @ W).toarray())


@settings(deadline=None)
@given(sizes)
def test_spread_is_a_sparse_product(size: tuple[int, int, float, int]) -> None:
    width, n, density, seed = size
    W = sparse(n, n, density, seed)
    X = np.random.default_rng(seed).integers(-9, 9, (n, width)).astype(np.float32)
    np.testing.assert_array_equal(kernels.spread(X, W.indptr.astype(np.int64), W.indices, W.data), W @ X)


def test_mask_hides_exactly_the_items_of_the_record() -> None:
    scores = np.zeros((3, 4), dtype=np.float32)
    ops.mask(scores, np.array([0, 2, 2, 3]), np.array([0, 3, 1], dtype=np.int32))
    assert np.isnan(scores).tolist() == [[True, False, False, True], [False] * 4, [False, True, False, False]]
    assert not scores[~np.isnan(scores)].any()


@pytest.mark.parametrize("seed", [0, 1])
def test_threads_change_no_bit(seed: int) -> None:
    """Scores that are not whole numbers, so that another order of summing would show."""
    rng = np.random.default_rng(seed)
    n, records = 500, 301
    V, W = sparse(records, n, 0.05, seed), sparse(n, n, 0.1, seed + 1)
    W.data[:] = rng.standard_normal(W.nnz)
    own = V.indptr.astype(np.int64), V.indices
    weights = W.indptr.astype(np.int64), W.indices, W.data

    def score() -> Floats:
        scores = np.zeros((records, n), dtype=np.float32)
        kernels.add_rows(scores, *own, *weights)
        ops.mask(scores, *own)
        return scores

    one, two = both(score)
    assert one.tobytes() == two.tobytes()
    targets = rng.integers(0, n, records)
    X = rng.standard_normal((n, 33)).astype(np.float32)
    for run in (
        lambda: kernels.top_k(one, 20),
        lambda: kernels.ranks(one, targets),
        lambda: (kernels.spread(X, *weights),),
    ):
        for left, right in zip(*both(run), strict=True):
            assert left.tobytes() == right.tobytes()


@settings(deadline=None)
@given(sizes, st.integers(1, 12))
def test_a_few_records_by_numpy_are_what_many_are_by_the_kernels(size: tuple[int, int, float, int], k: int) -> None:
    rows, n, density, seed = size
    V, W = sparse(rows, n, density, seed), sparse(n, n, density, seed + 1)
    W.data[:] = np.random.default_rng(seed).standard_normal(W.nnz)
    own = V.indptr.astype(np.int64), V.indices
    weights = W.indptr.astype(np.int64), W.indices, W.data
    many, few = np.zeros((rows, n), dtype=np.float32), np.zeros((rows, n), dtype=np.float32)
    kernels.add_rows(many, *own, *weights)
    dense = np.ascontiguousarray(W.toarray())
    summed = kernels.sum_rows(dense, *own)
    ops.mask(many, *own)
    best = kernels.top_k(many, k)
    for r in range(rows):
        one = np.array([0, own[0][r + 1] - own[0][r]]), V.indices[own[0][r] : own[0][r + 1]]
        ops.add_rows(few[r : r + 1], *one, *weights)
        assert ops.sum_rows(dense, *one).tobytes() == summed[r : r + 1].tobytes()
        ops.mask(few[r : r + 1], *one)
        items, values = ops.top_k(few[r : r + 1], k)
        assert items.tobytes() == best[0][r : r + 1].tobytes()
        assert values.tobytes() == best[1][r : r + 1].tobytes()
    assert few.tobytes() == many.tobytes()
