"""The figures: 2 as points with error bars, 3 as a map (PNG, and an HTML page that names the movie pointed at)."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cooccur import drawing, maps
from cooccur.datasets import Title
from cooccur.files import whole, whole_path
from cooccur.reproduce.movies import NEAR, belongs, score, series
from cooccur.reproduce.render import heading, stem, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Document = Mapping[str, Any]
SHOWN = 12  # series that get a colour and their names in the map


def figure2(result: Document, folder: Path) -> Path:
    """Top@1 by the hidden layers, with the standard deviation over the folds."""
    rows = [row for column in result["columns"] for row in column["rows"] if row["ours"]]
    figure = _figure(7, 4)
    axes = figure.subplots()
    means = [row["ours"]["top1_mean"] for row in rows]
    spread = [row["ours"]["top1_std"] or 0.0 for row in rows]
    axes.errorbar(range(len(rows)), means, yerr=spread, fmt="o", capsize=4)
    axes.set_xticks(range(len(rows)), [row["title"] for row in rows])
    axes.set_ylabel("Top@1, percent")
    axes.set_title(f"{title(result)}\n{heading(result['columns'][0])}, {_folds(rows)}", fontsize=10)
    axes.grid(axis="y", alpha=0.3)
    return _save(figure, folder / f"{stem(result)}.png")


def figure3(
    result: Document, made: Document, titles: Mapping[str, Title], folder: Path
) -> tuple[dict[str, Any], list[Path]]:
    """The scores of the map (see `movies`), and the files: PNG, HTML and Markdown."""
    names = [titles[item].title if item in titles else item for item in made["items"]]
    stems = [series(name) for name in names]
    genres = [frozenset(titles[item].group.split("|")) if item in titles else frozenset() for item in made["items"]]
    together = {"same series": belongs(stems, str.__eq__), "a genre in common": belongs(genres, frozenset.__and__)}
    scores = {
        f"{what}, {where}": score(np.array(made[key]), pairs)
        for what, pairs in together.items()
        for where, key in (("in the map", "near_map"), ("among the vectors", "near_vectors"))
        if pairs.sum() > len(pairs)
    }
    groups: dict[str, list[str]] = {}
    for name, one in sorted(zip(names, stems, strict=True), key=lambda pair: pair[1]):
        groups.setdefault(one, []).append(name)
    groups = {one: members for one, members in groups.items() if len(members) > 1}
    largest = [one for one, _ in Counter(one for one in stems if one in groups).most_common(SHOWN)]
    paths = [_map_png(result, made, stems, largest, folder), _map_html(result, made, names, stems, largest, folder)]
    paths.append(folder / f"{stem(result)}.md")
    with whole(paths[-1]) as file:
        file.write(_markdown(result, made, scores, groups).encode())
    return {"scores": scores, "series": groups}, paths


def _markdown(result: Document, made: Document, scores: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> str:
    rows = [
        f"| {name} | {one['items']} | {one['share']:.2f} | {one['chance']:.2f} | {one['most']:.2f} |"
        for name, one in scores.items()
    ]
    data = made["data"]
    return "\n\n".join(
        [
            f"# {title(result)}",
            f"`{made['chosen']}` on all {data['records']:,} records of {heading(result['columns'][0])}; "
            f"{data['items']} items, {made['dimensions']} numbers an item, laid out by t-SNE.",
            f"![the map]({stem(result)}.png)",
            f"Of the {NEAR} nearest neighbours of a movie, how many belong with it (percent), beside what random "
            "neighbours and the best possible ones would give:",
            "\n".join(["| | movies | share | chance | most |", "|---|---:|---:|---:|---:|", *rows]),
            "Series, by the rule about titles (what stands before a colon, a dash or a number is the same):",
            "\n".join(f"- {one}: {'; '.join(members)}" for one, members in groups.items()),
        ]
    ) + "\n"  # fmt: skip


def _map_png(result: Document, made: Document, stems: Sequence[str], shown: Sequence[str], folder: Path) -> Path:
    from matplotlib import colormaps

    places = np.array(made["places"])
    figure = _figure(10, 8)
    axes = figure.subplots()
    axes.scatter(places[:, 0], places[:, 1], s=6, color="0.75")
    for number, one in enumerate(shown):
        of = places[[at for at, other in enumerate(stems) if other == one]]
        axes.scatter(of[:, 0], of[:, 1], s=24, color=colormaps["tab20"](number % 20), label=f"{one} ({len(of)})")
    axes.set(xticks=[], yticks=[])
    axes.set_title(f"{title(result)}\n{made['chosen']} on {heading(result['columns'][0])}", fontsize=10)
    if shown:
        axes.legend(fontsize=7, loc="best")
    return _save(figure, folder / f"{stem(result)}.png")


def _map_html(
    result: Document, made: Document, names: Sequence[str], stems: Sequence[str], shown: Sequence[str], folder: Path
) -> Path:
    """A page of its own, without a script: points that say their name, and text beside the series."""
    places = np.array(made["places"])
    low, size = places.min(axis=0), np.ptp(places, axis=0).max() or 1.0
    at = 20 + 960 * (places - low) / size
    marks = []
    for (x, y), name, one in zip(at, names, stems, strict=True):
        hue = f"hsl({360 * shown.index(one) // len(shown)} 80% 40%)" if one in shown else "#999"
        text = html.escape(name)
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{hue}"><title>{text}</title></circle>')
        if one in shown:
            marks.append(f'<text x="{x + 6:.1f}" y="{y + 3:.1f}" font-size="9" fill="{hue}">{text}</text>')
    words = html.escape(title(result))
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{words}</title><h1>{words}</h1>'
        f"<p>{html.escape(made['chosen'])} on {html.escape(heading(result['columns'][0]))}; point at one for its name."
        f'</p><svg viewBox="0 0 1000 1000" font-family="sans-serif" width="100%">{"".join(marks)}</svg></html>\n'
    )
    path = folder / f"{stem(result)}.html"
    with whole(path) as file:
        file.write(page.encode())
    return path


def _folds(rows: Sequence[Document]) -> str:
    folds = {row["folds"] for row in rows}
    return " to ".join(str(number) for number in sorted(folds)) + f" fold{'s' * (folds != {1})}"


def check(target: str) -> None:
    """What a figure needs beyond the base is better missed before hours of work than after them."""
    if target.startswith("figure"):
        _figure(1, 1)
    if target == "figure3":
        maps.load_tsne()


def _figure(width: float, height: float) -> Figure:
    return drawing.figure(width, height, layout="constrained")


def _save(figure: Figure, path: Path) -> Path:
    with whole_path(path) as temporary:
        drawing.save(figure, temporary)
    return path
