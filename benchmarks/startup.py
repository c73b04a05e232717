"""How long until the command line answers? `cooccur --help` beside what Python itself needs.

    python benchmarks/startup.py

Median wall time of ten runs each, taken in turn, each in a fresh process with warm disk caches.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 10


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    python = sys.executable
    commands = {
        "python -c pass": [python, "-c", "pass"],
        'python -c "import typer, rich"': [python, "-c", "import typer, rich"],
        "cooccur --help": [str(Path(python).with_name("cooccur")), "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(RUNS + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if run:  # the first fills the disk cache
                times[name].append(taken)
    bare = statistics.median(times["python -c pass"])
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:32} {1e3 * median:7.0f} ms   {median / bare:5.1f} x python")


if __name__ == "__main__":
    main()
