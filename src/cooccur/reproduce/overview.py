"""All tables on one page, and above them the one that people ask for: on each dataset DEM beside its best peer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from cooccur.evaluation.forms import pipes
from cooccur.files import whole
from cooccur.reproduce.plan import spelling
from cooccur.reproduce.render import markdown

Document = Mapping[str, Any]
STACK, UNNAMED = "dem:hidden=none", "dem:names=no"


def write(results: Sequence[Document], folder: Path, command: str) -> Path:
    """Write results.md from the collected tables."""
    parts = [
        "# Results",
        "Made by the command at the end of each part from the finished runs in the folder `results/units`; nothing on "
        "this page is typed by hand. The best peer is the row, not a DEM, that comes nearest to DEM at Top@10 or is "
        "furthest ahead of it. Figures and lead are over the folds that both have; p is that of a paired permutation "
        "test over records (of this pair, not corrected). The stack is DEM without hidden layers. Where records bear "
        "names of items, DEM, the stack and `links` read them; unnamed is DEM without that, as the other peers are."
        + " All are as they come; tuned rows, where they have been run, stand in the tables below."
        * (not any(result["sweep"] for result in results)),
        headline(results),
        "![Top@1 and Top@10 of every row on every dataset, as a share of DEM's](results.svg)",
        f"```sh\n{command}\n```",
        *("#" + markdown(result).replace("\n## ", "\n### ").rstrip() for result in results if result["finished"]),
    ]
    path = folder / "results.md"
    with whole(path) as file:
        file.write(("\n\n".join(parts) + "\n").encode())
    return path


def headline(results: Sequence[Document]) -> str:
    """A row for each dataset on which DEM and a peer have finished."""
    header = ["Top@1 / Top@10", "folds", "best peer", "", "stack", "DEM", "unnamed", "lead", "p"]
    return pipes(header, list(_rows(results)), left=1)


def _rows(results: Sequence[Document]) -> Iterator[list[str]]:
    for column in (column for result in results for column in result["columns"]):
        rows = {row["label"]: row for row in column["rows"]}
        leads = {}
        for pair in column["tests"]["top10"]:  # every row is tested against DEM
            if "dem" in (pair["a"], pair["b"]):
                sign, peer = (1, pair["b"]) if pair["a"] == "dem" else (-1, pair["a"])
                leads[peer] = (sign * pair["difference"], pair)
        peers = [label for label in leads if not label.startswith("dem") and label == spelling(label)]
        if not peers:
            continue
        peer = min(peers, key=lambda label: leads[label][0])
        lead, pair = leads[peer]
        folds = {one["fold"] for one in rows["dem"]["each"]} & {one["fold"] for one in rows[peer]["each"]}
        figures = [_both(rows.get(label), folds) for label in (peer, STACK, "dem", UNNAMED)]
        yield [column["dataset"], str(len(folds)), f"`{peer}`", *figures, f"{lead:+.2f}", f"{pair['p']:.4f}"]


def _both(row: Document | None, folds: Set[int]) -> str:
    """Top@1 / Top@10 over these folds, if the row has them all."""
    each = [one for one in (row["each"] if row else ()) if one["fold"] in folds]
    if len(each) < len(folds):
        return "-"
    return " / ".join(f"{sum(one[metric] for one in each) / len(each):.2f}" for metric in ("top1", "top10"))
