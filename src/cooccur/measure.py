"""What a piece of work costs (wall seconds, peak memory of this process while it ran) and on what machine."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@dataclass
class Cost:
    """Filled in when the block of `measured` ends."""

    seconds: float = 0.0
    peak_mb: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    """Time a block and find its peak memory (resident, of the whole process, libraries included).

    >>> with measured() as cost:
    ...     _ = bytearray(10_000_000)
    >>> cost.seconds > 0 and cost.peak_mb > 10
    True
    """
    cost = Cost()
    _reset_peak()
    start = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - start
        cost.peak_mb = _peak_mb()


def _reset_peak() -> None:
    """Linux can forget the peak so far; elsewhere the peak is that of the process's whole life."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        try:
            import resource
        except ImportError:  # Windows
            return float("nan")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 2**10)


def threads() -> int:
    """How many threads the kernels use."""
    import numba

    return int(numba.get_num_threads())


def versions() -> dict[str, str]:
    """Versions of everything that can change a figure."""
    found = {"python": platform.python_version(), "platform": platform.platform(), "cores": str(os.cpu_count())}
    for package in ("cooccur", "numpy", "scipy", "numba", "torch", "polars", "safetensors"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
