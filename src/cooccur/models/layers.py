"""Hidden layers: their widths as a user writes them, their inputs and their activations.

h_1 = f(L^-spread a + B_1)          h_i = f(W_i h_{i-1} + B_i)          f = sigmoid, tanh or relu(x) = max(x, 0)

Several nets may stand side by side, each with its own f and spread and the same share of every layer's units.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cooccur.errors import ParameterError
from cooccur.models.base import Floats


class Kind(NamedTuple):
    """What the units of a net are: f, and what the sum over L items is divided by."""

    units: str
    spread: float


F: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 0.5 * (1 + np.tanh(0.5 * x)),
    "relu": lambda x: np.maximum(x, 0),
}
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


def spread_out(sums: Floats, lengths: npt.NDArray[np.int64], kinds: Sequence[Kind]) -> Floats:
    """(rows, first) the sums over so many items each, as the units of each net take them.

    >>> kinds = [Kind("tanh", 0.5), Kind("relu", 0)]
    >>> spread_out(np.ones((2, 4), dtype=np.float32), np.array([4, 0]), kinds).tolist()
    [[0.5, 0.5, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    L = np.maximum(lengths, 1).astype(np.float32)[:, None]
    powers = L ** np.array([kind.spread for kind in kinds], dtype=np.float32)
    of_nets = sums.reshape(len(sums), len(kinds), sums.shape[1] // len(kinds))
    return (of_nets / powers[:, :, None]).reshape(sums.shape)


def activations(
    a: Floats, layers: Floats, sizes: npt.NDArray[np.int64], units: Sequence[str] = ("sigmoid",)
) -> list[Floats]:
    """Each layer's units (rows, width), from the inputs a (rows, sizes[0]); `units` names the f of each net.

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
        found.append(np.concatenate([F[f](part) for f, part in zip(units, np.split(a, len(units), 1), strict=True)], 1))
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
