"""Pair terms that need no steps: s(t) = c_t + sum_{i in I_v} W_it with W known from counts or in closed form.

    counts    W_it = n_i^-0.7 sum_{v: i, t in I_v} 1/|I_v|                                   `models/graph.py`, lwcvg
    centred   the ridge regression of each item on the others, with an intercept             `models/ease.py`
    dropped   the same on plain data, with items dropped from the input                      `models/edlae.py`

All live on the same support, the pairs that occur together, so a weighted sum of them is one more of the kind. (Of the
closed form's weights that is what matters: on validation records of retail 16.7 / 32.2 against 16.8 / 32.3 with all
N^2 of them.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cooccur import ops
from cooccur.baskets import Baskets
from cooccur.models.base import Progress
from cooccur.models.ease import Ease
from cooccur.models.edlae import Edlae
from cooccur.models.graph import LwCvg
from cooccur.training.support import Support

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = npt.NDArray[np.float32]

FEW_ITEMS = 6000  # up to so many the second closed form is cheap too
TIE_BREAK = 1e-4  # where no pair speaks, popularity does
MOST_ITEMS = 20_000  # of more, only the most frequent take part in a closed form


@dataclass(frozen=True, eq=False)
class Linear:
    """`c` (n,) and `weights` (m,), one for each pair of a support."""

    c: Floats
    weights: Floats

    def scores(self, baskets: Baskets, support: Support) -> Floats:
        """(records, n) s(t)."""
        found = np.tile(self.c, (len(baskets), 1))
        ops.add_rows(found, baskets.indptr, baskets.indices, support.starts, support.columns, self.weights)
        return found


def names(pairs: str, n_items: int) -> tuple[str, ...]:
    """The rivals that `pairs` stands for.

    >>> names("auto", 100), names("auto", 50_000), names("counts", 100)
    (('counts', 'centred', 'dropped'), ('counts', 'centred'), ('counts',))
    """
    closed = ("centred", "dropped") if n_items <= FEW_ITEMS else ("centred",)
    return {"auto": ("counts", *closed), "closed": closed, "counts": ("counts",)}.get(pairs, ())


def learn(chosen: Sequence[str], baskets: Baskets, support: Support, progress: Progress) -> list[Linear]:
    """Each of the chosen rivals, from these records."""
    found = []
    for number, name in enumerate(chosen):
        progress(number / len(chosen), f"pairs: {name}")
        found.append(_counts(baskets, support) if name == "counts" else _closed(name, baskets, support))
    return found


def _counts(baskets: Baskets, support: Support) -> Linear:
    graph = LwCvg().fit(baskets)
    weights = graph.weights_
    if len(weights) != len(support.columns):  # the support was cut to a budget: take its pairs out of all
        places = _keys(support.starts, support.columns)
        weights = weights[np.searchsorted(_keys(graph.starts_, graph.columns_), places)]
    popularity = baskets.frequencies / max(1, baskets.frequencies.max())
    return Linear(np.asarray(TIE_BREAK * popularity, dtype=np.float32), weights)


def _closed(name: str, baskets: Baskets, support: Support) -> Linear:
    model = Ease(max_items=MOST_ITEMS) if name == "centred" else Edlae(length=0.5, max_items=MOST_ITEMS)
    model.fit(baskets)
    place = np.full(baskets.n_items, -1)
    place[model.kept_] = np.arange(len(model.kept_))
    weights = np.zeros(len(support.columns), dtype=np.float32)
    for at, i in enumerate(model.kept_):
        pairs = slice(support.starts[i], support.starts[i + 1])
        to = place[support.columns[pairs]]
        weights[pairs] = np.where(to >= 0, model.B_[at, to], 0)
    return Linear(model.c_, weights)


def _keys(starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """(m,) one ascending number for each pair."""
    n = len(starts) - 1
    return np.repeat(np.arange(n, dtype=np.int64), np.diff(starts)) * n + columns
