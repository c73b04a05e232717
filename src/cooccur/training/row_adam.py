"""Adam for a parameter of many rows of which each step has a gradient in few, such as one row for each item.

    m = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2        w -= a m / (sqrt(v) + e)

with a = rate c / (1 - b1^s), e = 1e-8 c and c = sqrt(1 - b2^s) in step s. Where g = 0 a row goes on all the same: m and
v fade, and w slides on along m. Of k such steps after step s the sum is known, so a row is left alone until it is
needed:

    w -= slide_s m / (sqrt(v) + e)        slide_s = a_{s+1} r + a_{s+2} r^2 + ... + a_{s+k} r^k        r = b1 / sqrt(b2)
    m = b1^k m        v = b2^k v

The weights are those of Adam over all rows, but for rounding and for the e of a slide, that of its end. Cost a step:
the rows that are needed, and `REACH` numbers.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
import torch

from cooccur.training.steps import gradient

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

B1, B2 = 0.9, 0.999  # as in torch's Adam
REACH = 256  # steps after which a slide is over: r^256 is 2e-12


class RowAdam:
    """Of one parameter (n, h) on the CPU. `bring` rows, add to their gradient, `step`.

    >>> w = torch.zeros(3, 1)
    >>> adam = RowAdam(w, rate=0.5)
    >>> adam.bring(np.array([1]))
    >>> gradient(w)[1] = 4
    >>> adam.step(records=2)
    >>> w.ravel().tolist(), w.grad.ravel().tolist()
    ([0.0, -0.5, 0.0], [0.0, 0.0, 0.0])
    """

    def __init__(self, parameter: torch.Tensor, rate: float) -> None:
        self.parameter, self.rate, self.steps = parameter, rate, 0
        self.w: Floats = parameter.detach().numpy()
        self.g: Floats = gradient(parameter).numpy()
        self.m, self.v = np.zeros_like(self.w), np.zeros_like(self.w)
        self.last: Ints = np.zeros(len(self.w), dtype=np.int64)  # the step that each row is at
        self.slide: Doubles = np.zeros(REACH)  # [s] of a row that is at step s
        self.rows: Ints = np.zeros(0, dtype=np.int64)

    def bring(self, rows: Ints) -> None:
        """These distinct rows are as they should be by now, and the next step is theirs."""
        self.rows = rows
        _bring(self.w, self.m, self.v, self.last, self.slide, rows, self.steps, _least(self.steps))

    def step(self, records: int, rate: float = 1.0) -> None:
        """Along the mean gradient of a batch of `records`, the learning rate multiplied by `rate`; the gradient is 0
        after it."""
        self.steps = s = self.steps + 1
        if s >= len(self.slide):
            self.slide = np.concatenate((self.slide, np.zeros(s)))
        a = self.rate * rate * (1 - B2**s) ** 0.5 / (1 - B1**s)
        first = max(0, s - REACH)
        self.slide[first:s] += a * (B1 / B2**0.5) ** np.arange(s - first, 0, -1)
        _step(self.w, self.m, self.v, self.g, self.last, self.rows, s, a, records, _least(s))

    def settle(self) -> None:
        """Every row is as it should be by now."""
        self.bring(np.arange(len(self.w)))

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """What the next steps depend on, after `settle`."""
        return {"m": self.m, "v": self.v, "steps": np.array(self.steps)}

    def set_state(self, m: Floats, v: Floats, steps: Ints) -> None:
        """Go on from there."""
        self.m[:], self.v[:], self.steps = m, v, int(steps)
        self.last[:] = self.steps
        self.slide = np.zeros(self.steps + REACH)


def _least(step: int) -> np.float32:
    """e"""
    return np.float32(1e-8 * (1 - B2**step) ** 0.5)


@numba.njit(parallel=True, cache=True, nogil=True)
def _bring(
    w: Floats, m: Floats, v: Floats, last: Ints, slide: Doubles, rows: Ints, now: int, e: np.float32
) -> None:  # fmt: skip
    for j in numba.prange(len(rows)):
        i = rows[j]
        k = now - last[i]
        if k:
            far, less_m, less_v = np.float32(slide[last[i]]), np.float32(B1**k), np.float32(B2**k)
            for q in range(w.shape[1]):
                w[i, q] -= far * m[i, q] / (np.sqrt(v[i, q]) + e)
                m[i, q] *= less_m
                v[i, q] *= less_v
            last[i] = now


@numba.njit(parallel=True, cache=True, nogil=True)
def _step(
    w: Floats, m: Floats, v: Floats, g: Floats, last: Ints, rows: Ints, now: int, a: float, records: int, e: np.float32
) -> None:  # fmt: skip
    far, share = np.float32(a), np.float32(1 / records)
    keep_m, keep_v = np.float32(B1), np.float32(B2)
    new_m, new_v = np.float32(1 - B1), np.float32(1 - B2)
    for j in numba.prange(len(rows)):
        i = rows[j]
        for q in range(w.shape[1]):
            slope = g[i, q] * share
            m[i, q] = keep_m * m[i, q] + new_m * slope
            v[i, q] = keep_v * v[i, q] + new_v * slope * slope
            w[i, q] -= far * m[i, q] / (np.sqrt(v[i, q]) + e)
            g[i, q] = 0
        last[i] = now
