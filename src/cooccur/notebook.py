"""How results look in a notebook (`_repr_html_`) and how they become frames (`to_pandas`, `to_polars`).

A result type gets all of it from the view that it inherits. Every text is escaped; colours are those of the page, so
that light and dark themes both work; only bars have one of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from cooccur.errors import CooccurError

if TYPE_CHECKING:
    import pandas
    import polars

SHOWN = 10  # rows of what may have a million
_UP, _DOWN = "#2a9d8f", "#e76f51"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


class Frame:
    """What can be a frame: columns of equal length by name."""

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_polars(self) -> polars.DataFrame:
        """The same as a polars frame."""
        import polars as pl

        return pl.DataFrame(self._columns(), strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a pandas frame; pandas must be installed."""
        try:
            import pandas as pd
        except ImportError:
            raise CooccurError("to_pandas needs pandas; run `pip install pandas`, or use to_polars") from None
        return pd.DataFrame(self._columns())


class CompletionView(Frame):
    """Of a `Completion`: a row for each suggestion."""

    basket: tuple[str, ...]
    suggestions: tuple[Any, ...]
    titles: Any

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "rank": list(range(1, len(self.suggestions) + 1)),
            "item": [s.item for s in self.suggestions],
            "title": [self.titles.title(s.item) for s in self.suggestions],
            "score": [s.score for s in self.suggestions],
        }
        if any(s.probability is not None for s in self.suggestions):
            columns["probability"] = [s.probability for s in self.suggestions]
        return columns

    def _repr_html_(self) -> str:
        most = max((abs(s.score) for s in self.suggestions), default=0.0)
        rows = [
            (rank, s.title or s.item, f"{s.score:.4g}", bar(s.score, most))
            if s.probability is None
            else (rank, s.title or s.item, f"{s.probability:.1%}", bar(s.probability, 1.0))
            for rank, s in enumerate(self.suggestions, 1)
        ]
        basket = ", ".join(self.titles.title(item) for item in self.basket)
        return table(("", "item", "", ""), rows, caption=f"What goes with {basket or 'an empty basket'}", right=(0, 2))


class ReasonView(Frame):
    """Of a `Reason`: a row for each part of the score."""

    item: str
    score: float
    prior: float
    shares: tuple[tuple[str, float], ...]
    rest: float
    titles: Any

    def _columns(self) -> dict[str, Any]:
        items = [item for item, _ in self.shares]
        return {
            "part": ["by itself", *["because of"] * len(items), "together"],
            "item": [None, *items, None],
            "title": [None, *map(self.titles.title, items), None],
            "share": [self.prior, *(share for _, share in self.shares), self.rest],
        }

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = list(zip(columns["part"], columns["title"], columns["share"], strict=True))
        most = max(abs(share) for *_, share in rows)
        cells = [(f"{part} {title or ''}", f"{share:+.3f}", bar(share, most, both=True)) for part, title, share in rows]
        caption = f"Why {self.titles.title(self.item)} has the score {self.score:+.3f}"
        return table(("", "", ""), cells, caption=caption, right=(1,))


class BatchView(Frame):
    """Of a `BatchCompletion`: a row for each suggestion to each record."""

    items: Any
    scores: Any
    vocabulary: Any
    titles: Any

    def _columns(self) -> dict[str, Any]:
        import numpy as np

        record, rank = np.nonzero(self.items >= 0)
        names = self.vocabulary[self.items[record, rank]].tolist()
        columns = {"record": record, "rank": rank + 1, "item": names, "score": self.scores[record, rank]}
        return columns | ({"title": [self.titles.title(name) for name in names]} if self.titles else {})

    def _repr_html_(self) -> str:
        rows = [
            (record, ", ".join(self.titles.title(str(self.vocabulary[item])) for item in items if item >= 0))
            for record, items in enumerate(self.items[:SHOWN])
        ]
        caption = f"{len(self.items):,} records, at most {self.items.shape[1]:,} suggestions each"
        return table(("record", "lacks, best first"), rows, caption=caption, more=len(self.items) - len(rows))


