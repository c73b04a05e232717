"""A map on paper and on a page: points in the colours of their groups, the most frequent with their names.

    labels    the most frequent items get their names first; a name that would cover another one is left out
    page      one HTML file that needs nothing else
    picture   PNG or SVG, the same bytes each time

`data` is a map as `Map.to_dict` gives it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur.errors import CooccurError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#9a9a9a"
PALETTE = (
    "#4e79a7", "#e1812c", "#3a923a", "#c44e52", "#8064a2", "#937860", "#d76fb0", "#7f8f2e", "#2a9fb0", "#b59a2b",
)  # fmt: skip
SIDE, POINTS = 11.0, 6.5  # of the picture in inches, and of its letters


def place_labels(
    places: npt.ArrayLike, widths: Sequence[float], height: float, size: tuple[float, float], *, gap: float = 4.0,
    limit: int | None = None,
) -> list[tuple[int, float, float]]:  # fmt: skip
    """Greedily, in the order given: which labels can be shown, and the left and top of each; `map.js` does the same.

    `places` (labels, 2) are the points in a picture of this size, y downwards; a label stands to the right of its
    point, else to the left, above or below, wherever it covers no earlier label and stays in the picture.

    >>> place_labels([(10, 10), (12, 10), (11, 10)], [30, 30, 30], 8, (50, 20))
    [(0, 14.0, 6.0)]
    >>> place_labels([(50, 10), (52, 10)], [30, 30], 8, (100, 20))
    [(0, 54.0, 6.0), (1, 18.0, 6.0)]
    """
    cell, lift = 4 * height, max(gap, height / 2)  # above and below it clears a label beside the point
    taken: dict[tuple[int, int], list[tuple[float, float, float, float]]] = {}
    shown: list[tuple[int, float, float]] = []
    for number, ((x, y), width) in enumerate(zip(np.asarray(places, dtype=float).tolist(), widths, strict=True)):
        if limit is not None and len(shown) >= limit:
            break
        middle, top = x - width / 2, y - height / 2
        for left, up in ((x + gap, top), (x - gap - width, top), (middle, y - lift - height), (middle, y + lift)):
            right, down = left + width, up + height
            if left < 0 or up < 0 or right > size[0] or down > size[1]:
                continue
            cells = [
                (column, row)
                for column in range(int(left // cell), int(right // cell) + 1)
                for row in range(int(up // cell), int(down // cell) + 1)
            ]
            if any(
                left < b[2] and b[0] < right and up < b[3] and b[1] < down for at in cells for b in taken.get(at, ())
            ):
                continue
            for at in cells:
                taken.setdefault(at, []).append((left, up, right, down))
            shown.append((number, left, up))
            break
    return shown


def shorten(title: str, letters: int = 34) -> str:
    """A title that is not too long for a label.

    >>> shorten("Dr. Strangelove or: How I Learned to Stop Worrying and Love the Bomb (1963)")
    'Dr. Strangelove or: How I Learned…'
    """
    return title if len(title) <= letters else title[: letters - 1].rstrip() + "…"


def colours(groups: Sequence[str | None] | None) -> dict[str, str]:
    """A colour for each of the most frequent groups.

    >>> colours(["a", "b", "b", None])
    {'b': '#4e79a7', 'a': '#e1812c'}
    """
    count: dict[str, int] = {}
    for group in groups or ():
        if group:
            count[group] = count.get(group, 0) + 1
    order = sorted(count, key=lambda group: (-count[group], group))
    return dict(zip(order, PALETTE, strict=False))


# -- files ------------------------------------------------------------------------------------------


def page(data: Mapping[str, Any], labels: int, heading: str, about: str) -> str:
    """One HTML page with the data, the style and the script of the map in it."""
    folder = files("cooccur") / "serve" / "static"
    script, style = ((folder / name).read_text("utf-8") for name in ("map.js", "map.css"))
    inlined = json.dumps({**data, "labels": labels, "heading": heading or "Map of items", "about": about})
    # In a page "<" could end the script's element; ASCII alone cannot be misread.
    parts = {"STYLE": style, "SCRIPT": script, "DATA": inlined.replace("<", "\\u003c")}
    page = (files("cooccur") / "map.html").read_text("utf-8")
    for name, text in parts.items():
        page = page.replace(f"/*{name}*/", text, 1)
    return page


def picture(data: Mapping[str, Any], labels: int, heading: str, halo: bool) -> tuple[Figure, int]:
    """The map on paper, and how many names are on it; all lengths in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.patheffects import withStroke
    from matplotlib.textpath import TextToPath

    made = figure(1, 1)  # if matplotlib is missing, say so now
    points = np.column_stack([data["x"], data["y"]])
    room = np.maximum(np.ptp(points, axis=0), 0.4) / 2  # half of what the map takes, of at most 1
    margin, strip = 26.0, 58.0
    wide = 72 * SIDE
    unit = (wide - 2 * margin) / (2 * room[0])
    high = 2 * room[1] * unit + 2 * margin + strip
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    places = (points - middle) * unit + [wide / 2, margin + room[1] * unit]
    found = colours(data["group"])
    hues = [found.get(group or "", GREY) for group in data["group"] or [None] * len(points)]
    order = np.argsort(-np.array(data["frequency"]), kind="stable")
    share = np.array(data["frequency"]) / max(1, *data["frequency"])
    sizes = (1.6 + 3.2 * np.sqrt(share)) ** 2 * min(1.0, (2000 / len(points)) ** 0.5)

    made.set_size_inches(wide / 72, high / 72)
    axes = made.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(0, high))
    axes.axis("off")
    rare_first = order[::-1]
    x, y = places[rare_first].T
    axes.scatter(x, y, s=sizes[rare_first], c=[hues[i] for i in rare_first], alpha=0.75, lw=0)

    text = TextToPath()

    def width(words: str, points: float) -> float:
        return 1.06 * text.get_text_width_height_descent(words, FontProperties(size=points), ismath=False)[0]

    first = order[: 20 * labels]
    words = [shorten(printable(data["title"][i])) for i in first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that matplotlib's font lacks; an SVG shows them all the same
        widths = [width(word, POINTS) for word in words]
        wider = [width(printable(group), 8) for group in found]
    down = np.column_stack([places[first, 0], high - strip - places[first, 1]])
    shown = place_labels(down, widths, 1.3 * POINTS, (wide, high - strip), gap=3, limit=labels)
    # in an SVG a halo would turn letters into curves
    around = [withStroke(linewidth=2, foreground="white", alpha=0.85)] if halo else []
    plain: Any = {"parse_math": False, "color": "#22262b"}
    for number, left, top in shown:
        at = high - strip - top - POINTS
        axes.text(left, at, words[number], fontsize=POINTS, path_effects=around, **plain)
    axes.text(margin, high - 24, printable(heading), fontsize=12, weight="bold", **plain)
    left = margin + 3
    for group, wide_word in zip(found, wider, strict=True):
        axes.scatter([left], [high - 43], s=22, color=found[group], lw=0)
        axes.text(left + 7, high - 46, printable(group), fontsize=8, **plain)
        left += wide_word + 22
    return made, len(shown)


def figure(width: float, height: float, **more: Any) -> Figure:
    """An empty figure of matplotlib, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CooccurError("pictures need matplotlib: pip install 'cooccur[map]'") from None
    return Figure(figsize=(width, height), **more)


def save(made: Figure, path: Path, form: str = "png") -> None:
    """Write a figure, the same bytes each time."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "cooccur"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        made.savefig(path, dpi=150, format=form, metadata={"Date": None} if form == "svg" else None)


def printable(text: str) -> str:
    """Without what no font and no XML file can hold.

    >>> printable("a\\x00b")
    'a b'
    """
    plain = text.encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else " " for letter in plain)
