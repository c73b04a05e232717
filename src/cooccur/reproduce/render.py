"""A collected table as Markdown, LaTeX and JSON: a part for each dataset, theirs beside ours."""

# ruff: noqa: RUF001

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cooccur.evaluation.forms import code, pipes, seconds, tex
from cooccur.files import whole
from cooccur.reproduce.paper import COUNTS, MACHINE

Document = Mapping[str, Any]
QUICK = "QUICK RUN, NOT THE RESULT: "
UNSEEN = 1.0  # percent of unseen removals from which on the figures over the seen ones are shown too
GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta"}


def write(result: Document, folder: Path) -> list[Path]:
    """Write NAME.md, NAME.tex and NAME.json; a quick run's name says so, so that it never takes a result's place."""
    name = stem(result)
    forms = {"md": markdown(result), "tex": latex(result), "json": json.dumps(result, indent=1, allow_nan=False) + "\n"}
    paths = []
    for ending, text in forms.items():
        paths.append(folder / f"{name}.{ending}")
        with whole(paths[-1]) as file:
            file.write(text.encode())
    return paths


def stem(result: Document) -> str:
    return str(result["target"]) + "-quick" * bool(result["quick"])


def title(result: Document) -> str:
    return QUICK * bool(result["quick"]) + str(result["title"])


def markdown(result: Document) -> str:
    parts = [f"# {title(result)}", " ".join(caption(result, "bold"))]
    for column in result["columns"]:
        parts += [f"## {heading(column)}", *notes(column)]
        if column["dataset"] is not None:
            header, rows = _cells(result, column, _Markdown)
            parts.append(pipes(header, rows, left=_texts(header)))
    if result["command"]:
        parts.append(f"```sh\n{result['command']}\n```")
    if result["made"]:
        parts.append(f"Made with {', '.join(f'{name} {value}' for name, value in result['made'].items())}.")
    return "\n\n".join(parts) + "\n"


