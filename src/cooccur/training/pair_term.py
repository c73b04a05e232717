"""The pair term of an energy model while it learns: R0_it on a sparse support, one AdaGrad accumulator a pair.

    z(v, t) += sum_{i in I_v} R0_it        (no diagonal, so t never speaks for itself)

On a CPU the loops of `pair_kernels` do the work; `portable` has the same for any other device.
Memory: 12 bytes a pair (column, weight, accumulator), 8 more with a prior (anchor, and what a record's own count gave).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cooccur import kernels
from cooccur.models.sets import NONE, with_sets
from cooccur.training import pair_kernels
from cooccur.training.batches import Batch

Floats = npt.NDArray[np.floating[Any]]
EVERY = np.empty(0, dtype=np.int64)  # "a column for every item"


@dataclass(eq=False)
class PairTerm:
    """CSR by source: starts (rows + 1,), columns (m,), weights (m,). There is a row for each item, and behind these
    there may be one for each of `sets` (see `models/sets.py`); no set speaks for its own items.

    `anchor` (m,) or empty: the prior that `decay` pulls towards. `own` (m,) or empty: what to add to a pair's weight
    when the record at hand was itself counted in the prior (so that it does not see itself in it).
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    weights: Floats
    squares: Floats
    anchor: Floats
    own: Floats
    rate: float = 0.05
    decay: float = 0.0
    tied: bool = False
    adaptive: bool = True
    sets: npt.NDArray[np.int32] = field(default_factory=lambda: NONE)
    _memory: Floats = field(default_factory=lambda: np.empty(0))  # of a gradient, see `steps.py`

    @classmethod
    def zeros(
        cls, starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int32], dtype: Any = np.float32,
        caution: float = 0.0, **settings: Any,
    ) -> PairTerm:  # fmt: skip
        """All weights 0. `caution` is where the accumulators start: a pair whose gradients have not yet summed up to it
        moves little, so what is rarely seen stays near its prior."""
        none = np.empty(0, dtype=dtype)
        size = len(columns)
        return cls(starts, columns, np.zeros(size, dtype), np.full(size, caution, dtype), none, none, **settings)

    def sources(self, batch: Batch) -> Batch:
        """The records with all rows that speak in them."""
        if not len(self.sets):
            return batch
        n = len(self.starts) - 1 - len(self.sets)
        return Batch(*with_sets(self.sets, n, batch.indptr, batch.indices), batch.weights)

    def add(self, z: torch.Tensor, batch: Batch, slot: npt.NDArray[np.int64] = EVERY) -> None:
        """z[r, t] (or z[r, slot[t]]) += the pair sums of each record."""
        batch = self.sources(batch)
        where = (batch.indptr, batch.indices, self.starts, self.columns, self.weights)
        if len(slot):
            pair_kernels.add_rows_at(z.numpy(), *where, slot)
        else:
            kernels.add_rows(z.numpy(), *where)

    def inside(self, batch: Batch, z: torch.Tensor, slot: npt.NDArray[np.int64] = EVERY) -> torch.Tensor:
        """(P,) the pair sums of the occurrences, read from a `z` that holds nothing but what `add` put there."""
        own = slot[batch.indices] if len(slot) else batch.indices
        sums = pair_kernels.take(z.numpy(), batch.indptr, own)
        if len(self.own):
            sums += pair_kernels.inside(batch.indptr, batch.indices, self.starts, self.columns, self.own)
        return torch.from_numpy(sums)

    def gradient(
        self, delta: torch.Tensor, batch: Batch, slot: npt.NDArray[np.int64] = EVERY
    ) -> tuple[Any, Any, Floats]:
        """Rows of the gradient for all that speak in the batch: (items and sets, where each row starts, values). The
        next call takes the memory of the values."""
        items, item_starts, item_rows = self.sources(batch).by_item
        sizes = self.starts[items + 1] - self.starts[items]
        out_starts = np.concatenate(([0], np.cumsum(sizes)))
        if len(self._memory) < out_starts[-1]:
            self._memory = np.empty(out_starts[-1], dtype=self.weights.dtype)
        values = self._memory[: out_starts[-1]]
        pair_kernels.row_gradients(
            values, delta.numpy(), items, item_starts, item_rows, self.starts, self.columns, slot, out_starts
        )
        return items, out_starts, values

    def step(self, delta: torch.Tensor, batch: Batch, slot: npt.NDArray[np.int64] = EVERY, rate: float = 1.0) -> None:
        """One step uphill on the rows of the batch's items."""
        items, out_starts, values = self.gradient(delta, batch, slot)
        if self.tied:
            items, out_starts, values = self._symmetric(items, out_starts, values)
        pair_kernels.step_rows(
            values, items, out_starts, self.starts, self.weights, self.squares, self.anchor, rate * self.rate,
            self.decay, self.adaptive,
        )  # fmt: skip

    def _symmetric(self, items: Any, out_starts: Any, values: Floats) -> tuple[Any, Any, Floats]:
        """The gradient of W_it = W_ti: the sum of both directions, over all rows."""
        full = np.zeros_like(self.weights)
        for j, i in enumerate(items):
            full[self.starts[i] : self.starts[i + 1]] = values[out_starts[j] : out_starts[j + 1]]
        return np.arange(len(self.starts) - 1), self.starts, full + full[self._mirror()]

    def _mirror(self) -> npt.NDArray[np.int64]:
        """Where the pair (t, i) lies, for each pair (i, t); the support is symmetric."""
        if not hasattr(self, "_mirror_cache"):
            rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
            self._mirror_cache = np.argsort(self.columns.astype(np.int64) * len(self.starts) + rows, kind="stable")
        return self._mirror_cache
