"""Contrastive divergence for the restricted Boltzmann machine.

    ascent of the log-likelihood:  <v sigmoid(a)'> of the records - <v sigmoid(a)'> of the model  (for W; b, c likewise)

The second mean is that of chains after k Gibbs steps v -> h -> v, both halves drawn: chains that start at the batch's
records (CD-k), or that go on from the last step (persistent). As k grows it tends to the exact gradient. A drawn v is
kept as a list of items, as records are; only its probabilities given h and the random numbers are dense, for `CHUNK`
items at a time.
Cost a record and Gibbs step: N H multiply-adds, N sigmoids and N random numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn.functional import softplus

from cooccur.baskets import Baskets
from cooccur.models.energy import log_odds_alone
from cooccur.training.batches import Batch
from cooccur.training.learner import Arrays, Learner, State
from cooccur.training.steps import descend, gradient

if TYPE_CHECKING:
    from cooccur.models.rbm import Rbm

CHUNK = 1024  # items drawn at once: what is dense stays in the cache, and no step waits for fresh memory


class Visible(NamedTuple):
    """States of the items in B `records`: the `items` (P,) that are on, and the record `rows` (P,) of each."""

    items: torch.Tensor
    rows: torch.Tensor
    records: int

    @classmethod
    def of(cls, records: Batch | Baskets) -> Visible:
        rows = np.repeat(np.arange(len(records)), np.diff(records.indptr))
        return cls(torch.from_numpy(records.indices.astype(np.int64)), torch.from_numpy(rows), len(records))


class RbmLearner(Learner):
    """Steps on one model's parameters; see `training.learner.Learner`."""

    def __init__(self, model: Rbm, baskets: Baskets, *, fresh: bool) -> None:
        self.model = model
        self.rng = np.random.Generator(np.random.SFC64([model.random_state, 5]))  # the fastest: N draws a record
        n = baskets.n_items
        if fresh:
            self.b = torch.tensor(log_odds_alone(baskets.frequencies, len(baskets)), dtype=torch.float32)
            size = model.scale / max(float(baskets.lengths.mean()), 1.0) ** 0.5
            self.W = torch.tensor(self.rng.normal(scale=size, size=(n, model.hidden)), dtype=torch.float32)
            self.b -= (softplus(self.W) - math.log(2)).sum(dim=1)  # an empty basket starts at the items' frequencies
            self.c = torch.zeros(model.hidden)
        else:
            self.b, self.W, self.c = (torch.from_numpy(array.copy()) for array in (model.b_, model.W_, model.c_))
        self.optimiser = torch.optim.Adam([self.b, self.W, self.c], lr=model.rate, fused=True)
        self.chains = Visible.of(baskets[self.rng.integers(len(baskets), size=model.chains)])

    # -- the learner ----------------------------------------------------------------------------------

    def step(self, batch: Batch, rate: float) -> float:
        self.gradients(batch)
        if self.model.decay:
            gradient(self.W).add_(self.W, alpha=self.model.decay * len(batch))
        loss = self.pseudo_likelihood(batch)
        descend(self.optimiser, len(batch), rate)
        return loss

    def arrays(self) -> Arrays:
        return [self.b.numpy(), self.W.numpy(), self.c.numpy()]

    def state(self) -> State:
        items, rows, _ = self.chains
        return super().state() | {"chains.items": items.numpy(), "chains.rows": rows.numpy()}

    def set_state(self, state: State) -> None:
        super().set_state(state)
        items, rows = torch.tensor(state["chains.items"]), torch.tensor(state["chains.rows"])
        self.chains = Visible(items, rows, self.chains.records)

    # -- the mathematics ------------------------------------------------------------------------------

    def gradients(self, batch: Batch) -> None:
        """Add to `.grad` of b, W and c the estimated downhill direction of -sum_v w_v ln p(v)."""
        data, weights = Visible.of(batch), torch.from_numpy(batch.weights)
        chains = self.chains if self.model.persistent else data
        for _ in range(self.model.steps):
            chains = self.gibbs(chains)
        shares = weights
        if self.model.persistent:
            self.chains = chains
            shares = (weights.sum() / chains.records).expand(chains.records)
        self.pull(data, -weights)
        self.pull(chains, shares)

    def hidden_input(self, v: Visible) -> torch.Tensor:
        """(B, H) a."""
        return self.c.repeat(v.records, 1).index_add_(0, v.rows, self.W[v.items])

    def gibbs(self, v: Visible) -> Visible:
        """Draw h given v, then v given h."""
        h = self._draw(torch.sigmoid(self.hidden_input(v))).T.to(self.W.dtype)
        on = []
        for first in range(0, len(self.b), CHUNK):
            some = slice(first, first + CHUNK)
            q = torch.addmm(self.b[some, None], self.W[some], h).sigmoid_()  # (items, B): faster than (B, items)
            on.append(np.flatnonzero(self._draw(q).numpy()) + first * v.records)  # so is numpy here
        places = torch.from_numpy(np.concatenate(on))
        return Visible(places // v.records, places % v.records, v.records)

    def _draw(self, p: torch.Tensor) -> torch.Tensor:
        """1 with probability p."""
        return torch.from_numpy(self.rng.random(p.shape, dtype=np.float32)) < p

    def pull(self, v: Visible, weights: torch.Tensor) -> None:
        """Add to `.grad` weighted sums over the records: v, v sigmoid(a)' and sigmoid(a), which are -dE by b, W, c."""
        h = torch.sigmoid(self.hidden_input(v)) * weights[:, None]
        gradient(self.b).index_add_(0, v.items, weights[v.rows])
        gradient(self.W).index_add_(0, v.items, h[v.rows])
        gradient(self.c).add_(h.sum(dim=0))

    def pseudo_likelihood(self, batch: Batch) -> float:
        """An estimate of the batch's weighted -sum_t ln p(v_t | v_-t), as the loss to show: its present items, and one
        random item that stands for the absent ones (none if it is present)."""
        v, weights, n = Visible.of(batch), torch.from_numpy(batch.weights), len(self.b)
        a, soft = self.hidden_input(v), softplus
        own, rest = a[v.rows], a[v.rows] - self.W[v.items]
        phi = self.b[v.items] + (soft(own) - soft(rest)).sum(dim=1)
        t = torch.from_numpy(self.rng.integers(n, size=len(batch)))
        absent = torch.ones(len(batch)).index_fill_(0, v.rows[v.items == t[v.rows]], 0)
        phi_t = self.b[t] + (soft(a + self.W[t]) - soft(a)).sum(dim=1)
        return float((soft(-phi) * weights[v.rows]).sum() + n * (soft(phi_t) * absent * weights).sum())
