"""`cooccur describe`: counts and histograms of a dataset or file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cooccur.cli.data import load
from cooccur.cli.options import Data, Json, Reading, unfolded
from cooccur.cli.output import bar, console, print_json

if TYPE_CHECKING:
    from cooccur.baskets import Baskets

_TOP = 10


@unfolded
def describe(data: Data, reading: Reading, as_json: Json = False) -> None:
    """Show what is in the data: counts and histograms."""
    baskets = load(data, reading)
    order = (-baskets.frequencies).argsort(kind="stable")[:_TOP]
    found: dict[str, Any] = {
        "data": data,
        "records": len(baskets),
        "items": baskets.n_items,
        "occurrences": baskets.nnz,
        "duplicates": baskets.duplicates,
        "sha256": baskets.fingerprint(),
        "named": _named(baskets),
        "record_length": _figures(baskets.lengths),
        "item_frequency": _figures(baskets.frequencies),
        "most_frequent": [{"item": baskets.items[i], "records": int(baskets.frequencies[i])} for i in order],
    }
    if as_json:
        print_json(found)
        return
    out = console()
    out.print("\n".join(line for line in baskets.summary().splitlines() if not line.startswith("most frequent")))
    if found["named"]:
        out.print(
            f"record names    {found['named']:,} are items, and items so linked meet: links and dem make use of it"
        )
    for title, key in (("record length", "record_length"), ("item frequency", "item_frequency")):
        bins = [(_range(b["from"], b["to"]), b["count"]) for b in found[key]["histogram"]]
        _bars(out, title, "records" if key == "record_length" else "items", bins)
    _bars(out, "most frequent", "records", [(top["item"], top["records"]) for top in found["most_frequent"]])


def _named(baskets: Baskets) -> int:
    """How many records bear the name of an item, if that is more than chance."""
    from cooccur.models.links import meant, owners

    owner = owners(baskets)
    return int((owner >= 0).sum()) if meant(baskets, owner) else 0


def _figures(values: Any) -> dict[str, Any]:
    import numpy as np

    return {
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "highest": int(values.max()),
        "at_least_two": int((values >= 2).sum()),
        "one": int((values == 1).sum()),
        "histogram": log_bins(values),
    }


def log_bins(values: Any) -> list[dict[str, int]]:
    """Counts in bins that double: 0, 1, 2-3, 4-7, ... from the lowest to the highest that is not empty.

    >>> import numpy as np
    >>> log_bins(np.array([1, 3, 3, 9]))
    [{'from': 1, 'to': 1, 'count': 1}, {'from': 2, 'to': 3, 'count': 2},
     {'from': 4, 'to': 7, 'count': 0}, {'from': 8, 'to': 15, 'count': 1}]
    """
    import numpy as np

    exponent = np.frexp(values)[1]  # 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7 ...
    counts = np.bincount(exponent)
    first = int(exponent.min())
    return [{"from": 2**e // 2, "to": max(0, 2**e - 1), "count": int(counts[e])} for e in range(first, len(counts))]


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def _bars(out: Any, title: str, unit: str, rows: list[tuple[str, int]]) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(title, min_width=20, max_width=36, overflow="fold")
    table.add_column(unit, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    highest = max(count for _, count in rows)
    for name, count in rows:
        table.add_row(name, f"{count:,}", bar(count / highest, 30))
    out.print()
    out.print(table)
