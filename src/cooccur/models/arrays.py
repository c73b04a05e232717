"""Arrays of models, declared once with their type, shape and range; checked from there, before a file and after it.

    "F_": Array("float32", "N,factors")

A dimension is N (the items), a number, a whole-number parameter of the model, or any other name: that may be of any
size, but of the same one wherever it stands. `N+1` and `order-1` are one more and one less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST = 1e12  # of a number in a model, unless declared otherwise: sums and products of such still fit float32
BLOCK = 2**20  # numbers looked at at once


@dataclass(frozen=True)
class Array:
    """One learned array: `low` and `high` hold for each number, and each is less than the dimension `below`.

    `pairs` marks the large arrays of pair weights, which a file may keep in half precision. Files have it `since` this
    format; earlier ones had no use for it.
    """

    dtype: str
    shape: str
    low: float = -LARGEST
    high: float = LARGEST
    below: str = ""
    pairs: bool = False
    since: int = 1

    def nothing(self) -> npt.NDArray[Any]:
        """One without numbers.

        >>> Array("int32", "sets,2").nothing().shape
        (0, 2)
        """
        return np.zeros([int(dim) if dim.isdigit() else 0 for dim in self.shape.split(",")], dtype=self.dtype)


PAIRS = {  # W as CSR by source item: columns_[starts_[i] : starts_[i + 1]] rise, and weights_ are their W_it
    "starts_": Array("int64", "N+1", low=0),
    "columns_": Array("int32", "nnz", low=0, below="N"),
    "weights_": Array("float32", "nnz", pairs=True),
}

IN_AND_OUT = {  # from the items through hidden layers, and back to the items from the last of them
    "E_": Array("float32", "N,first"),
    "layers_": Array("float32", "inner"),
    "sizes_": Array("int64", "depth", low=1),
    "R_": Array("float32", "N,last"),
    "b_": Array("float32", "N"),
}


def check_arrays(
    declared: Mapping[str, Array], arrays: Mapping[str, npt.NDArray[Any]], sizes: Mapping[str, int], *,
    numbers: bool = True,
) -> None:  # fmt: skip
    """Types and shapes, and with `numbers` each number too; a ValueError says what is wrong. `sizes`: known dimensions.

    >>> check_arrays({"F_": Array("float32", "N,d")}, {"F_": np.zeros((3, 2), dtype=np.float32)}, {"N": 4})
    Traceback (most recent call last):
    ValueError: F_ is float32 (3, 2), expected float32 (N, d) with N = 4, d = 2
    """
    bound = dict(sizes)
    for name, array in declared.items():
        if name not in arrays:
            raise ValueError(f"the array {name} is missing")
        _check_shape(name, array, arrays[name], bound)
    if not numbers:
        return
    for name, array in declared.items():
        found = arrays[name]
        high = bound[array.below] - 1 if array.below else array.high
        # NaN is neither, so this is the check for finite numbers too
        if found.size and not (array.low <= found.min() and found.max() <= high):
            raise ValueError(f"{name} holds {found.min():g} to {found.max():g}, expected {array.low:g} to {high:g}")
    if declared.keys() >= PAIRS.keys():
        check_rows(arrays["starts_"], arrays["columns_"])


def _check_shape(name: str, array: Array, found: npt.NDArray[Any], bound: dict[str, int]) -> None:
    dims = array.shape.split(",")
    fits = found.dtype == np.dtype(array.dtype) and found.ndim == len(dims)
    used = {}
    for dim, size in zip(dims, found.shape, strict=False):
        match = re.fullmatch(r"(\w+)([+-]1)?", dim)
        assert match, f"{dim!r} is no dimension"
        symbol, more = match[1], int(match[2] or 0)
        if symbol.isdigit():
            fits = fits and size == int(symbol)
        else:
            used[symbol] = bound.setdefault(symbol, size - more)
            fits = fits and size == used[symbol] + more and used[symbol] >= 0
    if not fits:
        known = f" with {', '.join(f'{symbol} = {size}' for symbol, size in used.items())}" if used else ""
        shape = f"({array.shape.replace(',', ', ')})"
        raise ValueError(f"{name} is {found.dtype} {found.shape}, expected {array.dtype} {shape}{known}")


def check_rows(starts: npt.NDArray[Any], columns: npt.NDArray[Any]) -> None:
    """Whether these are the rows of a CSR matrix, each with rising columns.

    >>> check_rows(np.array([0, 1, 3]), np.array([2, 1, 1]))
    Traceback (most recent call last):
    ValueError: columns_ do not rise within the rows
    """
    if starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts_ do not rise from 0 to {len(columns)}")
    for first in range(0, len(columns), BLOCK):
        block = columns[first : first + BLOCK + 1]
        falls = np.flatnonzero(block[1:] <= block[:-1]) + first + 1  # allowed only where a row starts
        if (starts[np.searchsorted(starts, falls)] != falls).any():
            raise ValueError("columns_ do not rise within the rows")
