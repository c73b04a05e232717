"""Find items as somebody types: names that begin so, words that do, names that hold it, then near spellings.

All names, folded (no case, no accents) and most frequent first, are one text:  \\0 name \\0 name \\0
Its places are sorted by the two bytes that stand there, so the places of a query are those of its rarest pair of bytes,
checked for the other bytes. That is some microseconds for a usual query and some milliseconds for a single letter,
over 100,000 names.

Near spellings compare each word of the query with all distinct words (edits: a letter more, less, another, or two
swapped; the word may go on), by numpy over all words at once: tens of milliseconds, only where little else is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.integer[Any]]

ENOUGH = 10  # names found: no need for near spellings, of which there are as many at most
WIDTH = 16  # bytes of a word that are compared
INSIDE = np.array([chr(b).isalnum() or b >= 128 for b in range(256)])  # bytes that words are made of
WORD = re.compile(rb"[0-9a-z\x80-\xff]+")


class Index:
    """Names (n,), each with what else it may be found by (or ""), and how often it occurs.

    >>> items = Index(["oat milk", "Milk", "silk", "mint"], [5, 3, 1, 1])
    >>> [int(i) for i in items.find("mil")], [int(i) for i in items.find("mlik")]
    ([1, 0], [0, 1])
    """

    def __init__(self, names: Sequence[str], frequencies: Ints | Sequence[int], also: Sequence[str] | None = None):
        self.by_frequency = np.argsort(-np.asarray(frequencies), kind="stable").astype(np.int32)
        order = self.by_frequency.tolist()
        folded = [fold(names[i]) for i in order]
        if also is not None:
            folded = [
                name if names[i] == also[i] else name + b" " + fold(also[i])
                for i, name in zip(order, folded, strict=True)
            ]
        self.starts = np.cumsum([1, *(len(name) + 1 for name in folded)])[:-1]
        self.text: Bytes = np.frombuffer(b"\0" + b"\0".join([*folded, b""]), dtype=np.uint8)
        pairs = self.text[:-1].astype(np.uint16) << 8 | self.text[1:]
        self.places = np.argsort(pairs, kind="stable").astype(np.int32)
        self.first = np.concatenate(([0], np.cumsum(np.bincount(pairs, minlength=2**16))))

    def __len__(self) -> int:
        return len(self.starts)

    def find(self, query: str) -> Ints:
        """The numbers of all items that are found, best first; for an empty query all, by frequency."""
        asked = fold(query)
        if not asked:
            return self.by_frequency
        places = self._occurrences(asked)
        items = np.searchsorted(self.starts, places, side="right") - 1
        before = self.text[places - 1]
        kind = np.where(before == 0, 0, np.where(INSIDE[before], 2, 1))
        best = np.full(len(self), 3, dtype=np.uint8)
        for k in (2, 1, 0):
            best[items[kind == k]] = k
        hits = np.flatnonzero(best < 3)
        hits = hits[np.argsort(best[hits], kind="stable")]
        if len(hits) < ENOUGH:
            hits = np.concatenate((hits, [i for i in self._near(asked) if best[i] == 3])).astype(np.int64)
        return self.by_frequency[hits]

    def near(self, query: str) -> list[int]:
        """The numbers of items whose words are spelled about so, likeliest first."""
        return [int(item) for item in self.by_frequency[self._near(fold(query))]]

    def _occurrences(self, asked: bytes) -> Ints:
        """Where the text goes on like this."""
        if len(asked) == 1:
            return self.places[self.first[asked[0] << 8] : self.first[(asked[0] + 1) << 8]]
        codes = [a << 8 | b for a, b in pairwise(asked)]
        at = min(range(len(codes)), key=lambda i: self.first[codes[i] + 1] - self.first[codes[i]])
        places = self.places[self.first[codes[at]] : self.first[codes[at] + 1]] - at
        places = places[(places > 0) & (places + len(asked) < len(self.text))]
        for i, byte in enumerate(asked):
            places = places[self.text[places + i] == byte]
        return places

    # -- near spellings -----------------------------------------------------------------------------

    @cached_property
    def _words(self) -> tuple[Bytes, Ints, Ints]:
        """The distinct words (n, WIDTH), zero behind their end, and in CSR form the items that have them."""
        inside = INSIDE[self.text]
        begin = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
        end = np.flatnonzero(inside[:-1] & ~inside[1:]) + 1
        at = begin[:, None] + np.arange(WIDTH)
        letters = np.where(at < end[:, None], self.text[np.minimum(at, len(self.text) - 1)], 0).astype(np.uint8)
        distinct, which = np.unique(np.ascontiguousarray(letters).view(f"S{WIDTH}").ravel(), return_inverse=True)
        items = (np.searchsorted(self.starts, begin, side="right") - 1)[np.argsort(which, kind="stable")]
        bounds = np.concatenate(([0], np.cumsum(np.bincount(which, minlength=len(distinct)))))
        return np.frombuffer(distinct.tobytes(), dtype=np.uint8).reshape(-1, WIDTH), bounds, items

    def _near(self, asked: bytes) -> list[int]:
        words = [word[:WIDTH] for word in WORD.findall(asked)[:8]]
        if not words or max(map(len, words)) < 4:  # of three letters one in three wrong is too many
            return []
        letters, bounds, items = self._words
        total = np.zeros(len(self), dtype=np.int64)
        for word in words:
            allowed = 0 if len(word) < 4 else 1 if len(word) < 7 else 2
            first, second = letters[:, 0], letters[:, 1]
            a, b = word[0], word[1] if len(word) > 1 else 0
            alike = np.flatnonzero((first == a) | (second == b) | (first == b) | (second == a))  # one of two is right
            away = edits(word, letters[alike])
            close = away <= allowed
            lengths = np.diff(bounds)[alike[close]]
            source = np.repeat(bounds[alike[close]] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
            best = np.full(len(self), 100, dtype=np.int64)
            np.minimum.at(best, items[source], np.repeat(away[close], lengths))
            total += best
        found = np.flatnonzero(total < 100)
        return [int(item) for item in found[np.argsort(total[found], kind="stable")][:ENOUGH]]


def edits(query: bytes, words: Bytes) -> npt.NDArray[np.int8]:
    """(n,) edits from the query to each word (n, width; zero behind its end), or to its nearest beginning.

    >>> edits(b"mlik", np.frombuffer(b"milk\\0\\0milky\\0bread\\0", dtype=np.uint8).reshape(3, 6)).tolist()
    [1, 1, 4]
    """
    n, width = words.shape
    steps = np.arange(width + 1, dtype=np.int8)
    row = np.tile(steps, (n, 1))
    before = row
    for i, letter in enumerate(query, 1):
        new = row + np.int8(1)  # a letter of the query that the word does not have
        np.minimum(new[:, 1:], row[:, :-1] + (words != letter), out=new[:, 1:])
        if i > 1:
            swapped = (words[:, :-1] == letter) & (words[:, 1:] == query[i - 2])
            np.minimum(new[:, 2:], np.where(swapped, before[:, :-2] + 1, 100), out=new[:, 2:])
        # one more letter in the word: new[j] = min over j' <= j of new[j'] + j - j'
        new = np.minimum.accumulate(new - steps, axis=1) + steps
        before, row = row, new
    past = np.concatenate((np.zeros((n, 1), dtype=bool), words == 0), axis=1)
    return np.asarray(np.where(past, np.int8(100), row).min(axis=1))


def fold(name: str) -> bytes:
    """Lower case, no accents, single spaces.

    >>> fold("  Caf\\u00e9  CR\\u00c8ME ").decode()
    'cafe creme'
    """
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).casefold()
    return " ".join(name.lower().replace("\0", " ").split()).encode("utf-8", "surrogatepass")
