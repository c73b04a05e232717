"""docs/results.md and the README's table and picture from the finished runs in results/units: `python docs/results.py`.

The runs come from `cooccur reproduce all --no-sweep -o results` (and any of its parts), which never runs one twice.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS, README = ROOT / "docs" / "results.md", ROOT / "README.md"
COMMAND = "reproduce all --no-sweep --tune 20 --render-only -o results"
BLOCK = re.compile(r"(?<=<!-- results -->\n)(.*?)(?=\n<!-- /results -->)", re.DOTALL)


def headline(page: str) -> str:
    """The first table of the page."""
    return "\n".join(line for line in page.split("\n```")[0].splitlines() if line.startswith("|"))


def main() -> None:
    code = "import sys; from cooccur.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code, *COMMAND.split()], cwd=ROOT, check=True)
    page = (ROOT / "results" / "results.md").read_text()
    RESULTS.write_text(page)
    shutil.copyfile(ROOT / "results" / "results.svg", RESULTS.with_suffix(".svg"))
    README.write_text(BLOCK.sub(lambda _: headline(page), README.read_text()))


if __name__ == "__main__":
    main()
