"""DATA on the command line -> Baskets: a dataset's name, a file, or - for standard input."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cooccur import memory
from cooccur.cli.options import Reading
from cooccur.cli.output import Progress, progress, say
from cooccur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from cooccur.baskets import Baskets


def load(data: str, reading: Reading) -> Baskets:
    """The baskets. How a file was understood is told on stderr."""
    from cooccur.datasets import DATASETS
    from cooccur.datasets import load as load_dataset

    with progress(f"reading {data}") as report:
        if data in DATASETS:
            if told := reading.told():
                raise ParameterError(f"{told[0]} is for files, and {data} is a dataset; for a file write ./{data}")
            if Path(data).is_file():
                say(f"note: {data} is the public dataset; for the file of that name write ./{data}")
            baskets, understood = load_dataset(data, reading.data_home), None
        else:
            baskets, understood = _read(data, reading, report, list(DATASETS))
    if understood is not None:
        say(str(understood))
    kept = baskets.filter(**reading.filters())
    if kept is not baskets:
        say(f"kept: {len(kept):,} records, {kept.n_items:,} items, {kept.nnz:,} occurrences")
        if not kept.nnz:
            raise InputError("the filters leave nothing", remedy="choose wider ones")
    return kept


def check_there(data: str, names: list[str]) -> None:
    """Whether there is such a file; `names`: of the datasets, one of which may be meant."""
    if data != "-" and not Path(data).exists():
        near = get_close_matches(data.lower(), names, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"{data}: no such file, and no dataset of that name; {guess}the datasets are {', '.join(names)}"
        )


def _read(data: str, reading: Reading, report: Progress, names: list[str]) -> tuple[Baskets, Any]:
    from cooccur.reading import read_report

    check_there(data, names)
    memory.check_file(data, "give a part of it, or raise --memory")
    # A parquet file is read from its path, with nothing to count on the way.
    if data == "-" or not sys.stderr.isatty() or not Path(data).is_file() or data.endswith((".parquet", ".pq")):
        return read_report(data, **reading.reader())
    with Path(data).open("rb") as file:
        return read_report(_Watched(file, report), **reading.reader())


class _Watched:
    """A file that reports how much of it has been read."""

    def __init__(self, file: IO[bytes], report: Progress) -> None:
        self.name, self._file, self._report = file.name, file, report
        self._done, self._total = 0, max(1, os.fstat(file.fileno()).st_size)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._done += len(data)
        self._report(self._done / self._total, f"reading {self.name}")
        return data
