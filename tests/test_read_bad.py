"""Every way in which a source can be bad, with the one line that the user gets."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.reading import FORMATS, read, read_report, streams

MEND = "mend the line or add --skip-bad to leave it out"
ELSE = "(else say --separator)"
BASKET = "a b c d e f g\n" * 200
PARQUET = io.BytesIO()
pl.DataFrame({"who": [1, 2], "what": ["a", "b"]}).write_parquet(PARQUET)


def case(data: bytes | str, message: str, name: str = "f.txt", **options: Any) -> Any:
    data = data.encode() if isinstance(data, str) else data
    shown = data[:24].decode("ascii", "replace").replace("\0", "0")
    return pytest.param(name, data, options, message, id=f"{options.get('format', name)}: {shown!r}")


FILES = [
    # whole files
    case("", "f.txt: the file is empty; check the name, or what wrote it"),
    case("\n  \n# only\n", "f.txt: nothing but blank lines and comments; check the file"),
    case(gzip.compress(b"", mtime=0), "f.txt: the file is empty; check the name, or what wrote it"),
    case(gzip.compress(BASKET.encode(), mtime=0)[:-9], "f.txt: the gzip data ends too early; fetch the file again"),
    case(
        gzip.compress(BASKET.encode(), mtime=0) + b"junk",
        "f.txt: damaged gzip data (Error -3 while decompressing data: incorrect header check); fetch the file again",
    ),
    case(
        zstandard.compress(BASKET.encode())[:-3],
        "f.txt: the zstd data ends too early; fetch the file again",
    ),
    case("PK\x03\x04...", "f.txt: this is a zip archive (or an xlsx sheet); unpack it, or save the sheet as csv"),
    case(b"\xfd7zXZ\0", "f.txt: this is compressed with xz; gzip and zstd are read; unpack it first"),
    case(
        "a b\nc d\n".encode("utf-16"),
        "f.txt: this is UTF-16 text, expected UTF-8; save it as UTF-8 or add --encoding utf-16",
    ),
    case(b"a b\nc \0d\n", "f.txt, line 2: a NUL byte: this is not a text file; check the file"),
    case(bytes(range(1, 9)) + bytes(5), "f.txt, line 1: a NUL byte: this is not a text file; check the file"),
    case(
        "a b\nc d\ncaf\xe9 e\n".encode("latin-1"),
        "f.txt, line 3: the byte 0xe9 is not UTF-8; add --encoding latin-1, or save it as UTF-8",
    ),
    case(
        b"a b\n\x81\n",
        "f.txt: bytes that are not cp1252, in line 1 or soon after; choose another --encoding",
        encoding="cp1252",
    ),
    # lines
    case("a,b\na,,b\n", f"f.txt, line 2: an empty item name in 'a,,b', expected a name between the separators; {MEND}",
         format="lines", separator=","),
    case(",a\n", f"f.txt, line 1: an empty item name in ',a', expected a name between the separators; {MEND}",
         format="lines", separator=","),
    case(";;\n;\n", "f.txt: no line with data; check the file", format="lines", separator=";"),
    # pairs
    case("1 2\n1 3\n1\n", f"f.txt, line 3: 1 field in '1', expected 2 parted by spaces {ELSE}; {MEND}", format="pairs"),
    case("# c\n\n1 2 3\n1 3\n", f"f.txt, line 3: 3 fields in '1 2 3', expected 2 parted by spaces"
         f" {ELSE}; {MEND}", format="pairs"),
    case("1\t2\n1\t\n", f"f.txt, line 2: an empty item name in '1\\t', expected a name; {MEND}", format="pairs"),
    case("1,2\n ,2\n", f"f.txt, line 2: an empty record name in ' ,2', expected a name; {MEND}", format="pairs"),
    case("1 2\n" * 30 + "1 " + "y" * 80 + " 2\n",
         f"f.txt, line 31: 3 fields in '1 {'y' * 55}...', expected 2 parted by spaces {ELSE}; {MEND}"),
    case("1\n2\n", "f.txt: no column looks like the item; there is 1 column, counted from 0, without names; say --item",
         format="pairs"),
    case("1 2\n", "f.txt: there is no column 5; there are 2 columns, counted from 0, without names",
         format="pairs", record=5),
    case("1 2 3\n", "f.txt: one column is told to be two things; there are 3 columns, counted from 0, without names",
         format="pairs", record=1, item=1),
    case("a,b\n" + "1,std::map\n" * 30 + "1;std\n", "f.txt, line 32: 1 field in '1;std', expected 2 parted by commas "
         f"{ELSE}; {MEND}"),
    # ratings
    case("1::2::5\n1::3::good\n", f"f.txt, line 2: the rating 'good' in '1::3::good' is not a number; {MEND}",
         format="ratings"),
    case("1::2::5\n1::3::nan\n", f"f.txt, line 2: the rating 'nan' in '1::3::nan' is not a number; {MEND}",
         format="ratings"),
    case("1,2,5\n1,3,inf\n", f"f.txt, line 2: the rating 'inf' in '1,3,inf' is not a number; {MEND}", format="ratings"),
    case("1,2,5\n1,3,\n", f"f.txt, line 2: the rating '' in '1,3,' is not a number; {MEND}", format="ratings"),
    case("1::2::5::9\n1::3::5\n1::3::5::9\n", f"f.txt, line 2: 3 fields in '1::3::5', expected 4 parted by '::'"
         f" {ELSE}; {MEND}",
         format="ratings"),
    case("1::2::5\n::3::5\n", f"f.txt, line 2: an empty record name in '::3::5', expected a name; {MEND}",
         format="ratings"),
    case("1 2\n", "f.txt: no column looks like the rating; there are 2 columns, counted from 0, without names; "
         "say --rating", format="ratings"),
    case("1 2 3\n1 3 2\n", "f.txt: none of the 2 ratings passes the threshold; choose another --threshold",
         format="ratings", threshold=">= 4"),
    case("1 2\n1 3\n",
         "threshold does not go with pairs; leave it out, or read ratings or wide or csv or parquet or jsonl",
         threshold=">= 4"),
    # wide
    case("1,0,1\n1,1\n0,0,1\n", f"f.txt, line 2: 2 fields in '1,1', expected 3 parted by commas"
         f" {ELSE}; {MEND}", format="wide"),
    case("1,0\n1, x\n", f"f.txt, line 2: 'x' in column 1, counted from 0, is not a number; {MEND}", format="wide"),
    case("1,0\n1,inf\n", f"f.txt, line 2: 'inf' in column 1, counted from 0, is not a number; {MEND}", format="wide"),
    case("u,1,0\n,1,1\n", f"f.txt, line 2: an empty record name in ',1,1', expected a name; {MEND}",
         format="wide", record=0),
    case("1,2\n", "f.txt: 2 columns, and the first 2 are passed over: no item is left; choose a smaller --first",
         format="wide", first=2),
    case("a,a\n1,1\n", "f.txt: the header has two columns 'a'; rename one", format="wide", header=True),
    case("a,\n1,1\n", "f.txt: the header has a column without a name; name it or say --first",
         format="wide", header=True),
    case("99,99\n99,\n", "f.txt: no line with data; check the file", format="wide", missing="99"),
    # csv
    case("user,item\n1,2\n1,2,3\n", f"f.csv, line 3: 3 fields in '1,2,3', expected 2 parted by commas"
         f" {ELSE}; {MEND}", "f.csv"),
    case('user,item\n1,2\n3,"a\n4,5\n', f"f.csv, line 3: a quote that is never closed in '3,\"a'; {MEND}", "f.csv"),
    case('user,item\n1,2\n3,"a"b\n', f"f.csv, line 3: a quote in the wrong place in '3,\"a\"b'; {MEND}", "f.csv"),
    case('user,item\n1,"a\nb"\n1,2,3\n"x","y"z\n', f"f.csv, line 4: 3 fields in '1,2,3', expected 2 parted by commas"
         f" {ELSE}; {MEND}", "f.csv"),
    case("user,item,stars\n1,2,high\n", f"f.csv, line 2: the rating 'high' in '1,2,high' is not a number; {MEND}",
         "f.csv", threshold="> 3"),
    case("user,item\n1,2\n", "f.csv: there is no column 'film'; the columns are user, item", "f.csv", item="film"),
    case("a,b,c\n1,2,x\n3,4,y\n5,6,z\n", "f.csv: no column looks like the item; the columns are a, b, c; say --item",
         "f.csv"),
    case("user,item\n1,2\n", "f.csv: no column looks like the rating; the columns are user, item; say --rating",
         "f.csv", threshold="> 3"),
    case("things,n\na|b,1\n", "f.csv: a list in each row has no rating; say --record as well",
         "f.csv", item="things", threshold="> 3"),
    # jsonl
    case('["a"]\n["a"\n', f"f.txt, line 2: '[\"a\"' is not JSON, expected one list or object on the line; {MEND}"),
    case('["a"]\n[NaN]\n', f"f.txt, line 2: '[NaN]' is not JSON, expected one list or object on the line; {MEND}"),
    case('["a"]\n7\n', f"f.jsonl, line 2: '7' is neither a list nor an object; {MEND}", "f.jsonl"),
    case('["a", null]\n', f"f.txt, line 1: the item null in '[\"a\", null]', expected a name or a number; {MEND}"),
    case('["a", {"b": 1}]\n',
         f"f.txt, line 1: the item {{\"b\": 1}} in '[\"a\", {{\"b\": 1}}]', expected a name or a number; {MEND}"),
    case('["a", [1]]\n', f"f.txt, line 1: the item [1] in '[\"a\", [1]]', expected a name or a number; {MEND}"),
    case('["a", " "]\n', f"f.txt, line 1: the item \" \" in '[\"a\", \" \"]', expected a name or a number; {MEND}"),
    case('{"user": 1, "item": 2}\n{"user": 1}\n', f"f.txt, line 2: '{{\"user\": 1}}' lacks 'item'; {MEND}"),
    case('{"user": null, "item": 2}\n',
         f"f.txt, line 1: the record null in '{{\"user\": null, \"item\": 2}}', expected a name; {MEND}"),
    case('{"user": 1, "item": 2, "stars": "x"}\n', "f.txt, line 1: the rating \"x\" in "
         f"'{{\"user\": 1, \"item\": 2, \"stars\": \"x\"}}' is not a number; {MEND}", threshold="> 1"),
    case('{"items": [1]}\n{"items": 1}\n', f"f.txt, line 2: '{{\"items\": 1}}' has no list under 'items'; {MEND}"),
    case('{"user": 1, "items": [1]}\n[2]\n',
         f"f.txt, line 2: '[2]' is not an object as the lines before; {MEND}"),
    case('{"a": 1, "b": 2}\n', "f.txt: no column looks like the item; the columns are a, b; say --item"),
    case("[" * 100_000 + "\n", f"f.txt, line 1: '{'[' * 57}...' is not JSON, expected one list or object on the line; "
         f"{MEND}"),
    # parquet
    case("user,item\n1,2\n", "f.parquet: this is not a parquet file; say --format", "f.parquet"),
    case(PARQUET.getvalue(), "f.txt: no column looks like the item; the columns are who, what; say --item"),
    case(PARQUET.getvalue(), "f.txt: there is no column 'user'; the columns are who, what", record="user", item="what"),
    case(PARQUET.getvalue(), "separator does not go with parquet; leave it out, "
         "or read lines or pairs or ratings or wide or csv", separator=","),
    # what was asked for
    case("1 2\n", "unknown format 'xml'; choose one of lines, pairs, ratings, wide, csv, parquet, jsonl", format="xml"),
    case("1 2 3\n", "threshold '4' is not understood; write a sign and a number, as in '>= 4'", threshold="4"),
    case("1 2 3\n", "threshold '>= many' is not understood; write a sign and a number, as in '>= 4'",
         threshold=">= many"),
    case("1 2\n", "separator '' cannot part the fields of a line; leave it out to guess", separator=""),
    case("1 2\n", "csv needs a separator of one character that is no space, not '::'; "
         "other separators go with pairs and ratings", format="csv", separator="::"),
    case("1 2\n", "unknown encoding 'klingon'; usual ones are utf-8 and latin-1", encoding="klingon"),
    case("1 2\n", "first is -1; it is a number of columns, 0 or more", first=-1),
    case("1 2\n", "first does not go with lines; leave it out, or read wide", format="lines", first=1),
    case("1 2\n", "column 'user' has a name, but there is no header; count columns from 0 instead",
         record="user", header=False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "options", "message"), FILES)
def test_bad_file(
    name: str, data: bytes, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    with pytest.raises(CooccurError) as caught:
        read(name, **options)
    assert str(caught.value) == message


MEMORY: list[tuple[Any, dict[str, Any], str]] = [
    (pl.DataFrame({"user": [1, None], "item": ["a", "b"]}), {},
     "the frame, row 2: an empty or null record, expected a name; mend the row or add --skip-bad to leave it out"),
    (pd.DataFrame({"user": [1, 2], "item": ["a", None]}), {},
     "the frame, row 2: an empty or null item, expected a name; mend the row or add --skip-bad to leave it out"),
    (pl.DataFrame({"items": [["a"], ["b", None]]}), {},
     "the frame, row 2: an empty or null item, expected a name; mend the row or add --skip-bad to leave it out"),
    (pl.DataFrame({"user": [1], "item": [2], "stars": [float("nan")]}), {"threshold": "> 1"},
     "the frame, row 1: a rating that is null or not a number; mend the row or add --skip-bad to leave it out"),
    (pl.DataFrame({"user": [1], "item": [{"a": 1}]}), {},
     "the frame: column 'item' holds Struct({'a': Int64}); expected names or numbers; choose another column"),
    (pl.DataFrame({"items": [["a"]], "stars": [1]}), {"threshold": "> 1"},
     "the frame: a list in each row has no rating; leave out --threshold"),
    (pl.DataFrame({"item": ["a"], "n": [1]}), {},
     "the frame: no column looks like the record; the columns are item, n; say --record"),
    (pl.DataFrame(), {}, "the frame: the table has no columns"),
    (pl.DataFrame({"user": [], "item": []}), {}, "the frame: no row with data; check the file"),
    ([["a"], "b"], {},
     "the lists, record 2: 'b' is not a list of items; mend the record or add --skip-bad to leave it out"),
    ([["a"], [None]], {}, "the lists, record 2: the item null in '[null]', expected a name or a number; "
     "mend the record or add --skip-bad to leave it out"),
    ([], {}, "the lists: no record with data; check the file"),
    (7, {}, "a int cannot be read; give a path, a stream, a frame or lists"),
    (np.eye(2), {"threshold": "> 0"},
     "threshold does not go with matrix; leave it out, or read ratings or wide or csv or parquet or jsonl"),
    (np.eye(2) * 3, {}, "the matrix holds 3.0; expected 0 and 1; say which values count, for example (matrix >= 4)"),
    (Baskets.from_lists([["a"]]), {"format": "lines"}, "format 'lines' is for files; leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "options", "message"), MEMORY, ids=[message[:50] for *_, message in MEMORY])
def test_bad_object(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(CooccurError) as caught:
        read(source, **options)
    assert str(caught.value) == message


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path, problem in ((tmp_path / "no.txt", "there is no such file; check the name"),
                          (tmp_path, "this is a folder; name a file in it")):  # fmt: skip
        with pytest.raises(CooccurError) as caught:
            read(path)
        assert str(caught.value) == f"{path}: {problem}"


def test_damaged_parquet(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(PARQUET.getvalue()[:40] + b"PAR1")
    with pytest.raises(CooccurError, match=r"f.parquet: damaged parquet data \(.*\); fetch the file again"):
        read(tmp_path / "f.parquet")


def test_stream_is_named() -> None:
    with pytest.raises(CooccurError) as caught:
        read(io.BytesIO(b"1 2\n1\n1 3\n" * 20), format="pairs")
    assert str(caught.value) == f"the stream, line 2: 1 field in '1', expected 2 parted by spaces {ELSE}; {MEND}"


SKIPPED = [
    ("1 2\n1\n \n1 3 4\n2 3\n", {"format": "pairs"}, 2, [["2"], ["3"]],
     f"line 2: 1 field in '1', expected 2 parted by spaces {ELSE}"),
    ("1,2,5\n1,3,x\n,4,5\n1,5,5\n", {"format": "ratings"}, 2, [["2", "5"]],
     "line 2: the rating 'x' in '1,3,x' is not a number"),
    ("1,0\n1,x\n0,1\n", {"format": "wide"}, 1, [["1"], ["2"]],
     "line 2: 'x' in column 1, counted from 0, is not a number"),
    ('u,i\n1,a\n2,"b\n3,c\n3,"d, e"\n', {"format": "csv", "header": True}, 1, [["a"], ["c", "d, e"]],
     "line 3: a quote that is never closed in '2,\"b'"),
    ('["a"]\n{\n["b"]\n', {}, 1, [["a"], ["b"]], "line 2: '{' is not JSON, expected one list or object on the line"),
    ("a,b\na,,c\nd\n", {"format": "lines", "separator": ","}, 1, [["a", "b"], ["d"]],
     "line 2: an empty item name in 'a,,c', expected a name between the separators"),
]  # fmt: skip


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize(("text", "options", "skipped", "baskets", "first"), SKIPPED)
def test_skip_bad(
    text: str, options: dict[str, Any], skipped: int, baskets: list[list[str]], first: str, block: int
) -> None:
    got, report = read_report(io.StringIO(text), skip_bad=True, _block=block, **options)
    assert list(got) == baskets
    assert report.skipped == skipped
    assert report.first_bad == f"the stream, {first}"
    assert f"{skipped} bad line" in str(report)


def test_all_bad_is_an_error_even_when_skipping() -> None:
    with pytest.raises(CooccurError) as caught:
        read(io.StringIO("1\n2\n"), format="pairs", item=0, record=0, skip_bad=True)
    assert "one column is told to be two things" in str(caught.value)
    with pytest.raises(CooccurError) as caught:
        read(io.StringIO("1,2,x\n1,3,y\n"), format="ratings", skip_bad=True)
    assert str(caught.value) == (
        "the stream: all 2 lines are bad; the first: the stream, line 1: the rating 'x' in '1,2,x' is not a number; "
        "check --format and --separator"
    )


def test_long_line_is_skipped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LONGEST_LINE", 20)
    text = "a b\n" + "x" * 50 + "\nc d\n" + "y" * 30
    with pytest.raises(CooccurError) as caught:
        read_report(io.StringIO(text), format="lines", _block=8)
    assert str(caught.value) == (
        f"the stream, line 2: a line longer than 20 bytes that starts with '{'x' * 20}', expected a line break; {MEND}"
    )
    got, report = read_report(io.StringIO(text), format="lines", skip_bad=True, _block=8)
    assert list(got) == [["a", "b"], ["c", "d"]]
    assert (report.lines, report.skipped) == (4, 2)


WHOLE = [
    b'user,item,stars\n1,a,5\n1,"b, c",4\n2,a,3\n',
    b"1::2::3::4\n1::3::4::4\n",
    b"1 2 3\n4 5\n6\n",
    b'{"user": 1, "items": ["a", "b"]}\n{"user": 2, "items": ["b"]}\n',
    b"1,0,1,1,0,0,1,1\n" * 3,
    gzip.compress(b"a b\nb c\n", mtime=0),
    zstandard.compress(b"a b\nb c\n"),
]  # parquet, which another process tries first, has its turn in test_fuzz_read.py


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3)), max_size=4),
    st.sampled_from([None, *FORMATS]),
    st.booleans(),
    st.sampled_from([1, 5, 1 << 20]),
)
@example(b'user,item,stars\n1,a,5\n1,"b, c",4\n2,a,3\n', [(629, b'"\x01\x01'), (306, b'"')], None, False, 1)
def test_damage_is_one_error_or_none(
    data: bytes, cuts: list[tuple[int, bytes]], format: str | None, skip_bad: bool, block: int  # noqa: A002
) -> None:  # fmt: skip
    """Whatever is overwritten, nothing but our own error comes out, on one line."""
    for place, new in cuts:
        at = place % len(data)
        data = data[:at] + new + data[at + 1 :]
    try:
        baskets, report = read_report(io.BytesIO(data), format=format, skip_bad=skip_bad, _block=block)
        message = ""
    except CooccurError as error:
        message = str(error)
    assert "\n" not in message
    assert message or baskets.nnz == report.occurrences > 0
    assert message or all(name == name.strip() != "" for name in baskets.items)
