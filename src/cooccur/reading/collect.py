"""Names -> codes -> Baskets.

Each block of names is reduced to its distinct ones, only these become Python strings and meet the dictionary,
and what is kept of a block are two int32 codes a pair. At the end records and items are numbered by first appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import InputError
from cooccur.reading.options import number
from cooccur.reading.report import Tally

if TYPE_CHECKING:
    import polars as pl

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Check = tuple[Mask, Callable[[int], str]]
"""(rows,) which rows are bad, and what to say about row i."""


def distinct(names: pl.Series) -> tuple[Codes, list[str]]:
    """(n,) strings -> (n,) positions in the list of distinct strings, -1 for null; and that list.

    >>> import polars as pl
    >>> distinct(pl.Series(["b", "a", None, "b"]))
    (array([ 0,  1, -1,  0], dtype=int32), ['b', 'a'])
    """
    import polars as pl

    seen = names.drop_nulls().unique(maintain_order=True)
    codes = names.cast(pl.Enum(seen)).to_physical().cast(pl.Int32).fill_null(-1)
    return codes.to_numpy(), seen.to_list()


def floats(texts: pl.Series, missing: str | None = None) -> Floats:
    """(n,) strings -> (n,) numbers; NaN where it is none, and infinity where it is empty or the code for missing.

    Without `missing` an empty text is NaN like any other that is no number.

    >>> import polars as pl
    >>> floats(pl.Series(["1.5", "x", "99"]), missing="99").tolist()
    [1.5, nan, inf]
    """
    codes, seen = distinct(texts)
    values = np.array([*map(number, seen), np.nan])  # the last one is for code -1
    if missing is not None:
        told = number(missing)
        texts_missing = {"", missing.strip()}
        values[[text.strip() in texts_missing or value == told for text, value in zip(seen, values, strict=False)]
               + [False]] = np.inf  # fmt: skip
    result: Floats = values[codes]
    return result


class Vocabulary:
    """Names and their codes, in the order they came. White space around a name is not part of it."""

    def __init__(self) -> None:
        self.code: dict[str, int] = {}

    def encode(self, names: pl.Series) -> Codes:
        """(n,) strings -> (n,) codes, -1 for null and for an empty name."""
        codes, seen = distinct(names)
        table = [self.code.setdefault(name, len(self.code)) if name else -1 for name in map(str.strip, seen)]
        result: Codes = np.array([*table, -1], dtype=np.int32)[codes]
        return result


class Collector:
    """Takes blocks of (record, item) codes and makes Baskets of them."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.records, self.items = Vocabulary(), Vocabulary()
        self.after = 0  # rows up to this number are not wanted
        self._named = False
        self._rows = 0
        self._pairs: list[tuple[Codes, Codes]] = []

    def each_row(self) -> bool:
        """A reader says that each row is a record; whether the rows are wanted piece by piece (see `rows.py`)."""
        return False

    def add(
        self, numbers: Numbers, item: Codes, *, owner: npt.NDArray[Any] | None = None, record: Codes | None = None,
        keep: Mask | None = None, checks: Sequence[Check] = (),
    ) -> None:  # fmt: skip
        """One block: rows with line `numbers` (rows,), pairs with `item` codes (pairs,).

        owner : (pairs,) the row of each pair; None: row i has the one pair i.
        record : (rows,) record codes; None: each row is a record of its own.
        keep : (pairs,) whether the pair passes the threshold.
        """
        bad = np.zeros(len(numbers), dtype=np.bool_)
        for mask, _ in checks:
            bad |= mask
        if bad.any():
            row = int(bad.argmax())
            problem = next(say(row) for mask, say in checks if mask[row])
            self.tally.bad(int(numbers[row]), problem, int(bad.sum()))
        good = ~bad if owner is None else ~bad[owner]
        if keep is not None:
            self.tally.below_threshold += int((good & ~keep).sum())
            good &= keep
        of_row = record if record is not None else np.arange(self._rows, self._rows + len(numbers), dtype=np.int32)
        self._named = self._named or record is not None
        self._rows += len(numbers)
        self._pairs.append(((of_row if owner is None else of_row[owner])[good], item[good]))

    def finish(self) -> Baskets:
        """The baskets; records and items that kept no pair are gone."""
        rows = np.concatenate([np.zeros(0, np.int32), *(rows for rows, _ in self._pairs)])
        columns = np.concatenate([np.zeros(0, np.int32), *(columns for _, columns in self._pairs)])
        self._pairs.clear()
        if not len(rows):
            raise self._nothing()
        rows, kept_rows = by_appearance(rows)
        columns, kept_columns = by_appearance(columns)
        items = np.array(list(self.items.code), dtype=object)[kept_columns]
        records = np.array(list(self.records.code), dtype=object)[kept_rows] if self._named else None
        return Baskets.from_pairs(rows, columns, items, records, n_records=len(kept_rows))

    def _nothing(self) -> InputError:
        tally = self.tally
        if tally.below_threshold:
            problem, remedy = (
                f"none of the {tally.below_threshold:,} ratings passes the threshold",
                "choose another --threshold",
            )
        elif tally.skipped:
            problem, remedy = f"all {tally.skipped:,} {tally.unit}s are bad; the first: {tally.first_bad}", ""
        else:
            problem, remedy = f"no {tally.unit} with data", "check the file"
        return InputError(problem, source=tally.source, remedy=remedy or "check --format and --separator")


def by_appearance(codes: Codes) -> tuple[Codes, Numbers]:
    """(n,) codes -> (n,) codes numbered by first appearance, and the old code of each new one.

    >>> by_appearance(np.array([7, 2, 7, 0], dtype=np.int32))
    (array([0, 1, 0, 2], dtype=int32), array([7, 2, 0]))
    """
    n = len(codes)
    first = np.full(int(codes.max(initial=-1)) + 1, n, dtype=np.int64)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)  # of repeated places the last assignment stays: the first appearance
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < n)]
    new = np.zeros(len(first), dtype=np.int32)
    new[order] = np.arange(len(order))
    return new[codes], order
