"""One thread a test unless it asks for more: the suite runs two tests at a time, and spinning threads would fight."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")

import hypothesis
import numba
import pytest

# The first call of a kernel compiles it; CI asks the same examples each time, a developer new ones.
hypothesis.settings.register_profile("patient", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(1)
