"""Friends of friends, for records that bear the name of an item: friend lists, citations, pages that link to others.

    s(t) = sum_{i in I_v} [t in I_i] |I_i|^-1/2 + [i in I_t] / n_i

I_i is the training record named i: the first part says what the set's own items hold, the second who holds them as
the set does. Nothing else is looked at, so where no record bears the name of an item this is the popularity order. The
set that is completed needs no name, and if it has one it is not read.

Names can be the same by chance, as where users and movies are both numbered. `meant` asks whether two items of a record
are linked more often than with the names dealt anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.models.base import Model, Progress
from cooccur.models.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ASKED, AT_ONCE = 5000, 100  # records that are asked whether the names mean anything, and so many at a time
LEAST, TIMES = 100, 2  # links in them, and how many times as often as by chance
OWN = 0.01  # share of the named records that hold their own name: with more, pairs are links already
BYTES_A_LINK = 60  # at the peak


@dataclass(eq=False, kw_only=True)
class Links(Graph):
    """Links among the items, from the records that bear their names.

    >>> lists = {"ann": ["bob"], "bob": ["ann", "dee"], "cy": ["eve"], "dee": ["ann"]}
    >>> Links().fit(Baskets.from_lists(lists.values(), records=lists)).complete(["bob"], k=1).items
    ['ann']
    """

    name: ClassVar[str] = "links"
    score_is: ClassVar[str] = "sum of links from and to the basket"

    def estimate(self, baskets: Baskets) -> int:
        return Model.estimate(self, baskets) + BYTES_A_LINK * baskets.nnz

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        W = sum(both(links(baskets, owners(baskets)), baskets))
        W.sort_indices()
        self.named_ = W.nnz > 0
        self._keep(W, source=0, target=0)


def owners(baskets: Baskets) -> npt.NDArray[np.int64]:
    """(records,) the item whose name each record bears, -1 where there is none.

    >>> owners(Baskets.from_lists([["bob", "cy"], ["ann"]], records=["bob", "dee"])).tolist()
    [0, -1]
    """
    if baskets.numbered:
        return np.full(len(baskets), -1)
    index = baskets.index
    return np.array([index.get(name, -1) for name in baskets.records], dtype=np.int64)


def links(baskets: Baskets, owner: npt.NDArray[np.int64]) -> csr_matrix:
    """(n, n) A_it = 1 where the record of i holds t, but for i itself.

    >>> friends = Baskets.from_lists([["bob", "cy"], ["bob"]], records=["bob", "cy"])
    >>> links(friends, owners(friends)).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    from scipy.sparse import csr_matrix

    rows = np.repeat(owner, baskets.lengths)
    keep = (rows >= 0) & (rows != baskets.indices)
    ones, n = np.ones(int(keep.sum()), dtype=np.float32), baskets.n_items
    A = csr_matrix((ones, (rows[keep], baskets.indices[keep])), shape=(n, n))
    A.data[:] = 1  # two records of one name
    return A


def both(A: csr_matrix, baskets: Baskets) -> tuple[csr_matrix, csr_matrix]:
    """Both parts of W, one row a source item."""
    from scipy.sparse import diags

    n, size = np.maximum(baskets.frequencies, 1), np.maximum(np.diff(A.indptr), 1)
    linking, linked = diags(size**-0.5) @ A, diags(1 / n) @ A.T
    return linking.tocsr().astype(np.float32), linked.tocsr().astype(np.float32)


def meant(baskets: Baskets, owner: npt.NDArray[np.int64]) -> bool:
    """Whether items of a record are linked more often than they would be with the names dealt anew.

    Not where records hold their own names, as a list of friends with oneself: counts of pairs see the links then, and
    whoever completes such a set has named its owner.

    >>> lists = Baskets.from_lists([["0", "1"], ["1", "2"]] * 200, records=[str(number) for number in range(400)])
    >>> owners(lists)[:4].tolist(), meant(lists, owners(lists))
    ([0, 1, 2, -1], False)
    """
    named = np.flatnonzero(owner >= 0)
    own = np.count_nonzero(np.repeat(owner, baskets.lengths) == baskets.indices)
    if own >= max(1, OWN * len(named)):
        return False
    rng = np.random.default_rng(0)
    X = baskets[np.sort(rng.permutation(len(baskets))[:ASKED])].matrix
    anew = owner.copy()
    anew[named] = rng.permutation(owner[named])
    found, chance = (_linked(X, links(baskets, who)) for who in (owner, anew))
    return found >= max(LEAST, TIMES * chance)


def _linked(X: csr_matrix, A: csr_matrix) -> float:
    """How many pairs of items of a record are linked."""
    parts = (X[start : start + AT_ONCE] for start in range(0, X.shape[0], AT_ONCE))
    return sum(float((part @ A).multiply(part).sum()) for part in parts)
