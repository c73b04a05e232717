"""Which names a user may have meant.

Cheapest first: the same but for upper and lower case, then names that begin with or contain what was typed, and only
then similar spelling, among names of about that length (not counting what follows in brackets) which share the first
letter (over 77,000 names `difflib` alone takes seconds).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near_names(typed: str, names: Iterable[str], n: int = 3) -> list[str]:
    """At most n names, the likeliest first.

    >>> near_names("Milk", ["milk", "oat milk"]), near_names("milk", ["oat milk", "Silk"]), near_names("mlik", ["milk"])
    (['milk'], ['oat milk'], ['milk'])
    """
    word = typed.casefold()
    if not word:
        return []
    folded = [(name, name.casefold()) for name in names]
    if same := [name for name, low in folded if low == word]:
        return same[:n]
    if inside := [(not low.startswith(word), len(low), name) for name, low in folded if word in low]:
        return [name for *_, name in sorted(inside)[:n]]
    short = ((name, low.partition(" (")[0]) for name, low in folded if low[:1] == word[:1])  # Psycho (1960)
    alike = {low: name for name, low in short if abs(len(low) - len(word)) <= 3}
    return [alike[low] for low in get_close_matches(word, alike, n, cutoff=0.6)]


def did_you_mean(typed: str, names: Iterable[str]) -> str:
    """What to say of an unknown item.

    >>> did_you_mean("mlik", ["milk"])
    "unknown item 'mlik'; did you mean 'milk'?"
    """
    found = near_names(typed, names)
    hint = f"did you mean {' or '.join(map(repr, found))}?" if found else "the model was not trained on it"
    return f"unknown item {typed!r}; {hint}"
