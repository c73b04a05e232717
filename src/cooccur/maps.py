"""The map: every item a point in the plane, items that go together close to each other.

    vectors   of a model with hidden layers or factors: its own, R_t = (R1_t, ..., Rk_t) of a DEM; of any other model
              the leading spectrum of S = D^-1/2 (A + A') D^-1/2, where A holds what each item adds to its best others
    places    t-SNE of the vectors, each of length 1 (so that the angle counts and not how frequent an item is)
    labels    the most frequent items get their names first; a name that would cover another one is left out

The same model and seed give the same map, on one thread. A map has two forms: `to_dict` for the page, and files for
people: one HTML page that needs nothing else, PNG or SVG.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Names
from cooccur.errors import CooccurError
from cooccur.files import whole, whole_path
from cooccur.models.base import Floats, Model, Progress, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Doubles = npt.NDArray[np.float64]
Titles = Mapping[str, Any]
"""From an item's id to its title and group: a pair, or something with these attributes."""

OWN = ("R_", "F_", "W_")  # item vectors, as the models call them: hidden layers, factors, a Boltzmann machine's
BEST = 100  # others of each item that the spectrum is made from
WIDTH = 64  # of the spectrum
FEW = 12  # items: too few for t-SNE, they get the plane of their widest spread
MANY, AXES = 10_000, 50  # items from where on the map is made in fewer dimensions
GREY = "#9a9a9a"
PALETTE = (
    "#4e79a7", "#e1812c", "#3a923a", "#c44e52", "#8064a2", "#937860", "#d76fb0", "#7f8f2e", "#2a9fb0", "#b59a2b",
)  # fmt: skip
ENDINGS = (".html", ".png", ".svg")
SIDE, POINTS = 11.0, 6.5  # of the picture in inches, and of its letters


@dataclass(frozen=True, eq=False)
class Map:
    """Places `xy` (n_items, 2) float32 within -1 to 1, of the items and their frequencies, from vectors so wide."""

    xy: Floats
    items: Names
    frequencies: npt.NDArray[np.int64]
    dimensions: int

    def to_dict(self, titles: Titles | None = None) -> dict[str, Any]:
        """Plain JSON types: `x`, `y`, `id`, `title`, `frequency`, and `group`, None if no item has one.

        >>> Map(np.zeros((1, 2), np.float32), np.array(["1"], object), np.array([7]), 2).to_dict({"1": ("Toys", "")})
        {'x': [0.0], 'y': [0.0], 'id': ['1'], 'title': ['Toys'], 'group': None, 'frequency': [7]}
        """
        named = [_named(str(item), (titles or {}).get(str(item))) for item in self.items]
        groups = [group for _, group in named]
        x, y = (np.round(self.xy.T.astype(np.float64), 4) + 0.0).tolist()  # + 0.0: no -0.0
        return {
            "x": x, "y": y, "id": [str(item) for item in self.items], "title": [title for title, _ in named],
            "group": groups if any(groups) else None, "frequency": self.frequencies.tolist(),
        }  # fmt: skip

    def write(
        self, path: str | Path, titles: Titles | None = None, *, labels: int = 250, heading: str = "", about: str = ""
    ) -> int:
        """The map in a file, by its ending one of `.html`, `.png` and `.svg`; how many names it shows at most."""
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in ENDINGS:
            raise CooccurError(f"{target}: the ending names no known form; use one of {' '.join(ENDINGS)}")
        data = self.to_dict(titles)
        if ending == ".html":
            with whole(target) as file:
                file.write(_page(data, labels, heading, about).encode())
            return min(labels, len(self.items))
        figure, shown = _picture(data, labels, heading, halo=ending == ".png")
        with whole_path(target) as temporary:
            save(figure, temporary, ending[1:])
        return shown


def make_map(model: Model, *, seed: int = 0, progress: Progress = silent) -> Map:
    """Lay the items of a fitted model out in the plane.

    >>> from cooccur.models import make_model
    >>> made = make_map(make_model("ease:l2=1").fit([["milk", "bread"], ["milk", "bread"], ["tea", "mint"]]))
    >>> made.xy.shape, made.to_dict()["id"]
    ((4, 2), ['milk', 'bread', 'tea', 'mint'])
    """
    wide = vectors(model, progress=lambda share, words: progress(0.4 * share, words))
    size = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, size, out=np.zeros_like(wide), where=size > 0)
    places = layout(unit, seed, lambda share, words: progress(0.4 + 0.6 * share, words))
    places -= (places.min(axis=0) + places.max(axis=0)) / 2
    places /= np.abs(places).max() or 1.0
    return Map(places.astype(np.float32), model.items_, np.asarray(model.frequencies_), wide.shape[1])


