"""What the paper printed: Shen, Jin, Chen, He, Gao, Deng, "A Deep Embedding Model for Co-occurrence Learning", 2015.

Copied figure by figure from its source, slips included. Tables 1 to 3 compare nine models, a pair of datasets each;
table 4 varies DEM*, which is DEM without bias and pairs. The text has no numbers for figures 2 and 3.
Superscripts: significantly better (p < 0.01) than DAE (α), FVBM (β), LBL (γ), RBM (δ); only DEM has them.
"""

# ruff: noqa: RUF001

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A printed accuracy in percent, its standard deviation over five folds, and the superscripts."""

    mean: float
    std: float
    letters: str = ""


@dataclass(frozen=True)
class Printed:
    """What stands in one cell of theirs: both accuracies, and the run time in seconds where one is given."""

    top1: Figure
    top10: Figure
    seconds: float | None = None


LETTERS = {"dae": "α", "fvbm": "β", "lbl": "γ", "rbm": "δ"}
MACHINE = "two Xeon processors at 2.6 GHz; four Tesla K40m GPUs for RBM, LBL, FVBM, DAE and DEM"
# The data as the text counts it; it has no table of them.
COUNTS = {
    "MovieLens-10M, 500 movies": "the 500 most frequent movies of MovieLens-10M",
    "MovieLens-10M, 500 movies, DEM*": "the 500 most frequent movies of MovieLens-10M",
    "Jester": "24,944 records, 101 items, 756,148 occurrences",
    "MovieLens-10M": "69,765 records, 10,104 items (10,269 in the caption), 3,507,735 occurrences",
    "Retail": "87,163 records, 15,664 items (16,469 in the caption), 638,302 occurrences",
    "Epinions": "75,879 users, 508,837 links",
    "Slashdot": "77,360 users, 905,468 links",
}

_Row = tuple[float, float, float, float, float]  # Top@1, its deviation, Top@10, its deviation, seconds


def _column(rows: dict[str, _Row], dem: tuple[str, str]) -> dict[str, Printed]:
    return {
        model: Printed(
            Figure(top1, std1, dem[0] * (model == "dem")), Figure(top10, std10, dem[1] * (model == "dem")), seconds
        )
        for model, (top1, std1, top10, std10, seconds) in rows.items()
    }


_ALL = ("αβγδ", "αβγδ")

COLUMNS: dict[str, dict[str, Printed]] = {
    "MovieLens-10M, 500 movies": _column(
        {
            "cvg": (4.26, 0.23, 19.56, 0.21, 10),
            "normcvg": (4.73, 0.23, 21.02, 0.25, 10),
            "lrw": (4.40, 0.24, 20.28, 0.33, 50),
            "lda": (6.70, 0.35, 30.11, 0.41, 1000),
            "rbm": (10.52, 0.33, 39.40, 0.63, 500),
            "lbl": (10.42, 0.33, 38.49, 0.44, 300),
            "fvbm": (10.77, 0.35, 39.34, 0.48, 400),
            "dae": (10.50, 0.34, 39.41, 0.47, 200),
            "dem": (11.32, 0.42, 41.33, 0.75, 400),
        },
        _ALL,
    ),
    "Jester": _column(
        {
            "cvg": (16.59, 0.20, 59.70, 0.34, 2),
            "normcvg": (16.65, 0.25, 59.98, 0.36, 2),
            "lrw": (16.57, 0.22, 59.98, 0.39, 10),
            "lda": (15.88, 0.30, 62.88, 0.41, 100),
            "rbm": (19.66, 0.29, 68.95, 0.67, 50),
            "lbl": (20.21, 0.27, 69.46, 0.59, 10),
            "fvbm": (20.35, 0.28, 69.18, 0.42, 10),
            "dae": (19.35, 0.35, 68.16, 0.77, 10),
            "dem": (20.56, 0.23, 69.46, 0.66, 10),
        },
        ("αδ", "αδ"),
    ),
    "MovieLens-10M": _column(
        {
            "cvg": (3.24, 0.12, 14.34, 0.15, 10),
            "normcvg": (3.74, 0.13, 16.01, 0.17, 10),
            "lrw": (3.54, 0.14, 15.51, 0.08, 1800),
            "lda": (4.15, 0.13, 18.95, 0.06, 2600),
            "rbm": (4.69, 0.17, 20.80, 0.02, 1800),
            "lbl": (6.67, 0.12, 26.45, 0.33, 700),
            "fvbm": (7.60, 0.35, 29.61, 0.43, 1200),
            "dae": (5.41, 0.18, 23.80, 0.43, 900),
            "dem": (7.77, 0.19, 30.01, 0.86, 1600),
        },
        ("αβδ", "αβδ"),
    ),
    "Retail": _column(
        {
            "cvg": (13.48, 0.17, 25.30, 0.27, 10),
            "normcvg": (13.92, 0.10, 28.01, 0.36, 10),
            "lrw": (13.92, 0.08, 27.56, 0.34, 200),
            "lda": (13.30, 0.16, 24.76, 0.32, 1300),
            "rbm": (12.74, 0.29, 23.72, 0.37, 800),
            "lbl": (15.05, 0.20, 26.00, 0.26, 300),
            "fvbm": (14.38, 0.12, 27.48, 0.34, 400),
            "dae": (13.13, 0.26, 25.04, 0.32, 400),
            "dem": (15.49, 0.23, 28.45, 1.47, 400),
        },
        ("αβδ", "αδ"),
    ),
    "Epinions": _column(
        {
            "cvg": (4.04, 0.45, 12.76, 0.44, 30),
            "normcvg": (5.01, 0.50, 15.53, 0.57, 30),
            "lrw": (5.17, 0.43, 15.91, 0.51, 1500),
            "lda": (1.41, 0.07, 6.50, 0.61, 5100),
            "rbm": (2.45, 0.15, 11.49, 0.59, 3300),
            "lbl": (3.82, 0.24, 12.72, 0.60, 1500),
            "fvbm": (2.93, 0.31, 12.79, 0.39, 3500),
            "dae": (5.29, 0.44, 17.13, 0.62, 3200),
            "dem": (6.09, 0.44, 18.83, 0.56, 3500),
        },
        _ALL,
    ),
    "Slashdot": _column(
        {
            "cvg": (2.12, 0.22, 6.80, 0.35, 30),
            "normcvg": (2.65, 0.21, 7.64, 0.38, 30),
            "lrw": (2.62, 0.23, 7.65, 0.41, 2000),
            "lda": (0.96, 0.14, 4.49, 0.52, 8500),
            "rbm": (1.81, 0.24, 5.98, 0.57, 5800),
            "lbl": (2.39, 0.39, 6.77, 0.18, 2200),
            "fvbm": (2.10, 0.41, 6.84, 0.25, 4300),
            "dae": (3.32, 0.53, 9.18, 0.21, 5800),
            "dem": (3.75, 0.15, 9.42, 0.49, 4400),
        },
        _ALL,
    ),
    "MovieLens-10M, 500 movies, DEM*": {
        f"dem:star,hidden={sizes}": Printed(Figure(top1, std1), Figure(top10, std10))
        for sizes, top1, std1, top10, std10 in (
            ("16", 1.93, 0.15, 16.65, 0.26),
            ("16x16", 9.11, 0.12, 36.74, 0.16),
            ("16x16x16", 9.95, 0.43, 38.65, 0.54),
            ("32", 9.49, 0.31, 38.91, 0.36),
            ("32x32", 10.26, 0.18, 40.75, 0.14),
            ("32x32x32", 10.51, 0.31, 40.91, 0.56),
            ("64", 10.35, 0.28, 40.93, 0.41),
            ("64x64", 11.02, 0.39, 41.28, 0.39),
            ("64x64x64", 10.53, 0.19, 40.84, 0.18),
        )
    },
}
