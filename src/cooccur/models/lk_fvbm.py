"""The fully visible Boltzmann machine of order k (Lk): a weight for every set of items, for small item counts.

    E(v) = -sum_{i in I_v} b_i - sum_{S inside I_v} w_S          phi(t, v) = b_t + sum_{S: t in S, S - t inside I_v} w_S

The sets S have 2 to `order` items and are those that occur in at least `min_count` training records; as no set occurs
more often than its parts do, each size is found from the one below. Fitted by pseudo-likelihood less l2/2 sum_S w_S^2,
a convex problem, to its end (L-BFGS, double precision), so the answer depends on the data alone: the known truth beside
which learned representations can be tested. In matrices, with F(v) = which of the sets S - t the record holds,

    phi(., v) = b + F(v) M          M[S - t, t] = w_S, one weight for all t in S

No S - t that feeds t holds t itself, so this is leave-one-out for the record's own items as it stands.
Cost of an evaluation: (number of sets S - t in all records) * items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Progress
from cooccur.models.energy import LogOdds
from cooccur.models.parameters import parameter

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

CELLS = 2**23  # (records, sets) looked at at once


@dataclass(eq=False, kw_only=True)
class LkFvbm(LogOdds):
    """Explicit weights for pairs, triples and larger sets.

    >>> model = LkFvbm(min_count=1).fit([["flour", "eggs", "syrup"], ["flour"], ["eggs"], ["syrup"], ["milk"]] * 5)
    >>> model.complete(["flour", "eggs"], k=1).items
    ['syrup']
    >>> model.sets()[-1][0]
    ('flour', 'eggs', 'syrup')
    """

    name: ClassVar[str] = "lk-fvbm"
    level: ClassVar[str] = "Lk"
    score_is: ClassVar[str] = "log-odds given the basket"
    arrays: ClassVar[Mapping[str, Array]] = {
        "b_": Array("float32", "N"),
        "sets_": Array("int32", "sets,order", low=-1, below="N"),
        "weights_": Array("float32", "sets"),
        "parts_": Array("int32", "parts,order-1", low=-1, below="N"),
        "part_of_": Array("int32", "sets,order", low=-1, below="parts"),
    }

    order: int = parameter(3, "items in the largest sets", low=2, high=5)
    min_count: int = parameter(10, "records that a set must occur in", low=1)
    l2: float = parameter(10.0, "L2 pull of each weight towards 0, against the summed log-likelihood", low=1e-6)
    max_items: int = parameter(60, "more items than this are refused: the sets would be too many", low=2, high=10_000)
    iterations: int = parameter(500, "the most L-BFGS iterations", low=1)

    # -- learning -----------------------------------------------------------------------------------

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        if baskets.n_items > self.max_items:
            raise ParameterError(
                f"lk-fvbm: {baskets.n_items:,} items, max_items = {self.max_items}; "
                "keep the most frequent ones (filter top_items), or use dem or rbm"
            )
        self.sets_ = frequent_sets(baskets, self.order, self.min_count)
        self.parts_, self.part_of_ = _parts(self.sets_)
        self._climb(baskets, progress)

    def _climb(self, baskets: Baskets, progress: Progress) -> None:
        """L-BFGS on (b, w) from the logits of the frequencies and zero."""
        from scipy.optimize import minimize

        n, records = baskets.n_items, len(baskets)
        F = holds(baskets, self.parts_)
        V = baskets.matrix.toarray().astype(np.float64)
        sign = 1 - 2 * V  # ln p(v_t | v_-t) = -softplus(sign phi)
        used = self.sets_ >= 0
        evaluations = 0

        def loss(x: Doubles) -> tuple[float, Doubles]:
            nonlocal evaluations
            evaluations += 1
            progress(min(1.0, evaluations / self.iterations), f"evaluation {evaluations}")
            b, w = np.split(x / unit, [n])
            z = F @ self._readout(w)
            z += b
            z *= sign
            e = np.exp(-np.abs(z))
            cost = np.maximum(z, 0).sum() + np.log1p(e).sum() + self.l2 / 2 * (w @ w)
            delta = sign * np.where(z > 0, 1, e) / (1 + e)
            G = F.T @ delta
            of_sets = np.where(used, G[self.part_of_, self.sets_], 0).sum(axis=1) + self.l2 * w
            return float(cost) / records, np.concatenate([delta.sum(axis=0), of_sets]) / unit / records

        share = (baskets.frequencies + 0.5) / (records + 1)
        start = np.concatenate([np.log(share / (1 - share)), np.zeros(len(self.sets_))])
        # in units of its own curvature (that of independent items) a rare set is as easy to fit as a frequent one
        spread = share * (1 - share)
        counts = np.asarray(F.sum(axis=0)).ravel()
        of_sets = np.where(used, counts[self.part_of_] * spread[self.sets_], 0).sum(axis=1) + self.l2
        unit = np.sqrt(np.concatenate([records * spread, of_sets]) / records)
        options = {"maxiter": self.iterations, "maxfun": 2 * self.iterations, "maxcor": 20, "gtol": 1e-6, "ftol": 1e-10}
        found = minimize(loss, start * unit, jac=True, method="L-BFGS-B", options=options)
        b, w = np.split(found.x / unit, [n])
        self.b_: Floats = b.astype(np.float32)
        self.weights_: Floats = w.astype(np.float32)

    def _readout(self, w: npt.NDArray[Any]) -> Doubles:
        """(parts, n_items) M."""
        M = np.zeros((len(self.parts_), len(self.items_)))
        used = self.sets_ >= 0
        M[self.part_of_[used], self.sets_[used]] = np.broadcast_to(w[:, None], used.shape)[used]
        return M

    def _check_learned(self) -> None:
        """Each set has two items at least and each part one, -1 stands behind them only, small parts come first."""
        of_sets, of_parts = self.sets_ >= 0, self.parts_ >= 0
        wrong = [~of_sets[:, :2], ~of_parts[:, :1], (self.part_of_ < 0)[of_sets], np.diff(of_parts.sum(axis=1)) < 0]
        wrong += [used[:, 1:] > used[:, :-1] for used in (of_sets, of_parts)]
        if any(found.any() for found in wrong):
            raise ValueError("sets_, parts_ and part_of_ do not fit each other")

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        return np.asarray(holds(baskets, self.parts_) @ self._readout(self.weights_) + self.b_, dtype=np.float32)

    def energy(self, baskets: Any) -> Doubles:
        """(records,) E(v)."""
        known, _ = self._known(baskets)
        sizes = (self.sets_ >= 0).sum(axis=1)
        # each present item of a set counts the set once
        field = holds(known, self.parts_) @ self._readout(self.weights_ / sizes) + self.b_
        return np.asarray(-(known.matrix.toarray() * field).sum(axis=1))

    def sets(self) -> list[tuple[tuple[str, ...], float]]:
        """The sets with their weights, heaviest last."""
        self._check_fitted()
        names = [tuple(str(self.items_[i]) for i in row if i >= 0) for row in self.sets_]
        return [(names[k], float(self.weights_[k])) for k in np.argsort(self.weights_, kind="stable")]


def frequent_sets(baskets: Baskets, order: int, least: int) -> Ints:
    """(sets, order) the item sets of 2 to `order` items in at least `least` records: ascending, -1 behind, small first.

    >>> frequent_sets(Baskets.from_lists([["a", "b", "c"], ["a", "b", "c"], ["a", "b"]]), 3, 2).tolist()
    [[0, 1, -1], [0, 2, -1], [1, 2, -1], [0, 1, 2]]
    """
    V = baskets.matrix
    sets = np.arange(baskets.n_items, dtype=np.int32)[:, None]
    found = [np.empty((0, order), dtype=np.int32)]
    for size in range(2, order + 1):
        counts = (holds(baskets, sets).T @ V).toarray()  # (sets of the size below, items)
        counts[np.arange(baskets.n_items) <= sets[:, -1:]] = 0  # each set once, from its first items
        before, last = np.nonzero(counts >= least)
        sets = np.column_stack([sets[before], last.astype(np.int32)])
        found.append(np.pad(sets, ((0, 0), (0, order - size)), constant_values=-1))
    return np.concatenate(found)


def holds(baskets: Baskets, sets: Ints) -> Any:
    """(records, sets) CSR of float64: 1 where the record holds the whole set. `sets` is padded by -1, small first.

    >>> holds(Baskets.from_lists([["a", "b"], ["b"]]), np.array([[1, -1], [0, 1]])).toarray().tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    from scipy.sparse import csr_matrix, hstack, vstack

    sizes = (sets >= 0).sum(axis=1)
    step = max(1, CELLS // max(1, len(sets)))
    blocks = []
    for start in range(0, len(baskets), step):
        V = baskets[start : start + step].matrix.astype(np.float64).tocsc()
        row = [csr_matrix((V.shape[0], 0))]
        for size in np.unique(sizes):
            items = sets[sizes == size, :size].T
            block = V[:, items[0]]
            for column in items[1:]:
                block = block.multiply(V[:, column])
            row.append(block)
        blocks.append(hstack(row, format="csr"))
    return vstack(blocks, format="csr") if blocks else csr_matrix((0, len(sets)))


def _parts(sets: Ints) -> tuple[Ints, Ints]:
    """All S - t, small first, (parts, order - 1); and (sets, order) the number of S - t for each t in S, -1 behind."""
    order = sets.shape[1]
    number: dict[tuple[int, ...], int] = {}
    part_of = np.full(sets.shape, -1, dtype=np.int32)
    for k, row in enumerate(sets.tolist()):
        items = tuple(i for i in row if i >= 0)
        for j in range(len(items)):
            part_of[k, j] = number.setdefault(items[:j] + items[j + 1 :], len(number))
    parts = np.full((len(number), order - 1), -1, dtype=np.int32)
    for part, k in number.items():
        parts[k, : len(part)] = part
    return parts, part_of
