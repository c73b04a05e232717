"""One step of the denoising autoencoder (`models/dae.py` has the formula), and its learner.

    minimise sum_v w_v [ sum_{t in I_v} c_t softplus(-z_t) + sum_{t not in I_v} softplus(z_t) ]

c_t = 1 for an item that was dropped from the input and `kept` for one that was not. Only the hidden layers use autograd;
downhill along z is p_t - 1 times c_t for a present item and p_t for an absent one. Cost a record: 6 N h for the products
with the decoder, N for the sigmoid.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from cooccur.baskets import Baskets
from cooccur.models.base import Floats
from cooccur.training import pair_kernels
from cooccur.training.batches import Batch
from cooccur.training.loop import Arrays

if TYPE_CHECKING:
    from cooccur.models.dae import Dae


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

    def gradients(self, batch: Batch, keep: npt.NDArray[np.bool_]) -> float:
        """Fill `.grad` of the parameters; the loss. `keep` (P,) says which occurrences the input has."""
        indices, rows = torch.from_numpy(batch.indices.astype(np.int64)), torch.from_numpy(batch.rows)
        seen = torch.from_numpy(keep)
        H = torch.zeros((len(batch), self.E.shape[1]), dtype=self.E.dtype)
        H = H.index_add(0, rows[seen], self.E[indices[seen]] * self.scale)
        for W, B in self.layers:
            H = torch.sigmoid((H if W is None else H @ W.T) + B)
        with torch.no_grad():
            z = torch.addmm(self.b, H, self.R.T)
            z_own = z[rows, indices]
            weights = torch.from_numpy(batch.weights).to(z.dtype)[rows] * torch.where(seen, self.kept, 1.0).to(z.dtype)
            absent = pair_kernels.negatives(
                torch.sigmoid_(z).numpy(), batch.indptr, batch.indices, batch.weights, np.empty(0, dtype=np.float32)
            )
            present = weights @ torch.nn.functional.softplus(-z_own)
            z[rows, indices] = weights * torch.sigmoid(-z_own)
            self.R.grad = -(z.T @ H)
            self.b.grad = -z.sum(dim=0)
            down = -(z @ self.R)
        H.backward(down)  # type: ignore[no-untyped-call]
        return float(present) + float(absent @ batch.weights)


class DaeLearner:
    """Steps on one model's parameters; see `training.loop.Learner`."""

    def __init__(self, model: Dae, baskets: Baskets, *, fresh: bool) -> None:
        self.model = model
        self.rng = np.random.default_rng([model.random_state, 4])
        generator = torch.Generator().manual_seed(model.random_state)
        n, sizes = baskets.n_items, model.widths()

        def normal(*shape: int, scale: float) -> torch.Tensor:
            return torch.randn(*shape, generator=generator) * scale

        share = (baskets.frequencies + 0.5) / (len(baskets) + 1)
        # inputs of about unit size for a record of mean length, outputs small: the bias leads
        E = normal(n, sizes[0], scale=1 / max(float(baskets.lengths.mean()), 1.0) ** 0.5)
        inner = [normal(size, below, scale=2 / below**0.5) for below, size in itertools.pairwise(sizes)]
        layers = [(W, torch.zeros(size)) for W, size in zip([None, *inner], sizes, strict=True)]
        R = normal(n, sizes[-1], scale=0.1)
        b = torch.tensor(np.log(share / (1 - share)), dtype=torch.float32)
        self.dae = Autoencoder(E, layers, R, b, model.kept, 1 / (1 - model.corruption) if model.scaled else 1.0)
        self.dense = list(self.dae.dense().values())
        self.inner = [part for pair in layers for part in pair if part is not None]
        if not fresh:
            flat = np.split(model.layers_, np.cumsum([part.numel() for part in self.inner])[:-1])
            old = [(E, model.E_), (R, model.R_), (b, model.b_), *zip(self.inner, flat, strict=True)]
            for tensor, array in old:
                tensor.copy_(torch.from_numpy(array.reshape(tensor.shape)))
        for part in (E, *self.inner):
            part.requires_grad_()
        self.optimiser = torch.optim.Adam(self.dense, lr=model.rate)

    def step(self, batch: Batch, rate: float) -> float:
        loss = self.dae.gradients(batch, self.rng.random(len(batch.indices)) >= self.model.corruption)
        for parameter in self.dense:
            if parameter.grad is not None:
                parameter.grad /= len(batch)
        self.optimiser.param_groups[0]["lr"] = rate * self.model.rate
        self.optimiser.step()
        self.optimiser.zero_grad()
        return loss

    def scores(self, baskets: Baskets) -> Floats:
        self.model._keep(self)
        return self.model._scores(baskets)

    def arrays(self) -> Arrays:
        return [tensor.detach().numpy() for tensor in self.dense]
