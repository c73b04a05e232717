"""How the commands talk: results go to stdout, everything else to stderr, progress only to a terminal."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooccur.errors import CooccurError

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[float, str], None]


def console() -> Console:
    """Standard output. Names are printed as they are: no markup, no emoji, no colours by guess."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1; `main` ends quietly instead

    return Plain(markup=False, emoji=False, highlight=False)


def indented(out: Console, text: str, columns: int, style: str = "") -> None:
    """A paragraph that keeps its indent where the line breaks."""
    from rich.padding import Padding

    out.print(Padding(text, (0, 0, 0, columns), expand=False), style=style)


def say(text: str) -> None:
    """A line beside the result."""
    print(text, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """The one document of --json. ASCII, so it survives any terminal's encoding."""
    print(json.dumps(document, indent=2, allow_nan=False))


def bar(share: float, width: int = 24) -> str:
    """A bar of `share` (0 to 1) of the width, in eighths of a character.

    >>> bar(0.5, 4), bar(0.01, 4), bar(0, 4)
    ('██', '▏', '')
    """
    if not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf"):
        return "#" * math.ceil(share * width)
    eighths = math.ceil(8 * width * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def decimals(values: Sequence[float]) -> int:
    """How many decimals show four digits of the largest number; none if all are whole.

    >>> decimals([12.0, 3.0]), decimals([1.44353, 0.2]), decimals([0.00012345])
    (0, 3, 7)
    """
    largest = max((abs(v) for v in values), default=0.0)
    whole = all(float(v).is_integer() for v in values)
    return 0 if whole or not largest else max(0, 3 - math.floor(math.log10(largest)))


def size(bytes_: float) -> str:
    """A file's size in words.

    >>> size(812), size(5_300_000)
    ('812 bytes', '5.3 MB')
    """
    if bytes_ < 1000:
        return f"{bytes_:.0f} bytes"
    power = min(3, int(math.log10(bytes_) // 3))
    return f"{bytes_ / 1000**power:.3g} {'kMG'[power - 1]}B"


@contextmanager
def progress(words: str) -> Iterator[Progress]:
    """A bar with the time left, while stderr is a terminal; it goes away when the work is done.

    >>> with progress("learning") as report:
    ...     report(0.5, "half of it")
    """
    if not sys.stderr.isatty():
        yield lambda share, words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    # A fold may take minutes, so the speed is judged over the whole run.
    with Bars(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=86_400) as bars:
        task = bars.add_task(words, total=None)
        yield lambda share, words: bars.update(task, total=1.0, completed=share, description=words)


def check_output(path: Path, endings: Sequence[str] = ()) -> None:
    """Whether a result can be written there, asked before the work and not after it."""
    if endings and path.suffix.lower() not in endings:
        raise CooccurError(f"{path}: the ending names no known form; use one of {' '.join(endings)}")
    if path.is_dir():
        raise CooccurError(f"{path}: this is a folder; give a file's name")
    if not os.access(path.parent, os.W_OK):
        problem = "is not writable" if path.parent.is_dir() else "does not exist"
        raise CooccurError(f"{path}: the folder {path.parent} {problem}; make it or choose another")
