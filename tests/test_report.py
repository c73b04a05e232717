"""Reports of a small made-up result, compared with what a reader should see."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from cooccur.errors import CooccurError, ParameterError
from cooccur.evaluation.report import print_table, render, summarise_rows, superscripts, write

DEM = {"hidden": [32, 16], "bias": False}
WORD = "dem:hidden=32x16,bias=no"


def row(label: str, fold: int, top1: float, top10: float, **more: Any) -> dict[str, Any]:
    return {
        **{"dataset": "shop", "model": label, "params": {}, "label": label, "fold": fold},
        **{"top1": top1, "top10": top10, "top1_seen": top1, "top10_seen": top10, "mrr": top1 + 2},
        **{"ndcg10": top10 / 2, "percentile": 9.0, "n_test": 600, "n_seen": 600},
        **{"fit_seconds": 1.5, "predict_seconds": 0.5, "peak_mb": 100.0 + fold},
        **more,
    }


def pair(a: int, b: int, difference: float, p: float, p_t: float | None = 0.5) -> dict[str, Any]:
    return {"a": a, "b": b, "difference": difference, "p": p, "p_holm": p, "p_t": p_t, "p_t_holm": p_t}


def made_up(rows: list[dict[str, Any]], **significance: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "rows": rows,
        "summary": summarise_rows(rows),
        "significance": significance,
        "run": {
            **{"command": "cooccur evaluate shop.txt -m cvg -m dem:hidden=32x16,bias=no", "seed": 7, "draws": 1},
            "versions": {"cooccur": "0.1.0"},
            "data": {"name": "shop", "sha256": "abc", "records": 3000, "items": 40, "occurrences": 9000},
        },
    }


@pytest.fixture
def result() -> dict[str, Any]:
    rows = [row("cvg", 0, 10.0, 30.0), row(WORD, 0, 12.0, 30.0, model="dem", params=DEM, peak_mb=2000.0)]
    rows += [row("cvg", 1, 11.0, 32.0), row(WORD, 1, 14.0, 32.0, model="dem", params=DEM, peak_mb=1000.0)]
    return made_up(rows, top1=[pair(0, 1, -2.5, 0.0001, 0.04)], top10=[pair(0, 1, 0.0, 1.0, 1.0)])


def shown(result: dict[str, Any], width: int, *, encoding: str = "utf-8", colour: bool = False) -> str:
    """What the terminal gets."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    console = Console(file=file, width=width, force_terminal=colour, color_system="standard" if colour else None)
    print_table(result, console)
    file.flush()
    return raw.getvalue().decode(encoding)


def test_summary(result: dict[str, Any]) -> None:
    cvg, dem = result["summary"]
    assert (cvg["label"], dem["label"], dem["params"]) == ("cvg", WORD, DEM)
    assert (cvg["folds"], cvg["top1_mean"], cvg["seconds_mean"], dem["peak_mb_max"]) == (2, 10.5, 2.0, 2000.0)
    assert cvg["top1_std"] == pytest.approx(0.5**0.5)  # n - 1 below
    assert {"mrr_mean", "ndcg10_std", "percentile_mean", "top10_seen_mean"} <= cvg.keys()
    assert not {"n_test_mean", "fold_mean"} & cvg.keys()


def test_summary_of_one_fold_and_of_gaps() -> None:
    (one,) = summarise_rows([row("cvg", 0, 10.0, 30.0, top1_seen=None, peak_mb=None)])
    assert (one["top1_mean"], one["top1_std"], one["top1_seen_mean"], one["peak_mb_max"]) == (10.0, None, None, None)


def test_two_models_with_one_label_are_refused() -> None:
    with pytest.raises(ParameterError, match="'cvg'"):
        summarise_rows([row("cvg", 0, 10.0, 30.0), row("cvg", 0, 11.0, 30.0)])


def test_superscripts() -> None:
    rows = [row(name, 0, 1.0, 2.0) for name in "xyz"]
    result = made_up(rows, top1=[pair(0, 1, 3.0, 0.001), pair(0, 2, 1.0, 0.01), pair(1, 2, -2.0, 0.009)])
    assert superscripts(result, "top1") == ["b", "", "b"]  # 0.01 is not below 0.01
    assert superscripts(result, "top1", alpha=0.05) == ["bc", "", "b"]
    assert superscripts(result, "top10") == ["", "", ""]


