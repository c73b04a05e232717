"""`cooccur doctor`: what this machine offers, for a bug report or a slow run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from cooccur.cli.options import Home, Json, Threads
from cooccur.cli.output import console, print_json, size


def doctor(threads: Threads = None, as_json: Json = False, data_home: Home = None) -> None:
    """Show versions, threads, BLAS, caches, datasets and free memory."""
    from cooccur import datasets, measure

    home = datasets.data_home(data_home)
    memory = _free_memory()
    found: dict[str, Any] = {
        "versions": measure.versions(),
        "executable": sys.executable,
        "threads": measure.threads(),
        **_numba(),
        "blas": _blas(),
        "free_memory_bytes": memory,
        "data_home": str(home),
        "datasets_at_hand": [name for name in datasets.DATASETS if datasets.find(name, home)],
    }
    if as_json:
        print_json(found)
        return
    out = console()
    shown = found.pop("versions") | found | {"free_memory_bytes": size(memory) if memory else "unknown"}
    for name, value in shown.items():
        words = (", ".join(value) or "none") if isinstance(value, list) else str(value)
        out.print(f"{name.removesuffix('_bytes').replace('_', ' '):<18}{words}", soft_wrap=True)


def _numba() -> dict[str, Any]:
    import numpy as np
    from numba.np.ufunc import threading_layer

    from cooccur import kernels

    kernels.top_k(np.zeros((1, 1), np.float32), 1)  # starts the threads
    cache = Path(kernels.top_k.stats.cache_path or ".")
    writable = os.access(cache, os.W_OK)
    return {
        "threading_layer": threading_layer(),
        "kernel_cache": str(cache),
        "kernel_cache_is": "writable" if writable else "not writable: each start compiles anew; set NUMBA_CACHE_DIR",
    }


def _blas() -> str:
    import numpy as np

    built: Any = np.show_config(mode="dicts")
    blas = built["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


def _free_memory() -> int | None:
    try:
        available = Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]
        return int(available) * 1024
    except (OSError, IndexError, ValueError):
        return None
