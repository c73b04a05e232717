"""The result of an evaluation as a table: for the terminal, Markdown, LaTeX, CSV, JSON and plain text.

A result is a dict of plain JSON types: `rows` (one per model and fold), `summary` (one per model, see
`summarise_rows`), `significance` (per metric the pairs of `significance.compare`, numbered as in `summary`) and `run`
(command, data, versions). All tables show the same columns, which `_columns` makes once.
"""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.forms import aligned, code, pipes, plain, seconds, tex
from cooccur.files import whole

if TYPE_CHECKING:
    from rich.console import Console

Result = Mapping[str, Any]
ALPHA = 0.01
ENDINGS = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".txt": "text"}

# Beyond this many models the table of all pairs is longer than anybody reads.
_ALL_PAIRS = 6
_METRIC = re.compile(r"(top\d+|mrr|ndcg\d+|percentile)(_seen)?")
# The order of the CSV columns, K left out; columns that are not named here follow by name.
_ORDER = (
    *("dataset", "model", "label", "fold", "top", "top_seen", "mrr", "mrr_seen", "ndcg", "ndcg_seen"),
    *("percentile", "percentile_seen", "n_test", "n_seen", "fit_seconds", "predict_seconds", "peak_mb"),
)


def summarise_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One dict per model, in order of first appearance: mean and sample standard deviation over its folds.

    Every metric `m` gives `m_mean` and `m_std`; beside them `folds`, `seconds_mean` (fit and predict) and
    `peak_mb_max`. None where there is nothing to average, and for the deviation of a single fold.

    >>> rows = [{"label": "cvg", "model": "cvg", "fold": f, "top1": 13.0 + f, "fit_seconds": 2} for f in (0, 1)]
    >>> summary = summarise_rows(rows)[0]
    >>> summary["folds"], summary["top1_mean"], round(summary["top1_std"], 3), summary["seconds_mean"]
    (2, 13.5, 0.707, 2.0)
    """
    models: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for row in rows:
        models.setdefault((row.get("dataset"), row["label"]), []).append(row)
    return [_summary(folds) for folds in models.values()]


def superscripts(result: Result, metric: str, alpha: float = ALPHA) -> list[str]:
    """For each row of the summary the letters of the rows that it is significantly better than.

    >>> pair = {"a": 0, "b": 1, "difference": 2.5, "p_holm": 0.001}
    >>> superscripts({"summary": [{}, {}], "significance": {"top1": [pair]}}, "top1")
    ['b', '']
    """
    count = len(result["summary"])
    beaten: list[list[int]] = [[] for _ in range(count)]
    for pair in result.get("significance", {}).get(metric, ()):
        if pair["p_holm"] is not None and pair["p_holm"] < alpha and pair["difference"]:
            better, worse = (pair["a"], pair["b"]) if pair["difference"] > 0 else (pair["b"], pair["a"])
            beaten[better].append(worse)
    comma = "," if count > 26 else ""  # letters in pairs need it
    return [comma.join(_letter(i) for i in sorted(rows)) for rows in beaten]


def render(result: Result, kind: str) -> str:
    """The result as text; `kind` is one of markdown, latex, csv, json, text.

    >>> print(render({"rows": [{"model": "cvg", "params": {"power": 0.5}, "fold": 0, "top1": 13.5}]}, "csv"), end="")
    model,fold,top1
    cvg:power=0.5,0,13.5
    """
    makers = {"markdown": _markdown, "latex": _latex, "csv": _csv, "json": _json, "text": _text}
    if kind not in makers:
        raise ParameterError(f"no report of the kind {kind!r}; choose one of {', '.join(makers)}")
    return makers[kind](result)


def write(result: Result, path: str | Path) -> None:
    """Render the result into a file, in the form that its ending names (.md .tex .csv .json .txt).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write({"rows": []}, Path(folder, "result.json"))
    ...     print(Path(folder, "result.json").read_text())
    {
      "rows": []
    }
    """
    kind = ENDINGS.get(Path(path).suffix.lower())
    if kind is None:
        raise CooccurError(f"{path}: the ending names no known form; use one of {' '.join(ENDINGS)}")
    text = render(result, kind)
    with whole(path) as file:
        file.write(text.encode())


def print_table(result: Result, console: Console) -> None:
    """Print the table to a `rich` console, the best figure of each column bold.

    >>> from rich.console import Console
    >>> rows = [{"label": "cvg", "model": "cvg", "fold": 0, "top1": 13.0, "n_test": 90, "fit_seconds": 2.0}]
    >>> print_table({"rows": rows, "summary": summarise_rows(rows)}, Console(width=80))
    <BLANKLINE>
    ...a...cvg...13.00...
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    plus_minus = "±" if console.encoding.lower().startswith("utf") else "+-"
    columns = _columns(result)

    def table(gap: str, padding: int) -> Table:
        made = Table(box=box.SIMPLE_HEAD, padding=(0, padding, 0, 0))
        made.add_column("")
        made.add_column("model", overflow="fold")
        for title, _ in columns:
            made.add_column(title.replace(" ", gap), justify="right", no_wrap=True)
        for i, row in enumerate(result["summary"]):
            made.add_row(_letter(i), Text(_name(row)), *(cell(cells[i], gap) for _, cells in columns))
        return made

    # Text objects, not strings: a name in square brackets is no markup.
    def cell(c: _Cell, gap: str) -> Text:
        return Text.assemble((c.value, "bold" if c.best else ""), _behind(c, gap + plus_minus, " {}"))

    wide = table(" ", 1)
    # Measured as if there were room without end: otherwise the answer is the width that there is.
    fits = console.measure(wide, options=console.options.update(width=10_000)).maximum <= console.width
    console.print(wide if fits else table("\n", 0))
    for line in _caption(result, best="bold", plus_minus=plus_minus):
        console.print(Text(line, style="dim"))


