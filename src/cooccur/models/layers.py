"""Hidden layers of sigmoid or tanh units: their widths as a user writes them, and their activations.

h_1 = f(a + B_1)          h_i = f(W_i h_{i-1} + B_i)          f = sigmoid or tanh
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.errors import ParameterError
from cooccur.models.base import Floats

WIDEST = 16_384  # two such layers have 268 million weights between them


def widths(model: str, hidden: str) -> tuple[int, ...]:
    """The widths that `hidden` spells; `model` is named in the error.

    >>> widths("dem", "32x16"), widths("dem", "none")
    ((32, 16), ())
    """
    if hidden in ("none", ""):
        return ()
    try:
        sizes = tuple(int(size) for size in hidden.split("x"))
    except ValueError:
        sizes = (0,)
    if min(sizes) < 1 or max(sizes) > WIDEST:
        shown = hidden if len(hidden) < 100 else hidden[:97] + "..."
        expected = "widths such as 64 or 32x16, or none" + f"; {WIDEST} is the widest" * (max(sizes) > WIDEST)
        raise ParameterError(f"{model}: hidden = {shown!r}; expected {expected}")
    return sizes


def activations(a: Floats, layers: Floats, sizes: npt.NDArray[np.int64], units: str = "sigmoid") -> list[Floats]:
    """Each layer's units (rows, width), from the summed inputs a (rows, sizes[0]).

    `layers` holds B_1, then W_i and B_i of each further layer, one behind the other.

    >>> first, second = activations(np.zeros((1, 2)), np.array([0, 0, 1, 1, 0]), np.array([2, 1]))
    >>> first.tolist(), second.round(3).tolist()
    ([[0.5, 0.5]], [[0.731]])
    """
    found: list[Floats] = []
    at = 0
    for size in sizes:
        if found:
            below = found[-1]
            W = layers[at : at + size * below.shape[1]].reshape(size, -1)
            at += W.size
            a = below @ W.T
        a = a + layers[at : at + size]
        found.append(np.asarray(np.tanh(a) if units == "tanh" else 0.5 * (1 + np.tanh(0.5 * a))))
        at += size
    return found


def count(sizes: Sequence[int]) -> int:
    """How many numbers `layers` then holds.

    >>> count([2, 1]), count([])
    (5, 0)
    """
    return sum(sizes) + sum(below * size for below, size in itertools.pairwise(sizes))


def check(model: Any, first: int, inner: int, last: int) -> None:
    """Whether a model's E_, layers_ and R_ are as wide, long and wide as its sizes_ ask for; else a ValueError."""
    found, expected = (model.E_.shape[1], model.layers_.size, model.R_.shape[1]), (first, inner, last)
    if found != expected:
        sizes = model.sizes_.tolist()
        raise ValueError(f"E_, layers_ and R_ have {found}, hidden layers of {sizes} need {expected}")
