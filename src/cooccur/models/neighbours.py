"""Graph methods that keep few edges: item-based nearest neighbours, and random walks of three steps.

    s(t) = sum_{i in I_v} W_it          of each item's edges only the `neighbours` heaviest are kept

    itemknn   W_it = C_it / (S_i^alpha S_t^(1-alpha) + shrink)      C_it = sum_{v: i, t in I_v} |I_v|^-length
    rp3beta   W_it = n_t^-beta sum_{v: i, t in I_v} (1/n_i)^alpha (1/|I_v|)^alpha

S_i = sum_{v: i in I_v} |I_v|^-length is the squared length of an item's vector, so that alpha = 1/2 is the cosine. The
weights that tf-idf and bm25 give to 0/1 data are weights of records that fall with their length; `length` stands for
them. rp3beta (Paudel et al., 2017) is the walk item, record, item, each step's chance to the power alpha, over the
popularity of where it ends to the power beta.

An edge i -> t is kept if t is among the best of i (`of` source: Deshpande and Karypis, 2004), or if i is among the
best of t (target). On validation records target is better on ml-1m (itemknn, length 1, shrink 0, 200 neighbours: Top@10
20.6, source 17.4), and on retail source (27.3 against 26.6 at shrink 1; rp3beta, alpha 1, beta 0.2: 28.0 against 9.8);
the defaults are a compromise.
Memory: all pairs that occur once, as in `cvg`, and at most `neighbours` * N in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cooccur.baskets import Baskets
from cooccur.models.base import Floats, Progress
from cooccur.models.graph import Graph
from cooccur.models.parameters import parameter
from cooccur.pairs import cooccurrence

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(eq=False, kw_only=True)
class Neighbours(Graph):
    """What the two share: the pruning."""

    neighbours: int = parameter(200, "edges kept of each item", low=1, search=(5, 1000))
    of: str = parameter(
        "target", "whose edges are counted: those from an item or to it", choices=("source", "target"),
        search=["source", "target"],
    )  # fmt: skip

    def _store(self, W: csr_matrix) -> None:
        W = heaviest(W, self.neighbours) if self.of == "source" else heaviest(W.T.tocsr(), self.neighbours).T.tocsr()
        W.sort_indices()
        self.starts_, self.columns_ = W.indptr.astype(np.int64), W.indices.astype(np.int32)
        self.weights_ = W.data

    def _edges(self, item: int) -> Floats:
        """(n_items,) the weights of the edges from an item."""
        edges = np.zeros(len(self.items_), dtype=np.float32)
        row = slice(self.starts_[item], self.starts_[item + 1])
        edges[self.columns_[row]] = self.weights_[row]
        return edges


@dataclass(eq=False, kw_only=True)
class ItemKnn(Neighbours):
    """Item-based nearest neighbours by the cosine.

    >>> model = ItemKnn(shrink=0, length=0).fit([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"]])
    >>> [(s.item, round(s.score, 3)) for s in model.complete(["milk"], k=2)]
    [('bread', 1.0), ('tea', 0.5)]
    """

    name: ClassVar[str] = "itemknn"
    score_is: ClassVar[str] = "summed similarity"

    shrink: float = parameter(0.3, "added to the denominator, so that rare pairs count less", low=0, search=(0.01, 100))
    alpha: float = parameter(
        0.5, "the part of the source in the denominator; 0.5: cosine", low=0, high=1, search=(0, 1)
    )
    length: float = parameter(1.0, "a record of L items weighs L^-length", low=0, high=3, search=(0, 2))

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        C = cooccurrence(baskets, self.length)
        weight = np.maximum(baskets.lengths, 1).astype(np.float32) ** np.float32(-self.length)
        S = np.maximum(baskets.matrix.T @ weight, np.finfo(np.float32).tiny)
        below = np.repeat(S ** np.float32(self.alpha), np.diff(C.indptr))
        below *= (S ** np.float32(1 - self.alpha))[C.indices]
        C.data /= below + np.float32(self.shrink)
        self._store(C)

    def _affinity(self, item: int) -> Floats:
        """The similarity itself."""
        return self._edges(item)


@dataclass(eq=False, kw_only=True)
class Rp3Beta(Neighbours):
    """Three steps of a random walk, less popular ends preferred.

    >>> model = Rp3Beta(alpha=1, beta=0).fit([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"]])
    >>> [(s.item, round(s.score, 3)) for s in model.complete(["milk"], k=2)]
    [('bread', 0.417), ('tea', 0.167)]
    """

    name: ClassVar[str] = "rp3beta"
    score_is: ClassVar[str] = "chance of the walk, popularity discounted"

    alpha: float = parameter(0.7, "the power of each step's chance", low=0, high=3, search=(0, 2))
    beta: float = parameter(0.4, "the power of the popularity that is divided by", low=0, high=3, search=(0, 1))
    scale: bool = parameter(False, "the edges kept from an item sum to one", search=[True, False])

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        C = cooccurrence(baskets, self.alpha)
        self._keep(C, source=self.alpha, target=self.beta)  # in place
        self._store(C)
        if self.scale:
            total = np.add.reduceat(np.append(self.weights_, np.float32(0)), self.starts_[:-1])
            self.weights_ /= np.repeat(np.maximum(total, np.finfo(np.float32).tiny), np.diff(self.starts_))

    def _affinity(self, item: int) -> Floats:
        """The edges over the square root of the other's frequency, as in the cosine, whatever beta is."""
        n = np.maximum(self.frequencies_, 1).astype(np.float32)
        return np.asarray(self._edges(item) * n ** np.float32(self.beta - 0.5))


def heaviest(W: csr_matrix, k: int) -> csr_matrix:
    """The k largest entries of each row; among equals at the border the lower column stays.

    >>> from scipy.sparse import csr_matrix
    >>> heaviest(csr_matrix(np.float32([[3, 1, 2, 2], [0, 5, 0, 0]])), 2).toarray().tolist()
    [[3.0, 0.0, 2.0, 0.0], [0.0, 5.0, 0.0, 0.0]]
    """
    from scipy.sparse import csr_matrix

    keep = np.ones(W.nnz, dtype=bool)
    for row in np.flatnonzero(np.diff(W.indptr) > k):
        at = slice(W.indptr[row], W.indptr[row + 1])
        values = W.data[at]
        border = np.partition(values, -k)[-k]
        above, equal = values > border, np.flatnonzero(values == border)
        above[equal[: k - np.count_nonzero(above)]] = True
        keep[at] = above
    starts = np.concatenate(([0], np.cumsum(np.minimum(np.diff(W.indptr), k))))
    return csr_matrix((W.data[keep], W.indices[keep], starts), shape=W.shape)
