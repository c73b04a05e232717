"""Graph methods: an item's score is the sum of its edges to the basket.

    s(t) = sum_{i in I_v} W_it     W_it = C_it * n_i^-source * n_t^-target    C_it = sum_{v: i, t in I_v} |I_v|^-length

n_i is the number of records with item i. The three models are three settings of it; each keeps W as CSR by source item.
A basket without an edge (empty, or all its items new) gets the popularity order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.models.answers import Reason
from cooccur.models.arrays import PAIRS, Array
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.parameters import parameter
from cooccur.pairs import cooccurrence, expected_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(eq=False, kw_only=True)
class Graph(Model):
    """What the graph methods share: scores from a sparse W, one row a source item, and exact reasons."""

    level: ClassVar[str] = "L2"
    arrays: ClassVar[Mapping[str, Array]] = PAIRS

    def estimate(self, baskets: Baskets) -> int:
        return super().estimate(baskets) + 28 * expected_pairs(baskets)

    def _keep(self, C: csr_matrix, source: float, target: float) -> None:
        n = np.maximum(self.frequencies_, 1).astype(np.float32)
        W = C.data
        if source:
            W *= np.repeat(n ** np.float32(-source), np.diff(C.indptr))
        if target:
            W *= (n ** np.float32(-target))[C.indices]
        self.starts_ = C.indptr.astype(np.int64)
        self.columns_ = C.indices.astype(np.int32)
        self.weights_ = W

    def _scores(self, baskets: Baskets) -> Floats:
        scores = np.zeros((len(baskets), len(self.items_)), dtype=np.float32)
        ops.add_rows(scores, baskets.indptr, baskets.indices, self.starts_, self.columns_, self.weights_)
        scores[baskets.totals(np.diff(self.starts_)) == 0] = self.frequencies_
        return scores

    def _affinity(self, item: int) -> Floats:
        """The edges of an item over the square root of the other's frequency, as in the cosine."""
        if self.starts_[item] == self.starts_[item + 1]:  # no edge; a basket of it would get the popularity order
            return np.zeros(len(self.items_), dtype=np.float32)
        edges = self._scores(Baskets(np.array([0, 1]), np.array([item]), self.items_))[0]
        return np.asarray(edges / np.sqrt(np.maximum(self.frequencies_, 1), dtype=np.float32))

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: the score is the sum of the edges, so each present item's share is its own edge."""
        known = self._rest(basket, item)
        target = self.number(item)
        shares = []
        if not np.diff(self.starts_)[known.row(0)].any():  # no edge at all: the popularity order
            prior = float(self.frequencies_[target])
            return Reason(
                item, prior, prior, tuple((str(self.items_[i]), 0.0) for i in known.row(0)), 0.0, titles=self.titles_
            )
        for i in known.row(0):
            columns = self.columns_[self.starts_[i] : self.starts_[i + 1]]
            at = int(np.searchsorted(columns, target))
            linked = at < len(columns) and columns[at] == target
            shares.append((str(self.items_[i]), float(self.weights_[self.starts_[i] + at]) if linked else 0.0))
        shares.sort(key=lambda share: -abs(share[1]))
        score = sum(value for _, value in shares)
        return Reason(item, score, 0.0, tuple(shares), 0.0, titles=self.titles_)


@dataclass(eq=False, kw_only=True)
class Cvg(Graph):
    """Co-occurrence graph: `s(t) = sum_i C_it`, plain counts.

    >>> model = Cvg().fit([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"]])
    >>> [(s.item, s.score) for s in model.complete(["milk"], k=2)]
    [('bread', 2.0), ('tea', 1.0)]
    """

    name: ClassVar[str] = "cvg"
    score_is: ClassVar[str] = "times seen together"

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        self._keep(cooccurrence(baskets), source=0, target=0)


@dataclass(eq=False, kw_only=True)
class NormCvg(Graph):
    """Normalised co-occurrence graph. `by` names the variant:

    - `source`: `C_it / n_i`, the share of i's records that hold t. The default; it gives the paper's figures.
    - `target`: `C_it / n_t`, which lifts rare items.
    - `both`: `C_it / sqrt(n_i n_t)`, the cosine.
    - `edges`: `C_it / sum_j C_ij`, the one-step random walk (`lrw` with one step).

    >>> model = NormCvg().fit([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"]])
    >>> [(s.item, s.score) for s in model.complete(["tea"])]
    [('milk', 0.5), ('bread', 0.5), ('mint', 0.5)]
    """

    name: ClassVar[str] = "normcvg"
    score_is: ClassVar[str] = "summed share of an item's records"

    by: str = parameter(
        "source", "what an edge is divided by", choices=("source", "target", "both", "edges"),
        search=["source", "target", "both", "edges"],
    )  # fmt: skip

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        C = cooccurrence(baskets)
        if self.by == "edges":
            C.data /= np.repeat(np.maximum(C.sum(axis=1).A1, 1).astype(np.float32), np.diff(C.indptr))
        source, target = {"source": (1.0, 0.0), "target": (0.0, 1.0), "both": (0.5, 0.5), "edges": (0.0, 0.0)}[self.by]
        self._keep(C, source, target)


@dataclass(eq=False, kw_only=True)
class LwCvg(Graph):
    """Length-weighted co-occurrence graph: every record counts alike, however long it is.

    A record of length L shows L^2 pairs, so in plain counts the long ones drown the rest; with `length = 1` a record
    spreads a weight of about one over the neighbours of each of its items.

    >>> LwCvg().fit([["milk", "bread"], ["milk", "tea", "mint", "jam"]]).complete(["milk"], k=1).items
    ['bread']
    """

    name: ClassVar[str] = "lwcvg"
    score_is: ClassVar[str] = "length-weighted co-occurrence"

    length: float = parameter(1.0, "a record of L items weighs L^-length", low=0, high=3, search=(0, 2))
    source: float = parameter(0.7, "an edge from i is divided by n_i^source", low=0, high=2, search=(0, 1.5))
    target: float = parameter(0.0, "an edge to t is divided by n_t^target", low=0, high=2, search=(0, 1))

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        self._keep(cooccurrence(baskets, self.length), self.source, self.target)
