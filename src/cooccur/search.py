"""Which item a person means: by its name or its title, whatever the case, and what is like what was typed so far."""

from __future__ import annotations

import re
from functools import cached_property

from cooccur.errors import InputError
from cooccur.index import Index
from cooccur.models.base import Model
from cooccur.near import did_you_mean


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
        return [str(self.model.items_[number]) for number in self._names.find(typed)[:limit]]

    @cached_property
    def _names(self) -> Index:
        names = [str(item) for item in self.model.items_]
        return Index([self.titles.title(name) for name in names], self.model.frequencies_, names)

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
