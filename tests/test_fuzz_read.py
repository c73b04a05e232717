"""Ten thousand damaged files and more: each gives baskets that a model answers from, or one CooccurError on one line.

`pytest -s tests/test_fuzz_read.py` prints the figures. The cases are the same in each run; a failing one is shrunk.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import xlwt
import zstandard
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cooccur.datasets import remote
from cooccur.datasets.table import DATASETS
from cooccur.errors import CooccurError
from cooccur.models import make_model
from cooccur.reading import FORMATS, read_report


def parquet(frame: pl.DataFrame, **options: Any) -> bytes:
    frame.write_parquet(file := io.BytesIO(), **options)
    return file.getvalue()


def xls() -> bytes:
    book = xlwt.Workbook()
    for row, values in enumerate([[2, 99, -4.5], [1, 7.25, 99]]):
        for column, value in enumerate(values):
            (book.add_sheet("jokes") if not row and not column else book.get_sheet(0)).write(row, column, value)
    book.save(file := io.BytesIO())
    return file.getvalue()


LONG = pl.DataFrame({"user": [1, 1, 2, 3], "item": ["a", "b", "b", "c"], "stars": [5.0, 2.0, None, 4.0]})
WHOLE: dict[str, list[bytes]] = {
    "lines": [b"a b c\nb c\n\n# note\nd a\n", b"1 2 3\n4 5\n6\n", b"x;y;z\r\ny;z\r\n"],
    "pairs": [b"1 2\n1 3\n2 3\n", b"# FromNode ToNode\n0\t4\n0\t5\n1\t4\n", b"ann,milk\nbob,tea\n"],
    "ratings": [b"1::2::5::978\n1::3::4::979\n2::2::1::980\n", b"1 2 5\n1 3 4\n"],
    "wide": [b"1,0,1,1,0,0,1,1\n" * 3, b"3, 99, -4.5, 7,1,2,3,4\n2,1.5,99,3,1,1,1,1\n"],
    "csv": [
        b'user,item,stars\n1,a,5\n1,"b, c",4\n2,a,3\n',
        b'id;things\n1;"a|b"\n2;c\n',
        "\ufeffuser\titem\nann\tcaf\u00e9\n".encode(),
    ],
    "jsonl": [
        b'["a", "b"]\n["b", 7]\n',
        b'{"user": 1, "items": ["a", "b"]}\n{"user": 2, "items": ["b"]}\n',
        b'{"user": 1, "item": "x", "stars": 4.5}\n{"user": 2, "item": "y", "stars": 1}\n',
    ],
    "parquet": [
        parquet(LONG),
        parquet(LONG, compression="uncompressed"),
        parquet(pl.DataFrame({"items": [["a", "b"], ["c"]]}), compression="snappy"),
    ],
}
TEXTS = ("lines", "pairs", "ratings", "wide", "csv", "jsonl")
WORDS = [
    *(b"\0", b'"', b"'", b"\r", b"\r\n", b"\n", b",", b";", b"\t", b"|", b"::", b"#", b" ", b"\\", b"[", b"]", b"{"),
    *(b"1e999", b"nan", b"inf", b"-1", b"1_0", b"0x10", b"9" * 400, b"null", b"true", b"user", b"item", b"a", b"7"),
    *(b"[" * 3000, b'{"a":' * 2000, b"x" * 3000, b"a," * 2000, b'"\\ud800"', b"\xed\xa0\x80", b"\xe9", b"\x1a\x0b\x1c"),
    *("\u2028\u0085\u00a0\u200b".encode(), "\u0663\u0664".encode(), b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"),
    *(b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"),
]  # fmt: skip
OPTIONS: dict[str, list[Any]] = {
    "format": list(FORMATS),
    "skip_bad": [True],
    "separator": [",", ";", " ", "\t", "::", "|", "tab", '"', "\r", "xx"],
    "header": [True, False],
    "record": ["user", 0, "0", 1, "id", 99, -1, "\u00b2"],
    "item": ["item", "things", 1, "1", 0],
    "rating": ["stars", 2],
    "threshold": [">= 4", "> 0", "< 2"],
    "missing": ["99", ""],
    "first": [1, 3, 10**9],
    "comment": [None, "", "//"],
    "encoding": ["latin-1", "utf-16", "utf-8-sig", "cp1252", "utf-7", "idna", "utf-32", "shift_jis", "hex"],
}  # fmt: skip

Edit = tuple[int, int, bytes, int | None]
words = st.sampled_from(WORDS) | st.binary(max_size=4)
edits = st.tuples(st.integers(0, 2**16), st.integers(0, 16), words, st.sampled_from([0, 1, 1, 1, 1, 50, None]))
option = st.sampled_from(list(OPTIONS)).flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(OPTIONS[name])))
asked = st.lists(option, max_size=2).map(dict)


def edited(data: bytes, changes: list[Edit]) -> bytes:
    """At each place some bytes give way to a word, or repeat; or the file ends there."""
    for place, gone, word, times in changes:
        at = place % (len(data) + 1)
        new = data[at : at + gone] * times if times and times > 1 else word if times else b""
        data = data[:at] + new + (b"" if times is None else data[at + gone :])
    return data


def damaged(kind: str) -> st.SearchStrategy[bytes]:
    return st.builds(edited, st.sampled_from(WHOLE[kind]), st.lists(edits, max_size=3))


any_text = st.one_of([damaged(kind) for kind in TEXTS])
packed = st.builds(lambda pack, data: pack(data), st.sampled_from([gzip.compress, zstandard.compress]), any_text)
KINDS: dict[str, tuple[int, st.SearchStrategy[bytes]]] = {
    **{kind: (1350, damaged(kind)) for kind in TEXTS},
    "compressed": (1000, st.builds(edited, packed, st.lists(edits, max_size=2))),
    "nonsense": (1000, st.lists(words, max_size=40).map(b"".join) | st.binary(max_size=300)),
}

FIXED, FACTOR = 64 * 2**20, 100  # a case may take so many bytes, and so many for each of the file


class Figures:
    """Counts the outcomes of the cases, and finds the slowest and the largest."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.slowest, self.largest = 0.0, 0

    @contextlib.contextmanager
    def case(self, size: int) -> Iterator[None]:
        before, start = peak(reset=True), time.perf_counter()
        message = "."
        try:
            yield
            self.outcomes["read"] += 1
        except CooccurError as error:
            self.outcomes["refused"] += 1
            message = str(error)
        assert message.isprintable()  # so it is one line too
        assert len(message) < 1000
        self.slowest = max(self.slowest, time.perf_counter() - start)
        taken = peak() - before
        self.largest = max(self.largest, taken)
        assert taken <= FIXED + FACTOR * size

    def __str__(self) -> str:
        told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        memory = f"{self.largest / 2**20:.1f} MB the largest growth of memory"
        return f"{self.outcomes.total():,} cases: {told}; {1000 * self.slowest:.0f} ms the slowest, {memory}"


