"""What is run, and in which order.

A target (a table or a figure) has columns (datasets) and rows (models). A unit is one fold of one row on one dataset,
and all that a figure depends on is in its key. Units run fold by fold, cheap models first, so that a whole table of
fold 0 is there early. Where a model's size was swept in the paper, a unit names the sizes to choose from. A row may
stand twice, as it is spelled and tuned: then its settings are searched for in each fold (`cooccur.tuning`).
"""

# ruff: noqa: RUF001

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cooccur.datasets import DATASETS
from cooccur.errors import ParameterError
from cooccur.models import make_model, model_class
from cooccur.reproduce.paper import COLUMNS, LETTERS, Printed

TUNED = ", tuned"  # behind the label of a row whose settings were searched for
PROTOCOL = 1  # raise it when folds, removals, ranking or the choice of sizes change: finished units are then run anew
TITLES = {"cvg": "CVG", "normcvg": "NormCVG", "lrw": "LRW", "lda": "LDA", "rbm": "RBM", "lbl": "LBL", "fvbm": "FVBM"}
TITLES |= {"dae": "DAE", "dem": "DEM", "dem:paper": "DEM, Algorithm 1", "dem:star": "DEM*"}
OTHER_FORMS = ("dem:paper", "dem:star")
ABLATIONS = {
    "dem:hidden=none": "DEM, no hidden layers",
    "dem:pairs=no": "DEM, no pairs",
    "dem:pairs=counts": "DEM, count pairs only",
    "dem:pairs=closed": "DEM, closed-form pairs only",
}
NAMED = {"links": "links", "dem:names=no": "DEM, records without names"}  # where records bear names of items
# nobody compared with in 2015
PEERS = ("popularity", "independent", "mmmf", "lwcvg", "itemknn", "rp3beta", "ials", "multvae", "ease", "edlae")
# Cheapest first; what is not named comes last.
COST = (
    *(
        "popularity",
        "independent",
        "cvg",
        "normcvg",
        "lwcvg",
        "links",
        "itemknn",
        "rp3beta",
        "ease",
        "edlae",
        "lrw",
        "ials",
        "mmmf",
    ),
    *("lbl", "dae", "multvae", "fvbm", "dem", "lda", "rbm"),
)

# What is chosen from on validation records. The paper names the ends of the range it swept (DAE's not at all): these
# are its ends and what lies between. The peers get a like number of settings of what matters most to them.
SIZES: Mapping[str, tuple[str, Sequence[str]]] = {
    "lda": ("topics", ("32", "128", "512")),
    "rbm": ("hidden", ("32", "128", "512")),
    "lbl": ("factors", ("32", "128", "512")),
    "dae": ("hidden", ("32", "128", "512")),
    "dem": ("hidden", ("8", "64", "512", "32x16", "64x64", "64x64x64")),
    "lwcvg": ("source", ("0.4", "0.7", "1")),
    "itemknn": ("shrink", ("0", "10", "100")),
    "rp3beta": ("beta", ("0.2", "0.5", "0.8")),
    "ials": ("factors", ("32", "128", "512")),
    "multvae": ("hidden", ("200", "600x200")),
    "ease": ("centred", ("yes", "no")),
    "edlae": ("dropout", ("0.1", "0.3", "0.6")),
}
QUICK_SIZES = {"hidden": ("4", "8"), "topics": ("4", "8"), "factors": ("4", "8")}
QUICK_LIMITS = {"epochs": "2", "iterations": "10"}
QUICK_SAMPLE = (1500, 200)  # records, items


@dataclass(frozen=True)
class Column:
    """A dataset of the paper: what is printed for it, and the names that we know it by, the real one first."""

    printed: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """A table or a figure: `references` are the rows that the others are tested against, with their letters."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[str, ...]
    references: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def _models() -> tuple[str, ...]:
    """The rows of tables 1 to 3: the paper's, DEM's three ways, what DEM loses without its parts, today's peers."""
    return (*TITLES, *ABLATIONS, *PEERS)


_ML500 = ("ml-10m-top500", "ml-1m-top500")
_LETTERS = {**LETTERS, "ease": "ε", "dem": "ζ"}
STAR = "dem:star,hidden=64x64"  # of figure 3

