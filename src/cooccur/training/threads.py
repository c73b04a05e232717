"""Small steps run on one thread: waking and joining threads costs more than the work that they would share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch

SMALL = 2**18  # cells (records x items) of a step's block


@contextmanager
def enough_for(cells: int) -> Iterator[None]:
    """One thread for Numba and torch while the block is small; all of them otherwise."""
    if cells > SMALL:
        yield
        return
    before = numba.get_num_threads(), torch.get_num_threads()
    numba.set_num_threads(1)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before[0])
        torch.set_num_threads(before[1])