def test_letters_beyond_z() -> None:
    rows = [row(f"m{i}", 0, 1.0, 2.0) for i in range(28)]
    result = made_up(rows, top1=[pair(25, 27, 1.0, 0.0), pair(25, 26, 1.0, 0.0), pair(0, 25, -1.0, 0.0)])
    assert superscripts(result, "top1")[25] == "a,aa,ab"


def test_markdown(result: dict[str, Any]) -> None:
    text = render(result, "markdown")
    table = """\
|     | model                      |                         Top@1 |           Top@10 |       MRR | seconds | peak MB |
| --- | -------------------------- | ----------------------------: | ---------------: | --------: | ------: | ------: |
| a   | `cvg`                      |                  10.50 ± 0.71 | **31.00** ± 1.41 |     12.50 | **2.0** | **101** |
| b   | `dem:hidden=32x16,bias=no` | **13.00** ± 1.41 <sup>a</sup> | **31.00** ± 1.41 | **15.00** | **2.0** |   2,000 |
"""
    assert text.startswith(table)  # ties for the best are bold alike
    assert "1,200 removals, 2 folds" in text
    assert "p < 0.01" in text
    assert "seen" not in text.lower()  # every removal was seen: nothing to add
    assert squeezed("| a vs b | -2.50 | 0.0001 (0.0001) | 0.0400 (0.0400) |") in squeezed(text)
    assert "```sh\ncooccur evaluate shop.txt -m cvg -m dem:hidden=32x16,bias=no\n```" in text
    assert "Made with seed 7, cooccur 0.1.0, data sha256 abc." in text