class BasketsView(Frame):
    """Of `Baskets`: a row for each occurrence."""

    indices: Any
    items: Any
    records: Any
    lengths: Any

    def _columns(self) -> dict[str, Any]:
        return {
            "record": self.records.repeat(self.lengths).tolist(),
            "item": self.items[self.indices].tolist(),
        }

    def _repr_html_(self) -> str:
        few: Any = self[:SHOWN]  # type: ignore[index]
        rows = [(record, _some(names)) for record, names in zip(few.records, few, strict=True)]
        return table(("record", "items"), rows, caption=repr(self), more=len(self.lengths) - len(rows))


class ModelView(Frame):
    """Of a model: a row for each item that it knows; in a notebook, what it is."""

    name: ClassVar[str]
    items_: Any
    frequencies_: Any
    n_records_: int
    titles_: Any

    def _columns(self) -> dict[str, Any]:
        self._check_fitted()  # type: ignore[attr-defined]
        items = [str(item) for item in self.items_]
        return {
            "item": items,
            "title": [self.titles_.title(item) for item in items],
            "group": [self.titles_.group(item) for item in items],
            "records": self.frequencies_,
        }

    def _repr_html_(self) -> str:
        known = "has not learned yet"
        if hasattr(self, "items_"):
            known = f"learned from {self.n_records_:,} records over {len(self.items_):,} items"
        rows = [(name, str(value)) for name, value in self.get_params().items()]  # type: ignore[attr-defined]
        return table(("parameter", "value"), rows, caption=f"{self.name}: {known}")


class Evaluation(dict[str, Any], Frame):
    """The result of `evaluate`: a dict of plain JSON types; as a frame, a row for each model and fold."""

    def _columns(self) -> dict[str, Any]:
        rows = [{k: v for k, v in row.items() if k not in ("params", "tuned")} for row in self["rows"]]
        return {name: [row.get(name) for row in rows] for name in dict.fromkeys(key for row in rows for key in row)}

    def _repr_html_(self) -> str:
        from cooccur.evaluation.report import figures

        header, rows, caption = figures(self)
        cells = [[Html(f"<b>{escape(text)}</b>") if best else text for text, best in row] for row in rows]
        return table(header, cells, caption=caption, right=range(2, len(header)))


# -- pieces of HTML -----------------------------------------------------------------------------------


def table(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", right: Iterable[int] = (), more: int = 0
) -> str:
    """A table; cells are escaped unless they are `Html`. `right` columns are numbers, `more` rows are not shown.

    >>> table(("item",), [("<b>",)])
    '<table><thead><tr><th style="text-align:left">item</th></tr></thead><tbody><tr><td style="text-align:left">&lt;b&gt;</td></tr></tbody></table>'
    """  # noqa: E501
    numbers = set(right)

    def cells(tag: str, row: Sequence[Any]) -> str:
        sides = ("right" if place in numbers else "left" for place in range(len(row)))
        inner = (cell if isinstance(cell, Html) else escape(str(cell)) for cell in row)
        made = (f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in zip(sides, inner, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    said = f'<caption style="text-align:left;color:inherit">{escape(caption)}</caption>' if caption else ""
    head = f"<thead>{cells('th', header)}</thead>" if any(header) else ""
    body = "".join(cells("td", row) for row in rows)
    left = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table>{said}{head}<tbody>{body}</tbody></table>{left}"


def bar(value: float, most: float, both: bool = False) -> Html:
    """A bar of `value` where the longest is `most`; with `both` the negative ones go to the left of a middle line.

    >>> "width:50.0%" in bar(1.0, 2.0), "right:50%" in bar(-1.0, 2.0, both=True)
    (True, True)
    """
    share = min(1.0, abs(value) / most) if most else 0.0
    share *= 0.5 if both else 1.0
    side = "left:0" if not both else "left:50%" if value >= 0 else "right:50%"
    ink = f"position:absolute;{side};width:{share:.1%};height:100%;background:{_UP if value >= 0 else _DOWN}"
    line = '<div style="position:absolute;left:50%;height:100%;border-left:1px solid currentColor"></div>' * both
    return Html(f'<div style="position:relative;width:12em;height:0.8em"><div style="{ink}"></div>{line}</div>')


def _some(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
