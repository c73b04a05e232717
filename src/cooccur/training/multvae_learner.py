"""One step of the multinomial autoencoder (`models/multvae.py` has the formula), and its learner.

    minimise sum_v w_v [ sum_{t in I_v} (ln sum_j e^y_j - y_t) + beta / 2 sum_d (u_d^2 + sigma_d^2 - ln sigma_d^2 - 1) ]

y = b + R decoder(z). All by autograd, but that the input is never made dense: E's rows of the items that were not
dropped are summed. Of very many items j some are drawn (`samples.py`), u_j e^y_j for e^y_j, beside the record's own;
a step then moves the rows of E and R that it has seen (`row_adam.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from cooccur.baskets import Baskets
from cooccur.models.multvae import shapes, split
from cooccur.training.batches import Batch
from cooccur.training.learner import Arrays, Learner, State
from cooccur.training.row_adam import RowAdam
from cooccur.training.samples import Sample, draw_items
from cooccur.training.steps import rows_of

if TYPE_CHECKING:
    from cooccur.models.multvae import MultVae

NEVER = -1e30  # the logarithm of nothing, but that it has a slope
SPREAD = 0.3  # size of the first hidden inputs (x has length 1): tanh bends there; from Glorot's size it is a line


@dataclass(eq=False)
class MultinomialAutoencoder:
    """E (n, h_1), B_1 (h_1,), the layers (W, B) `up` to z and `down` from it, R (n, h_1), b (n,)."""

    E: torch.Tensor
    B: torch.Tensor
    up: list[tuple[torch.Tensor, torch.Tensor]]
    down: list[tuple[torch.Tensor, torch.Tensor]]
    R: torch.Tensor
    b: torch.Tensor

    def loss(
        self, batch: Batch, keep: npt.NDArray[np.floating], noise: torch.Tensor | None, beta: float,
        sample: Sample | None = None,
    ) -> torch.Tensor:  # fmt: skip
        """The batch's loss. `keep` (P,) is what each occurrence counts in the input: 0 if it was dropped; `noise`
        (B, d) is e, None for the denoising twin; the items of a `sample` stand for all j.
        """
        indices, rows = torch.from_numpy(batch.indices.astype(np.int64)), torch.from_numpy(batch.rows)
        weights = torch.from_numpy(batch.weights).to(self.E.dtype)
        lengths = np.diff(batch.indptr)
        x = torch.from_numpy(keep / np.sqrt(lengths)[batch.rows]).to(self.E.dtype)
        seen = x.nonzero().ravel()
        a = self.B.repeat(len(batch), 1)
        a = a.index_add(0, rows[seen], rows_of(self.E, indices[seen]) * x[seen, None])
        for W, B in self.up:
            a = torch.tanh(a) @ W.T + B
        if noise is None:
            h, kl = torch.tanh(a), torch.zeros(len(batch), dtype=a.dtype)
        else:
            u, log_variance = a.chunk(2, dim=1)
            h = u + noise * torch.exp(0.5 * log_variance)
            kl = 0.5 * (u**2 + log_variance.exp() - log_variance - 1).sum(dim=1)
        for W, B in self.down:
            h = torch.tanh(h @ W.T + B)
        if sample is None:
            y = torch.addmm(self.b, h, self.R.T)
            own, whole = y[rows, indices], torch.logsumexp(y, dim=1)
        else:
            items, slots = torch.from_numpy(sample.items), torch.from_numpy(sample.slot[batch.indices])
            log_u = torch.from_numpy(sample.weights).log().to(h.dtype)
            y = torch.addmm(self.b[items] + log_u, h, rows_of(self.R, items).T)
            drawn = slots >= 0
            y = y.index_put((rows[drawn], slots[drawn]), torch.tensor(NEVER, dtype=y.dtype))
            own = self.b[indices] + (rows_of(self.R, indices) * h[rows]).sum(dim=1)
            whole = _log_of_both(torch.logsumexp(y, dim=1), own, rows)
        whole = torch.from_numpy(lengths).to(whole.dtype) * whole
        return weights @ (whole + beta * kl) - weights[rows] @ own


def _log_of_both(others: torch.Tensor, own: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """(B,) ln(e^others + sum of e^own in the record's `rows`), without overflow."""
    most = others.detach().scatter_reduce(0, rows, own.detach(), "amax")
    return most + ((others - most).exp().index_add(0, rows, (own - most[rows]).exp())).log()


class MultVaeLearner(Learner):
    """Steps on one model's parameters; see `training.learner.Learner`."""

    def __init__(self, model: MultVae, baskets: Baskets, *, fresh: bool) -> None:
        self.model = model
        self.rng = np.random.default_rng([model.random_state, 4])
        self.generator = torch.Generator().manual_seed(model.random_state)
        self.records, self.seen = len(baskets), 0 if fresh else np.inf
        n = baskets.n_items
        self.draw, self.draws = (baskets.frequencies + 1) / (baskets.nnz + n), model.drawn(n)
        self.sizes = model.widths(n) if fresh else tuple(model.sizes_.tolist())
        kinds = shapes(self.sizes, model.variational)
        if fresh:
            share = (baskets.frequencies + 0.5) / (baskets.nnz + 0.5 * n)
            E, R = self._normal(n, kinds[0][0], SPREAD), self._glorot(n, self.sizes[0])
            b = torch.tensor(np.log(share), dtype=torch.float32)
            self.inner = [self._glorot(*shape) if len(shape) == 2 else torch.zeros(shape) for shape in kinds]
        else:
            E, R, b, *self.inner = (
                torch.tensor(array) for array in (model.E_, model.R_, model.b_, *split(model.layers_, kinds))
            )
        pairs = list(zip(self.inner[1::2], self.inner[2::2], strict=True))
        half = len(self.sizes) - 1
        self.vae = MultinomialAutoencoder(E, self.inner[0], pairs[:half], pairs[half:], R, b)
        self.dense = [E, *self.inner, R, b]
        for part in self.dense:
            part.requires_grad_()
        if self.draws:
            self.by_rows = [RowAdam(part, model.rate) for part in (E, R)]
        whole = [*self.inner, b] if self.draws else self.dense
        self.optimiser = torch.optim.Adam(whole, lr=model.rate, fused=True)

    def _normal(self, out: int, below: int, scale: float) -> torch.Tensor:
        return torch.randn(out, below, generator=self.generator) * scale

    def _glorot(self, out: int, below: int) -> torch.Tensor:
        return self._normal(out, below, (2 / (out + below)) ** 0.5)

    def step(self, batch: Batch, rate: float) -> float:
        model = self.model
        keep = (self.rng.random(len(batch.indices)) >= model.dropout) / (1 - model.dropout)
        noise = torch.randn(len(batch), self.sizes[-1], generator=self.generator) if model.variational else None
        grown = min(1.0, self.seen / (model.anneal * self.records)) if model.anneal else 1.0
        self.seen += len(batch)
        sample = None
        if self.draws:
            sample = draw_items(self.draw, self.draws, self.rng)
            self.bring(batch.distinct, np.union1d(batch.distinct, sample.items))
        loss = self.vae.loss(batch, keep, noise, grown * model.beta, sample)
        loss.backward()  # type: ignore[no-untyped-call]
        self.descend(len(batch), rate)
        return float(loss.detach())

    def arrays(self) -> Arrays:
        return [tensor.detach().numpy() for tensor in self.dense]

    def state(self) -> State:
        return super().state() | {"seen": np.array(self.seen)}

    def set_state(self, state: State) -> None:
        super().set_state(state)
        self.seen = state["seen"].item()
