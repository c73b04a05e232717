"""Files, streams, frames and matrices in; `Baskets` out.

    source -> streams (bytes -> blocks of whole lines) -> guess (what is in them) -> text / tables -> collect -> Baskets

Nothing is guessed silently: `read_report` gives a `Report` beside the baskets that says what was taken and why.
"""

from __future__ import annotations

from cooccur.reading.entry import read, read_report
from cooccur.reading.options import FORMATS, Threshold
from cooccur.reading.report import Report

__all__ = ["FORMATS", "Report", "Threshold", "read", "read_report"]
