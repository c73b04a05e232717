"""One step of the denoising autoencoder (`models/dae.py` has the formula), and its learner.

    minimise sum_v w_v [ sum_{t in I_v} c_t softplus(-z_t) + sum_{t not in I_v} u_t softplus(z_t) ]

c_t = 1 for an item that was dropped from the input and `kept` for one that was not. u_t = 1 over all items (exact), or
the importance weight of T sampled ones (unbiased). Only the hidden layers use autograd; downhill along z is
(p_t - 1) c_t for a present item and p_t u_t for an absent one. Cost a record: 6 C h for the products with the decoder,
C for the sigmoid, with C = N or the distinct items of the sample and the batch.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from cooccur.baskets import Baskets
from cooccur.models.energy import log_odds_alone
from cooccur.training import pair_kernels
from cooccur.training.batches import Batch
from cooccur.training.learner import Arrays, Learner
from cooccur.training.row_adam import RowAdam
from cooccur.training.samples import Sample, draw_items
from cooccur.training.steps import gradient, rows_of

if TYPE_CHECKING:
    from cooccur.models.dae import Dae

SPREAD = 2.0  # size of the first hidden inputs for a record of mean length: the units start well bent, not linear


@dataclass(eq=False)
class Autoencoder:
    """E (n, h_1), layers (W_i (h_i, h_{i-1}) or None for the first, B_i), decoder R (n, h_k) and b (n,)."""

    E: torch.Tensor
    layers: list[tuple[torch.Tensor | None, torch.Tensor]]
    R: torch.Tensor
    b: torch.Tensor
    kept: float = 1.0
    scale: float = 1.0

    def dense(self) -> dict[str, torch.Tensor]:
        """The parameters by name."""
        inner = {
            f"{name}{i}": part for i, pair in enumerate(self.layers, 1) for name, part in zip("WB", pair, strict=True)
        }
        return {name: t for name, t in {"E": self.E, **inner, "R": self.R, "b": self.b}.items() if t is not None}

    def gradients(self, batch: Batch, keep: npt.NDArray[np.bool_], sample: Sample | None = None) -> float:
        """Add to `.grad` of the parameters; the loss. `keep` (P,) says which occurrences the input has."""
        indices, rows = torch.from_numpy(batch.indices.astype(np.int64)), torch.from_numpy(batch.rows)
        seen = torch.from_numpy(keep)
        H = torch.zeros((len(batch), self.E.shape[1]), dtype=self.E.dtype)
        H = H.index_add(0, rows[seen], rows_of(self.E, indices[seen]) * self.scale)
        for W, B in self.layers:
            H = torch.sigmoid((H if W is None else H @ W.T) + B)
        with torch.no_grad():
            columns = slice(None) if sample is None else torch.from_numpy(sample.items)
            own = batch.indices if sample is None else sample.slot[batch.indices]
            own_columns = torch.from_numpy(own.astype(np.int64))
            R = self.R[columns]
            z = torch.addmm(self.b[columns], H, R.T)
            z_own = z[rows, own_columns]
            weights = torch.from_numpy(batch.weights).to(z.dtype)[rows] * torch.where(seen, self.kept, 1.0).to(z.dtype)
            u = np.empty(0, dtype=np.float32) if sample is None else sample.weights
            absent = pair_kernels.negatives(torch.sigmoid_(z).numpy(), batch.indptr, own, batch.weights, u)
            present = weights @ torch.nn.functional.softplus(-z_own)
            z[rows, own_columns] = weights * torch.sigmoid(-z_own)
            gradient(self.R)[columns] -= z.T @ H
            gradient(self.b)[columns] -= z.sum(dim=0)
            down = -(z @ R)
        H.backward(down)  # type: ignore[no-untyped-call]
        return float(present) + float(absent @ batch.weights)


class DaeLearner(Learner):
    """Steps on one model's parameters; see `training.learner.Learner`."""

    def __init__(self, model: Dae, baskets: Baskets, *, fresh: bool) -> None:
        self.model = model
        self.rng = np.random.default_rng([model.random_state, 4])
        generator = torch.Generator().manual_seed(model.random_state)
        n, sizes = baskets.n_items, model.widths()
        self.draw = (baskets.frequencies + 1) / (baskets.nnz + n)

        def normal(*shape: int, scale: float) -> torch.Tensor:
            return torch.randn(*shape, generator=generator) * scale

        spread = SPREAD / max(float(baskets.lengths.mean()), 1.0) ** 0.5
        E = normal(n, sizes[0], scale=spread)
        inner = [normal(size, below, scale=2 / below**0.5) for below, size in itertools.pairwise(sizes)]
        layers = [(W, torch.zeros(size)) for W, size in zip([None, *inner], sizes, strict=True)]
        R = normal(n, sizes[-1], scale=0.1)  # small: the bias leads
        b = torch.tensor(log_odds_alone(baskets.frequencies, len(baskets)), dtype=torch.float32)
        self.dae = Autoencoder(E, layers, R, b, model.kept, 1 / (1 - model.corruption))
        self.dense = list(self.dae.dense().values())
        self.inner = [part for pair in layers for part in pair if part is not None]
        if not fresh:
            flat = np.split(model.layers_, np.cumsum([part.numel() for part in self.inner])[:-1])
            old = [(E, model.E_), (R, model.R_), (b, model.b_), *zip(self.inner, flat, strict=True)]
            for tensor, array in old:
                tensor.copy_(torch.tensor(array.reshape(tensor.shape)))  # the arrays of a loaded model are read-only
        for part in (E, *self.inner):
            part.requires_grad_()
        self.draws = model.negatives if 0 < model.negatives < n else 0
        # E moves in units of its first size: the longer the records, the more a step of it moves the hidden layer
        rate_E, groups = model.rate * spread, [{"params": [*self.inner, b]}]
        if self.draws:
            self.by_rows = [RowAdam(E, rate_E), RowAdam(R, model.rate)]
        else:
            groups += [{"params": [R]}, {"params": [E], "lr": rate_E}]
        self.optimiser = torch.optim.Adam(groups, lr=model.rate, fused=True)

    def step(self, batch: Batch, rate: float) -> float:
        keep = self.rng.random(len(batch.indices)) >= self.model.corruption
        sample = None
        if self.draws:
            sample = draw_items(self.draw, self.draws, self.rng, beside=batch.indices)
            self.bring(batch.distinct, sample.items)
        loss = self.dae.gradients(batch, keep, sample)
        self.descend(len(batch), rate)
        return loss

    def arrays(self) -> Arrays:
        return [tensor.detach().numpy() for tensor in self.dense]
