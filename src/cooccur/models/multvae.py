"""The variational autoencoder with multinomial likelihood (Lk; Liang et al., 2018): which items does the record draw?

    x = v / |v|                          (u, ln sigma^2) = encoder(x)          z = u + sigma e,  e ~ N(0, I)
    p(t | v) = softmax_t(b_t + R_t . decoder(z))                               s(t) = ln p(t | v) at z = u
    minimise sum_v [ -sum_{t in I_v} ln p(t | v) + beta KL(N(u, sigma^2) || N(0, I)) ]

Encoder N -> h_1 -> ... -> h_k and decoder h_k -> ... -> h_1 -> N have tanh units but for z and the output. While
learning, each item is dropped from the input with probability `dropout`, and beta grows from 0 to its value over the
first `anneal` epochs. `variational` no is the denoising twin MultDAE: z = tanh(u), no noise and no KL.
The softmax is over all N items: 6 N h_1 products a record and step, and the output layer is what it costs. Of very many
items some are drawn at each step.
On validation records (Top@1 / Top@10) the defaults, which are the paper's, have 4.60 / 22.30 on ml-1m and 17.45 / 67.04
on jester; dropout 0.3 has 4.02 / 21.80 and 19.44 / 67.03, MultDAE 3.98 / 20.87 on ml-1m. On short records less noise
(beta 0, dropout 0.3) and a higher rate find combinations that the defaults miss.
A basket without a known item says nothing and gets the items' shares of all occurrences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models import layers
from cooccur.models.arrays import IN_AND_OUT, Array
from cooccur.models.base import Floats, Model, Progress
from cooccur.models.parameters import parameter
from cooccur.models.trained import Trained

if TYPE_CHECKING:
    from cooccur.training.learner import Learner
    from cooccur.training.multvae_learner import MultVaeLearner

MANY, DRAWN = 10_000, 3000  # of more items than the first so many are drawn for the softmax of a step


@dataclass(eq=False, kw_only=True)
class MultVae(Trained):
    """Multinomial variational autoencoder.

    >>> baskets = [["milk", "bread"], ["milk", "bread", "jam"], ["tea", "mint"], ["tea", "mint", "lemon"]] * 4
    >>> MultVae(hidden="8x4", rate=0.01).fit(baskets).complete(["mint"], k=1).items
    ['tea']
    """

    name: ClassVar[str] = "multvae"
    level: ClassVar[str] = "Lk"
    score_is: ClassVar[str] = "log-probability of being the next item"
    arrays: ClassVar[Mapping[str, Array]] = IN_AND_OUT

    hidden: str | None = parameter(
        None, "widths from the items to z; none: 600x200, at most 4 N and N", search=[None, "200", "300x100"]
    )
    variational: bool = parameter(True, "z is drawn, and held near N(0, I); no: MultDAE", search=[True, False])
    beta: float = parameter(0.2, "weight of the KL term when it is full grown", low=0, high=10, search=(0, 1))
    anneal: float = parameter(10.0, "epochs until it is", low=0, search=(1, 50))
    dropout: float = parameter(
        0.5, "share of the items dropped from the input while learning", low=0, high=0.95, search=(0.2, 0.8)
    )
    rate: float = parameter(0.001, "learning rate (Adam)", low=1e-6, high=10, search=(0.0002, 0.005))
    epochs: int = parameter(60, "the most epochs", low=1)
    batch: int | None = parameter(None, "records a step; none: 100, but 500 where items are drawn", low=1)
    negatives: int | None = parameter(
        None, "items drawn for the softmax in a step; 0: all of them, exactly; none: all, but 3000 of very many", low=0
    )

    def check_parameters(self) -> None:
        Model.check_parameters(self)
        if not self.widths(1):
            raise ParameterError(f"multvae: hidden = {self.hidden!r}; expected a hidden layer at least, such as 200")

    def widths(self, n_items: int) -> tuple[int, ...]:
        """h_1 .. h_k."""
        if self.hidden is None:
            return min(600, 4 * n_items), min(200, n_items)
        return layers.widths(self.name, self.hidden)

    def drawn(self, n_items: int) -> int:
        """How many items are drawn for the softmax of a step; 0: none, it is exact."""
        if self.negatives is None:
            return DRAWN if n_items > MANY else 0
        return self.negatives if self.negatives < n_items else 0

    # -- learning -----------------------------------------------------------------------------------

    def _batch(self, baskets: Baskets) -> int:
        return self.batch or (500 if self.drawn(baskets.n_items) else 100)

    def _weights_an_item(self, n_items: int) -> int:
        return 2 * self.widths(n_items)[0]

    def _learner(self, baskets: Baskets, fresh: bool, progress: Progress) -> Learner:
        from cooccur.training.multvae_learner import MultVaeLearner

        return MultVaeLearner(self, baskets, fresh=fresh)

    def _keep(self, learner: Learner) -> None:
        kept: MultVaeLearner = learner  # type: ignore[assignment]
        self.E_: Floats = kept.vae.E.detach().numpy()
        self.layers_: Floats = np.concatenate([part.detach().numpy().ravel() for part in kept.inner])
        self.sizes_: npt.NDArray[np.int64] = np.array(kept.sizes, dtype=np.int64)
        self.R_: Floats = kept.vae.R.detach().numpy()
        self.b_: Floats = kept.vae.b.detach().numpy()

    def _check_learned(self) -> None:
        sizes = tuple(self.sizes_.tolist()) or (-1,)
        kinds = shapes(sizes, self.variational)
        layers.check(self, kinds[0][0], sum(math.prod(kind) for kind in kinds), sizes[0])

    # -- asking -------------------------------------------------------------------------------------

    def _scores(self, baskets: Baskets) -> Floats:
        sizes = tuple(self.sizes_.tolist())
        parts = iter(split(self.layers_, shapes(sizes, self.variational)))
        size = np.sqrt(np.maximum(baskets.lengths, 1)).astype(np.float32)[:, None]
        a = ops.sum_rows(self.E_, baskets.indptr, baskets.indices) / size + next(parts)
        for _ in sizes[1:]:
            a = np.tanh(a) @ next(parts).T + next(parts)
        h = a[:, : sizes[-1]] if self.variational else np.tanh(a)
        for _ in sizes[1:]:
            h = np.tanh(h @ next(parts).T + next(parts))
        scores = h @ self.R_.T + self.b_
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        share = (self.frequencies_ + 0.5) / (self.frequencies_.sum() + 0.5 * len(self.items_))
        scores[baskets.lengths == 0] = np.log(share)
        return np.asarray(scores)


def shapes(sizes: tuple[int, ...], variational: bool) -> list[tuple[int, ...]]:
    """Of the layers between E and R, in their order: B_1, then W and B of each layer up to z and from z.

    >>> shapes((6, 2), variational=True)
    [(6,), (4, 6), (4,), (6, 2), (6,)]
    """
    up = [*sizes[:-1], sizes[-1] * (1 + variational)]  # of z its mean and its ln sigma^2
    pairs = [(out, below) for below, out in [*itertools.pairwise(up), *itertools.pairwise(sizes[::-1])]]
    return [(up[0],), *(shape for out, below in pairs for shape in ((out, below), (out,)))]


def split(flat: Floats, into: list[tuple[int, ...]]) -> list[Floats]:
    """The arrays of these shapes that lie one behind the other in `flat`.

    >>> [part.tolist() for part in split(np.arange(4.0), [(1, 2), (2,)])]
    [[[0.0, 1.0]], [2.0, 3.0]]
    """
    ends = np.cumsum([int(np.prod(shape)) for shape in into])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), into, strict=True)]
