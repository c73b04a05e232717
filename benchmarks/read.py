"""How fast are rating lines read, beside plain polars on the same rows?

    python benchmarks/read.py [lines]

Writes `u::i::r::t` lines (and the same rows with commas) into a temporary folder and reads each in a fresh process.
polars only parses its file into columns; `read` also checks each line, applies a threshold and makes the baskets.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

OURS = """
from cooccur.reading import read
start = time.perf_counter()
result = read(path, format="ratings", threshold=">= 4")
"""
POLARS = """
import polars
start = time.perf_counter()
result = polars.read_csv(path, has_header=False)
"""
FRAME = """
import resource, sys, time
path = sys.argv[1]
{}
seconds = time.perf_counter() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write(folder: Path, lines: int) -> tuple[Path, Path]:
    """Rows like MovieLens-10M's: 70,000 users in order, 10,000 movies of uneven frequency."""
    rng = np.random.default_rng(0)
    ours, commas = folder / "ratings.dat", folder / "ratings.csv"
    with ours.open("w") as a, commas.open("w") as b:
        for start in range(0, lines, 1_000_000):
            n = min(1_000_000, lines - start)
            user = 1 + (start + np.arange(n)) * 70_000 // lines
            movie = 1 + (10_000 * rng.random(n) ** 3).astype(int)
            rows = zip(user.tolist(), movie.tolist(), rng.integers(1, 6, n).tolist(), strict=True)
            text = "".join(f"{u}::{m}::{r}::978300760\n" for u, m, r in rows)
            a.write(text)
            b.write(text.replace("::", ","))
    return ours, commas


def measure(code: str, path: Path) -> tuple[float, float]:
    """(seconds, peak MB) of reading the file in a process of its own."""
    command = [sys.executable, "-c", FRAME.format(code), str(path)]
    seconds, peak = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return float(seconds), float(peak)


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        ours, commas = write(Path(folder), lines)
        results = {"cooccur.read": measure(OURS, ours), "polars.read_csv": measure(POLARS, commas)}
    for name, (seconds, peak) in results.items():
        print(f"{name:16} {seconds:6.2f} s  {lines / seconds:12,.0f} lines/s  peak {peak:6,.0f} MB")
    (mine, _), (theirs, _) = results.values()
    print(f"ratio            {mine / theirs:6.2f}")


if __name__ == "__main__":
    main()
