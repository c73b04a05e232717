"""Hidden layers that have learned by themselves, and several of them as one.

    phi(t, v) = b_t + R_t . h(v)          h = (h_1, ..., h_n) side by side, R_t = (a_1 R_1t, ..., a_n R_nt)

A weighted sum of nets is one net again, as wide as all of them: each layer's weights are block by block on the
diagonal, so that no net hears of another.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from cooccur.models.base import Floats

if TYPE_CHECKING:
    from cooccur.models.dem import Dem


@dataclass(frozen=True, eq=False)
class Net:
    """Bias and hidden layers that have learned by themselves; `layers` holds B_1, W_2, B_2 ... one behind the other."""

    b: Floats
    E: Floats
    R: Floats
    layers: Floats
    sizes: npt.NDArray[np.int64]
    free: npt.NDArray[np.int64]  # (nets,) see `Dem.free_`

    @classmethod
    def of(cls, model: Dem) -> Net:
        """A copy of what the model has learned."""
        parts = (model.b_.copy(), model.E_.copy(), model.R_.copy(), model.layers_.copy())
        return cls(*parts, model.sizes_.copy(), model.free_)

    @classmethod
    def none(cls, n: int) -> Net:
        """No hidden layer at all."""
        nothing = np.zeros((n, 0), dtype=np.float32)
        return cls(np.zeros(n, dtype=np.float32), nothing, nothing, nothing[0], *np.zeros((2, 0), dtype=np.int64))

    def lifted(self, share: float) -> Net:
        """`share` of the mean over all items is added to what it says of each."""
        b, R = self.b + share * self.b.mean(), self.R + share * self.R.mean(axis=0)
        return replace(self, b=_float(b), R=_float(R))

    def to(self, model: Dem) -> None:
        """Give it back to the model."""
        model.b_, model.E_, model.R_ = self.b, self.E, self.R
        model.layers_, model.sizes_, model.free_ = self.layers, self.sizes, self.free

    def inner(self) -> list[Floats]:
        """B_1, W_2, B_2, W_3 ..."""
        shapes: list[tuple[int, ...]] = [(self.sizes[0],)]
        for below, size in itertools.pairwise(self.sizes):
            shapes += [(size, below), (size,)]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(self.layers, ends[:-1]), shapes, strict=True)]


def join(nets: Sequence[Net], strengths: Sequence[float]) -> Net:
    """One net whose log-odds are the weighted sum of all: their units side by side, none linked to another's."""
    from scipy.linalg import block_diag

    inner = [
        (np.concatenate(parts) if parts[0].ndim == 1 else block_diag(*parts)).ravel()
        for parts in zip(*(net.inner() for net in nets), strict=True)
    ]
    weighed = list(zip(strengths, nets, strict=True))
    by_layer = zip(*(np.split(a * net.R, np.cumsum(net.sizes)[:-1], axis=1) for a, net in weighed), strict=True)
    R = np.concatenate([part for parts in by_layer for part in parts], axis=1)
    b = np.sum([a * net.b for a, net in weighed], axis=0)
    E = np.concatenate([net.E for net in nets], axis=1)
    sizes, free = np.sum([net.sizes for net in nets], axis=0), np.concatenate([net.free for net in nets])
    return Net(_float(b), E, _float(R), _float(np.concatenate(inner)), sizes, free)


def mean_of(nets: Sequence[Net]) -> Net:
    """One net that says what these say on average."""
    return nets[0] if len(nets) == 1 else join(nets, [1 / len(nets)] * len(nets))


def _float(numbers: ArrayLike) -> Floats:
    return np.asarray(numbers, dtype=np.float32)