def test_latex(result: dict[str, Any]) -> None:
    lines = render(result, "latex").splitlines()
    assert lines[0] == "% cooccur evaluate shop.txt -m cvg -m dem:hidden=32x16,bias=no"
    body = lines[lines.index(r"\toprule") :]
    assert body == [
        r"\toprule",
        r" & model & Top@1 & Top@10 & MRR & seconds & peak MB \\",
        r"\midrule",
        r"a & cvg & 10.50 $\pm$ 0.71 & \textbf{31.00} $\pm$ 1.41 & 12.50 & \textbf{2.0} & \textbf{101} \\",
        r"b & dem:hidden=32x16,bias=no & \textbf{13.00} $\pm$ 1.41\textsuperscript{a} & \textbf{31.00} $\pm$ 1.41 "
        r"& \textbf{15.00} & \textbf{2.0} & 2,000 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    assert r"\begin{tabular}{llrrrrr}" in lines
    assert any(
        line.startswith(r"\caption{Missing-item prediction on shop (3,000 records, 40 items): ") for line in lines
    )


def test_names_that_latex_and_markdown_would_misread() -> None:
    result = made_up([row("a_b & 50% #1 {x} $ ~^\\", 0, 1.0, 2.0, model="m")])
    result["run"] |= {"command": "cooccur evaluate \\\n  evil"}
    result["run"]["data"]["name"] = "top_500"
    text = render(result, "latex")
    assert r"a & a\_b \& 50\% \#1 \{x\} \$ \textasciitilde{}\textasciicircum{}\textbackslash{} & " in text
    assert r"prediction on top\_500 " in text
    assert text.startswith("% cooccur evaluate \\ evil\n")
    assert r"| `a\|b'` " in render(made_up([row("a|b`", 0, 1.0, 2.0, model="m")]), "markdown")


def test_json_round_trip(result: dict[str, Any]) -> None:
    assert json.loads(render(result, "json")) == result
    odd = {"rows": [{"n": np.int64(3), "x": np.float32(0.5), "nan": float("nan"), "np": np.nan, "v": np.arange(2)}]}
    expected = {"n": 3, "x": 0.5, "nan": None, "np": None, "v": [0, 1]}
    assert json.loads(render(odd, "json")) == {"rows": [expected]}


def test_csv_read_back(result: dict[str, Any]) -> None:
    result["rows"][0] |= {"top5": 20.25, "zeta": 1, "alpha": None}
    rows = list(csv.DictReader(io.StringIO(render(result, "csv"))))
    assert list(rows[0]) == [
        *("dataset", "model", "label", "fold", "top1", "top5", "top10", "top1_seen", "top10_seen", "mrr", "ndcg10"),
        *("percentile", "n_test", "n_seen", "fit_seconds", "predict_seconds", "peak_mb", "alpha", "zeta"),
    ]
    assert [r["model"] for r in rows] == ["cvg", "dem:hidden=32x16,bias=no"] * 2
    assert [float(r["top1"]) for r in rows] == [r["top1"] for r in result["rows"]]
    assert (rows[0]["top5"], rows[1]["top5"], rows[0]["alpha"]) == ("20.25", "", "")


def test_text(result: dict[str, Any]) -> None:
    lines = [" ".join(line.split()) for line in render(result, "text").splitlines()]
    assert lines[0] == "model Top@1 Top@10 MRR seconds peak MB"
    assert lines[3] == "b dem:hidden=32x16,bias=no *13.00 ±1.41 a *31.00 ±1.41 *15.00 *2.0 2,000"
    assert "a vs b -2.50 0.0001 (0.0001) 0.0400 (0.0400)" in lines


def test_one_fold_has_no_deviation_and_no_t_test() -> None:
    rows = [row("cvg", 0, 10.0, 30.0), row("dem", 0, 12.0, 33.0)]
    text = render(made_up(rows, top1=[pair(0, 1, -2.0, 0.00001, None)]), "markdown")
    assert "±" not in text
    assert "1 fold;" in text
    assert squeezed("| a vs b | -2.00 | <0.0001 (<0.0001) | - |") in squeezed(text)


def test_one_model_is_not_called_the_best() -> None:
    text = render(made_up([row("cvg", 0, 10.0, 30.0)]), "markdown")
    assert "**" not in text
    assert "bold" not in text


def test_other_ks_and_the_seen_figures_are_columns() -> None:
    rows = [row("cvg", fold, 10.0, 30.0, top5=20.0, top5_seen=21.0, top1_seen=10.5, n_seen=550) for fold in (0, 1)]
    text = render(made_up(rows), "markdown")
    titles = [title.strip() for title in text.splitlines()[0].split("|")][3:-1]
    tops = ["Top@1", "Top@5", "Top@10"]
    assert titles == [*tops, *(f"{top} seen" for top in tops), "MRR", "seconds", "peak MB"]
    assert "the 1,100 removals of an item that training saw" in text


@pytest.mark.parametrize(("count", "shown_pairs"), [(6, 15), (7, 6)])
def test_many_models_are_compared_with_the_best_only(count: int, shown_pairs: int) -> None:
    rows = [row(f"m{i}", 0, 10.0 + (i == 3), 30.0) for i in range(count)]
    pairs = [pair(i, j, rows[i]["top1"] - rows[j]["top1"], 0.5) for j in range(count) for i in range(j)]
    text = render(made_up(rows, top1=pairs), "text")
    assert text.count(" vs ") == shown_pairs
    if count > 6:
        assert "only the best row (d) against each other row" in text
        assert all(squeezed(f"d vs {other} +1.00") in squeezed(text) for other in "abcefg")


def test_the_terminal_table(result: dict[str, Any]) -> None:
    wide, narrow = shown(result, 120), shown(result, 60)
    assert "b  dem:hidden=32x16,bias=no  13.00 ±1.41 a  31.00 ±1.41  15.00" in wide
    assert "±1.41 a" in narrow
    assert "13.00 ±1.41" not in narrow  # the deviation has its own line
    assert max(map(len, narrow.splitlines())) <= 60
    assert "Letters behind a figure" in wide


def test_the_best_figure_is_bold_in_the_terminal(result: dict[str, Any]) -> None:
    text = shown(result, 120, colour=True)
    assert "\x1b[1m13.00\x1b[0m" in text
    assert "\x1b[1m10.50\x1b[0m" not in text


def test_the_terminal_may_not_know_unicode(result: dict[str, Any]) -> None:
    result["summary"][0]["label"] = "[bold]cvg[/nothing]"  # and a label is no markup
    text = shown(result, 120, encoding="ascii")
    assert "10.50 +-0.71" in text
    assert "[bold]cvg[/nothing]" in text


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.md", "| "), ("r.TEX", "% cooccur"), ("r.csv", "dataset,"), ("r.json", "{"), ("r.txt", " ")],
)
def test_write_chooses_by_the_ending(result: dict[str, Any], tmp_path: Path, name: str, start: str) -> None:
    write(result, tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_unknown_endings_and_kinds(result: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(CooccurError, match=r"r\.pdf: .*\.md \.tex \.csv \.json \.txt"):
        write(result, tmp_path / "r.pdf")
    assert not any(tmp_path.iterdir())
    with pytest.raises(ParameterError, match="markdown, latex, csv, json, text"):
        render(result, "pdf")


def squeezed(text: str) -> str:
    """Without the padding that only makes columns line up."""
    return "\n".join(" ".join(line.replace("-" * 4, "---").split()) for line in text.strip().splitlines())
