"""Complete every record of a file, larger than memory if need be, into another file; killed, it goes on where it was.

    input -> pieces of records -> complete_batch -> a part of the output each -> joined into one file

A row for each suggestion: record, rank (from 1), item, score and, where the score says one, probability. Which inputs
are read in pieces: `reading/rows.py`; the others are read whole first. How the output is made: `parts.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cooccur import memory
from cooccur.baskets import Baskets
from cooccur.errors import InputError, ParameterError
from cooccur.models.base import Model, Progress, silent
from cooccur.parts import ENDINGS, parts_of
from cooccur.reading.report import Report
from cooccur.reading.rows import Piece, read_rows

if TYPE_CHECKING:
    import polars as pl

ROWS = 200_000  # of the output in a part
WHOLE = "a basket a line, or a list in each row, goes through in pieces"
_HEAD = 2**20  # bytes at the input's beginning that are looked at to know it again
REMEMBERED = 1000  # unknown names


@dataclass
class Batch:
    """What was done: records completed, rows written, records without a known item, names the model does not know.

    `resumed`: how many of the records a process before this one had completed; `report`: how the input was understood.
    """

    records: int = 0
    rows: int = 0
    empty: int = 0
    unknown: dict[str, None] = field(default_factory=dict)  # in order of appearance; at most the first thousand
    more_unknown: bool = False
    resumed: int = 0
    report: Report | None = None

    def count(self, records: int, rows: int, empty: int, unknown: list[str]) -> None:
        """One more piece."""
        self.records, self.rows, self.empty = self.records + records, self.rows + rows, self.empty + empty
        for name in unknown:
            if len(self.unknown) < REMEMBERED:
                self.unknown[name] = None
            elif name not in self.unknown:
                self.more_unknown = True


def complete_file(
    model: Model, source: str | Path | Baskets, output: str | Path, k: int = 10, *,
    reading: Mapping[str, Any] | None = None, filters: Mapping[str, Any] | None = None, rows: int = ROWS,
    tell: Callable[[str], None] = lambda words: None, progress: Progress = silent,
) -> Batch:  # fmt: skip
    """Complete every record of `source` and write `output` (.parquet, .csv or .jsonl).

    Parameters
    ----------
    source : a file, "-" for standard input, or baskets.
    reading, filters : options of `cooccur.read` and of `Baskets.filter`.
    rows : of the output in a part; memory grows with it.
    tell : given a sentence when the work goes on from an earlier one's, or cannot.

    >>> import tempfile
    >>> from cooccur.models.popularity import Popularity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "new.txt").write_text("a\\nb z\\n")
    ...     model = Popularity().fit([["a", "b"], ["b"]])
    ...     done = complete_file(model, folder + "/new.txt", folder + "/out.csv", reading={"format": "lines"})
    ...     print(Path(folder, "out.csv").read_text(), done.records, list(done.unknown))
    record,rank,item,score
    0,1,b,2.0
    1,1,a,1.0
     2 ['z']
    """
    output = Path(output)
    if output.suffix.lower() not in ENDINGS:
        raise ParameterError(f"{output}: the ending names no known form; use one of {' '.join(ENDINGS)}")
    key = {
        "cooccur": version("cooccur"), "model": model_key(model), "input": input_key(source), "k": k, "rows": rows,
        "reading": dict(reading or {}), "filters": dict(filters or {}),
    }  # fmt: skip
    with parts_of(output, key) as parts:
        if parts.anew:
            tell(f"{parts.folder} was of another input, model or setting: starting anew")
        done, end, before = Batch(), 0, 0
        for note in parts.notes:
            end, before = note.pop("end"), note.pop("before")
            done.count(**note)
        if parts.notes:
            done.resumed = done.records
            tell(f"going on from {parts.folder}: {done.records:,} records are completed already")

        def take(frame: pl.DataFrame, piece: Piece, about: dict[str, Any]) -> None:
            parts.add(frame, about | {"end": piece.end, "before": piece.records})
            done.count(**about)

        done.report = completions(
            model, source, k, take, reading=reading, filters=filters, rows=rows, after=end, before=before,
            progress=progress,
        )  # fmt: skip
        if not parts.notes:
            raise InputError("the filters leave nothing", remedy="choose wider ones")
        progress(1.0, "joining the parts")
        parts.join()
    return done


def completions(
    model: Model, source: str | Path | Baskets, k: int,
    take: Callable[[pl.DataFrame, Piece, dict[str, Any]], None], *, reading: Mapping[str, Any] | None = None,
    filters: Mapping[str, Any] | None = None, rows: int = ROWS, after: int = 0, before: int = 0,
    progress: Progress = silent,
) -> Report | None:  # fmt: skip
    """Hand over the completions piece by piece: a frame, the records it answers, and what there is to say of them.

    `after`, `before`: the `end` and the `records` of the last piece that is not wanted again.
    """
    size = max(1, rows // k)
    chosen = dict(filters or {})
    of_items = {name: chosen.pop(name) for name in ("top_items", "min_frequency") if chosen.get(name)}

    def complete(piece: Piece, share: float) -> None:
        kept = piece.baskets.filter(**chosen)
        if len(kept):
            frame, about = _completed(model, kept, k)
            take(frame, piece, about)
        progress(share, f"{piece.records:,} records completed")

    report = None
    if isinstance(source, Baskets):
        whole: Baskets | None = source
    elif of_items:  # which items are frequent is known when all records are
        from cooccur.reading import read_report

        memory.check_file(source, WHOLE)
        whole, report = read_report(source, **(reading or {}))
    else:
        with _opened(source) as (stream, share):
            whole, report = read_rows(
                stream, lambda piece: complete(piece, share(piece)), size=size, after=after, records=before,
                whole=lambda: memory.check_file(source, WHOLE),
                **(reading or {}),
            )  # fmt: skip
    if whole is not None:
        whole = whole.filter(**of_items)
        for start in range(after, len(whole), size):
            end = min(start + size, len(whole))
            complete(Piece(whole[start:end], end, end), end / len(whole))
    return report


def _completed(model: Model, baskets: Baskets, k: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    import polars as pl

    known, unknown = baskets.with_vocabulary(model.items_)
    found = model.complete_batch(known, k)
    row, rank = np.nonzero(found.items >= 0)
    scores = found.scores[row, rank]
    columns: dict[str, Any] = {
        "record": pl.Series(known.records.tolist(), dtype=pl.String).gather(row),
        "rank": rank + 1,
        "item": pl.Series(model.items_.tolist(), dtype=pl.String).gather(found.items[row, rank]),
        "score": scores,
    }
    if model.probability(0.0) is not None:
        columns["probability"] = [model.probability(score) for score in scores.tolist()]
    empty = int((known.lengths == 0).sum())
    return pl.DataFrame(columns), {
        "records": len(known), "rows": len(row), "empty": empty, "unknown": unknown[: REMEMBERED + 1],
    }  # fmt: skip


@contextmanager
def _opened(source: str | Path) -> Iterator[tuple[Any, Callable[[Piece], float]]]:
    """What to read from, and which share of it lies before the end of a piece."""
    import polars as pl

    if not _is_file(source):
        yield source, lambda piece: 0.0
        return
    with Path(source).open("rb") as file:
        if file.read(4) != b"PAR1":
            file.seek(0)
            size = max(1, os.fstat(file.fileno()).st_size)
            yield file, lambda piece: file.tell() / size
            return
    try:
        rows = pl.scan_parquet(source).select(pl.len()).collect().item()
    except pl.exceptions.PolarsError:  # the reading will say what is wrong
        rows = 0
    yield source, lambda piece: piece.end / max(1, rows)


def _is_file(source: str | Path) -> bool:
    """Not a pipe, whose bytes can be read but once."""
    return str(source) != "-" and Path(source).is_file()


def model_key(model: Model) -> str:
    """sha256 of everything that decides the model's answers.

    >>> from cooccur.models.popularity import Popularity
    >>> a, b = Popularity().fit([["a"]]), Popularity().fit([["a"], ["a"]])
    >>> model_key(a) == model_key(a), model_key(a) == model_key(b)
    (True, False)
    """
    digest = hashlib.sha256(json.dumps([model.name, model.get_params(), *model.items_], default=str).encode())
    arrays = [getattr(model, name) for name in model.arrays] + [model.frequencies_]
    if (calibration := getattr(model, "calibration_", None)) is not None:
        arrays += calibration.arrays().values()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest.update(flat)
    return digest.hexdigest()


def input_key(source: str | Path | Baskets) -> list[Any]:
    """What an input is known again by. A file: size, time of change and its beginning; a pipe is never the same."""
    if isinstance(source, Baskets):
        return [source.fingerprint(), hashlib.sha256("\n".join(source.records).encode()).hexdigest()]
    if not _is_file(source):
        return [uuid.uuid4().hex]
    with Path(source).open("rb") as file:
        about = os.fstat(file.fileno())
        return [about.st_size, about.st_mtime_ns, hashlib.sha256(file.read(_HEAD)).hexdigest()]
