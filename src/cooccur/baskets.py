"""Baskets: the one data type. Records are rows, items are columns, an entry says "is in it".

A 0/1 matrix in CSR form (only `indptr` and `indices`; every stored entry is a one) beside the item
names and the record ids. Immutable: all arrays are read-only, and every operation gives a new object.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from cooccur.errors import InputError
from cooccur.notebook import BasketsView

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

IntArray = npt.NDArray[np.integer[Any]]
Names = npt.NDArray[np.object_]
FEW = 10_000  # pairs that are sorted before scipy would be imported
_NO_NAME = (list, tuple, dict, set, bytes, np.ndarray)
_Array = TypeVar("_Array", bound=npt.NDArray[Any])


class Baskets(BasketsView):
    """Sets of items: `len(baskets)` records over `n_items` items.

    Parameters
    ----------
    indptr : (records + 1,) row starts.
    indices : (occurrences,) item numbers; within a record sorted and distinct.
    items : (n_items,) distinct names.
    records : (records,) ids, or None: then a record's id is its number, from 0.
    numbered : whether these ids are but numbers that the records went by elsewhere; None: where there are no ids.
    duplicates : how many repeated items were collapsed on the way here.

    Use `Baskets.from_lists`, `Baskets.from_pairs`, `Baskets.from_matrix` or `cooccur.read` to make one: they check what
    they get. The constructor trusts its arrays; those that can still be written to are copied, the others shared.

    >>> shop = Baskets.from_lists([["milk", "bread"], ["bread", "butter", "bread"]])
    >>> shop
    Baskets(2 records, 3 items, 4 occurrences)
    >>> shop.names(1)
    ['bread', 'butter']
    >>> shop.duplicates
    1
    """

    def __init__(
        self, indptr: IntArray, indices: IntArray, items: Iterable[str], records: Iterable[str] | None = None,
        *, duplicates: int = 0, numbered: bool | None = None,
    ) -> None:  # fmt: skip
        self.indptr: npt.NDArray[np.int64] = _frozen(np.asarray(indptr, dtype=np.int64))
        self.indices: npt.NDArray[np.int32] = _frozen(np.asarray(indices, dtype=np.int32))
        self.items: Names = _names(items)
        self._records = None if records is None else _names(records)
        self.numbered = records is None if numbered is None else numbered
        self.duplicates = int(duplicates)
        if self._records is not None and len(self._records) != len(self):
            raise InputError(f"{len(self._records)} record ids for {len(self)} records")

    # -- making one ---------------------------------------------------------------------------------

    @classmethod
    def from_lists(cls, lists: Iterable[Iterable[Any]], records: Iterable[str] | None = None) -> Baskets:
        """From any iterable of records, each an iterable of item names (made strings by `str`).

        >>> Baskets.from_lists([["a", "b"], [], ["b"]]).lengths.tolist()
        [2, 0, 1]
        """
        code: dict[str, int] = {}
        columns: list[int] = []
        lengths: list[int] = []
        for names in item_names(lists):
            columns += [code.setdefault(name, len(code)) for name in names]
            lengths.append(len(names))
        rows = np.repeat(np.arange(len(lengths)), lengths)
        return cls.from_pairs(rows, np.array(columns, dtype=np.int32), list(code), records, n_records=len(lengths))

    @classmethod
    def from_pairs(
        cls, rows: IntArray, columns: IntArray, items: Iterable[str], records: Iterable[str] | None = None,
        *, n_records: int | None = None, numbered: bool | None = None,
    ) -> Baskets:  # fmt: skip
        """From parallel arrays of record numbers and item numbers, in any order, repeats allowed.

        Cost: two counting sorts, O(occurrences + records + items).

        >>> Baskets.from_pairs(np.array([0, 1, 0]), np.array([1, 0, 1]), ["a", "b"], n_records=2).duplicates
        1
        """
        names = _distinct(items)
        ids = None if records is None else _names(records)
        height = (
            n_records if n_records is not None else (len(ids) if ids is not None else int(rows.max(initial=-1)) + 1)
        )
        for numbers, limit, what in ((rows, height, "record"), (columns, len(names), "item")):
            outside = (numbers < 0) | (numbers >= limit)
            if outside.any():
                raise InputError(f"{what} number {numbers[outside][0]}; there are {limit} {what}s, counted from 0")
        if len(rows) < FEW:
            keys = np.unique(np.asarray(rows, dtype=np.int64) * max(1, len(names)) + columns)
            indptr = np.searchsorted(keys, np.arange(height + 1, dtype=np.int64) * max(1, len(names)))
            return cls(
                indptr, keys % max(1, len(names)), names, ids, duplicates=len(rows) - len(keys), numbered=numbered
            )
        from scipy.sparse import coo_matrix

        ones = np.ones(len(rows), dtype=np.int8)
        matrix = coo_matrix((ones, (rows, columns)), shape=(height, len(names))).tocsr()
        matrix.sum_duplicates()  # sorts within rows too
        return cls(matrix.indptr, matrix.indices, names, ids, duplicates=len(rows) - matrix.nnz, numbered=numbered)

    @classmethod
    def from_matrix(
        cls, matrix: Any, items: Iterable[str] | None = None, records: Iterable[str] | None = None
    ) -> Baskets:
        """From a scipy sparse matrix or a dense array of 0 and 1, shape (records, items).

        >>> Baskets.from_matrix(np.array([[1, 0, 1]]), items=["a", "b", "c"]).names(0)
        ['a', 'c']
        """
        from scipy.sparse import issparse

        if hasattr(matrix, "columns"):
            raise InputError(
                "a frame, whose columns have names, is no matrix", remedy="a frame goes through cooccur.read"
            )
        if not issparse(matrix):
            matrix = np.asarray(matrix)
        if matrix.ndim != 2:
            raise InputError(f"an array of {matrix.ndim} dimensions; expected records x items")
        if matrix.dtype.kind not in "biuf":
            raise InputError(
                f"a matrix of {matrix.dtype}; expected numbers 0 and 1", remedy="a frame goes through cooccur.read"
            )
        # before scipy adds up entries that are stored twice, which would pass for a value of 2
        try:
            stored = matrix.tocoo() if issparse(matrix) else None
        except ValueError as error:
            raise InputError(f"the matrix is damaged ({error})", remedy="make it anew") from None
        values = matrix if stored is None else stored.data
        if values.size:
            if not np.isfinite(values).all():
                raise InputError("the matrix holds NaN or infinity", remedy="replace missing values with 0")
            if values.min() < 0:
                raise InputError(f"the matrix holds a negative value ({values.min()})", remedy="keep only 0 and 1")
            other = (values != 0) & (values != 1)
            if other.any():
                raise InputError(
                    f"the matrix holds {values[other][0]}; expected 0 and 1",
                    remedy="say which values count, for example (matrix >= 4)",
                )
        height, width = matrix.shape
        names = _distinct(range(width) if items is None else items)
        if len(names) != width:
            raise InputError(f"{len(names)} item names for a matrix {width} wide")
        rows, columns = np.nonzero(values) if stored is None else (stored.row[values != 0], stored.col[values != 0])
        return cls.from_pairs(rows, columns, names, records, n_records=height)

    # -- looking at it ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def nnz(self) -> int:
        """How many occurrences: the sum of the record lengths."""
        return len(self.indices)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(records,) how many items each record has."""
        return _frozen(np.diff(self.indptr))

    @cached_property
    def frequencies(self) -> npt.NDArray[np.int64]:
        """(n_items,) in how many records each item is."""
        return _frozen(np.bincount(self.indices, minlength=self.n_items).astype(np.int64))

    def totals(self, of_items: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(records,) the sum over each record's items of (n_items,) numbers; of a mask, how many are in it.

        >>> Baskets.from_lists([["a", "b"], [], ["b"]]).totals(np.array([1, 10])).tolist()
        [11, 0, 10]
        """
        before = np.concatenate(([0], np.cumsum(of_items[self.indices])))
        return np.asarray(np.diff(before[self.indptr]))

    @cached_property
    def records(self) -> Names:
        """(records,) the record ids."""
        return self._records if self._records is not None else _names(range(len(self)))

    @property
    def matrix(self) -> csr_matrix:
        """(records, n_items) scipy CSR of float32 ones, sharing the index arrays."""
        from scipy.sparse import csr_matrix

        ones = np.ones(self.nnz, dtype=np.float32)
        result = csr_matrix((len(self), self.n_items), dtype=np.float32)
        result.data, result.indices, result.indptr = ones, self.indices, self._indptr_for_scipy()
        result.has_canonical_format = True
        return result

    @cached_property
    def index(self) -> dict[str, int]:
        """From item name to item number."""
        return {name: number for number, name in enumerate(self.items)}

    def row(self, record: int) -> npt.NDArray[np.int32]:
        """The item numbers of one record."""
        return self.indices[self.indptr[record] : self.indptr[record + 1]]

    def names(self, record: int) -> list[str]:
        """The item names of one record."""
        return list(self.items[self.row(record)])

    def __iter__(self) -> Iterator[list[str]]:
        return (self.names(record) for record in range(len(self)))

    def __repr__(self) -> str:
        return f"Baskets({len(self):,} records, {self.n_items:,} items, {self.nnz:,} occurrences)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Baskets):
            return NotImplemented
        return (
            np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.items, other.items)
            and np.array_equal(self.records, other.records)
        )

    __hash__ = None  # type: ignore[assignment]

    def summary(self) -> str:
        """What a person wants to know first, in a few lines.

        >>> print(Baskets.from_lists([["milk", "bread"], ["bread"]]).summary())
        2 records over 2 items, 3 occurrences (75% of all cells)
        record length   median 1.5, mean 1.5, longest 2; 1 with two items or more
        item frequency  median 1.5, highest 2; 1 seen once
        most frequent   bread 2, milk 1
        """
        if not self.nnz:
            return f"{len(self):,} records over {self.n_items:,} items, all empty"
        length, frequency = self.lengths, self.frequencies
        top = np.argsort(-frequency, kind="stable")[:5]
        share = f"{100 * self.nnz / (len(self) * self.n_items):.3g}% of all cells"
        return "\n".join(
            [
                f"{len(self):,} records over {self.n_items:,} items, {self.nnz:,} occurrences ({share})",
                f"record length   median {np.median(length):g}, mean {length.mean():.3g}, longest {length.max():,}; "
                f"{(length >= 2).sum():,} with two items or more",
                f"item frequency  median {np.median(frequency):g}, highest {frequency.max():,}; "
                f"{(frequency == 1).sum():,} seen once",
                "most frequent   " + ", ".join(f"{self.items[i]} {frequency[i]:,}" for i in top),
            ]
        )

    def fingerprint(self) -> str:
        """sha256 of the records and the item names; the record ids are left out."""
        digest = hashlib.sha256(f"{len(self)} {self.nnz} {self.n_items}".encode())
        digest.update(self.indptr.tobytes())
        digest.update(self.indices.tobytes())
        for name in self.items:
            encoded = name.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()

    # -- making another -----------------------------------------------------------------------------

    def __getitem__(self, which: slice | IntArray | npt.NDArray[np.bool_] | Sequence[int]) -> Baskets:
        """The chosen records, vocabulary unchanged. A slice of step 1 shares memory.

        >>> len(Baskets.from_lists([["a"], ["b"], ["c"]])[1:])
        2
        """
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                stop = max(start, stop)
                indptr = self.indptr[start : stop + 1]
                records = None if self._records is None else self._records[start:stop]
                if self._records is None and start:
                    records = _names(range(start, stop))
                indices = self.indices[indptr[0] : indptr[-1]]
                return Baskets(indptr - indptr[0], indices, self.items, records, numbered=self.numbered)
            which = np.arange(start, stop, step)
        chosen = np.asarray(which)
        if chosen.ndim == 0:
            raise TypeError("one record is baskets.row(i) or baskets.names(i); baskets[[i]] keeps the type")
        # through numpy's own rules: negative numbers, masks of a wrong length, fractions
        chosen = np.arange(len(self))[chosen if chosen.size else chosen.astype(np.int64)]
        lengths = self.lengths[chosen]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        source = np.repeat(self.indptr[chosen] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Baskets(indptr, self.indices[source], self.items, self.records[chosen], numbered=self.numbered)

    def concat(self, other: Baskets) -> Baskets:
        """These records, then the other's; items are matched by name and new ones are put behind.

        >>> both = Baskets.from_lists([["a", "b"]]).concat(Baskets.from_lists([["c", "b"]]))
        >>> list(both.items), both.names(1)
        (['a', 'b', 'c'], ['b', 'c'])
        """
        code = dict(self.index)
        translate = np.array([code.setdefault(name, len(code)) for name in other.items], dtype=np.int32)
        rows = np.repeat(np.arange(len(self) + len(other)), np.concatenate((self.lengths, other.lengths)))
        columns = np.concatenate((self.indices, translate[other.indices] if other.nnz else other.indices))
        plain = self._records is None and other._records is None
        records = None if plain else np.concatenate((self.records, other.records))
        numbered, n = self.numbered and other.numbered, len(self) + len(other)
        return Baskets.from_pairs(rows, columns, list(code), records, n_records=n, numbered=numbered)

    def filter(
        self,
        *,
        top_items: int | None = None,
        min_frequency: int = 0,
        min_length: int = 0,
        max_length: int | None = None,
    ) -> Baskets:
        """Keep frequent items, then records of a suitable length (each rule is applied once, in this order).

        Ties at `top_items` go to the item that comes first in the vocabulary.

        >>> shop = Baskets.from_lists([["a", "b"], ["a"], ["c"]])
        >>> list(shop.filter(min_frequency=2, min_length=1))
        [['a'], ['a']]
        """
        keep = self.frequencies >= min_frequency
        if top_items is not None:
            first = np.argsort(-self.frequencies, kind="stable")[: max(top_items, 0)]
            keep &= np.isin(np.arange(self.n_items), first)
        result = self if keep.all() else self._select_items(np.flatnonzero(keep))
        longest = max_length if max_length is not None else self.n_items
        fits = (result.lengths >= min_length) & (result.lengths <= longest)
        return result if fits.all() else result[fits]

    def with_vocabulary(self, items: Names | Sequence[str]) -> tuple[Baskets, list[str]]:
        """The same records over another vocabulary, and the names that it does not have (left out).

        >>> Baskets.from_lists([["a", "x"]]).with_vocabulary(["b", "a"])
        (Baskets(1 records, 2 items, 1 occurrences), ['x'])
        """
        code = {name: number for number, name in enumerate(items)}
        translate = np.array([code.get(name, -1) for name in self.items], dtype=np.int64)
        unknown = list(self.items[(translate < 0) & (self.frequencies > 0)])
        columns = translate[self.indices] if self.nnz else self.indices.astype(np.int64)
        rows = np.repeat(np.arange(len(self)), self.lengths)
        known = columns >= 0
        found = Baskets.from_pairs(
            rows[known], columns[known], items, self._records, n_records=len(self), numbered=self.numbered
        )
        return found, unknown

    def _select_items(self, items: IntArray) -> Baskets:
        translate = np.full(self.n_items, -1, dtype=np.int64)
        translate[items] = np.arange(len(items))
        columns = translate[self.indices]
        known = columns >= 0
        kept_before = np.concatenate(([0], np.cumsum(known)))
        indptr, names = kept_before[self.indptr], self.items[items]
        return Baskets(indptr, columns[known], names, self._records, numbered=self.numbered)

    def _indptr_for_scipy(self) -> IntArray:
        """scipy wants both index arrays of one type; int32 is enough below 2^31 occurrences."""
        return self.indptr.astype(np.int32) if self.nnz < 2**31 else self.indptr


def _names(names: Iterable[Any]) -> Names:
    """Read-only strings. An array that nobody can write to has been through here and is passed on."""
    if isinstance(names, np.ndarray) and names.dtype == object and not names.flags.writeable:
        return names
    listed = list(names)
    result = np.empty(len(listed), dtype=object)
    result[:] = [name if type(name) is str else str(name) for name in listed]
    result.flags.writeable = False
    return result


def item_names(lists: Iterable[Iterable[Any]]) -> Iterator[list[str]]:
    """The items of each record by name; what is no list of lists, and what can be no name, is an error.

    >>> list(item_names([["a", 7], ()]))
    [['a', '7'], []]
    """
    if isinstance(lists, (str, bytes)) or not isinstance(lists, Iterable):
        raise InputError(f"{lists!r} cannot be read as records", remedy="give a list of lists of items")
    for number, record in enumerate(lists):
        if isinstance(record, (str, bytes)) or not isinstance(record, Iterable):
            text = "the text " if isinstance(record, str) else ""
            raise InputError(f"record {number} is {text}{record!r}; expected a list of items")
        names = []
        for item in record:
            if type(item) is not str and (item is None or item != item or isinstance(item, _NO_NAME)):
                raise InputError(f"record {number} holds {item!r}; expected names or numbers")
            names.append(str(item))
        yield names


def _distinct(items: Iterable[Any]) -> Names:
    """Item names from a user: strings, none of them twice."""
    names = _names(items)
    if not all(type(name) is str for name in names):  # an array that its owner had made read-only
        names = _names(list(names))
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"two items are called {twice!r}", remedy="give each item a name of its own")
    return names


def _frozen(array: _Array) -> _Array:
    """Read-only: the array itself if it is, else a copy, since its owner may go on writing to it."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
