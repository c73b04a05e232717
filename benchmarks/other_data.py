"""Real sets from what a Debian machine has at hand, to try models on data that they were not made with.

    python benchmarks/other_data.py tags Packages > tags.txt           # the tags of each package of a distribution
    python benchmarks/other_data.py depends Packages > depends.csv     # what each package needs: record, item
    python benchmarks/other_data.py words Packages > words.txt         # the words that describe each package in a line
    python benchmarks/other_data.py imports FOLDER ... > imports.txt   # what each Python file there imports
    bible -f gen1:1-rev22:21 | python benchmarks/other_data.py verses > verses.txt  # the words of each verse

`Packages` is the list of packages that apt reads, unpacked; `bible` is in Debian's bible-kjv.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path


def tags(packages: str) -> Iterator[str]:
    for package in _packages(packages):
        if found := _parted(package.get("Tag", "")):
            yield "|".join(found)


def depends(packages: str) -> Iterator[str]:
    for package in _packages(packages):
        for name in _parted(re.sub(r"[ :(|][^,]*", "", package.get("Depends", "").replace(", ", ","))):
            yield f"{package['Package']},{name}"


def words(packages: str) -> Iterator[str]:
    for package in _packages(packages):
        if found := set(re.findall(r"[a-z][a-z0-9+]+", package.get("Description", "").lower())):
            yield " ".join(sorted(found))


def imports(*folders: str) -> Iterator[str]:
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.py") if path.is_file()):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue  # a template, or for another Python
        plain = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        found = plain | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
        if found:
            yield " ".join(sorted(str(name) for name in found))


def verses() -> Iterator[str]:
    for line in sys.stdin:
        if words := set(re.findall("[a-z]+", line.partition(" ")[2].lower())):
            yield " ".join(sorted(words))


def _packages(file: str) -> Iterator[dict[str, str]]:
    for paragraph in Path(file).read_text(encoding="utf-8").split("\n\n"):
        if fields := dict(re.findall(r"^([A-Z][\w-]*): (.*(?:\n .*)*)", paragraph, re.MULTILINE)):
            yield fields


def _parted(text: str) -> list[str]:
    return sorted({word.strip() for word in text.replace("\n", ",").split(",")} - {""})


if __name__ == "__main__":
    makers = {"tags": tags, "depends": depends, "words": words, "imports": imports, "verses": verses}
    if len(sys.argv) < 2 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    for line in makers[sys.argv[1]](*sys.argv[2:]):
        print(line)
