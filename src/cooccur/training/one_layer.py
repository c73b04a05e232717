"""One hidden layer of which records are asked without one of their items, forward and back without autograd.

    x_p = c_p (a_r - k_p E_i) + B        h_p = f(x_p)        a_r = sum_{j in I_r} k_j E_j

for the occurrence p of item i in record r. k is 0 where dropout took it from the input, else 1; c_p is one over the
power of the length that is left. With h'_p the slope by h_p of what is minimised, and a'_r what has come back to a_r so
far from the whole record:

    g_p = h'_p o f'(x_p)    B' += g_p    a'_r += c_p g_p    E'_i -= k_p c_p g_p    E'_j += k_j a'_r for all j in I_r

In the pseudo-likelihood z_p = R_i . h_p of all occurrences is asked for: with d_p the slope by z_p, h'_p = d_p R_i and
R'_i += d_p h_p. There are as many h_p as occurrences, each of all units. Autograd would make a dozen arrays of that
size; here is one, and three passes over it, by record or by item, so that no two threads write to one row.
Cost an occurrence: about 10 multiply-adds a unit, and its f. In float32 tanh is Lambert's continued fraction, of x / 2
and doubled: an eighth of torch's time, and within 2e-7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch

from cooccur import kernels
from cooccur.models.layers import Kind
from cooccur.training.batches import Batch
from cooccur.training.steps import gradient

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
UNITS = ("tanh", "sigmoid", "relu")


@dataclass(eq=False)
class OneLayer:
    """E (n, h), B (h,) and R (n, h), all units of one kind, on the CPU."""

    E: torch.Tensor
    B: torch.Tensor
    R: torch.Tensor
    kind: Kind
    dropout: float = 0.0
    _memory: torch.Tensor = field(default_factory=lambda: torch.empty(0))

    def forward(self, batch: Batch, keep: Bools) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, h) the units of whole records, and (P,) z of each occurrence, of which those to `keep` (P,) are in the
        input. `backward` goes on from here."""
        self._left_out(batch, batch.indptr, slice(None), keep)
        self.H = self._f(torch.from_numpy(self.sums * self.whole[:, None] + self.B.detach().numpy()))
        return self.H, torch.from_numpy(_dots(self.own.numpy(), self.R.detach().numpy(), batch.indices))

    def backward(self, batch: Batch, down_H: torch.Tensor, down: torch.Tensor) -> None:
        """Add to `.grad` of all three, but for what R gets from whole records: the slopes by `H` and by z (P,)."""
        down_x = (down_H * self._slope(self.H)).numpy()
        own, (starts, places) = self.own.numpy(), batch.places
        _down_outputs(
            own, gradient(self.R).numpy(), gradient(self.E).numpy(), self.R.detach().numpy(), down.numpy(), self.rest,
            self.keep, UNITS.index(self.kind.units), batch.rows, batch.distinct, starts, places,
        )  # fmt: skip
        self._down_sums(batch, batch.indptr, slice(None), down_x)

    def ask(self, batch: Batch, left_out: Ints, keep: Bools) -> torch.Tensor:
        """(p, h) the units of records without the occurrence at each of these ascending places. `answer` goes on."""
        self._left_out(batch, np.searchsorted(left_out, batch.indptr), left_out, keep)
        return self.own

    def answer(self, batch: Batch, left_out: Ints, down: torch.Tensor) -> None:
        """Add to `.grad` of E and B: the slopes by what `ask` said."""
        g = torch.mul(down, self._slope(self.own), out=self.own)
        scale = torch.from_numpy(self.rest[batch.rows[left_out]] * self.keep[left_out])
        items = torch.from_numpy(batch.indices[left_out].astype(np.int64))
        gradient(self.E).index_add_(0, items, g * scale[:, None], alpha=-1)
        self._down_sums(batch, np.searchsorted(left_out, batch.indptr), left_out, np.zeros_like(self.sums))

    def _left_out(self, batch: Batch, starts: Ints, places: slice | Ints, keep: Bools) -> None:
        """h of each record without the occurrence at each of these `places`; where those of a record start, `starts`
        (B + 1,) tells."""
        E, items, self.keep = self.E.detach().numpy(), batch.indices[places], keep
        indptr = np.append(0, np.cumsum(keep))[batch.indptr]
        self.sums, lengths = kernels.sum_rows(E, indptr, batch.indices[keep]), np.diff(indptr)
        for_all = (1 - self.dropout) ** (self.kind.spread - 1)  # those that are left stand for all
        scales = (for_all * np.maximum(some, 1.0) ** -self.kind.spread for some in (lengths, lengths - 1))
        self.whole, self.rest = (scale.astype(E.dtype) for scale in scales)
        size = len(items) * E.shape[1]
        if self._memory.numel() < size:
            self._memory = torch.empty(size, dtype=self.E.dtype)
        self.own = self._memory[:size].view(-1, E.shape[1])
        B = self.B.detach().numpy()
        _left_out(self.own.numpy(), self.sums, E, B, self.whole, self.rest, keep[places], starts, items)
        self._f(self.own)

    def _down_sums(self, batch: Batch, starts: Ints, places: slice | Ints, down_x: Floats) -> None:
        """From g, and the slope by x of whole records, to B and to E by way of the sums."""
        down_a, down_B = down_x * self.whole[:, None], np.zeros_like(down_x)
        _down_sums(down_a, down_B, self.own.numpy(), self.whole, self.rest, self.keep[places], starts)
        _down_inputs(gradient(self.E).numpy(), down_a, self.keep, batch.rows, batch.distinct, *batch.places)
        gradient(self.B).add_(torch.from_numpy((down_x + down_B).sum(axis=0)))

    def _f(self, x: torch.Tensor) -> torch.Tensor:
        """f, in place."""
        if self.kind.units == "tanh" and x.dtype == torch.float32:
            quick_tanh(x.numpy())
            return x
        f: Callable[[torch.Tensor], torch.Tensor] = getattr(torch, self.kind.units + "_")
        return f(x)

    def _slope(self, h: torch.Tensor) -> torch.Tensor:
        """f'(x) where f(x) = h."""
        if self.kind.units == "relu":
            return (h > 0).to(h.dtype)
        return 1 - h * h if self.kind.units == "tanh" else h * (1 - h)


