"""The pair term by torch's own operations, for devices that Numba does not reach. The same sums as `pair_term`.

Each occurrence (r, i) of a batch is unfolded into the pairs of item i: entry e stands for pair q(e) of record r(e), so

    z[r(e), column(q(e))] += w[q(e)]            gradient[q(e)] += delta[r(e), column(q(e))]

are one gather and one index_add each. Cost and extra memory: the neighbours of all occurrences of the batch.
"""

from __future__ import annotations

import numpy as np
import torch

from cooccur.training.batches import Batch
from cooccur.training.pair_term import EVERY, PairTerm


class PortablePairs:
    """A `PairTerm` on a device; `back` brings what was learned home."""

    def __init__(self, pairs: PairTerm, device: torch.device) -> None:
        self.home, self.device = pairs, device
        self.starts = torch.from_numpy(pairs.starts).to(device)
        self.columns = torch.from_numpy(pairs.columns.astype(np.int64)).to(device)
        self.weights = torch.from_numpy(pairs.weights).to(device, copy=True)
        self.squares = torch.from_numpy(pairs.squares).to(device, copy=True)
        self.anchor = torch.from_numpy(pairs.anchor).to(device)
        self.own = torch.from_numpy(pairs.own).to(device)

    def _unfold(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, pairs) of the entries."""
        batch = self.home.sources(batch)
        items = torch.from_numpy(batch.indices.astype(np.int64)).to(self.device)
        first, sizes = self.starts[items], self.starts[items + 1] - self.starts[items]
        before = torch.cumsum(sizes, 0) - sizes
        rows = torch.repeat_interleave(torch.from_numpy(batch.rows).to(self.device), sizes)
        pairs = torch.arange(len(rows), device=self.device) + torch.repeat_interleave(first - before, sizes)
        return rows, pairs

    def _cells(self, batch: Batch, width: int, slot: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """(flat cells of a (B, width) block, pairs) of the entries whose item has a column there."""
        rows, pairs = self._unfold(batch)
        columns = self.columns[pairs]
        if len(slot):
            columns = torch.from_numpy(slot).to(self.device)[columns]
            rows, pairs, columns = rows[columns >= 0], pairs[columns >= 0], columns[columns >= 0]
        return rows * width + columns, pairs

    def add(self, z: torch.Tensor, batch: Batch, slot: np.ndarray = EVERY) -> None:
        cells, pairs = self._cells(batch, z.shape[1], slot)
        z.view(-1).index_add_(0, cells, self.weights[pairs])

    def inside(self, batch: Batch, z: torch.Tensor, slot: np.ndarray = EVERY) -> torch.Tensor:
        own = torch.from_numpy(slot[batch.indices] if len(slot) else batch.indices.astype(np.int64)).to(self.device)
        rows = torch.from_numpy(batch.rows).to(self.device)
        sums = z[rows, own]
        if len(self.own):
            cells, pairs = self._cells(batch, z.shape[1], slot)
            prior = torch.zeros_like(z).view(-1).index_add_(0, cells, self.own[pairs]).view_as(z)
            sums = sums + prior[rows, own]
        return sums

    def step(self, delta: torch.Tensor, batch: Batch, slot: np.ndarray = EVERY, rate: float = 1.0) -> None:
        home = self.home
        cells, pairs = self._cells(batch, delta.shape[1], slot)
        g = torch.zeros_like(self.weights).index_add_(0, pairs, delta.reshape(-1)[cells])
        if home.tied:
            g = g + g[torch.from_numpy(home._mirror()).to(self.device)]
            touched = torch.ones_like(g, dtype=torch.bool)
        else:
            touched = torch.zeros_like(g, dtype=torch.bool)
            touched[self._unfold(batch)[1]] = True
        if home.decay:
            g = g - home.decay * touched * (self.weights - (self.anchor if len(self.anchor) else 0))
        if home.adaptive:
            self.squares += g * g
            g = g / torch.sqrt(self.squares + 1e-8)
        self.weights += rate * home.rate * g * touched

    def back(self) -> PairTerm:
        """The pair term with the weights as they are now."""
        self.home.weights[:] = self.weights.cpu().numpy()
        return self.home
