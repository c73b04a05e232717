"""Files in which each row is one record, read in pieces: memory is bounded by a piece, whatever the file's size.

That is a basket a line, a wide table, a list in each row of a csv, jsonl or parquet file. Pairs and ratings cannot be
read so, since the rows of one record may lie anywhere; and parquet from a pipe cannot, since its index comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.reading.collect import Check, Codes, Collector, Mask, Numbers, Vocabulary, by_appearance
from cooccur.reading.entry import options_of, read_stream
from cooccur.reading.report import Report, Tally

BLOCK = 4 * 2**20


class Piece(NamedTuple):
    """Some records, `end`: the number of the last one's line or row, and how many records there are up to here."""

    baskets: Baskets
    end: int
    records: int


def read_rows(
    source: Any,
    take: Callable[[Piece], None],
    *,
    size: int,
    after: int = 0,
    records: int = 0,
    whole: Callable[[], None] = lambda: None,
    **options: Any,
) -> tuple[Baskets | None, Report]:
    """Hand over pieces of at most `size` records as they are read; or, where that cannot be, give all the baskets.

    Each row is a record of its own, even if two have the same id. `after` and `records`: go on behind a piece that
    ended so. `whole` is called before a file is read whole, and may raise. The options are those of `cooccur.read`.

    >>> import io
    >>> pieces = []
    >>> whole, _ = read_rows(io.StringIO("a b c\\na\\n\\nb c\\n"), pieces.append, size=2)
    >>> [(list(piece.baskets), piece.end, piece.records) for piece in pieces], whole
    ([([['a', 'b', 'c'], ['a']], 2, 2), ([['b', 'c']], 4, 3)], None)
    """

    made: list[Rows] = []

    def collector(tally: Tally) -> Rows:
        made.append(Rows(tally, take, size, after, records, whole))
        return made[0]

    baskets, report = read_stream(source, options_of(**options), BLOCK, collector)
    if made[0].by_row:
        return None, replace(report, records=made[0].seen, items=None, occurrences=None)
    return baskets, replace(report, warning=None)  # records to be completed may well have one item


class Rows(Collector):
    """Hands each block over as baskets, once it is known that a row is a record; until then a plain collector."""

    def __init__(
        self,
        tally: Tally,
        take: Callable[[Piece], None],
        size: int,
        after: int,
        records: int,
        whole: Callable[[], None],
    ) -> None:
        super().__init__(tally)
        self.by_row = False
        self.after, self.seen = after, records
        self._take, self._size, self._whole = take, size, whole

    def each_row(self) -> bool:
        self.by_row = True
        return True

    def add(
        self, numbers: Numbers, item: Codes, *, owner: npt.NDArray[Any] | None = None, record: Codes | None = None,
        keep: Mask | None = None, checks: Sequence[Check] = (),
    ) -> None:  # fmt: skip
        if not self.by_row:
            if not self._pairs:
                self._whole()
            super().add(numbers, item, owner=owner, record=record, keep=keep, checks=checks)
            return
        self._rows = 0
        super().add(numbers, item, owner=owner, keep=keep, checks=checks)
        rows, columns = self._pairs.pop()
        new = numbers[rows] > self.after
        rows, kept = by_appearance(rows[new])
        ids = range(self.seen, self.seen + len(kept)) if record is None else record[kept].tolist()
        named = list(self.records.code) if record is not None else None
        names = [str(i) for i in ids] if named is None else [named[i] for i in ids]
        baskets = Baskets.from_pairs(
            rows, columns[new], list(self.items.code), names, n_records=len(kept), numbered=named is None
        )
        self.items, self.records = Vocabulary(), Vocabulary()
        pieces = -(-len(kept) // self._size)
        for part in np.array_split(np.arange(len(kept)), pieces) if pieces else ():
            self.seen += len(part)
            self._take(Piece(baskets[part[0] : part[-1] + 1], int(numbers[kept[part[-1]]]), self.seen))

    def finish(self) -> Baskets:
        if not self.by_row:
            return super().finish()
        if not self.seen:
            raise self._nothing()
        return Baskets.from_lists([])