def latex(result: Document) -> str:
    lines = [f"% {' '.join(str(result['command']).split())}", r"% needs \usepackage{booktabs}"]
    for column in result["columns"]:
        if column["dataset"] is None:
            lines.append(f"% {heading(column)}")
            continue
        header, rows = _cells(result, column, _Latex)
        left = _texts(header)
        words = " ".join([f"{title(result)}; {heading(column)}.", *notes(column), *caption(result, "bold")])
        lines += [
            r"\begin{table}", r"\centering", rf"\caption{{{_letters_tex(tex(words))}}}",
            rf"\begin{{tabular}}{{{'l' * left + 'r' * (len(header) - left)}}}", r"\toprule",
            " & ".join(header) + r" \\", r"\midrule", *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule", r"\end{tabular}", r"\end{table}",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def heading(column: Document) -> str:
    """The column's own name; a stand-in never goes by the name of what it stands for."""
    if column["dataset"] is None:
        return f"{column['printed'] or column['missing'][0]}: missing, no data at hand ({', '.join(column['missing'])})"
    if column["missing"]:
        return f"{column['dataset']}, in place of {column['missing'][0]} (missing)"
    return str(column["dataset"])


def notes(column: Document) -> list[str]:
    """What must be known to read one column."""
    data = column["data"]
    if not data:
        return []
    sample = "a sample of " * bool(column["sample"])
    lines = [
        f"Ours: {sample}{data['records']:,} records, {data['items']:,} items, {data['occurrences']:,} occurrences. "
        + f"Theirs: {COUNTS.get(column['printed'], '')}." * (column["printed"] in COUNTS)
    ]
    if column["missing"] and column["printed"]:
        lines.append("These are two datasets: compare the order of the models, not the figures.")
    if data["unseen"] >= UNSEEN:
        lines.append(
            f"{data['unseen']:.1f} % of the removed items are in no training record: misses, but for models that read "
            "the names of records. `seen` is over the other removals alone; which of the two the paper reports, it "
            "does not say."
        )
    return lines


def caption(result: Document, best: str) -> list[str]:
    """What must be known to read the whole."""
    quick = ["A small sample, small models, few epochs, one fold: it shows that everything runs."] * bool(
        result["quick"]
    )
    folds = result["folds"]
    letters = ", ".join(f"{letter} {label}" for label, letter in result["references"].items())
    lines = [
        *quick,
        result["note"],
        "One item is removed at random from each test record of two items or more and ranked among all items that are "
        f"not in the rest; percent, mean ± standard deviation over {folds} fold{'s' * (folds != 1)}; {best}: best of "
        "its column.",
        "Sizes were chosen in each fold on validation records out of its training part." * _swept(result),
        f"Tuned rows: settings (in the JSON) by {result['tune']} trials in each fold, on validation records out of its "
        "training part." * _tuned(result),
        f"Letters: better at p < 0.01 than {letters}; tested are DEM's rows, and all rows against DEM (paired "
        "permutation test over records, Holm's correction)."
        if letters
        else "",
        f"Seconds are of learning and ranking in one fold; theirs ran on {MACHINE}, ours on the machine named in the "
        "JSON, the choice of sizes and settings not counted.",
        f"{result['finished']} of {result['units']} runs are finished." * (result["finished"] < result["units"]),
    ]
    return [line for line in lines if line]


def _swept(result: Document) -> bool:
    return any(row["chosen"] for column in result["columns"] for row in column["rows"])


def _tuned(result: Document) -> bool:
    return any("tuned" in one for column in result["columns"] for row in column["rows"] for one in row["each"])


class _Markdown:
    best: Callable[[str], str] = "**{}**".format
    behind: Callable[[str], str] = " <sup>{}</sup>".format
    plus_minus = " ± "
    code = staticmethod(code)
    text = staticmethod(str)


class _Latex:
    best: Callable[[str], str] = r"\textbf{{{}}}".format
    plus_minus = r" $\pm$ "
    code = staticmethod(tex)
    text = staticmethod(tex)

    @staticmethod
    def behind(letters: str) -> str:
        names = " ".join("\\" + GREEK[letter] for letter in letters)
        return f"$^{{{names}}}$"


Form = type[_Markdown] | type[_Latex]


def _cells(result: Document, column: Document, form: Form) -> tuple[list[str], list[list[str]]]:
    """Header and rows: the model, its size, and for each figure theirs and ours."""
    rows = column["rows"]
    ours = [row["ours"] or {} for row in rows]
    theirs = [row["theirs"] or {} for row in rows]
    columns: list[tuple[str, list[str]]] = [("model", [_model(row, form) for row in rows])]
    if any(row["chosen"] for row in rows):
        columns.append(("chosen", [_size(row, form) for row in rows]))
    for metric, name in (("top1", "Top@1"), ("top10", "Top@10")):
        printed = [one.get(metric) for one in theirs]
        if any(printed):
            letters = [one["letters"] if one else "" for one in printed]
            means = [one and one["mean"] for one in printed]
            columns.append((f"{name} theirs", _figures(means, [one and one["std"] for one in printed], letters, form)))
        letters = [row["letters"][metric] for row in rows]
        columns.append((f"{name} ours", _ours(ours, metric, letters, form)))
        if column["data"] and column["data"]["unseen"] >= UNSEEN:
            columns.append((f"{name} seen", _ours(ours, f"{metric}_seen", [""] * len(rows), form)))
    spent = [one.get("seconds") for one in theirs]
    if any(spent):
        columns.append(("s theirs", ["-" if value is None else f"{value:,.0f}" for value in spent]))
    columns.append(("s ours", [seconds(one["seconds_mean"]) if one else "-" for one in ours]))
    if any(row["folds"] < result["folds"] for row in rows):
        columns.append(("folds", [f"{row['folds']} of {result['folds']}" for row in rows]))
    return [form.text(name) for name, _ in columns], [list(row) for row in zip(*(c for _, c in columns), strict=True)]


def _texts(header: Sequence[str]) -> int:
    """How many columns hold words, not figures."""
    return 1 + ("chosen" in header)


def _ours(ours: Sequence[Document], metric: str, letters: Sequence[str], form: Form) -> list[str]:
    means, deviations = ([one.get(f"{metric}_{name}") for one in ours] for name in ("mean", "std"))
    return _figures(means, deviations, letters, form)


def _figures(
    means: Sequence[float | None], deviations: Sequence[float | None], letters: Sequence[str], form: Form
) -> list[str]:
    known = [mean for mean in means if mean is not None]
    best = f"{max(known):.2f}" if len(known) > 1 else ""
    cells = []
    for mean, std, behind in zip(means, deviations, letters, strict=True):
        if mean is None:
            cells.append("-")
            continue
        figure = f"{mean:.2f}"
        spread = "" if std is None else f"{form.plus_minus}{std:.2f}"
        cells.append(
            (form.best(figure) if figure == best else figure) + spread + (form.behind(behind) if behind else "")
        )
    return cells


def _model(row: Document, form: Form) -> str:
    return form.text(row["title"]) if row["title"] != row["label"] else form.code(row["label"])


def _size(row: Document, form: Form) -> str:
    """`hidden=64 (3), hidden=512 (2)`: the sizes chosen, and in how many folds."""
    if not row["chosen"]:
        return ""
    words = [(label.removeprefix(row["label"]).lstrip(":,"), folds) for label, folds in row["chosen"].items()]
    return form.text(", ".join(word if len(words) == 1 else f"{word} ({folds})" for word, folds in words))


def _letters_tex(text: str) -> str:
    for letter, name in GREEK.items():
        text = text.replace(letter, rf"$\{name}$")
    return text
