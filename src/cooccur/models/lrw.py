"""Local random walk: s = v P^k, where a walker starts at the basket's items and moves along co-occurrences.

    P = D^-1 C        D_ii = sum_t C_it        total = yes:  s = v P + v P^2 + ... + v P^k

C is symmetric, so P' = D P D^-1 and a step v P of many walkers is D P (v' / D): one pass over the rows of P for a block
of records. Cost: the first step as in `cvg`; each further step 2 nnz(C) per record.
The number of steps, if not given, is the best of 1 to 4 by Top@10 on records held out of the training records. There
all the others V are at hand, and where they hold less than C does it is never made: C = V'V - diag(n), so a step is
2 nnz(V) per record, and D = V'(|v| - 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cooccur import memory, ops
from cooccur.baskets import Baskets
from cooccur.evaluation.metrics import top_at
from cooccur.evaluation.removal import hold_out, rank_block
from cooccur.models.answers import Reason
from cooccur.models.arrays import PAIRS, Array
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.graph import Graph
from cooccur.models.parameters import parameter
from cooccur.pairs import cooccurrence, expected_pairs

WALKERS = 64  # records that share a pass over P


@dataclass(eq=False, kw_only=True)
class Lrw(Model):
    """Random walk of one to four steps over the co-occurrence graph.

    >>> baskets = [["milk", "bread"], ["bread", "jam"], ["jam", "tea"]]
    >>> [s.item for s in Lrw(steps=2, total=True).fit(baskets).complete(["milk"])]
    ['bread', 'jam', 'tea']
    """

    name: ClassVar[str] = "lrw"
    level: ClassVar[str] = "L2"
    score_is: ClassVar[str] = "probability of the walk ending there"
    arrays: ClassVar[Mapping[str, Array]] = {
        **PAIRS,
        "degree_": Array("float32", "N", low=1),
        "steps_": Array("int64", "1", low=1, high=4),
    }

    steps: int | None = parameter(
        None, "steps of the walk; none: chosen on held-out records", low=1, high=4, search=(1, 4)
    )
    total: bool = parameter(False, "sum over the steps instead of the last one", search=[False, True])
    random_state: int = parameter(0, "seed of the held-out records", low=0)

    def estimate(self, baskets: Baskets) -> int:
        return super().estimate(baskets) + 38 * expected_pairs(baskets) + memory.loading("numba")

    def _fit(self, baskets: Baskets, progress: Progress) -> None:
        steps = self.steps or self._choose_steps(baskets, progress)
        self._count(baskets)
        self.steps_ = np.array([steps], dtype=np.int64)

    def _count(self, baskets: Baskets) -> None:
        C = cooccurrence(baskets)
        self.starts_ = C.indptr.astype(np.int64)
        self.columns_ = C.indices.astype(np.int32)
        self.degree_ = np.maximum(C.sum(axis=1).A1, 1).astype(np.float32)
        self.weights_ = C.data / np.repeat(self.degree_, np.diff(C.indptr))

    def _choose_steps(self, baskets: Baskets, progress: Progress) -> int:
        learn, removals = hold_out(baskets, share=0.1, seed=self.random_state, at_most=1000)
        if not len(removals) or not learn.nnz:
            return 1
        many_pairs = 2 * learn.nnz < expected_pairs(learn)
        if not many_pairs:
            self._count(learn)
        hits = np.zeros(4)
        for start in range(0, len(removals), WALKERS):
            part = removals[slice(start, start + WALKERS)]
            walks = _walk_over(learn, part.rest, 4, self.total) if many_pairs else self._walk(part.rest, 4)
            for step, scores in enumerate(walks):
                ops.mask(scores, part.rest.indptr, part.rest.indices)
                hits[step] += top_at(rank_block(scores, part), 10).sum()
            progress(min(1.0, (start + WALKERS) / len(removals)), "choosing the number of steps")
        return int(hits.argmax()) + 1

    def _walk(self, baskets: Baskets, steps: int) -> list[Floats]:
        """The scores (records, n_items) after each step."""
        first = np.zeros((len(baskets), len(self.items_)), dtype=np.float32)
        ops.add_rows(first, baskets.indptr, baskets.indices, self.starts_, self.columns_, self.weights_)
        after = [first]
        walkers = first.T
        for _ in range(1, steps):
            level = np.ascontiguousarray(walkers / self.degree_[:, None])
            from cooccur import kernels  # not for a single step

            walkers = kernels.spread(level, self.starts_, self.columns_, self.weights_) * self.degree_[:, None]
            after.append(np.ascontiguousarray(walkers.T) + (after[-1] if self.total else np.float32(0)))
        return after

    def _scores(self, baskets: Baskets) -> Floats:
        scores = np.empty((len(baskets), len(self.items_)), dtype=np.float32)
        for start in range(0, len(baskets), WALKERS):
            which = slice(start, min(start + WALKERS, len(baskets)))
            scores[which] = self._walk(baskets[which], int(self.steps_[0]))[-1]
        scores[~scores.any(axis=1)] = self.frequencies_  # nowhere to walk from: the popularity order
        return scores

    _affinity = Graph._affinity

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: the walks of the basket's items add up, so each item's share is its own walk."""
        known = self._rest(basket, item)
        target, own = self.number(item), known.row(0)
        alone = Baskets(np.arange(len(own) + 1), own, self.items_)
        walks = self._walk(alone, int(self.steps_[0]))[-1][:, target] if len(own) else np.zeros(0)
        shares = sorted(zip(known.names(0), map(float, walks), strict=True), key=lambda share: -abs(share[1]))
        score = float(self._scores(known)[0, target])
        total = sum(value for _, value in shares)
        return Reason(
            item,
            score,
            score if not total else 0.0,
            tuple(shares),
            0.0 if not total else score - total,
            titles=self.titles_,
        )


def _walk_over(records: Baskets, baskets: Baskets, steps: int, total: bool) -> list[Floats]:
    """The scores (baskets, n_items) after each step of a walk over these records."""
    V, n = records.matrix.astype(np.float32), records.frequencies.astype(np.float32)
    degree = np.maximum(V.T @ (records.lengths - 1), 1).astype(np.float32)
    walkers, after = baskets.matrix.toarray().astype(np.float32), list[Floats]()
    for _ in range(steps):
        level = np.ascontiguousarray((walkers / degree).T)
        walkers = np.ascontiguousarray((V.T @ (V @ level) - n[:, None] * level).T)
        np.maximum(walkers, 0, out=walkers)  # what rounding leaves of items that never met the others
        after.append(walkers + (after[-1] if total and after else np.float32(0)))
    return after
