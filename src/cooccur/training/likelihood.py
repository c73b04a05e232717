"""One step of pseudo-likelihood for every energy model given by its log-odds: bias, pairs, hidden layers.

    phi(t, v) = b_t + sum_{i in I_v, i != t} R0_it + R_t . h(v_-t)
    h = (h_1, ..., h_k),   h_1 = f(L^-spread sum_{i in I_v, i != t} E_i + B_1),   h_i = f(W_i h_{i-1} + B_i)

    maximise sum_v w_v [ sum_{t in I_v} ln sigmoid(phi(t, v_-t)) + sum_{t not in I_v} u_t ln sigmoid(-phi(t, v)) ]

E_i is column i of the paper's W1, R_t the paper's R1_t .. Rk_t in one row: all layers meet the outputs in one product.
L is the number of items summed, f the sigmoid, tanh or relu; the paper has the sigmoid and spread = 0. Nets side by
side have an f and a spread each.
All absent items of a record share its hidden layers: one product (B, H) x (H, N). A present item t has its own, from
a - E_t, where a is the sum over the whole record: leave-one-out by subtraction. u_t = 1 over all items (exact), or the
importance weight of T sampled items. The gradient of phi is known; hidden layers use autograd, but for a single one
(`one_layer.py`):

    delta = w_v (1 - p) p^q   if t in I_v  (q = 0: the likelihood; q > 0 sharper, (1 - p^q) / q in place of -ln p)
    delta = -w_v u_t p        otherwise

Cost a record: 6 N H for the products, N for the sigmoid, twice the neighbours of its items for the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cooccur.models.layers import Kind
from cooccur.training import pair_kernels
from cooccur.training.batches import Batch
from cooccur.training.one_layer import OneLayer
from cooccur.training.pair_term import EVERY, PairTerm
from cooccur.training.portable import PortablePairs
from cooccur.training.samples import Sample
from cooccur.training.steps import gradient, rows_of


@dataclass(eq=False)
class Energy:
    """The parameters of the log-odds. Any term may be missing: b None, pairs None, no hidden layer."""

    n_items: int
    b: torch.Tensor | None
    pairs: PairTerm | PortablePairs | None
    E: torch.Tensor | None = None  # (n, h_1)
    layers: list[tuple[torch.Tensor | None, torch.Tensor]] = field(default_factory=list)  # (W_i or None, B_i)
    R: torch.Tensor | None = None  # (n, h_1 + ... + h_k)
    sharpness: float = 0.0
    dropout: float = 0.0
    kinds: Sequence[Kind] = (Kind("sigmoid", 0.0),)
    dtype: torch.dtype = torch.float32
    generator: torch.Generator | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    portable: bool = False  # torch's own operations in place of the kernels, as any device but a CPU needs
    _memory: torch.Tensor = field(default_factory=lambda: torch.empty(0))  # of z, see `steps.py`

    def dense(self) -> dict[str, torch.Tensor]:
        """The dense parameters by name, for the optimiser and the model file."""
        found = {"b": self.b, "E": self.E, "R": self.R}
        for number, (W, B) in enumerate(self.layers, start=1):
            found |= {f"W{number}": W, f"B{number}": B}
        return {name: tensor for name, tensor in found.items() if tensor is not None}

    @cached_property
    def by_hand(self) -> OneLayer | None:
        """Where there is one layer of units that are alike, autograd is not needed."""
        alike = len(self.layers) == 1 and len(self.kinds) == 1 and not self.portable
        if not alike or self.E is None or self.R is None:
            return None
        return OneLayer(self.E, self.layers[0][1], self.R, self.kinds[0], self.dropout)

    def hidden(self, a: torch.Tensor) -> torch.Tensor:
        """(rows, H) all hidden layers side by side, from the summed inputs a (rows, h_1)."""
        layers: list[torch.Tensor] = []
        for W, B in self.layers:
            x = (a if W is None else layers[-1] @ W.T) + B
            parts = zip(self.kinds, x.chunk(len(self.kinds), dim=1), strict=True)
            layers.append(torch.cat([getattr(torch, kind.units)(part) for kind, part in parts], dim=1))
        return torch.cat(layers, dim=1)

    def gradients(self, batch: Batch, sample: Sample | None = None) -> tuple[float, torch.Tensor, Any]:
        """Add the downhill direction to `.grad` of the dense parameters; return (loss, delta (B, columns), slot).

        delta still holds the pair term's gradient: `pairs.step(delta, batch, slot)` finishes the step. The next call
        takes its memory.
        """
        slot = EVERY if sample is None else sample.slot
        width = self.n_items if sample is None else len(sample.items)
        indices, rows = self._tensor(batch.indices.astype(np.int64)), self._tensor(batch.rows)
        if self._memory.numel() < len(batch) * width:
            self._memory = torch.empty(len(batch) * width, dtype=self.dtype, device=self.device)
        z = self._memory[: len(batch) * width].view(len(batch), width).zero_()
        z_own = torch.zeros(len(indices), dtype=self.dtype, device=self.device)
        if self.pairs is not None:
            self.pairs.add(z, batch, slot)
            z_own += self.pairs.inside(batch, z, slot)
        chosen = None if sample is None else self._tensor(sample.items)
        layer, H, H_own, R, R_own = self.by_hand, None, None, None, None
        if self.R is not None and self.E is not None:
            with torch.no_grad():
                R = self.R if chosen is None else self.R[chosen]
            if layer is not None:
                H, own = layer.forward(batch, self.kept(len(indices)))
                z_own += own
            else:
                H, H_own = (self.hidden(a) for a in self.inputs(batch, indices, rows))
                R_own = self.R[indices]
                z_own += (R_own * H_own).sum(dim=1).detach()
            z.addmm_(H.detach(), R.T)
        with torch.no_grad():
            if self.b is not None:
                z += self.b if chosen is None else self.b[chosen]
                z_own += self.b[indices]
            loss, delta_own = self._deltas(z, z_own, batch, rows, sample)
            if R is not None and H is not None:
                self._output_gradients(z, chosen, H)
                if layer is not None:
                    layer.backward(batch, -(z @ R), -delta_own)
                elif R_own is not None and H_own is not None:
                    self._hidden_gradients(z, delta_own, indices, R, R_own, H, H_own)
            self._finish(z, delta_own, batch, indices, chosen, slot)
        return loss, z, slot

    def _tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    def kept(self, occurrences: int) -> npt.NDArray[np.bool_]:
        """(P,) which of so many dropout leaves in the input, drawn anew at each call."""
        if not self.dropout:
            return np.ones(occurrences, dtype=np.bool_)
        return np.asarray(torch.rand(occurrences, generator=self.generator).numpy() >= self.dropout)

    def inputs(
        self, batch: Batch, indices: torch.Tensor, rows: torch.Tensor, places: slice | torch.Tensor = slice(None)
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What the hidden layers see of each record (B, h_1), and of the records without one item, for the occurrences
        at these `places` (P, h_1)."""
        assert self.E is not None
        keep = self._tensor(self.kept(len(indices))).to(self.dtype)
        kept = rows_of(self.E, indices)
        if self.dropout:
            kept = kept * keep[:, None]
        a = torch.zeros((len(batch), self.E.shape[1]), dtype=self.dtype, device=self.device).index_add(0, rows, kept)
        L = torch.zeros(len(batch), dtype=self.dtype, device=self.device).index_add_(0, rows, keep)
        rows = rows[places]
        return self._spread(a, L), self._spread(a[rows] - kept[places], L[rows] - keep[places])

    def _spread(self, sums: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Sums over so many items that are left by dropout and stand for all of them, over L^spread."""
        spread = torch.tensor([kind.spread for kind in self.kinds], dtype=self.dtype, device=self.device)
        powers = lengths.clamp(min=1)[:, None] ** spread * (1 - self.dropout) ** (1 - spread)
        return (sums.view(len(sums), len(self.kinds), sums.shape[1] // len(self.kinds)) / powers[:, :, None]).view_as(
            sums
        )

    def _deltas(
        self, z: torch.Tensor, z_own: torch.Tensor, batch: Batch, rows: torch.Tensor, sample: Sample | None
    ) -> tuple[float, torch.Tensor]:
        """z becomes the gradient of the absent items (0 at present ones); that of the present ones is returned."""
        weights = self._tensor(batch.weights).to(self.dtype)
        torch.sigmoid_(z)
        absent = self._absent(z, batch, sample)
        p = torch.sigmoid(z_own)
        if self.sharpness:
            present = ((1 - p**self.sharpness) / self.sharpness) * weights[rows]
            delta = weights[rows] * (1 - p) * p**self.sharpness
        else:
            present = torch.nn.functional.softplus(-z_own) * weights[rows]
            delta = weights[rows] * (1 - p)
        return float(present.sum()) + absent, delta

    def _absent(self, z: torch.Tensor, batch: Batch, sample: Sample | None) -> float:
        """Probabilities become gradients in place (0 at present items); returns the absent items' loss."""
        own = batch.indices.astype(np.int64) if sample is None else sample.slot[batch.indices]
        if not self.portable:
            columns = np.empty(0, dtype=np.float32) if sample is None else sample.weights
            return float(pair_kernels.negatives(z.numpy(), batch.indptr, own, batch.weights, columns) @ batch.weights)
        z[self._tensor(batch.rows[own >= 0]), self._tensor(own[own >= 0])] = 0
        weights = self._tensor(batch.weights).to(self.dtype)[:, None]
        if sample is not None:
            weights = weights * self._tensor(sample.weights).to(self.dtype)
        loss = -(weights * torch.log1p(-z.clamp(max=1 - 1e-7))).sum()
        z *= -weights
        return float(loss)

    def _output_gradients(self, delta: torch.Tensor, chosen: torch.Tensor | None, H: torch.Tensor) -> None:
        """What R gets from whole records."""
        assert self.R is not None
        if chosen is None:
            gradient(self.R).addmm_(delta.T, H.detach(), alpha=-1)
        else:
            gradient(self.R).index_add_(0, chosen, delta.T @ H.detach(), alpha=-1)

    def _hidden_gradients(
        self, delta: torch.Tensor, delta_own: torch.Tensor, indices: torch.Tensor, R: torch.Tensor,
        R_own: torch.Tensor, H: torch.Tensor, H_own: torch.Tensor,
    ) -> None:  # fmt: skip
        assert self.R is not None
        gradient(self.R).index_add_(0, indices, delta_own[:, None] * H_own.detach(), alpha=-1)
        with torch.enable_grad():
            torch.autograd.backward([H, H_own], [-(delta @ R), -delta_own[:, None] * R_own])

    def _finish(
        self, delta: torch.Tensor, delta_own: torch.Tensor, batch: Batch, indices: torch.Tensor,
        chosen: torch.Tensor | None, slot: npt.NDArray[np.int64],
    ) -> None:  # fmt: skip
        """The bias's gradient, and the present items' own gradients put where the pair term looks for them."""
        if self.b is not None:
            gradient(self.b)[slice(None) if chosen is None else chosen] -= delta.sum(dim=0)
            gradient(self.b).index_add_(0, indices, delta_own, alpha=-1)
        if self.pairs is not None:
            own = slot[batch.indices] if len(slot) else batch.indices.astype(np.int64)
            delta[self._tensor(batch.rows), self._tensor(own)] = delta_own
