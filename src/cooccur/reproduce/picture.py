"""The tables at a glance: on each dataset the Top@1 and Top@10 of every row, as a share of DEM's.

    share of a row = its mean over DEM's folds / DEM's mean, in percent

A row to the left of the line at 100 finds fewer of the removed items than DEM, one to the right of it more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cooccur import drawing
from cooccur.files import whole_path
from cooccur.reproduce.plan import spelling

Document = Mapping[str, Any]
METRICS = {"top1": "Top@1", "top10": "Top@10"}
LEFT, RIGHT = 48, 106  # percent; what is further left is drawn at the edge
SMALL: dict[str, Any] = {"fontsize": 7, "color": "#555555"}
RED = drawing.PALETTE[3]
STYLES: dict[str, dict[str, Any]] = {
    "peer": {"label": "another model as it comes", "marker": "o", "color": drawing.GREY, "alpha": 0.6},
    "tuned": {"label": "another model, tuned", "marker": "o", "facecolors": "none", "edgecolors": drawing.GREY},
    "dem:paper": {"label": "DEM as the paper learns it", "marker": "x", "color": drawing.PALETTE[0]},
    "dem:names=no": {"label": "DEM without names of records", "marker": "o", "facecolors": "none", "edgecolors": RED},
    "dem": {"label": "DEM", "marker": "o", "color": RED, "s": 60},
    "dem:hidden=none": {"label": "DEM without hidden layers", "marker": "D", "color": "black", "s": 14},
}


def shares(column: Document, metric: str) -> Iterator[tuple[str, str, float, float]]:
    """Style, label, percent and share of each row that has all of DEM's folds, in the order in which they are drawn.

    >>> both = [{"fold": 0, "top1": 3.0}, {"fold": 1, "top1": 5.0}]
    >>> rows = [{"label": "dem", "each": both}, {"label": "ease", "each": both[:1]}, {"label": "cvg", "each": both}]
    >>> list(shares({"rows": rows}, "top1"))
    [('peer', 'cvg', 4.0, 100.0), ('dem', 'dem', 4.0, 100.0)]
    """
    found = {row["label"]: {one["fold"]: one[metric] for one in row["each"]} for row in column["rows"]}
    folds = found.get("dem")
    if not folds or not any(folds.values()):
        return
    means = {label: float(np.mean([by[fold] for fold in folds])) for label, by in found.items() if {*folds} <= {*by}}
    for style in STYLES:
        for label, mean in means.items():
            other = "peer" if label == spelling(label) else "tuned"
            if style == (label if label.startswith("dem") else other):
                yield style, label, mean, 100 * mean / means["dem"]


def write(results: Sequence[Document], folder: Path) -> Path:
    """Draw results.svg: a line for each dataset on which DEM has finished, a half for each metric."""
    columns = [column for result in results for column in result["columns"] if any(shares(column, "top1"))]
    figure = drawing.figure(10, 1.4 + 0.6 * len(columns), layout="constrained")
    halves = figure.subplots(1, 2, sharey=True)
    for axes, (metric, name) in zip(halves, METRICS.items(), strict=True):
        points: dict[str, list[tuple[float, int]]] = {style: [] for style in STYLES}
        for line, column in enumerate(columns):
            rows = list(shares(column, metric))
            for style, _, _, share in rows:
                points[style].append((max(share, LEFT), line))
            best = max((row for row in rows if row[0] in ("peer", "tuned")), key=lambda row: row[3], default=None)
            if best:
                axes.text(min(best[3], 100) + 0.3, line - 0.2, f"{best[1]} {best[2]:.2f}", ha="right", **SMALL)
            dem = next(percent for style, _, percent, _ in rows if style == "dem")
            axes.text(100.9, line - 0.2, f"{dem:.2f}", **SMALL | {"color": RED})
        for style, found in points.items():
            if found:
                axes.scatter(*np.array(found).T, **{"s": 26, "zorder": 2} | STYLES[style])
        axes.axvline(100, color=RED, lw=0.8, alpha=0.5, zorder=1)
        axes.set(xlim=(LEFT - 1, RIGHT), xticks=range(50, RIGHT, 10), title=name)
        axes.set_xlabel("percent of DEM's figure", fontsize=8)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    halves[0].set_yticks(range(len(columns)), [drawing.shorten(Path(column["dataset"]).name) for column in columns])
    halves[0].set_ylim(len(columns) - 0.6, -0.6)
    figure.legend(
        *halves[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7, frameon=False
    )
    path = folder / "results.svg"
    with whole_path(path) as temporary:
        drawing.save(figure, temporary, "svg")
    return path
