"""Files, streams, frames and matrices in; `Baskets` out.

    source -> streams (bytes -> blocks of whole lines) -> guess (what is in them) -> text / tables -> collect -> Baskets

Nothing is guessed silently: `read_report` gives a `Report` beside the baskets that says what was taken and why.
"""

from __future__ import annotations

from cooccur.read.entry import read, read_report
from cooccur.read.options import FORMATS, Threshold
from cooccur.read.report import Report

__all__ = ["FORMATS", "Report", "Threshold", "read", "read_report"]
