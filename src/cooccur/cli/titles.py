"""What people call the items of DATA, and what they may type for them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cooccur.cli.output import say
from cooccur.errors import InputError

if TYPE_CHECKING:
    from cooccur.baskets import Baskets
    from cooccur.search import Search
    from cooccur.titles import Titles


def load_titles(data: str, file: Path | None, home: Path | None) -> Titles:
    """From the file, else those that come with a public dataset."""
    from cooccur.datasets import DATASETS
    from cooccur.titles import Titles, dataset_titles, read_titles

    if file is not None:
        return read_titles(file)
    return dataset_titles(data, home) if data in DATASETS else Titles()


def titles_of(baskets: Baskets, titles: Titles, file: Path | None) -> Titles:
    """Those of the items in the baskets; what does not match is told."""
    kept = titles.among(baskets.items)
    if file is not None and not kept:
        first, item = next(iter(titles)), str(baskets.items[0])
        raise InputError(
            f"no id of {len(titles):,} is an item of the data: an id is {first!r}, an item {item!r}",
            source=str(file), remedy="the column id must hold the names that the data uses",
        )  # fmt: skip
    if without := baskets.n_items - len(kept) if titles else 0:
        say(f"note: {without:,} of {baskets.n_items:,} items have no title and keep their names")
    if file is not None and len(titles) > len(kept):
        say(f"note: {len(titles) - len(kept):,} of {len(titles):,} titles are of items that are not in the data")
    return kept


def resolve(search: Search, typed: Iterable[str]) -> tuple[list[str], list[str]]:
    """The items that were meant, by name or title, and what was typed for those that are unknown, with a warning."""
    items, unknown = [], []
    for name in typed:
        try:
            items.append(search.item(name))
        except InputError as error:
            say(f"warning: {error}")
            unknown.append(name)
    return list(dict.fromkeys(items)), list(dict.fromkeys(unknown))
