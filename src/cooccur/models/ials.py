"""Implicit alternating least squares (Hu, Koren, Volinsky 2008), in the form of Rendle et al. (2022).

    min over Z (records, d), F (items, d):   sum_v [ sum_{i in I_v} (1 - z_v.f_i)^2 + a sum_i (z_v.f_i)^2 ]
        + l2 sum_v (|I_v| + a N)^nu |z_v|^2 + l2 sum_i (n_i + a M)^nu |f_i|^2           a: `unobserved`, nu: `scaling`
    z_v = A_v^-1 sum_{i in I_v} f_i        A_v = a F'F + sum_{i in I_v} f_i f_i' + l2 (|I_v| + a N)^nu I
    s(t) = z_v.f_t = sum_{i in I_v} f_t' A_v^-1 f_i

Unlike `mmmf`, what is present weighs more than what is absent (1 + a against a), so A_v is another matrix for each
record. The turns are taken by the package `implicit`: its solver has one ridge a call, so records of one length, which
share theirs, go together. A new record is put in by the same half-turn, a few lines of numpy, without the package.
No one a and l2 suit all data (the best on validation records: ml-1m 0.3 and 0.003, jester 10 and 0.003, epinions
0.0003 and 0.03), so they are chosen inside `fit`, on held-out records: all pairs of WEIGHTS and BOUNDS are tried with
short vectors, where a turn costs next to nothing, and the best of these again with vectors of full length.
Cost of a turn: 2 nnz(V) d^2 + (records + items) d^3 / 3; of a question: |I_v| d^2 + d^3 + N d.
A basket without a known item gets the popularity order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur import memory
from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import hold_out, rank
from cooccur.models.answers import Reason
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Model, Progress, part_of, silent
from cooccur.models.parameters import parameter

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
WEIGHTS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)  # the a to choose from
BOUNDS = (0.003, 0.01, 0.03, 0.1)  # the l2 to choose from
FEW_TURNS, FEW_FACTORS = 4, 16  # to try one of each
ASKED = 2 * 10**8  # scores looked at to try one
AGAIN = 6  # so many of them are tried with vectors of full length
CELLS = 2**20  # numbers in the matrices A_v that are made at once


@dataclass(eq=False, kw_only=True)
class Ials(Model):
    """Weighted matrix factorisation. Learning needs `pip install cooccur[peers]`; asking a learned model does not.

    >>> baskets = [["milk", "bread"], ["milk", "bread", "jam"], ["tea", "mint"], ["tea", "mint", "lemon"]]
    >>> Ials(factors=2).fit(baskets).complete(["mint"], k=2).items
    ['tea', 'lemon']
    """

    name: ClassVar[str] = "ials"
    level: ClassVar[str] = "L2"
    score_is: ClassVar[str] = "reconstruction"
    arrays: ClassVar[Mapping[str, Array]] = {
        "F_": Array("float32", "N,factors"),
        "gram_": Array("float64", "factors,factors"),
        "l2_": Array("float64", "1", low=1e-9),
        "unobserved_": Array("float64", "chosen", low=1e-6, since=4),
    }

    factors: int = parameter(64, "length d of the vectors", low=1, high=16_384, search=(16, 256))
    unobserved: float | None = parameter(
        None, "weight a of an absent item, a present one weighs 1 + a; none: chosen on held-out records",
        low=1e-6, high=1e6, search=(0.0001, 3),
    )  # fmt: skip
    l2: float | None = parameter(
        None, "bound on both factors; none: chosen on held-out records", low=1e-9, search=(0.001, 0.1)
    )
    scaling: float = parameter(
        1.0, "power of the frequency that the bound grows with; 0: the same for all", low=0, high=2
    )
    iterations: int = parameter(16, "turns", low=1)
    random_state: int = parameter(0, "seed of the first item vectors and of the held-out records", low=0)

    # -- learning -----------------------------------------------------------------------------------

    def estimate(self, baskets: Baskets) -> int:
        vectors = 16 * self.factors * (len(baskets) + baskets.n_items)
        chosen = self.l2 is None or self.unobserved is None
        return super().estimate(baskets) + 24 * baskets.nnz + vectors + (memory.loading("numba") if chosen else 0)

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        _implicit()  # if it is missing, say so now
        self._choose(baskets, part_of(progress, 0, 0.5))
        self._learn(baskets, self.factors, self.iterations, part_of(progress, 0.5, 1))

    def _choose(self, baskets: Baskets, progress: Progress) -> None:
        """Set a and l2: as given, else the best of WEIGHTS and BOUNDS by Top@1 + Top@10 on held-out records."""
        weights = WEIGHTS if self.unobserved is None else (self.unobserved,)
        bounds = BOUNDS if self.l2 is None else (self.l2,)
        pairs = list(product(weights, bounds))
        asked = min(10_000, ASKED // baskets.n_items)
        learn, removals = hold_out(baskets, share=0.2, seed=self.random_state, at_most=2000, removals=asked)
        if not len(removals) or not learn.nnz:
            pairs = [pairs[len(pairs) // 2]]
        lengths = sorted({min(FEW_FACTORS, self.factors), self.factors})
        for stage, d in enumerate(lengths):
            values = []
            for at, (a, l2) in enumerate(pairs if len(pairs) > 1 else ()):
                progress((stage + at / len(pairs)) / len(lengths), f"trying unobserved = {a:g}, l2 = {l2:g}")
                self._set(a, l2)
                self._learn(learn, d, FEW_TURNS, silent)
                ranks = rank(self, removals)
                values.append(float(top_at(ranks, 1).mean() + top_at(ranks, 10).mean()))
            pairs = [pairs[at] for at in np.argsort(-np.array(values), kind="stable")[:AGAIN]] or pairs
        self._set(*pairs[0])

    def _set(self, a: float, l2: float) -> None:
        self.unobserved_: Matrix = np.array([a])
        self.l2_: Matrix = np.array([l2])

    @property
    def _a(self) -> float:
        """In files of earlier formats it was not chosen."""
        return float(self.unobserved_[0]) if len(self.unobserved_) else self.unobserved or WEIGHTS[0]

    def _learn(self, baskets: Baskets, d: int, turns: int, progress: Progress) -> None:
        start = np.random.default_rng(self.random_state).normal(scale=0.1 / np.sqrt(d), size=(baskets.n_items, d))
        F = start.astype(np.float32)
        solver, threadpool_limits = _implicit()
        V = baskets.matrix
        records, items = self._groups(V), self._groups(V.T.tocsr())
        with threadpool_limits(1, "blas"):  # the package has threads of its own
            for turn in range(turns):
                progress(turn / turns, f"turn {turn + 1}")
                Z = self._half_turn(solver, records, F)
                F = self._half_turn(solver, items, Z)
        self.F_: Floats = F
        wide = F.astype(np.float64)
        self.gram_: Matrix = np.asarray(self._a * (wide.T @ wide))

    def _groups(self, V: csr_matrix) -> list[tuple[Ints, csr_matrix, float]]:
        """The rows of each length, and the ridge that they share."""
        return [(rows, V[rows], self._ridge(length, V.shape[1])) for length, rows in _by_length(np.diff(V.indptr))]

    def _ridge(self, length: int, width: int) -> float:
        return float(self.l2_[0] * (length + self._a * width) ** self.scaling)

    def _half_turn(self, solver: Any, groups: list[tuple[Ints, csr_matrix, float]], F: Floats) -> Floats:
        """Z given F, or F given Z. The package solves A_v / a with the targets 1 + a in place of 1."""
        a, d = self._a, F.shape[1]
        als = solver(factors=d, alpha=1 + 1 / a)
        als.item_factors = F
        Z = np.empty((sum(len(rows) for rows, _, _ in groups), d), dtype=np.float32)
        for rows, V, ridge in groups:
            als.regularization = ridge / a
            Z[rows] = als.recalculate_user(rows, V) / (1 + a)
        return Z

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        d = self.F_.shape[1]
        Z = np.zeros((len(baskets), d), dtype=np.float32)
        for length, alike in _by_length(baskets.lengths):
            size = max(1, CELLS // (d * max(d, length)))
            for rows in np.split(alike, range(size, len(alike), size)):
                own = baskets.indices[baskets.indptr[rows][:, None] + np.arange(length)]
                A, f = self._systems(own)
                Z[rows] = _solve(A, f.sum(axis=1))
        scores = Z @ self.F_.T
        scores[~Z.any(axis=1)] = self.frequencies_ / self.n_records_
        return np.asarray(scores)

    def _systems(self, own: Ints) -> tuple[Matrix, Matrix]:
        """A_v (records, d, d) and the vectors (records, L, d) of the items `own` (records, L)."""
        f = self.F_[own].astype(np.float64)
        A = self.gram_ + f.transpose(0, 2, 1) @ f
        A += self._ridge(own.shape[1], len(self.items_)) * np.eye(len(self.gram_))
        return A, f

    def _affinity(self, item: int) -> Floats:
        """The cosine of the vectors."""
        size = np.linalg.norm(self.F_, axis=1)
        size *= size[item]
        return np.asarray(np.divide(self.F_ @ self.F_[item], size, out=np.zeros_like(size), where=size > 0))

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact for this A_v, which the items make together: the score is a sum over the items present."""
        known = self._rest(basket, item)
        target, own = self.number(item), known.row(0)
        score = float(self._scores(known)[0, target])
        A, f = self._systems(own[None].astype(np.int64))
        weights = f[0] @ _solve(A, self.F_[[target]])[0]
        shares = sorted(zip(self.items_[own], weights.tolist(), strict=True), key=lambda share: -abs(share[1]))
        return Reason(item, score, score - float(weights.sum()), tuple(shares), 0.0, titles=self.titles_)


def _solve(A: Matrix, b: npt.NDArray[Any]) -> Matrix:
    """(records, d) A_v^-1 b_v."""
    try:
        return np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        raise CooccurError("ials: a system without a solution; fit it again with a larger l2") from None


def _by_length(lengths: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[int, Ints]]:
    """Each length that occurs, and the rows that have it.

    >>> [(length, rows.tolist()) for length, rows in _by_length(np.array([2, 1, 2]))]
    [(1, [1]), (2, [0, 2])]
    """
    order = np.argsort(lengths, kind="stable")
    found, starts = np.unique(lengths[order], return_index=True)
    return zip(found.tolist(), np.split(order, starts[1:]), strict=True)


def _implicit() -> tuple[Any, Any]:
    try:
        solver = import_module("implicit.cpu.als").AlternatingLeastSquares
        return solver, import_module("threadpoolctl").threadpool_limits
    except ImportError:
        raise CooccurError("ials learns with the library implicit; pip install 'cooccur[peers]'") from None