def figures(result: Result) -> tuple[list[str], list[list[tuple[str, bool]]], str]:
    """The main table for those who draw it themselves: header, rows of (text, whether it is the best), caption.

    >>> rows = [{"label": "cvg", "model": "cvg", "fold": 0, "top1": 13.0, "n_test": 90, "fit_seconds": 2.0}]
    >>> figures({"rows": rows, "summary": summarise_rows(rows)})[1][0][:3]
    [('a', False), ('cvg', False), ('13.00', False)]
    """
    columns = _columns(result)
    rows = [
        [(_letter(i), False), (_name(row), False)]
        + [(cells[i].value + _behind(cells[i], " ± ", " {}"), cells[i].best) for _, cells in columns]
        for i, row in enumerate(result["summary"])
    ]
    return ["", "model", *(title for title, _ in columns)], rows, " ".join(_caption(result, best="bold"))


# -- what every table shows -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cell:
    value: str
    std: str = ""
    letters: str = ""
    best: bool = False


def _columns(result: Result) -> list[tuple[str, list[_Cell]]]:
    """The title and the cells (one per row of the summary) of each column behind the model's name."""
    summary = result["summary"]
    found = {match[1] for row in summary for key in row if (match := re.fullmatch(r"top(\d+)_mean", key))}
    tops = [f"top{k}" for k in sorted(found, key=int)]
    columns = [(_title(top), _cells(summary, top, "mean", superscripts(result, top), spread=True)) for top in tops]
    if any(row.get(f"{top}_seen_mean") != row.get(f"{top}_mean") for row in summary for top in tops):
        columns += [(f"{_title(top)} seen", _cells(summary, f"{top}_seen", "mean")) for top in tops]
    columns += [
        ("MRR", _cells(summary, "mrr", "mean")),
        ("seconds", _cells(summary, "seconds", "mean", lowest=True, form=seconds)),
        ("peak MB", _cells(summary, "peak_mb", "max", lowest=True, form="{:,.0f}".format)),
    ]
    return [(title, cells) for title, cells in columns if any(cell.value != "-" for cell in cells)]


def _cells(
    summary: Sequence[Mapping[str, Any]], metric: str, statistic: str, letters: Sequence[str] | None = None,
    *, spread: bool = False, lowest: bool = False, form: Callable[[float], str] = "{:.2f}".format,
) -> list[_Cell]:  # fmt: skip
    values = [row.get(f"{metric}_{statistic}") for row in summary]
    known = [value for value in values if value is not None]
    # Best as printed: figures that look the same are bold alike. One row alone is no contest.
    best = form((min if lowest else max)(known)) if known and len(values) > 1 else None
    figures = ["-" if value is None else form(value) for value in values]
    deviations = [row.get(f"{metric}_std") if spread else None for row in summary]
    return [
        _Cell(figure, "" if std is None else form(std), behind, figure == best)
        for figure, std, behind in zip(figures, deviations, letters or [""] * len(summary), strict=True)
    ]


