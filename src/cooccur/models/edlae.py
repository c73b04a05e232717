"""EDLAE (Steck, 2020): EASE that has learned with items dropped from its input, in closed form.

    B = argmin E ||X - D(X) B||^2 + l2 ||B||^2  with diag(B) = 0           D: drop with chance p, scale by 1/(1-p)
      = argmin ||X - X B||^2 + sum_i (p/(1-p) n_i + l2) sum_t B_it^2
    P = (X'X + diag(p/(1-p) n_i + l2))^-1      B_it = -P_it / P_tt      s(t) = c_t + sum_{i in I_v} B_it

With n_i the number of records that hold item i, the diagonal of X'X: a frequent item, which could explain much by
itself, is held back in proportion, so that no prediction hangs on one item. The zero diagonal is the emphasis of the
paper's title taken to its limit: an item never helps to predict itself. `centred` adds an intercept as in `ease`; the
expectation over D is the same then, since what is dropped is the item and not its deviation from the mean.

On validation records (Top@1 / Top@10, dropout 0.2) plain has 5.63 / 23.79 on ml-1m, 20.25 / 69.33 on jester and
14.73 / 30.87 on retail; centring loses about 0.6 on ml-1m and gains 0.5 / 1.0 on retail. With that in the balance the
default is the paper's own form. More dropout than 0.2 helps little on ml-1m and harms on jester.

Memory, time and `max_items` as in `ease`: one N x N matrix and N^3; only the most frequent items take part, the others
have the score c_t alone (0, or centred their share).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cooccur.models.base import Floats
from cooccur.models.ease import Ease
from cooccur.models.parameters import parameter


@dataclass(eq=False, kw_only=True)
class Edlae(Ease):
    """Ridge regression of each item on the others, some of them dropped.

    >>> model = Edlae(l2=1, dropout=0.2).fit([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"]])
    >>> model.complete(["milk"], k=1).items
    ['bread']
    """

    name: ClassVar[str] = "edlae"

    l2: float | None = parameter(
        None, "strength of the ridge beside the dropout; none: 3 times the mean record length", low=1e-3,
        search=(1, 10_000),
    )  # fmt: skip
    dropout: float = parameter(
        0.2, "probability p that an item is dropped from the input", low=0, high=0.99, search=(0, 0.9)
    )
    centred: bool = parameter(False, "deviations from the items' shares, with an intercept", search=[True, False])

    def _ridge(self, n: Floats) -> Floats:
        return self.l2_ + np.float32(self.dropout / (1 - self.dropout)) * n
