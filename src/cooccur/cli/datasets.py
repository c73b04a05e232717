"""`cooccur datasets`: the public datasets, which of them are at hand, and how to get one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cooccur.cli.options import Home, Json, examples
from cooccur.cli.output import console, indented, print_json, progress, size

app = typer.Typer()


@app.callback(
    invoke_without_command=True,
    epilog=examples("cooccur datasets", "cooccur datasets get retail", "cooccur describe retail"),
)
def list_them(context: typer.Context, as_json: Json = False, data_home: Home = None) -> None:
    """List the public datasets, or get one."""
    if context.invoked_subcommand:
        return
    from cooccur import datasets

    home = datasets.data_home(data_home)
    found = [_entry(dataset, home) for dataset in datasets.DATASETS.values()]
    if as_json:
        print_json({"home": str(home), "datasets": found})
        return
    out = console()
    out.print(f"{'name':24}{'records':>9}{'items':>9}{'occurrences':>13}  at hand", style="bold")
    for entry in found:
        records, items, occurrences = (
            f"{entry[what]:,}" if entry[what] else "-" for what in ("records", "items", "occurrences")
        )
        at_hand = "yes" if entry["file"] else "no"
        out.print(f"{entry['name']:24}{records:>9}{items:>9}{occurrences:>13}  {at_hand}")
        indented(out, f"{entry['record']}\n{entry['licence']}", 2, "dim")
    out.print(f"\nAt hand means a file below {home}; `cooccur datasets get NAME` fetches one.", soft_wrap=True)


@app.command(epilog=examples("cooccur datasets get retail", "cooccur datasets get ml-1m --data-home ~/data"))
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The dataset's name.")],
    as_json: Json = False,
    data_home: Home = None,
) -> None:
    """Download a dataset, go on with a broken download, and verify the file."""
    from cooccur import datasets

    with progress(f"getting {name}") as report:

        def fetched(done: int, total: int | None) -> None:
            share = done / total if total else 0.0
            report(share, f"{name}: {size(done)}{f' of {size(total)}' if total else ''}")

        path = datasets.download(name, data_home, progress=fetched)
    entry = _entry(datasets.DATASETS[name], datasets.data_home(data_home))
    if as_json:
        print_json(entry)
        return
    out = console()
    out.print(
        f"{name} is at hand and verified ({entry['check']}): {path} ({size(path.stat().st_size)})", soft_wrap=True
    )
    out.print(f"licence: {entry['licence']}")
    out.print(f"please cite: {entry['citation']}")
    out.print(f"\nNext: cooccur describe {name}")


def _entry(dataset: Any, home: Path) -> dict[str, Any]:
    """Everything the table says, and the file if it is at hand. Nothing is loaded."""
    from cooccur.datasets import find

    file = find(dataset, home)
    counts = {what: dataset.counts.get(what) for what in ("records", "items", "occurrences")}
    plain = ("name", "title", "record", "licence", "citation", "page", "url", "path", "sha256", "check")
    return {what: getattr(dataset, what) for what in plain} | counts | {"file": str(file) if file else None}
