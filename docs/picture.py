"""Makes docs/demo.svg, what `cooccur demo` prints, as a picture: `python docs/picture.py` with cooccur installed."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 84

done = subprocess.run(
    [sys.executable, "-c", "from cooccur.cli import main; main(['demo'])"],
    capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": str(WIDTH)},
)  # fmt: skip
console = Console(record=True, width=WIDTH, file=io.StringIO())
console.print(Text("$ make demo\n"), style="bold")
console.print(Text(done.stdout))
svg = console.export_svg(title="cooccur demo")
# No font from the network: whatever monospaced one the reader has.
svg = re.sub(r"@font-face\s*{[^}]*}", "", svg).replace("Fira Code", "ui-monospace, DejaVu Sans Mono")
Path(__file__).with_name("demo.svg").write_text(svg)
