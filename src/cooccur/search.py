"""Which item a person means: by its name or its title, whatever the case, and what begins like it.

All names lie in one text, the most frequent item first, so the first hits of a plain search are the ones to show: no
index, and yet a few milliseconds over 100,000 items. Names that begin so come first, then words, then anything inside.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from cooccur.errors import InputError
from cooccur.models.base import Model
from cooccur.near import did_you_mean

_ALSO = "\x1f"  # between an item's title and its name


class Search:
    """The items of a fitted model, to be found by what a person types.

    >>> from cooccur.models import make_model
    >>> model = make_model("popularity").fit([["1", "2"], ["1"]])
    >>> from cooccur.titles import Titles
    >>> model.titles_ = Titles({"1": "Toy Story", "2": "A Bug's Life"})
    >>> search = Search(model)
    >>> search.item("toy story"), search.item("2"), search.starting("l"), search.starting("o")
    ('1', '2', ['2'], ['1'])
    """

    def __init__(self, model: Model) -> None:
        self.model, self.titles = model, model.titles_

    def item(self, typed: str) -> str:
        """The one item of that name or title; an error names near ones, or those that share the title."""
        if typed in self.model._index:
            return typed
        found = self._folded.get(_fold(typed).strip(), [])
        exact = [item for item in found if self.titles.title(item) == typed]
        found = exact or found
        if len(found) > 1:
            names = " or ".join(map(repr, found[:3])) + (" ..." if len(found) > 3 else "")
            raise InputError(f"{typed!r} is the title of {len(found)} items; say which by its name, {names}")
        if not found:
            known = dict.fromkeys(name for item in self.model.items_ for name in (self.titles.title(item), item))
            raise InputError(did_you_mean(typed, known))
        return found[0]

    def spelled(self, item: str) -> str:
        """What to type for an item: its title, or its name where another item has that title."""
        title = self.titles.title(item)
        meant = [title] if title in self.model._index else self._folded[_fold(title).strip()]
        return title if meant == [item] else item

    def starting(self, typed: str, limit: int = 20) -> list[str]:
        """At most `limit` items to offer for what was typed so far, the likeliest first; all, if nothing was."""
        word = re.escape(_fold(typed))
        found: dict[str, None] = {}
        # Where a name begins, then where a word does, then anywhere. The search itself is for a literal.
        for where in (rf"{word}(?<=[\n{_ALSO}]{word})", rf"{word}(?<=\W{word})", word):
            for item in self._hits(where):
                found[item] = None
                if len(found) >= limit:
                    return list(found)
        return list(found)

    def _hits(self, pattern: str) -> Iterator[str]:
        text, starts, order = self._text
        at, search = 0, re.compile(pattern).search
        while hit := search(text, at):
            number = bisect_right(starts, hit.start()) - 1
            yield order[number]
            if number + 1 >= len(order):
                return
            at = starts[number + 1]  # an item counts once

    @cached_property
    def _text(self) -> tuple[str, list[int], list[str]]:
        """The text, where each item's line starts in it, and the items in its order."""
        by_frequency = (-self.model.frequencies_).argsort(kind="stable")
        order = [str(item) for item in self.model.items_[by_frequency]]
        lines = [
            f"\n{_fold(title)}" + (_ALSO + _fold(item) if title != item else "")
            for item, title in ((item, self.titles.title(item)) for item in order)
        ]
        starts = list(accumulate((len(line) for line in lines), initial=0))[:-1]
        return "".join(lines), starts, order

    @cached_property
    def _folded(self) -> dict[str, list[str]]:
        """From a name or title in lower case to its items."""
        found: dict[str, list[str]] = {}
        for item in map(str, self.model.items_):
            title = self.titles.title(item)
            for name in {_fold(title).strip(), _fold(item).strip()} if title != item else {_fold(item).strip()}:
                found.setdefault(name, []).append(item)
        return found


def _fold(text: str) -> str:
    low = text.casefold()
    return low if low.isprintable() and "  " not in low else re.sub(r"[\s\x1f]+", " ", low)