def _caption(result: Result, *, best: str, plus_minus: str = "±") -> list[str]:
    """What a reader must know to read the table, a few sentences."""
    run, summary = result.get("run", {}), result["summary"]
    data, draws = run.get("data", {}), run.get("draws") or 1
    about = f" on {data['name']}" if data.get("name") else ""
    if {"records", "items"} <= data.keys():
        about += f" ({data['records']:,} records, {data['items']:,} items)"
    times = f"{draws} times over, " if draws > 1 else ""
    first = [row for row in result["rows"] if summary and row["label"] == summary[0]["label"]]
    n_test, n_seen = (sum(row.get(key) or 0 for row in first) for key in ("n_test", "n_seen"))
    folds = summary[0]["folds"] if summary else 0
    lines = [
        f"Missing-item prediction{about}: {times}one item is removed at random from each test record of two items or "
        "more and ranked among all items that are not in the rest; ties count in expectation.",
        f"{n_test:,} removals, {folds} fold{'s' * (folds != 1)}; accuracies in percent"
        + (f", mean {plus_minus} standard deviation over the folds" if folds > 1 else "")
        + (f"; {best}: best of its column." if len(summary) > 1 else "."),
    ]
    if any(title.endswith("seen") for title, _ in _columns(result)):
        lines.append(f"Seen: only the {n_seen:,} removals of an item that training saw.")
    if any(result.get("significance", {}).values()):
        lines.append(
            f"Letters behind a figure: the models that it beats at p < {ALPHA:g} "
            "(paired permutation test over records, Holm's correction over all pairs)."
        )
    return lines


def _comparisons(result: Result) -> Iterator[tuple[str, list[list[str]]]]:
    """For each metric tested a heading and the rows (see `_COMPARISON`) of its table of p-values."""
    summary = result["summary"]
    for metric, pairs in result.get("significance", {}).items():
        heading = (
            f"{_title(metric)}, differences in percentage points and p-values (after Holm's correction in brackets)"
        )
        if len(summary) > _ALL_PAIRS:
            best = max(range(len(summary)), key=lambda i: summary[i][f"{metric}_mean"])
            pairs = [_turned(pair, best) for pair in pairs if best in (pair["a"], pair["b"])]
            heading += f"; only the best row ({_letter(best)}) against each other row"
        rows = [
            [
                f"{_letter(pair['a'])} vs {_letter(pair['b'])}",
                f"{pair['difference']:+.2f}",
                *("-" if pair[p] is None else f"{_p(pair[p])} ({_p(pair[f'{p}_holm'])})" for p in ("p", "p_t")),
            ]
            for pair in pairs
        ]
        if rows:
            yield heading, rows


def _turned(pair: Mapping[str, Any], first: int) -> Mapping[str, Any]:
    """The same comparison with model `first` in the first place."""
    if pair["a"] == first:
        return pair
    return {**pair, "a": pair["b"], "b": pair["a"], "difference": -pair["difference"]}


_COMPARISON = ["pair", "difference", "p permutation", "p corrected t"]


# -- the forms --------------------------------------------------------------------------------------


def _markdown(result: Result) -> str:
    def cell(c: _Cell) -> str:
        return (f"**{c.value}**" if c.best else c.value) + _behind(c, " ± ", " <sup>{}</sup>")

    parts = [pipes(*_main(result, cell, code), left=2), " ".join(_caption(result, best="bold"))]
    for heading, table in _comparisons(result):
        parts += [f"{heading}:", pipes(_COMPARISON, table, left=1)]
    run = result.get("run", {})
    if run.get("command"):
        parts.append(f"How to run it again:\n\n```sh\n{run['command']}\n```")
    made = {"seed": run.get("seed"), **run.get("versions", {}), "data sha256": run.get("data", {}).get("sha256")}
    if known := [f"{name} {value}" for name, value in made.items() if value is not None]:
        parts.append(f"Made with {', '.join(known)}.")
    return "\n\n".join(parts) + "\n"