COMPARED = ("table1", "table2", "table3")  # where models stand beside each other

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            "table1", "Table 1: accuracy on MovieLens (500 movies) and Jester",
            (Column("MovieLens-10M, 500 movies", _ML500), Column("Jester", ("jester",))), _models(), _LETTERS,
        ),
        Target(
            "table2", "Table 2: accuracy on MovieLens (all movies) and Retail",
            (Column("MovieLens-10M", ("ml-10m", "ml-1m")), Column("Retail", ("retail",))), _models(), _LETTERS,
        ),
        Target(
            "table3", "Table 3: accuracy on Epinions and Slashdot",
            (
                Column("Epinions", ("epinions",)), Column("Slashdot", ("slashdot0811", "slashdot0811-undirected")),
                Column("", ("slashdot0902",)),
            ), (*_models(), *NAMED), _LETTERS,
            "The records of these datasets bear names of items. DEM (all rows of it with both pair terms, but "
            "dem:names=no) and links read them; the others do not, nor did theirs. Whose record is completed nobody "
            "is told.",
        ),
        Target(
            "table4", "Table 4: DEM* of different sizes",
            (Column("MovieLens-10M, 500 movies, DEM*", _ML500),), tuple(COLUMNS["MovieLens-10M, 500 movies, DEM*"]),
            {STAR: "α"},
        ),
        Target(
            "figure2", "Figure 2: Top@1 of DEM by its hidden layers",
            (Column("", ("ml-1m",)),),
            tuple(f"dem:hidden={size}" for size in ("none", "8", "16", "32", "64", "32x16")),
            {"dem:hidden=none": "α", "dem:hidden=32x16": "β"},
            "Of theirs only the words are to be had: DEM-32x16 is best, but not significantly.",
        ),
        Target("figure3", "Figure 3: a map of the 500 most liked movies", (Column("", ("ml-1m-top500",)),), (STAR,)),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What the user chose. `quick` shows that everything works; its figures mean nothing."""

    folds: int = 5
    seed: int = 0
    sweep: bool = True
    quick: bool = False
    tune: int = 0  # trials in each fold, for rows of their own

    @property
    def run(self) -> range:
        """The folds that are run."""
        return range(1 if self.quick else self.folds)


@dataclass(frozen=True)
class Unit:
    """One fold of one row on one dataset; `fold` None is the map of figure 3, which learns from all records."""

    dataset: str
    label: str
    candidates: tuple[str, ...]
    fold: int | None
    folds: int
    seed: int
    sample: tuple[int, int] | None = None
    protocol: int = PROTOCOL
    tune: int = 0

    @property
    def key(self) -> dict[str, Any]:
        """Without what is not used: units that were finished before there was tuning keep theirs."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "tune" or value}


Settled = tuple[Column, str | None, tuple[str, ...]]
"""The paper's column, the dataset that is used or None, and the truer ones that are missing."""


@dataclass(frozen=True)
class Table:
    """A target with its columns settled."""

    target: Target
    columns: tuple[Settled, ...]
    rows: tuple[str, ...]

    def unit(self, dataset: str, label: str, fold: int, settings: Settings) -> Unit:
        sample = QUICK_SAMPLE if settings.quick else None
        if self.target.name == "figure3":
            return Unit(dataset, label, (_shorter(label, settings),), None, 0, settings.seed, sample)
        tuned = label != spelling(label)
        spelled = (_shorter(spelling(label), settings),) if tuned else candidates(label, settings)
        trials = settings.tune if tuned else 0
        return Unit(dataset, label, spelled, fold, settings.folds, settings.seed, sample, tune=trials)


def candidates(label: str, settings: Settings) -> tuple[str, ...]:
    """The spellings to choose from; a row that spells its size, or of a model that has none, has only its own, and so
    has DEM as it comes: what it chooses, it chooses inside `fit`.

    >>> candidates("lda", Settings())
    ('lda:topics=32', 'lda:topics=128', 'lda:topics=512')
    >>> candidates("dem:star,hidden=16", Settings())
    ('dem:star,hidden=16',)
    >>> candidates("dem:paper", Settings(quick=True))
    ('dem:paper,hidden=4,epochs=2', 'dem:paper,hidden=8,epochs=2')
    """
    name = label.partition(":")[0]
    if not settings.sweep or name not in SIZES or "=" in label or label == "dem":
        return (_shorter(label, settings),)
    parameter, sizes = SIZES[name]
    sizes = QUICK_SIZES.get(parameter, sizes[:2]) if settings.quick else sizes
    return tuple(_shorter(_and(label, f"{parameter}={size}"), settings) for size in sizes)


