"""The log-bilinear model (L2): a softmax over the items that could complete the record, by the rest of it.

    p(t | v_-t) = e^z(t) / sum_j e^z(j)         z(t) = b_t + g_t . sum_{i in I_v, i != t} f_i

One vector an item (tied, g = f) or two, one as input and one as output. Learned by leaving items out of the records and
maximising the softmax of each, see `training/softmax.py`. The score is z, the logit of a softmax and no log-odds.

The defaults were chosen on validation records (Top@10). One vector or two: retail 28.6 and 28.1, jester 69.9 and 70.0,
ml-1m 22.9 and 22.7. Records that count alike (length=1) or by their items: retail 28.6 and 27.9, ml-1m 22.5 and 19.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.models.answers import Reason
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Progress
from cooccur.models.parameters import parameter
from cooccur.models.trained import Trained

if TYPE_CHECKING:
    from cooccur.training.lbl_learner import LblLearner
    from cooccur.training.learner import Learner


@dataclass(eq=False, kw_only=True)
class Lbl(Trained):
    """Item vectors whose products are softmax logits.

    >>> baskets = [["milk", "bread"], ["milk", "bread", "jam"], ["tea", "mint"], ["tea", "mint", "lemon"]] * 4
    >>> Lbl(factors=4, rate=0.1).fit(baskets).complete(["mint"], k=1).items
    ['tea']
    """

    name: ClassVar[str] = "lbl"
    level: ClassVar[str] = "L2"
    score_is: ClassVar[str] = "softmax logit given the basket"
    arrays: ClassVar[Mapping[str, Array]] = {
        "F_": Array("float32", "N,factors"),
        "G_": Array("float32", "N,factors"),
        "b_": Array("float32", "N"),
    }

    factors: int = parameter(64, "length d of the vectors", low=1, high=16_384, search=(16, 256))
    bias: bool = parameter(True, "the bias term b; without it an empty basket gets the popularity order")
    tied: bool = parameter(True, "one vector an item in place of two, input and output")
    rate: float = parameter(0.003, "learning rate (Adam)", low=1e-6, high=10, search=(0.0005, 0.03))
    targets: int = parameter(4, "items left out of a record in a step; 0: each", low=0)
    length: float = parameter(1.0, "a record of L items weighs L^-length", low=0, high=3, search=(0, 1.5))
    epochs: int = parameter(20, "the most epochs", low=1)
    schedule: str = parameter("linear", "how the rate falls", choices=("plateau", "constant", "linear", "cosine"))
    negatives: int = parameter(2000, "items drawn for the softmax in a step; 0: all of them, exactly", low=0)

    # -- learning -----------------------------------------------------------------------------------

    def _weights_an_item(self, n_items: int) -> int:
        return 2 * self.factors

    def _learner(self, baskets: Baskets, fresh: bool, progress: Progress) -> Learner:
        from cooccur.training.lbl_learner import LblLearner

        return LblLearner(self, baskets, fresh=fresh)

    def _keep(self, learner: Learner) -> None:
        kept: LblLearner = learner  # type: ignore[assignment]
        f, g, b = kept.lbl.f, kept.lbl.g, kept.lbl.b
        self.F_: Floats = f.numpy()
        self.G_: Floats = self.F_ if g is None else g.numpy()
        self.b_: Floats = np.zeros(len(self.F_), dtype=np.float32) if b is None else b.numpy()

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        scores = ops.sum_rows(self.F_, baskets.indptr, baskets.indices) @ self.G_.T + self.b_
        if not self.bias:
            scores[baskets.lengths == 0] = self.frequencies_ / self.n_records_
        return np.asarray(scores)

    def _affinity(self, item: int) -> Floats:
        return np.asarray(self.G_ @ self.F_[item])

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Exact: the score is the bias and a sum over the items present."""
        known = self._rest(basket, item)
        target, own = self.number(item), known.row(0)
        score = float(self._scores(known)[0, target])
        weights = self.F_[own] @ self.G_[target]
        shares = sorted(zip(self.items_[own], weights.tolist(), strict=True), key=lambda share: -abs(share[1]))
        return Reason(item, score, score - float(weights.sum()), tuple(shares), 0.0, titles=self.titles_)