@numba.njit(parallel=True, cache=True, nogil=True)
def quick_tanh(x: npt.NDArray[np.float32]) -> None:
    """tanh, in place."""
    f = np.float32
    for p in numba.prange(len(x)):
        for q in range(x.shape[1]):
            y = f(0.5) * min(max(x[p, q], f(-9)), f(9))
            s = y * y
            over = y * (f(2027025) + s * (f(270270) + s * (f(6930) + s * f(36))))
            t = over / (f(2027025) + s * (f(945945) + s * (f(51975) + s * (f(630) + s))))
            x[p, q] = (t + t) / (f(1) + t * t)


@numba.njit(parallel=True, cache=True, nogil=True)
def _left_out(
    x: Floats, a: Floats, E: Floats, B: Floats, whole: Floats, rest: Floats, keep: Bools, starts: Ints,
    items: npt.NDArray[np.int32],
) -> None:  # fmt: skip
    for r in numba.prange(len(a)):
        for p in range(starts[r], starts[r + 1]):
            i = items[p]
            if keep[p]:
                for q in range(x.shape[1]):
                    x[p, q] = rest[r] * (a[r, q] - E[i, q]) + B[q]
            else:
                for q in range(x.shape[1]):
                    x[p, q] = whole[r] * a[r, q] + B[q]


@numba.njit(parallel=True, cache=True, nogil=True, fastmath={"reassoc"})
def _dots(h: Floats, R: Floats, indices: npt.NDArray[np.int32]) -> Floats:
    z = np.empty(len(h), dtype=h.dtype)
    for p in numba.prange(len(h)):
        i, total = indices[p], h.dtype.type(0)
        for q in range(h.shape[1]):
            total += h[p, q] * R[i, q]
        z[p] = total
    return z


@numba.njit(parallel=True, cache=True, nogil=True)
def _down_outputs(
    h: Floats, down_R: Floats, down_E: Floats, R: Floats, down: Floats, rest: Floats, keep: Bools, f: int, rows: Ints,
    items: Ints, starts: Ints, places: Ints,
) -> None:  # fmt: skip
    """R'_i += d_p h_p, E'_i -= k_p c_p g_p, and g_p in place of h_p."""
    one = h.dtype.type(1)
    for j in numba.prange(len(items)):
        i = items[j]
        for k in range(starts[j], starts[j + 1]):
            p = places[k]
            d, c = down[p], rest[rows[p]] * keep[p]
            for q in range(h.shape[1]):
                unit = h[p, q]
                slope = one - unit * unit if f == 0 else unit * (one - unit) if f == 1 else h.dtype.type(unit > 0)
                g = d * R[i, q] * slope
                down_R[i, q] += d * unit
                down_E[i, q] -= c * g
                h[p, q] = g


@numba.njit(parallel=True, cache=True, nogil=True)
def _down_sums(
    down_a: Floats, down_B: Floats, g: Floats, whole: Floats, rest: Floats, keep: Bools, starts: Ints
) -> None:  # fmt: skip
    for r in numba.prange(len(down_a)):
        for kept, scale in ((True, rest[r]), (False, whole[r])):
            part = np.zeros_like(down_B[r])
            for p in range(starts[r], starts[r + 1]):
                if keep[p] == kept:
                    for q in range(g.shape[1]):
                        part[q] += g[p, q]
            for q in range(g.shape[1]):
                down_B[r, q] += part[q]
                down_a[r, q] += scale * part[q]


@numba.njit(parallel=True, cache=True, nogil=True)
def _down_inputs(
    down_E: Floats, down_a: Floats, keep: Bools, rows: Ints, items: Ints, starts: Ints, places: Ints
) -> None:  # fmt: skip
    for j in numba.prange(len(items)):
        i = items[j]
        for k in range(starts[j], starts[j + 1]):
            r = rows[places[k]]
            if keep[places[k]]:
                for q in range(down_E.shape[1]):
                    down_E[i, q] += down_a[r, q]
