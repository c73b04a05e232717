"""How much memory there is, and whether a piece of work will fit into it, asked before it starts.

Free is what the system says it can give (Linux: MemAvailable), or less where a container or a batch system has set a
limit (control groups, versions 1 and 2). A command may take 80 % of it, or what `--memory` says for the whole process.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

from cooccur.errors import CooccurError, ParameterError

SHARE = 0.8  # of what is free
LIMIT: ContextVar[int | None] = ContextVar("memory limit in bytes for the process", default=None)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

_LIBRARIES = {"numba": 100_000_000, "torch": 300_000_000}  # bytes that they themselves take once loaded, measured
READING = 150_000_000  # a block of lines on its way


class MemoryLimitError(CooccurError):
    """Work that would need more memory than it may take."""


def parse(text: str) -> int:
    """Bytes from words such as 8G, 500M or 2.5 GB.

    >>> parse("8G"), parse("2.5 MB"), parse("1000")
    (8000000000, 2500000, 1000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text.lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match and len(match[1]) < 20 else 0
    if not size:
        raise ParameterError(f"memory {text!r} is not understood; write a number and a unit, as in 8G or 500M")
    return size


def words(size: float) -> str:
    """Bytes in words.

    >>> words(1_640_000_000), words(23_000_000)
    ('1.6 GB', '23 MB')
    """
    if size >= 1e9:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e6:,.0f} MB"


def room() -> int | None:
    """Bytes that work which starts now may take; None: nobody knows."""
    limit = LIMIT.get()
    if limit is not None:
        return max(0, limit - used())
    available = free()
    return None if available is None else int(SHARE * available)


def loading(*libraries: str) -> int:
    """Bytes that these libraries will take by themselves; nothing if they are loaded already.

    >>> import numba
    >>> loading("numba")
    0
    """
    return sum(_LIBRARIES[name] for name in libraries if name not in sys.modules)


def check(need: float, what: str, remedy: Callable[[int], str]) -> None:
    """Raise if the need (bytes) is more than there is room; the remedy is asked what would fit.

    >>> check(1e18, "sorting the library", lambda room: "sort a shelf")
    Traceback (most recent call last):
    cooccur.memory.MemoryLimitError: sorting the library needs about 1,000,000,000.0 GB of memory; ... sort a shelf
    """
    have = room()
    if have is None or need <= have:
        return
    limit = LIMIT.get()
    of = (
        f"--memory {words(limit)} leaves {words(have)}"
        if limit
        else f"{words(have)} (80 % of what is free) may be taken"
    )
    raise MemoryLimitError(f"{what} needs about {words(need)} of memory; {of}; {remedy(have)}")


def check_file(path: str | Path, remedy: str) -> None:
    """Raise if a file is too large to be read whole: about six times its size is needed, compressed four times that."""
    if not Path(path).is_file():
        return  # a pipe: nobody knows
    with Path(path).open("rb") as file:
        compressed = file.read(2) in (b"\x1f\x8b", b"\x28\xb5")
    need = READING + 6 * Path(path).stat().st_size * (4 if compressed else 1)
    check(need, f"{path}: reading it whole", lambda room: remedy)


def used() -> int:
    """Bytes that this process holds now; 0 where nobody knows."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def free(root: Path = Path("/")) -> int | None:
    """Bytes that are free to this process; None where nobody knows. `root`: of the file system to look at.

    >>> (free() or 1) > 0
    True
    """
    found = [_meminfo(root), *_groups(root)]
    known = [size for size in found if size is not None]
    if known:
        return max(0, min(known))
    try:  # not Linux: half of what is built in
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return None


def _meminfo(root: Path) -> int | None:
    try:
        return int((root / "proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return None


def _groups(root: Path) -> list[int]:
    """What each limit of this process's control group and of those above it leaves."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, most, now, cache = root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            mount, most, now = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        inside = mount / path.strip("/")  # in a container the path may not be visible; its top then is
        for group in (inside, *(above for above in inside.parents if above.is_relative_to(mount))):
            try:
                limit, taken = int((group / most).read_text()), int((group / now).read_text())
                stat = dict(row.split() for row in (group / "memory.stat").read_text().splitlines())
            except (OSError, ValueError):  # no such group, or "max"
                continue
            found.append(limit - taken + int(stat.get(cache, 0)))  # the cache of files is given back when asked for
    return found