def tables(
    targets: Sequence[str], *, data: Sequence[str] = (), models: Sequence[str] = (), at_hand: Callable[[str], bool],
    tune: bool = False,
) -> list[Table]:  # fmt: skip
    """The targets with their columns settled. `data` and `models` take the place of the columns and rows of the tables
    1 to 3; `at_hand` says whether a dataset, or results on it, can be had; `tune` adds tuned rows to these tables.

    >>> [table] = tables(["table3"], at_hand=lambda name: name != "slashdot0811")
    >>> [(column.printed, name, missing) for column, name, missing in table.columns][1]
    ('Slashdot', 'slashdot0811-undirected', ('slashdot0811',))
    """
    for label in models:
        make_model(label)  # a bad spelling is found before hours of work
    for name in data:
        if name not in DATASETS and not Path(name).is_file():
            raise ParameterError(
                f"{name}: no such file, and no dataset of that name; choose from {', '.join(DATASETS)}"
            )
    made = []
    for target in (TARGETS[name] for name in targets):
        free = target.name in COMPARED
        columns = tuple(_settled(column, at_hand) for column in target.columns)
        if data and free:
            columns = tuple(_asked(name, at_hand) for name in dict.fromkeys(data))
            target = dataclasses.replace(target, title=f"{target.title.partition(':')[0]}'s models on other data")
        rows = tuple(dict.fromkeys("".join(label.split()) for label in models)) if models and free else target.rows
        made.append(Table(target, columns, (*rows, *_tuned(rows)) if tune and target.name in COMPARED else rows))
    return made


def units(made: Sequence[Table], settings: Settings) -> list[Unit]:
    """All units in the order they are run, each once even if several tables show it."""
    found = [
        table.unit(identity(dataset), label, fold, settings)
        for table in made
        for _, dataset, _ in table.columns
        if dataset is not None
        for label in table.rows
        for fold in settings.run
    ]
    return sorted(dict.fromkeys(found), key=lambda unit: (unit.fold or 0, cost(unit.label)))


def spelling(label: str) -> str:
    """The model of a row, tuned or not, as it is spelled.

    >>> spelling("ease, tuned")
    'ease'
    """
    return label.removesuffix(TUNED)


def cost(label: str) -> int:
    name = spelling(label).partition(":")[0]
    return COST.index(name) if name in COST else len(COST)


def identity(dataset: str) -> str:
    """The dataset's name in a unit's key; a file is known by its content, so that results never outlive a change."""
    if dataset in DATASETS or not Path(dataset).is_file():
        return dataset
    with Path(dataset).open("rb") as file:
        return f"{Path(dataset).name}@{hashlib.file_digest(file, 'sha256').hexdigest()[:8]}"


def printed(column: Column, label: str) -> Printed | None:
    """What the paper has for a row. Its DEM is Algorithm 1, so both that row and our own DEM stand beside it."""
    return COLUMNS.get(column.printed, {}).get("dem" if label == "dem:paper" else label)


def row_title(label: str) -> str:
    if label != spelling(label):
        return row_title(spelling(label)) + TUNED
    titles = TITLES | ABLATIONS | NAMED
    if label in titles:
        return titles[label]
    if label.startswith("dem:hidden="):
        return f"DEM-{label.partition('=')[2]}"
    if label.startswith("dem:star,hidden="):
        return f"DEM*-{label.partition('=')[2]}"
    return label


def _asked(name: str, at_hand: Callable[[str], bool]) -> Settled:
    """A dataset that was asked for, beside the paper's figures if it is the paper's or the nearest that can be had."""
    for column in (column for target in TARGETS.values() for column in target.columns if name in column.names):
        settled = _settled(column, at_hand)
        if settled[1] == name:
            return settled
    return _settled(Column("", (name,)), at_hand)


def _tuned(rows: Sequence[str]) -> list[str]:
    """A tuned row for each that has ranges to search, but not for DEM in parts and other forms."""
    from cooccur.tuning import search_space

    return [label + TUNED for label in rows if label not in (*OTHER_FORMS, *ABLATIONS, *NAMED) and search_space(label)]


def _settled(column: Column, at_hand: Callable[[str], bool]) -> Settled:
    for place, name in enumerate(column.names):
        if at_hand(name):
            return column, name, column.names[:place]
    return column, None, column.names


def _shorter(label: str, settings: Settings) -> str:
    """In a quick run, less of everything that takes time."""
    if not settings.quick:
        return label
    has = {item.name for item in dataclasses.fields(model_class(label.partition(":")[0]))}
    for name, value in QUICK_LIMITS.items():
        label = _and(label, f"{name}={value}") if name in has and f"{name}=" not in label else label
    return label


def _and(label: str, setting: str) -> str:
    return f"{label}{',' if ':' in label else ':'}{setting}"
