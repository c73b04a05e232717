"""Pairs of items that occur together, counted: C_it = sum over records v that hold both i and t of w_v.

Sparse (only pairs that occur), symmetric, without the diagonal. Cost: sum over records of |I_v|^2, one core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cooccur.baskets import Baskets

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


BYTES_A_PAIR = 20  # while it is learned: column, weight, accumulator, the best epoch's copy, the batch's gradient
FEW = 100_000  # pairs that take no memory to speak of


def cooccurrence(baskets: Baskets, length: float = 0.0) -> csr_matrix:
    """(n_items, n_items) float32 CSR of C with record weights `w_v = |I_v|^-length`.

    >>> C = cooccurrence(Baskets.from_lists([["a", "b"], ["a", "b", "c"]]))
    >>> C.toarray().tolist()
    [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    V = baskets.matrix
    weighted = V.copy()
    if length:
        per_record = np.maximum(baskets.lengths, 1).astype(np.float32) ** np.float32(-length)
        weighted.data = np.repeat(per_record, baskets.lengths)
    C = (V.T.tocsr() @ weighted).tocsr()
    C.sort_indices()
    return _without_diagonal(C)


def expected_pairs(baskets: Baskets, sample: int = 64) -> int:
    """About how many pairs occur, each in both directions: counted for some items and, by rank, between them.

    >>> expected_pairs(Baskets.from_lists([["a", "b"], ["a", "b", "c"]]))
    8
    """
    most = int((baskets.lengths * (baskets.lengths - 1)).sum())
    if most < FEW:  # not worth a closer look
        return most
    n = baskets.n_items
    ranks = np.unique(np.concatenate((np.geomspace(1, n, sample), np.linspace(1, n, sample))).astype(np.int64)) - 1
    chosen = np.argsort(-baskets.frequencies, kind="stable")[ranks]
    V = baskets.matrix
    neighbours = np.diff((V[:, chosen].T.tocsr() @ V).indptr) - (baskets.frequencies[chosen] > 0)
    return min(most, int(np.interp(np.arange(n), ranks, neighbours).sum()))


def _without_diagonal(C: csr_matrix) -> csr_matrix:
    from scipy.sparse import csr_matrix

    rows = np.repeat(np.arange(C.shape[0], dtype=np.int32), np.diff(C.indptr))
    keep = C.indices != rows
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    return csr_matrix((C.data[keep], C.indices[keep], kept_before[C.indptr]), shape=C.shape)
