"""EASE (Steck, 2019): each item is the ridge regression on all the others, all of them at once in closed form.

    B = argmin ||X - X B||^2 + l2 ||B||^2  with diag(B) = 0
    P = (X'X + l2 I)^-1      B_it = -P_it / P_tt      s(t) = c_t + sum_{i in I_v} B_it

Plain, c = 0. `centred`: X holds the deviations from the items' shares m, so that c_t = m_t - sum_i m_i B_it; that is
the Gaussian twin of the fully visible Boltzmann machine, trained by pseudo-likelihood.

A record's length is about its variance summed over the items, so l2 is set in units of it: 3 times the mean length (of
records with an item). On validation records of retail (l2 = 31), jester (129) and ml-1m (287) that is within 0.3 points
of the best Top@10 of a grid; centring gains 1.7 points on retail and loses 0.2 on the other two.

Memory: one N x N float32 matrix, inverted in place by Cholesky; time N^3. So at most `max_items` items take part, the
most frequent ones (their numbers are in `kept_`); they neither see nor predict the others, whose score is c_t alone:
0, or centred m_t. A basket without an item in `kept_` says nothing and gets m, the popularity order (not the centred
c, which answers another question: what goes with nothing at all).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models.answers import Reason
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.parameters import parameter
from cooccur.training.batches import record_weights

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK = 1024  # rows of the Gram matrix made at once


@dataclass(eq=False, kw_only=True)
class Ease(Model):
    """Ridge regression of each item on the others.

    >>> model = Ease(l2=1).fit([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"]])
    >>> model.complete(["milk"], k=1).items
    ['bread']
    """

    name: ClassVar[str] = "ease"
    level: ClassVar[str] = "L2"
    score_is: ClassVar[str] = "predicted share"
    arrays: ClassVar[Mapping[str, Array]] = {
        "kept_": Array("int32", "kept", low=0, below="N"),
        "B_": Array("float32", "kept,kept", pairs=True),
        "c_": Array("float32", "N"),
        "l2_": Array("float32", "1", low=0),
    }
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"centred": {"centred": True}, "plain": {"centred": False}}

    l2: float | None = parameter(
        None, "strength of the ridge; none: 3 times the mean record length", low=1e-3, search=(3, 3000)
    )
    centred: bool = parameter(True, "deviations from the items' shares, with an intercept", search=[True, False])
    length: float = parameter(0.0, "a record of L items weighs L^-length", low=0, high=3)
    max_items: int = parameter(20_000, "only so many items, the most frequent, take part", low=1)

    def estimate(self, baskets: Baskets) -> int:
        n = min(self.max_items, int(np.count_nonzero(baskets.frequencies)))
        return super().estimate(baskets) + 4 * n * n + 12 * min(n, BLOCK) * n

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        most = np.argsort(-baskets.frequencies, kind="stable")[: self.max_items]
        mean_length = baskets.nnz / np.count_nonzero(baskets.lengths)
        self.l2_ = np.array([3 * mean_length if self.l2 is None else self.l2], dtype=np.float32)
        self.kept_ = np.sort(most[baskets.frequencies[most] > 0]).astype(np.int32)
        progress(0.0, "counting pairs")
        P, means = self._gram(baskets)
        progress(0.2, f"inverting a matrix of {len(P):,} items")
        invert(P, self.name)
        self.diagonal, self.means = P.diagonal().copy(), means if self.centred else np.zeros_like(means)
        P /= -self.diagonal
        np.fill_diagonal(P, 0)
        self.B_ = P
        self.c_ = np.zeros(baskets.n_items, dtype=np.float32)
        if self.centred:
            self.c_[:] = self._shares
            self.c_[self.kept_] = means - means @ self.B_

    def _gram(self, baskets: Baskets) -> tuple[Floats, Floats]:
        """(kept, kept) X'X plus the ridge, of the deviations if centred, and the means (kept,); records weighted."""
        weights = record_weights(baskets, self.length) if self.length else None
        G, n, means = gram(baskets.matrix[:, self.kept_], weights, self.centred)
        G.flat[:: len(G) + 1] += self._ridge(n)
        return G, means

    def _ridge(self, n: Floats) -> Floats:
        """(1,) or (kept,) what is added to the diagonal n of X'X."""
        return self.l2_

    def _check_learned(self) -> None:
        if (np.diff(self.kept_) <= 0).any():
            raise ValueError("kept_ does not rise")

    @property
    def _shares(self) -> Floats:
        return np.asarray(self.frequencies_ / self.n_records_, dtype=np.float32)

    def _scores(self, baskets: Baskets) -> Floats:
        X = baskets.matrix[:, self.kept_]
        known = X @ self.B_
        known += self.c_[self.kept_]
        if len(self.kept_) == baskets.n_items:
            scores = known
        else:
            scores = np.tile(self.c_, (len(baskets), 1))
            scores[:, self.kept_] = known
        scores[np.diff(X.indptr) == 0] = self._shares
        return np.asarray(scores)

    def _affinity(self, item: int) -> Floats:
        """The partial correlation -P_it / sqrt(P_ii P_tt): B_it and B_ti have its sign, their product is its square."""
        affinity = np.zeros(len(self.items_), dtype=np.float32)
        at = int(np.searchsorted(self.kept_, item))
        if at < len(self.kept_) and self.kept_[at] == item:
            forth, back = self.B_[at], self.B_[:, at]
            affinity[self.kept_] = np.sign(forth) * np.sqrt(np.abs(forth * back))
        return affinity

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: the score is c_t plus the weights of the items present."""
        known = self._rest(basket, item)
        target, own = self.number(item), known.row(0)
        score = float(self._scores(known)[0, target])
        place = np.full(len(self.items_), -1)
        place[self.kept_] = np.arange(len(self.kept_))
        at, to = place[own], place[target]
        weights = np.where(at >= 0, self.B_[at, to], 0) if to >= 0 else np.zeros(len(own))
        shares = sorted(zip(self.items_[own], weights.tolist(), strict=True), key=lambda share: -abs(share[1]))
        prior = score - float(weights.sum())
        return Reason(item, score, prior, tuple(shares), 0.0, titles=self.titles_)


def gram(X: csr_matrix, weights: Floats | None, centred: bool) -> tuple[Floats, Floats, Floats]:
    """(width, width) X'X, of the deviations from the means if centred; (width,) each column's sum; its mean over all
    records. `weights` (records,) have a mean of one; none: all records count alike."""
    Xt = X.T.tocsr()
    if weights is not None:
        Xt.data = weights[Xt.indices]
    n = np.asarray(Xt.sum(axis=1), dtype=np.float32).ravel()
    means = n / np.float32(X.shape[0])
    G = np.empty((len(n), len(n)), dtype=np.float32)
    for start in range(0, len(n), BLOCK):  # a dense data set's product in sparse form would be larger than G
        rows = slice(start, start + BLOCK)
        (Xt[rows] @ X).toarray(out=G[rows])
        if centred:
            G[rows] -= np.outer(n[rows], means)
    return G, n, means


def invert(G: Floats, model: str) -> None:
    """The inverse of a symmetric positive definite matrix in its own place."""
    from scipy.linalg.lapack import spotrf, spotri

    # LAPACK counts by columns: to it the transposed view is the same symmetric matrix, and no copy is made
    factor, failed = spotrf(G.T, lower=True, clean=False, overwrite_a=True)
    if not failed:
        inverse, failed = spotri(factor, lower=True, overwrite_c=True)
    if failed:
        raise ParameterError(f"{model}: the matrix of pairs cannot be inverted in single precision; raise l2")
    assert np.shares_memory(inverse, G)
    for start in range(0, len(G), BLOCK):  # its lower triangle is our upper one; copy that below the diagonal
        rows = slice(start, start + BLOCK)
        G[start + BLOCK :, rows] = G[rows, start + BLOCK :].T
        square = G[rows, rows]
        square[:] = np.triu(square) + np.triu(square, 1).T
