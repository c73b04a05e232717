"""Matrix factorisation with bounded factors (MMMF with the squared loss): a record is a point, an item a direction.

    min over Z (records, d), F (items, d):   ||V - Z F'||^2 + l2 ||F||^2 + l2 ||Z||^2
    Z = V F (F'F + l2 I)^-1      F = V' Z (Z'Z + l2 I)^-1      in turns, over all cells, zeros too
    s(t) = f_t' (F'F + l2 I)^-1 F' v                           a new record is put in by the same half-step

One l2 is enough: with l2 on F and another on Z only their product matters to Z F' and to s. Where the turns end,
s = U max(1 - l2/sigma, 0) U' v with U, sigma the d leading right singular vectors and values of V.
No one l2 suits all data (the best on validation records: retail above 80, jester 30, ml-1m 20, epinions 10), so it is
chosen inside `fit`; with it 64 factors are within 0.5 points of the best Top@10 of 8 to 200 on jester and ml-1m, and on
retail more change nothing. Cost of a turn: 4 nnz(V) d + 2 (records + items) d^2.
A basket without a known item gets the popularity order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cooccur import memory
from cooccur.baskets import Baskets
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import hold_out, rank
from cooccur.models.answers import Reason
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Model, Progress, part_of, silent
from cooccur.models.parameters import parameter

Matrix = npt.NDArray[np.float64]
GRID = (1 / 64, 1 / 32, 1 / 16, 1 / 8)  # the l2 to choose from, as shares of ||V||
ENOUGH = 1e-5  # a turn that improves the objective by less than this share of it is the last


@dataclass(eq=False, kw_only=True)
class Mmmf(Model):
    """Regularised matrix factorisation, alternating ridge regressions.

    >>> baskets = [["milk", "bread"], ["milk", "bread", "jam"], ["tea", "mint"], ["tea", "mint", "lemon"]]
    >>> Mmmf(factors=2, l2=0.1).fit(baskets).complete(["mint"], k=2).items
    ['tea', 'lemon']
    """

    name: ClassVar[str] = "mmmf"
    level: ClassVar[str] = "L2"
    score_is: ClassVar[str] = "reconstruction"
    arrays: ClassVar[Mapping[str, Array]] = {
        "F_": Array("float32", "N,d"),
        "fold_in_": Array("float32", "N,d"),
        "l2_": Array("float32", "1", low=0),
    }

    factors: int = parameter(64, "length d of the vectors", low=1, high=16_384, search=(16, 256))
    l2: float | None = parameter(
        None, "bound on both factors; none: chosen on held-out records", low=1e-6, search=(3, 300)
    )
    iterations: int = parameter(30, "turns at most", low=1)
    random_state: int = parameter(0, "seed of the first item vectors and of the held-out records", low=0)

    def estimate(self, baskets: Baskets) -> int:
        vectors = 24 * self.factors * (len(baskets) + baskets.n_items)
        return (
            super().estimate(baskets) + 24 * baskets.nnz + vectors + (memory.loading("numba") if self.l2 is None else 0)
        )

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        l2 = self.l2 or self._choose_l2(baskets, part_of(progress, 0, 0.8))
        self.l2_ = np.array([l2], dtype=np.float32)
        self._learn(baskets, l2, self._start(baskets), part_of(progress, 0.8, 1))

    def _start(self, baskets: Baskets) -> Matrix:
        d = min(self.factors, len(baskets), baskets.n_items)
        return np.random.default_rng(self.random_state).standard_normal((baskets.n_items, d))

    def _learn(self, baskets: Baskets, l2: float, F: Matrix, progress: Progress) -> Matrix:
        V = baskets.matrix.astype(np.float64)
        Vt = V.T.tocsr()
        before = np.inf
        for turn in range(self.iterations):
            progress(turn / self.iterations, f"turn {turn + 1}")
            Z = _ridge(V @ F, F, l2)
            VtZ = Vt @ Z
            F = _ridge(VtZ, Z, l2)
            now = _objective(baskets.nnz, VtZ, Z, F, l2)
            if before - now < ENOUGH * now:
                break
            before = now
        self.F_ = F.astype(np.float32)
        self.fold_in_ = _ridge(F, F, l2).astype(np.float32)
        return F

    def _choose_l2(self, baskets: Baskets, progress: Progress) -> float:
        """The best of GRID by Top@10 on held-out records; each value starts where the one before it ended."""
        learn, removals = hold_out(baskets, share=0.2, seed=self.random_state, at_most=2000)
        grid = [share * float(np.sqrt(baskets.nnz)) for share in GRID]
        if not len(removals) or not learn.nnz:
            return grid[0]
        F, hits = self._start(learn), []
        for at, l2 in enumerate(grid):
            progress(at / len(grid), f"trying l2 = {l2:.3g}")
            F = self._learn(learn, l2, F, silent)
            hits.append(top_at(rank(self, removals), 10).mean())
        return grid[int(np.argmax(hits))]

    def _scores(self, baskets: Baskets) -> Floats:
        point = baskets.matrix @ self.fold_in_
        scores = point @ self.F_.T
        scores[~point.any(axis=1)] = self.frequencies_ / self.n_records_
        return np.asarray(scores)

    def _affinity(self, item: int) -> Floats:
        """The cosine of two items in the metric of the score: M_it / sqrt(M_ii M_tt) with M = F (F'F + l2 I)^-1 F'."""
        M = self.F_ @ self.fold_in_[item]
        own = np.sqrt(np.maximum(np.einsum("td,td->t", self.F_, self.fold_in_), 0))
        size = own * own[item]
        return np.asarray(np.divide(M, size, out=np.zeros_like(M), where=size > 0))

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: the score is a sum over the items present."""
        known = self._rest(basket, item)
        target, own = self.number(item), known.row(0)
        score = float(self._scores(known)[0, target])
        weights = self.fold_in_[own] @ self.F_[target]
        shares = sorted(zip(self.items_[own], weights.tolist(), strict=True), key=lambda share: -abs(share[1]))
        return Reason(item, score, score - float(weights.sum()), tuple(shares), 0.0, titles=self.titles_)


def _ridge(product: Matrix, factor: Matrix, l2: float) -> Matrix:
    """product (factor' factor + l2 I)^-1, the solution of one half of a turn."""
    gram = factor.T @ factor
    gram.flat[:: len(gram) + 1] += l2
    return np.asarray(product @ np.linalg.inv(gram))


def _objective(nnz: int, VtZ: Matrix, Z: Matrix, F: Matrix, l2: float) -> float:
    """||V - Z F'||^2 + l2 (||F||^2 + ||Z||^2) without ever making Z F'."""
    gram = Z.T @ Z
    fit = nnz - 2 * np.vdot(VtZ, F) + np.vdot(F @ gram, F)
    return float(fit + l2 * (np.vdot(F, F) + np.trace(gram)))