# -- vectors ----------------------------------------------------------------------------------------


def vectors(model: Model, *, progress: Progress = silent) -> Doubles:
    """(n_items, d) the model's item vectors, or the spectrum of what its items do for each other.

    >>> from cooccur.models import make_model
    >>> vectors(make_model("cvg").fit([["a", "b"], ["a", "b", "c"], ["c", "d"]])).shape
    (4, 3)
    """
    model._check_fitted()
    for name in OWN:
        found = getattr(model, name, None)
        if found is not None and found.shape[1] > 1:
            return np.asarray(found, dtype=np.float64)
    return _spectrum(model, progress)


def _spectrum(model: Model, progress: Progress) -> Doubles:
    from scipy.sparse import csr_matrix, diags
    from scipy.sparse.linalg import svds

    n = len(model.items_)
    keep = min(BEST, n - 1)
    columns, values = np.zeros((n, keep), dtype=np.int64), np.zeros((n, keep))
    for item in range(n if keep else 0):
        affinity = np.array(model._affinity(item), dtype=np.float64)
        affinity[item] = -np.inf
        best = np.argpartition(affinity, -keep)[-keep:]
        columns[item], values[item] = best, np.maximum(affinity[best], 0)
        if not item % 256:
            progress(0.8 * item / n, "what goes with each item")
    if not values.any():
        raise CooccurError(f"{model.name} sees every item by itself, so it has no map; use a model of pairs, as lwcvg")
    A = csr_matrix((values.ravel(), columns.ravel(), np.arange(n + 1) * keep), shape=(n, n))
    S = A + A.T
    degree = np.asarray(S.sum(axis=1)).ravel()
    scale = diags(np.divide(1, np.sqrt(degree), out=np.zeros(n), where=degree > 0))
    progress(0.8, "the spectrum of the pairs")
    # svds wants fewer than n; the start is fixed, for it decides the last digits and the signs
    u, s, _ = svds((scale @ S @ scale).tocsr(), k=min(WIDTH, n - 1), v0=np.linspace(1, 2, n))
    return np.asarray(u * np.sqrt(s))


# -- places -----------------------------------------------------------------------------------------


def layout(points: Doubles, seed: int = 0, progress: Progress = silent) -> Doubles:
    """(items, 2) the vectors' places in the plane, by t-SNE; for a handful, the plane of their widest spread.

    >>> layout(np.eye(3)).shape
    (3, 2)
    """
    if len(points) >= FEW:
        return tsne(points, seed, progress)
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(points), 2))
    places[:, : min(2, len(s))] = (u * s)[:, :2]
    return places


def tsne(points: Doubles, seed: int, progress: Progress = silent) -> Doubles:
    """(items, 2) the places by t-SNE on one thread.

    Above 10,000 items openTSNE approximates (annoy, FFT), and the vectors' 50 main axes stand for them.
    """
    if len(points) > MANY and points.shape[1] > AXES:
        centred = points - points.mean(axis=0)
        points = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -AXES:]
    perplexity = min(30.0, (len(points) - 1) / 3)
    calm, all_steps, every = 250, 750, 25
    done = 0

    def report(iteration: int, error: float, embedding: Any) -> None:
        nonlocal done
        done = min(done + every, all_steps)
        progress(done / all_steps, "t-SNE")

    progress(0.0, "t-SNE: neighbours")
    made = load_tsne()(
        perplexity=perplexity, early_exaggeration_iter=calm, n_iter=all_steps - calm, random_state=seed, n_jobs=1,
        callbacks=report, callbacks_every_iters=every,
    )  # fmt: skip
    return np.array(made.fit(points), dtype=np.float64)


def load_tsne() -> Any:
    """openTSNE's class, or a sentence about how to get it."""
    try:
        from openTSNE import TSNE
    except ImportError:
        raise CooccurError("a map needs openTSNE: pip install 'cooccur[map]'") from None
    return TSNE


# -- labels -----------------------------------------------------------------------------------------


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


def _page(data: Mapping[str, Any], labels: int, heading: str, about: str) -> str:
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


def _picture(data: Mapping[str, Any], labels: int, heading: str, halo: bool) -> tuple[Figure, int]:
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


def _named(item: str, entry: Any) -> tuple[str, str | None]:
    """Title and group, as far as there are any."""
    if entry is None:
        return item, None
    title, group = (entry.title, entry.group) if hasattr(entry, "title") else entry
    return title or item, group or None


def printable(text: str) -> str:
    """Without what no font and no XML file can hold.

    >>> printable("a\\x00b")
    'a b'
    """
    plain = text.encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else " " for letter in plain)
