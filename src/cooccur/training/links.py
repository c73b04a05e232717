"""Records that bear the name of an item, as friend lists do: the links among items as pair terms (`models/links.py`).

    linking   W_it = [t in I_i] |I_i|^-1/2      the record of i holds t: friends of friends
    linked    W_it = [i in I_t] / n_i           the record of t holds i: those with the same friends

Counts of pairs know neither, for no record need hold both i and t. What a training record has taught is left out when
it is asked itself (`linear.py`). Likeness of the records of i and t is not a term on purpose: where links go both ways
the records of all that a set holds share its owner, and that tells who is missing only because the answer was given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.evaluation.removal import Removals
from cooccur.models.base import Floats
from cooccur.models.links import both, links, meant, owners
from cooccur.training.linear import TIE_BREAK, Linear


def learn(baskets: Baskets) -> list[Linear]:
    """Both pair terms, or none where the names mean nothing.

    >>> friends = {"ann": ["bob", "cy"], "bob": ["ann", "cy"], "cy": ["ann", "bob"]}
    >>> learn(Baskets.from_lists(friends.values(), records=friends))  # too few to tell
    []
    """
    owner = owners(baskets)
    if not meant(baskets, owner):
        return []
    n = np.maximum(baskets.frequencies, 1)
    c = np.asarray(TIE_BREAK * baskets.frequencies / n.max(), dtype=np.float32)
    linking, linked = both(links(baskets, owner), baskets)
    return [Linking(c, linking, index=baskets.index), LinkedBy(c, linked, index=baskets.index, n=n)]


@dataclass(frozen=True, eq=False)
class Linking(Linear):
    """`index`: the number of each item's name."""

    index: dict[str, int]

    def unseen(self, removals: Removals) -> Floats:
        """Without the row of the record itself, should it hold its own name."""
        return self._without(removals.rest, np.ones(len(self.c), dtype=np.float32))

    def _own(self, rest: Baskets) -> npt.NDArray[np.int64]:
        return np.array([self.index.get(name, -1) for name in rest.records], dtype=np.int64)

    def _without(self, rest: Baskets, factor: Floats) -> Floats:
        from scipy.sparse import csr_matrix

        other = np.repeat(self._own(rest), rest.lengths) != rest.indices
        X = csr_matrix((factor[rest.indices] * other, rest.indices, rest.indptr), shape=(len(rest), rest.n_items))
        return np.asarray(self.c + (X @ self.W).toarray(), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class LinkedBy(Linking):
    """`n` (n,) is in how many records each item was."""

    n: npt.NDArray[np.int64]

    def unseen(self, removals: Removals) -> Floats:
        """Nobody is the one whose record this is, and each of its items was in one record less."""
        rest, n = removals.rest, self.n
        scores = self._without(rest, np.where(n > 1, n / np.maximum(n - 1, 1), 0).astype(np.float32))
        own = self._own(rest)
        named = np.flatnonzero(own >= 0)
        scores[named, own[named]] = self.c[own[named]]
        return scores