def _text(result: Result) -> str:
    def cell(c: _Cell) -> str:
        return "*" * c.best + c.value + _behind(c, " ±", " {}")

    header, rows = _main(result, cell, str)
    parts = [aligned(header, rows, left=2), "\n".join(textwrap.fill(x, 100) for x in _caption(result, best="*"))]
    for heading, table in _comparisons(result):
        parts.append(f"{heading}\n\n{aligned(_COMPARISON, table, left=1)}")
    return "\n\n".join(parts) + "\n"


def _latex(result: Result) -> str:
    def cell(c: _Cell) -> str:
        return (rf"\textbf{{{c.value}}}" if c.best else c.value) + _behind(c, r" $\pm$ ", r"\textsuperscript{{{}}}")

    header, rows = _main(result, cell, tex)
    command = " ".join(str(result.get("run", {}).get("command", "")).split())  # a line break would end the comment
    lines = [
        *([f"% {command}"] if command else []),
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex(' '.join(_caption(result, best='bold')))}}}",
        rf"\begin{{tabular}}{{ll{'r' * (len(header) - 2)}}}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _csv(result: Result) -> str:
    rows = [{k: v for k, v in row.items() if k != "params"} | {"model": _word(row)} for row in plain(result["rows"])]
    file = io.StringIO()
    writer = csv.DictWriter(file, sorted({key for row in rows for key in row}, key=_place), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: json.dumps(v) if isinstance(v, (dict, list)) else v for k, v in row.items()})
    return file.getvalue()


def _json(result: Result) -> str:
    return json.dumps(plain(result), indent=2, allow_nan=False) + "\n"


# -- small things -----------------------------------------------------------------------------------


def _summary(folds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = folds[0]
    if len({fold.get("fold") for fold in folds}) < len(folds):
        raise ParameterError(f"two models have the label {first['label']!r}; give each its own")
    result: dict[str, Any] = {key: first.get(key) for key in ("dataset", "label", "model", "params")}
    result["folds"] = len(folds)
    for metric in (key for key in first if _METRIC.fullmatch(key)):
        values = [fold[metric] for fold in folds if fold.get(metric) is not None]
        result[f"{metric}_mean"] = statistics.fmean(values) if values else None
        result[f"{metric}_std"] = statistics.stdev(values) if len(values) > 1 else None
    spent = [(fold.get("fit_seconds") or 0) + (fold.get("predict_seconds") or 0) for fold in folds]
    result["seconds_mean"] = statistics.fmean(spent)
    result["peak_mb_max"] = max((fold["peak_mb"] for fold in folds if fold.get("peak_mb") is not None), default=None)
    return result


def _main(
    result: Result, cell: Callable[[_Cell], str], name: Callable[[str], str]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the main table, with the figures and the models' names in the words of one form."""
    columns = _columns(result)
    rows = [
        [_letter(i), name(_name(row)), *(cell(cells[i]) for _, cells in columns)]
        for i, row in enumerate(result["summary"])
    ]
    return ["", "model", *(title for title, _ in columns)], rows


def _behind(c: _Cell, plus_minus: str, letters: str) -> str:
    return f"{plus_minus}{c.std}" * bool(c.std) + letters.format(c.letters) * bool(c.letters)


def _letter(number: int) -> str:
    """a .. z, aa, ab ..: as the columns of a spreadsheet."""
    before = _letter(number // 26 - 1) if number >= 26 else ""
    return before + chr(ord("a") + number % 26)


def _name(row: Mapping[str, Any]) -> str:
    return " ".join(str(row["label"]).split())


def _word(row: Mapping[str, Any]) -> str:
    """The model as one writes it on the command line: `dem:hidden=32x16,bias=no`."""
    params = ",".join(f"{key}={_value(value)}" for key, value in (row.get("params") or {}).items())
    return f"{row['model']}:{params}" if params else str(row["model"])


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _title(metric: str) -> str:
    return metric.replace("top", "Top@")


def _p(value: float) -> str:
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def _place(column: str) -> tuple[int, int, str]:
    stem, digits = re.sub(r"\d+", "", column), re.sub(r"\D+", "", column)
    return (_ORDER.index(stem) if stem in _ORDER else len(_ORDER), int(digits or 0), column)
