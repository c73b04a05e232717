"""The restricted Boltzmann machine (Lk): hidden units between the items, summed out exactly.

    E(v) = -b'v - sum_h softplus(a_h)                                 a_h = sum_{i in I_v} W_ih + c_h
    phi(t, v) = b_t + sum_h [softplus(a_h + W_th) - softplus(a_h)]    a without t
              = b_t + ln prod_h (sigmoid(-a_h) + sigmoid(a_h) e^W_th)

The last line is how all items are scored at once: a product has no logarithm in its inner loop, and every factor is
positive, so nothing cancels. Learned by contrastive divergence, see `training/rbm_learner.py`.
Cost a record: items * hidden multiply-adds. The defaults are a choice on validation records of retail and jester; high
orders come late, so on data made of combinations (the planted shop) raise rate and epochs: rate=0.03,epochs=40.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numba
import numpy as np
import numpy.typing as npt

from cooccur import kernels
from cooccur.baskets import Baskets
from cooccur.models.arrays import Array
from cooccur.models.base import Floats, Progress
from cooccur.models.energy import LogOdds
from cooccur.models.parameters import parameter
from cooccur.models.trained import Trained

if TYPE_CHECKING:
    from cooccur.training.learner import Learner
    from cooccur.training.rbm_learner import RbmLearner

Doubles = npt.NDArray[np.float64]
CHUNK = 256  # items worked on at once: their e^W stays near the cache for all records of a thread
LARGEST = 600.0  # logarithm of the largest product that is formed; a double ends at e^709


@dataclass(eq=False, kw_only=True)
class Rbm(LogOdds, Trained):
    """Items that depend on each other through hidden units.

    >>> model = Rbm(hidden=4, epochs=60).fit([["milk", "bread"], ["tea", "mint"]] * 20)
    >>> model.complete(["mint"], k=1).items
    ['tea']
    """

    name: ClassVar[str] = "rbm"
    level: ClassVar[str] = "Lk"
    score_is: ClassVar[str] = "log-odds given the basket"
    arrays: ClassVar[Mapping[str, Array]] = {
        "b_": Array("float32", "N"),
        "W_": Array("float32", "N,hidden", low=-LARGEST, high=LARGEST),
        "c_": Array("float32", "hidden"),
    }

    hidden: int = parameter(64, "hidden units", low=1, high=16_384, search=(16, 256))
    steps: int = parameter(1, "Gibbs steps k of a learning step", low=1)
    persistent: bool = parameter(False, "chains go on from where the last step left them, not from the records")
    chains: int = parameter(256, "how many persistent chains", low=1, high=16_384)
    rate: float = parameter(0.01, "learning rate (Adam)", low=1e-6, high=10, search=(0.001, 0.1))
    decay: float = parameter(0.0, "L2 pull of the weights W towards 0", low=0, search=[0.0, 1e-4, 1e-3, 1e-2])
    scale: float = parameter(1.0, "first standard deviation of a hidden input for a record of mean length", low=1e-6)
    epochs: int = parameter(20, "the most epochs", low=1)
    # sampled gradients are noisy and the combinations come late, so a few epochs without a better one mean little
    schedule: str = parameter(
        "linear", "how the rate falls; plateau: when validation stands still",
        choices=("plateau", "constant", "linear", "cosine"),
    )  # fmt: skip
    patience: int = parameter(10, "epochs without a better validation Top@10 before it stops", low=1)

    def _weights_an_item(self, n_items: int) -> int:
        return self.hidden

    def _learner(self, baskets: Baskets, fresh: bool, progress: Progress) -> Learner:
        from cooccur.training.rbm_learner import RbmLearner

        return RbmLearner(self, baskets, fresh=fresh)

    def _keep(self, learner: Learner) -> None:
        kept: RbmLearner = learner  # type: ignore[assignment]
        self.b_: Floats = kept.b.numpy()  # (n_items,)
        self.W_: Floats = kept.W.numpy()  # (n_items, hidden)
        self.c_: Floats = kept.c.numpy()  # (hidden,)

    def _hidden_input(self, baskets: Baskets) -> Doubles:
        """(records, hidden) a."""
        a = kernels.sum_rows(self.W_.astype(np.float64), baskets.indptr, baskets.indices)
        return np.asarray(a + self.c_, dtype=np.float64)

    def _scores(self, baskets: Baskets) -> Floats:
        W = self.W_.astype(np.float64)
        group = max(1, int(LARGEST / max(float(np.abs(W).max()), 1e-9)))
        scores = log_products(self._hidden_input(baskets), np.ascontiguousarray(np.exp(W.T)), group)
        scores += self.b_
        return scores

    def energy(self, baskets: Any) -> Doubles:
        """(records,) E(v)."""
        known, _ = self._known(baskets)
        field = known.matrix @ self.b_.astype(np.float64)
        return np.asarray(-field - np.logaddexp(0, self._hidden_input(known)).sum(axis=1))


@numba.njit(parallel=True, cache=True, nogil=True)
def log_products(a: Doubles, x: Doubles, group: int) -> Floats:
    """out[r, t] = sum_h ln(sigmoid(-a[r, h]) + sigmoid(a[r, h]) x[h, t]), one logarithm for `group` factors.

    Shapes: a (rows, hidden), x (hidden, items), answer (rows, items) float32. Parallel over runs of rows.
    """
    rows, hidden = a.shape
    items = x.shape[1]
    out = np.empty((rows, items), dtype=np.float32)
    run = 16
    for block in numba.prange((rows + run - 1) // run):
        product = np.empty(CHUNK)
        total = np.empty(CHUNK)
        for first in range(0, items, CHUNK):
            width = min(CHUNK, items - first)
            for r in range(block * run, min(rows, (block + 1) * run)):
                total[:] = 0.0
                product[:] = 1.0
                for h in range(hidden):
                    on = 1 / (1 + np.exp(-a[r, h]))
                    off = 1 / (1 + np.exp(a[r, h]))
                    row = x[h, first : first + width]
                    for t in range(width):
                        product[t] *= off + on * row[t]
                    if (h + 1) % group == 0 and h + 1 < hidden:
                        for t in range(width):
                            total[t] += np.log(product[t])
                            product[t] = 1.0
                for t in range(width):
                    out[r, first + t] = total[t] + np.log(product[t])
    return out
