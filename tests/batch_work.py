"""What the killed processes of test_batch.py do; a module of its own, so that they need not import the tests."""

from __future__ import annotations

from pathlib import Path

from cooccur import ops, storage
from cooccur.batch import complete_file

PRELOAD = ["cooccur.batch", "cooccur.storage", "cooccur.models.graph", "polars", "filelock", "safetensors.numpy"]


def work(folder: Path, target: Path) -> None:
    """Complete `folder/in` into the target, by numpy alone: loading the compiled kernels would take longer."""
    ops.FEW = 10**9
    complete_file(storage.load(folder / "a.model"), folder / "in", target, 5, reading={"format": "lines"}, rows=1000)