def peak(*, reset: bool = False) -> int:
    """The most memory that this process has had since the last reset; 0 where Linux does not tell."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return 0


def ask(source: Any, block: int, options: dict[str, Any]) -> None:
    """Read, learn and answer; what comes out is finite."""
    baskets, report = read_report(source, _block=block, **options)
    assert baskets.nnz == report.occurrences > 0
    assert all(name == name.strip() != "" for name in baskets.items)
    found = make_model("popularity").fit(baskets).complete([*baskets.names(0)[:2], "never seen"])
    assert np.isfinite([suggestion.score for suggestion in found]).all()


def same_cases(examples: int) -> settings:
    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=phases,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_any_text(kind: str) -> None:
    examples, files = KINDS[kind]
    figures = Figures()

    @same_cases(examples)
    @given(files, asked, st.sampled_from([1, 7, 1 << 20]))
    def check(data: bytes, options: dict[str, Any], block: int) -> None:
        with figures.case(len(data)):
            ask(io.BytesIO(data), block, options)

    check()
    print(f"\n{kind}: {figures}")
    assert figures.outcomes.total() >= examples
    assert min(figures.outcomes["read"], figures.outcomes["refused"]) > examples / 50  # both are really tried


def test_any_parquet(tmp_path: Path) -> None:
    """Fewer, since another process tries each file that starts and ends like one."""
    figures, path = Figures(), tmp_path / "f.parquet"
    changes = st.tuples(st.integers(4, 2**16), st.just(1), st.binary(min_size=1, max_size=1), st.just(1))

    @same_cases(35)
    @given(st.sampled_from(WHOLE["parquet"]), st.lists(changes, max_size=3))
    def check(data: bytes, edits: list[Edit]) -> None:
        path.write_bytes(edited(data[:-4], edits)[: len(data) - 4] + b"PAR1")
        with figures.case(len(data)):
            ask(path, 1 << 20, {})

    check()
    print(f"\nparquet: {figures}")
    assert min(figures.outcomes["read"], figures.outcomes["refused"]) > 3


def test_any_xls(tmp_path: Path) -> None:
    """The one sheet that is read, that of a dataset, comes in a zip archive, whose checksum finds the damage."""
    figures, jester = Figures(), DATASETS["jester"]
    archive, member = tmp_path / "a.zip", str(jester.member)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(member, xls())
    data = archive.read_bytes()

    @same_cases(300)
    @given(st.lists(edits, max_size=2))
    def check(changes: list[Edit]) -> None:
        archive.write_bytes(edited(data, changes))
        with figures.case(len(data)):
            remote._unpack(jester, member, archive, tmp_path / "a.csv", "a.zip")

    check()
    print(f"\nxls: {figures}")
    assert min(figures.outcomes["read"], figures.outcomes["refused"]) > 3
