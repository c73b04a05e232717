"""Latent Dirichlet allocation: a record mixes topics, a topic is a distribution over items.

    s(t) = sum_z p(z | I_v) p(t | z)
    theta_z = (a_z + sum_{i in I_v} theta_z phi_zi / sum_y theta_y phi_yi) / (sum_y a_y + |I_v|)      phi_zt = p(t | z)

phi is learned by tomotopy (collapsed Gibbs sampling, one thread, so that a seed gives one result). What a new record is
about, theta = p(z | I_v), needs no library: `steps` rounds of the second line (zero-order collapsed variational Bayes)
from theta = a / sum a, where a_z is `prior` times topic z's share of the training occurrences. So a basket without a
known item gets sum_z share_z p(t | z), which is nearly the items' frequencies.
On validation records (Top@10, each with its best `prior`) tomotopy has 27.1 on retail with 64 topics where
scikit-learn's online variational LDA has 25.0, and 64.9 to 65.7 on jester with 32, there several times faster. Topics:
128 has the best Top@10 of 32, 64, 128 on jester and ml-1m; on retail 256 has 27.9 and 64 has 27.1 at the same `prior`.
Cost: learning `iterations` * occurrences * topics; a record `steps` * |I_v| * topics + items * topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.parameters import parameter

ROUND = 10  # iterations between two reports of progress
CELLS = 2**20  # occurrences * topics worked on at once, to stay near the cache


@dataclass(eq=False, kw_only=True)
class Lda(Model):
    """Topics of items. Learning needs `pip install cooccur[lda]`; asking a learned model does not.

    >>> baskets = [["milk", "bread"], ["milk", "bread", "jam"], ["tea", "mint"], ["tea", "mint", "lemon"]] * 5
    >>> Lda(topics=2).fit(baskets).complete(["mint"], k=1).items
    ['tea']
    """

    name: ClassVar[str] = "lda"
    level: ClassVar[str] = "L2"
    score_is: ClassVar[str] = "probability of being the next item"
    arrays: ClassVar[Mapping[str, Array]] = {
        "phi_": Array("float32", "topics,N", low=0, high=1.01),
        "share_": Array("float32", "topics", low=0, high=1.01),
    }

    topics: int = parameter(128, "number of topics", low=1, high=32_767, search=(16, 256))
    alpha: float = parameter(0.1, "first Dirichlet prior of a topic in a record; adapted while learning", low=1e-6)
    eta: float = parameter(0.01, "Dirichlet prior of an item in a topic", low=1e-6, search=(0.001, 0.3))
    iterations: int = parameter(100, "sweeps of the Gibbs sampler", low=1)
    prior: float = parameter(
        2.0, "weight of the topics' overall shares in a record, in items", low=1e-6, high=1e6, search=(0.1, 10)
    )
    steps: int = parameter(20, "rounds to find what a record is about", low=1, high=1000)
    random_state: int = parameter(0, "seed of the sampler", low=0)

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        sampler = _tomotopy().LDAModel(k=self.topics, alpha=self.alpha, eta=self.eta, seed=self.random_state)
        for record in range(len(baskets)):
            if len(row := baskets.row(record)):
                sampler.add_doc(row.astype(str).tolist())
        for done in range(0, self.iterations, ROUND):
            progress(done / self.iterations, f"sweep {done + 1}")
            sampler.train(min(ROUND, self.iterations - done), workers=1)
        self.phi_ = np.zeros((self.topics, baskets.n_items), dtype=np.float32)
        items = np.array(sampler.used_vocabs, dtype=np.int64)
        for z in range(self.topics):
            self.phi_[z, items] = sampler.get_topic_word_dist(z)
        self.share_ = np.asarray(sampler.get_count_by_topics() / baskets.nnz, dtype=np.float32)

    def _check_learned(self) -> None:
        if not 0.5 < self.share_.sum() < 2:
            raise ValueError(f"the topics' shares sum to {self.share_.sum():g}, expected 1")

    def _scores(self, baskets: Baskets) -> Floats:
        scores = np.empty((len(baskets), len(self.items_)), dtype=np.float32)
        phi_by_item = np.ascontiguousarray(self.phi_.T)
        for which in self._parts(baskets):
            np.matmul(self._mixture(baskets[which], phi_by_item), self.phi_, out=scores[which])
        return scores

    def _mixture(self, baskets: Baskets, phi_by_item: Floats) -> Floats:
        """(records, topics) theta: what each record is about."""
        V = baskets.matrix
        record = np.repeat(np.arange(len(baskets)), baskets.lengths)
        phi = phi_by_item[baskets.indices]
        a = np.float32(self.prior) * self.share_
        theta = np.tile(self.share_, (len(baskets), 1))
        for _ in range(self.steps):
            explained = np.einsum("nz,nz->n", theta[record], phi)
            V.data = 1 / np.maximum(explained, np.float32(1e-30))  # 0 for an item that training never saw: phi is 0
            theta = a + theta * (V @ phi_by_item)
            theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def _parts(self, baskets: Baskets) -> Iterator[slice]:
        """Slices of records with about CELLS / topics occurrences each."""
        start = 0
        while start < len(baskets):
            limit = baskets.indptr[start] + CELLS // self.topics
            stop = max(start + 1, int(np.searchsorted(baskets.indptr, limit, side="right")) - 1)
            yield slice(start, stop)
            start = stop


def _tomotopy() -> Any:
    try:
        return import_module("tomotopy")
    except ImportError:
        raise CooccurError("lda learns with the library tomotopy; pip install 'cooccur[lda]'") from None
