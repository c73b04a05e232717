"""A process that tries a parquet file first: `python -m cooccur.reading.trial FILE OPTIONS`.

A damaged page can take the process that decodes it down with it: polars panics, or asks for more memory than there is
and aborts, and no `except` catches that. So another process decodes the same columns before this one does, and its exit
code is all that it tells. What is an ordinary error there (exit code 0) will be one here too, with its message.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

from cooccur.reading.options import Options, Threshold

_MEMORY = 4 * 2**30, 1000  # bytes that the trial may take: some, and so many for each of the file
_SECONDS = 60, 1e-6


def survives(path: str | Path, options: Options, sliced: bool = False) -> bool:
    """Whether a process that decodes the file lives on; `sliced`: piece by piece, as it will be read.

    >>> import polars as pl, tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pl.DataFrame({"user": [1, 1], "item": ["a", "b"]}).write_parquet(file.name)
    ...     survives(file.name, Options())
    True
    """
    if not sys.executable:  # Python inside another program
        return True
    told = {f: getattr(options, f) for f in ("record", "item", "rating")} | {"threshold": str(options.threshold or "")}
    fixed, each = _SECONDS
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(path), json.dumps(told), *["sliced"] * sliced],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=fixed + each * Path(path).stat().st_size, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main(path: str, told: str, sliced: str = "") -> None:
    """Decode what the reader would decode."""
    from cooccur.reading.report import Tally
    from cooccur.reading.tables import parquet_frames

    options = Options(**json.loads(told))
    if options.threshold:
        options = dataclasses.replace(options, threshold=Threshold.parse(options.threshold))
    with contextlib.suppress(ImportError):  # Windows has no such limit
        import resource

        fixed, each = _MEMORY
        limit = fixed + each * Path(path).stat().st_size
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(Exception):  # a panic is none, and ends the process
        for _ in parquet_frames(path, options, Tally(path), 0 if sliced else None):
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
