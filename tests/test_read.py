"""Good sources: every format, every way in, and the same baskets whatever the spelling."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from cooccur.baskets import Baskets
from cooccur.errors import InputError
from cooccur.reading import FORMATS, Threshold, read, read_report
from cooccur.reading.rows import read_rows

# One dataset: ann likes a, b; bob likes b, c; carol's only rating is low, so she is gone (and so is d).
EXPECTED = Baskets.from_lists([["a", "b"], ["b", "c"]], ["ann", "bob"])
ROWS = [("ann", "a", 5), ("ann", "b", 4.5), ("bob", "b", 4), ("carol", "d", 1), ("bob", "c", 5), ("bob", "a", 2)]
FRAME = pl.DataFrame(ROWS, schema=["user", "item", "stars"], orient="row", strict=False)


def rows(separator: str, head: str = "") -> str:
    return head + "".join(separator.join(map(str, row)) + "\n" for row in ROWS)


SPELLINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "ratings ::": (rows("::"), {"format": "ratings"}),
    "ratings :: guessed": (rows("::"), {}),
    "ratings with time": ("".join(f"{u}::{i}::{r}::978300760\n" for u, i, r in ROWS), {}),
    "ratings spaces": (rows("   "), {}),
    "ratings tabs and CRLF": (rows("\t").replace("\n", "\r\n"), {}),
    "ratings, no last line break": (rows(" ").rstrip("\n"), {}),
    "ratings, comments and blanks": ("# a comment\n\n" + rows(" ") + "  \n# another", {}),
    "csv": (rows(",", "user,item,stars\n"), {}),
    "csv ;": (rows(";", "user;item;stars\n"), {"format": "csv"}),
    "csv tab": (rows("\t", "user\titem\tstars\n"), {"separator": "tab"}),
    "csv quoted": ('"user","item","stars"\n' + "".join(f'"{u}", "{i}","{r}"\n' for u, i, r in ROWS), {}),
    "csv odd names": (rows(",", "who,what,how\n"), {"record": "who", "item": "what", "rating": "how"}),
    "csv numbers": (rows(","), {"format": "csv", "record": 0, "item": "1", "rating": 2}),
    "csv other order": ("item,n,rating,user\n" + "".join(f"{i},7,{r},{u}\n" for u, i, r in ROWS), {}),
    "csv BOM": ("\ufeff" + rows(",", "user,item,stars\n"), {}),
    "wide": ("id,a,b,c,d\nann,5,4.5,,\nbob,2,4.0,5,\ncarol,,,99,1\n", {"format": "wide", "record": "id", "first": 1,
                                                                     "missing": "99.0"}),
    "jsonl long": ("".join(json.dumps({"user": u, "item": i, "stars": r}) + "\n" for u, i, r in ROWS), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("packed", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_spellings(name: str, packed: Callable[[bytes], bytes], tmp_path: Path) -> None:
    text, options = SPELLINGS[name]
    path = tmp_path / "data.txt"
    path.write_bytes(packed(text.encode()))
    assert read(path, threshold=">= 4", **options) == EXPECTED
    with path.open("rb") as stream:
        assert read(stream, threshold=">= 4", **options) == EXPECTED


@pytest.mark.parametrize("name", SPELLINGS)
def test_block_size_changes_nothing(name: str) -> None:
    text, options = SPELLINGS[name]
    whole = read_report(io.StringIO(text), threshold=">= 4", **options)
    for size in range(1, 65):
        assert read_report(io.BytesIO(text.encode()), threshold=">= 4", _block=size, **options) == whole


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.lazy(),
        pd.DataFrame(ROWS, columns=["user", "item", "stars"]),
        FRAME.with_columns(pl.col("user").cast(pl.Categorical)),
        FRAME.with_columns(pl.col("stars").cast(pl.String)),
    ],
    ids=["polars", "lazy", "pandas", "categorical", "text ratings"],
)
def test_frames(frame: Any) -> None:
    assert read(frame, threshold=">= 4") == EXPECTED


def test_parquet(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "f.parquet")
    data = (tmp_path / "f.parquet").read_bytes()
    (tmp_path / "f.gz").write_bytes(gzip.compress(data))
    for source in (tmp_path / "f.parquet", str(tmp_path / "f.parquet"), tmp_path / "f.gz", io.BytesIO(data)):
        baskets, report = read_report(source, threshold=">= 4")
        assert baskets == EXPECTED
        assert (report.format, report.lines, report.below_threshold) == ("parquet", 6, 2)


LISTS = Baskets.from_lists([["a", "b"], ["b", "c"]])
LIST_SOURCES: dict[str, tuple[Any, dict[str, Any]]] = {
    "lists": ([["a", "b"], [], ["b", "c"]], {}),
    "tuples and sets": (iter([("a", "b"), {"b": 1, "c": 1}.keys()]), {}),
    "lines": (io.StringIO("a b\nb c \n"), {"format": "lines"}),
    "lines with commas": (io.StringIO("a, b,\nb , c,,\n,\n"), {"format": "lines"}),
    "lines with a header": (io.StringIO("basket\na|b\nb|c\n"), {"format": "lines", "header": True}),
    "jsonl lists": (io.StringIO('["a", "b"]\n\n[]\n["b", "c"]\n'), {}),
    "jsonl objects": (io.StringIO('{"items": ["a", "b"]}\n{"items": ["b", "c"]}\n'), {}),
    "jsonl odd key": (io.StringIO('{"x": 1, "y": ["a", "b"]}\n{"x": 2, "y": ["b", "c"]}\n'), {}),
    "csv cells": (io.StringIO("n,things\n1,a|b\n2,b|c\n"), {"item": "things"}),
    "csv quoted cells": (io.StringIO('n,things\n1,"a, b"\n2,"b, c"\n'), {"item": "things"}),
    "polars": (pl.DataFrame({"items": [["a", "b"], [], None, ["b", "c"]]}), {}),
    "polars arrays": (pl.DataFrame({"y": [["a", "b"], ["b", "c"]]}, schema={"y": pl.Array(pl.String, 2)}), {}),
    "pandas": (pd.DataFrame({"n": [1, 2], "y": [["a", "b"], ["b", "c"]]}), {}),
    "baskets": (LISTS, {}),
}


@pytest.mark.parametrize("name", LIST_SOURCES)
def test_one_list_a_row(name: str) -> None:
    source, options = LIST_SOURCES[name]
    if isinstance(source, io.StringIO):
        source.seek(0)
    got = read(source, **options)
    assert got == LISTS
    assert got._records is None


def test_lists_with_record_ids() -> None:
    expected = Baskets.from_lists([["a", "b"], ["c"]], ["7", "9"])
    text = '{"user": 7, "items": ["a", "b"]}\n{"user": 9.0, "items": ["c"]}\n'
    assert read(io.StringIO(text)) == expected
    assert read(pl.DataFrame({"user": [7.0, 9.0], "items": [["a", "b"], ["c"]]})) == expected
    assert read(pd.DataFrame({"user": [7, 9], "items": [["a", "b"], ["c"]]})) == expected


def test_matrices() -> None:
    dense = np.array([[1, 0, 1], [0, 1, 0]])
    assert read(dense) == read(csr_matrix(dense)) == Baskets.from_matrix(dense)
    assert read_report(dense)[1].format == "matrix"


def test_numbers_are_names_without_fraction() -> None:
    expected = ["12", "7"]
    assert list(read(pl.DataFrame({"user": [1.0, 1.0], "item": [12.0, 7.0]})).items) == expected
    assert list(read(pd.DataFrame({"user": [1, 1], "item": [12.0, 7.0]})).items) == expected
    nullable = pd.DataFrame({"user": pd.array([1, 1], dtype="Int64"), "item": [12, 7]})
    assert list(read(nullable).records) == ["1"]
    assert list(read(io.StringIO("[12.0, 7]\n")).items) == expected
    assert list(read([[12.0, np.float64(7)]]).items) == expected
    assert list(read(pl.DataFrame({"user": [1, 1], "item": [1.5, 2.0]})).items) == ["1.5", "2.0"]


def test_pairs_of_every_separator() -> None:
    expected = Baskets.from_lists([["x", "y"], ["x"]], ["1", "2"])
    for separator in (" ", "\t", ",", "::", ";", "|", "  \t "):
        text = f"# from to\r\n1{separator}x\r\n1{separator}y\r\n2{separator}x\r\n"
        baskets, report = read_report(io.StringIO(text, newline=""))
        assert baskets == expected, separator
        assert (report.format, report.comments, report.lines, report.header) == ("pairs", 1, 4, False)
    text = "9 x 1\n9 y 1\n9 x 2\n"
    assert read(io.StringIO(text), format="pairs", record=2, item=1) == expected


def test_encodings() -> None:
    expected = Baskets.from_lists([["café", "thé"], ["thé", "pain", "œuf"]])
    text = "café,thé\nthé,pain,œuf\n"
    for encoding in ("utf-8", "cp1252", "utf-16", "utf-8-sig", "UTF8"):
        data = io.BytesIO(text.encode(encoding))
        assert read(data, encoding=encoding if encoding != "utf-8-sig" else "utf-8") == expected


def test_several_compressed_members_and_padding() -> None:
    expected = Baskets.from_lists([["a", "b"], ["b", "c", "d"]])
    for pack in (gzip.compress, zstandard.compress):
        assert read(io.BytesIO(pack(b"a b\nb ") + pack(b"c d\n"))) == expected
    assert read(io.BytesIO(gzip.compress(b"a b\nb c d\n") + bytes(9000))) == expected


def test_quotes_newlines_and_comments_inside_csv() -> None:
    text = 'user,item\n1,plain\n# note "x\n1,"two\nlines"\n"#2","a ""b"", c"\n\n'
    baskets, report = read_report(io.StringIO(text))
    assert list(baskets) == [["plain", "two\nlines"], ['a "b", c']]
    assert list(baskets.records) == ["1", "#2"]
    assert (report.lines, report.comments, report.blank) == (7, 1, 1)


def test_names_are_stripped_and_repeats_counted() -> None:
    baskets, report = read_report(io.StringIO("1, a\n1 ,a\n2,\u00a0a\n"))
    assert list(baskets) == [["a"], ["a"]]
    assert report.duplicates == 1
    assert "left out: 1 duplicate" in str(report)


def test_comment_can_be_turned_off() -> None:
    assert list(read(io.StringIO("#x y\n#z\n"), comment=None)) == [["#x", "y"], ["#z"]]
    assert list(read(io.StringIO("%x y\n#z w v\n"), comment="%", format="lines")) == [["#z", "w", "v"]]


WIDE = " ".join("1" for _ in range(8))
GUESSES = [
    ("1 2\n3 4\n", "x.dat", "pairs", False, "two columns on the first 2 lines; if each line is one basket,"),
    ("1 2 3\n4 5\n6\n", "x.dat", "lines", False, "1 to 3 fields a line, parted by spaces; if it is a table,"),
    ("1 2 3\n4 5 1\n", "x.dat", "ratings", False, "3 columns on the first 2 lines, the third a number"),
    (f"{WIDE}\n{WIDE}\n", "x.dat", "wide", False, "8 columns on the first 2 lines, numbers"),
    (f"{WIDE}\n{WIDE}\n".replace(" ", ","), "x.csv", "wide", False, "8 columns on the first 2 lines, numbers"),
    ("a b c d e f g h\n" + f"{WIDE}\n" * 3, "x.txt", "wide", True, "taken as the header: 'a' stands above numbers"),
    ("u v\n1 2\n3 4\n", "x.txt", "pairs", True, "the first line is taken as the header: 'u' stands above numbers"),
    ("userId,movieId\n1,2\n", "x.txt", "csv", True, "columns by the header: record = userId, item = movieId"),
    ("OrderID,Customer,Product,Price\n1,2,x,y\n", "x.csv.gz", "csv", True, "record = OrderID, item = Product"),
    ("a,b\nc,d\n", "x.csv", "csv", False, "no header was found; if the first line is one, say --header"),
    ("a,b\nc,d,e\nf\n", "x.csv", "lines", False, "1 to 3 fields a line, parted by commas"),
    ("use::web|role::app|x\nrole::doc\nrole::lib|x\n", "x.txt", "lines", False, "1 to 3 fields a line, parted by bars"),
    ("1::2::3\n4::5\n6::7,8\n9::1::2\n", "x.txt", "lines", False, "parted by '::'"),
    ("a::b::c\nd::e\n", "x.txt", "lines", False, "2 to 3 fields a line, parted by '::'"),
    ("[1, 2]\n", "x.txt", "jsonl", False, "read as jsonl: the first line starts like JSON"),
    ("1;2,5;3,5\n2;3,5;4,5\n", "x.txt", "lines", False, "3 fields a line"),
    ("u1,2015-01-01 10:00 UTC\nu2,2015-01-01 10:00 UTC\n", "x.txt", "pairs", False, "two columns"),
    ("user,item,rating\n1,2,3\n", "x.csv", "csv", True, "column rating is not used; say --threshold"),
    ("1 2 3\n4 5 1\n", "x.dat", "ratings", False, "no threshold, so every rating counts"),
    (f"{WIDE}\n{WIDE}\n", "x.dat", "wide", False, "no threshold, so values > 0 count"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "format", "header", "note"), GUESSES)
def test_guesses_are_told(text: str, name: str, format: str, header: bool, note: str, tmp_path: Path) -> None:  # noqa: A002
    (tmp_path / name).write_text(text)
    report = read_report(tmp_path / name)[1]
    assert (report.format, report.header) == (format, header)
    assert note in " ".join(report.notes)
    assert format in FORMATS
    assert len(str(report).splitlines()) <= 3


BESIDE = {
    "quoted": 'basket,items\n1,"tea, mint,jam"\n2,"tea,mint"\n3,jam\n',
    "told": 'basket,items\n1,"tea, mint,jam"\n2,"tea,mint"\n3,jam\n',
    "bars": "user;friends\n1;tea|mint|jam\n2;tea|mint\n3;jam\n",
    "no header": '1,"tea,mint,jam"\n2,"tea,mint"\n3,"jam,"\n',
    "three columns": 'order,day,products\n1,Mon,"tea,mint,jam"\n2,Mon,"tea,mint"\n3,Tue,jam\n',
}


@pytest.mark.parametrize("which", BESIDE)
def test_a_list_in_each_row_beside_the_record(which: str) -> None:
    options = {"told": {"item": "items"}, "bars": {"format": "csv", "header": True}}.get(which, {})
    baskets, report = read_report(io.StringIO(BESIDE[which]), **options)
    assert (list(baskets), list(baskets.records)) == (
        [["tea", "mint", "jam"], ["tea", "mint"], ["jam"]],
        ["1", "2", "3"],
    )
    said = read(io.StringIO(BESIDE[which]), record=0, **options)
    assert said.lengths.tolist() == [1, 1, 1]
    assert "is one basket, parted by " + ("bars" if which == "bars" else "commas") in " ".join(report.notes)


@pytest.mark.parametrize(
    "head",
    [
        "order_id,basket",
        "id,basket",
        "order,basket",
        "customer,basket",
        "transaction,basket",
        "user,cart",
        "cart,basket",
    ],
)
def test_a_column_of_lists_holds_the_items_whatever_its_name(head: str) -> None:
    lists = [["tea", "mint"], ["tea", "milk"], ["jam", "milk", "mint"], ["jam"]]
    for records in ("0123", "1102"):  # each once, or one of them twice
        text = head + "\n" + "".join(f'{r},"{",".join(items)}"\n' for r, items in zip(records, lists, strict=True))
        baskets = read(io.StringIO(text))
        assert set(baskets.records) == set(records)
        assert set(baskets.items) == {"tea", "mint", "milk", "jam"}
    name, _, of_lists = head.partition(",")
    text = f'{of_lists},{name}\n"tea,mint",0\n"tea,milk",1\n"milk",2\n'
    assert list(read(io.StringIO(text)).records) == ["0", "1", "2"]
    texts = f'{head}\na,"tea,mint"\nb,"tea,milk"\nc,"milk"\n'
    assert head == "id,basket" or list(read(io.StringIO(texts)).records) == ["a", "b", "c"]
    tabs = f"{name}\t{of_lists}\n0\ttea,mint\n1\ttea,milk\n2\tmilk\n"
    assert list(read(io.StringIO(tabs)).items) == ["tea", "mint", "milk"]
    text = f'day,{head}\nMon,0,"tea,mint"\nMon,1,"tea,milk"\n'
    assert head == "id,basket" or list(read(io.StringIO(text)).records) == ["0", "1"]


def test_names_with_commas_are_records_where_the_items_are_named() -> None:
    for items in ("movie\n", "code\n"):
        text = f'user,{items}"Doe, Ann",7\n"Roe, Bob",7\n"Roe, Bob",8\n"Poe, Eve",8\n'
        assert list(read(io.StringIO(text)).items) == ["7", "8"]


def test_lists_that_come_again_are_lists_where_most_items_do() -> None:
    lists = [f"devel::{a},role::{b}" for a in "abcde" for b in "uvwxyz"] * 5
    text = "order,product\n" + "".join(f'{n},"{cell}"\n' for n, cell in enumerate(lists))
    baskets = read(io.StringIO(text))
    assert (baskets.n_items, baskets.lengths.tolist()) == (11, [2] * 150)


def test_lists_are_lists_though_most_hold_one_item() -> None:
    cells = ["tea", "mint", "tea,mint", "jam", "tea", "tea,jam"]
    barred = "order,basket\n" + "".join(f'{n},"x|y,{n % 3},z"\n{n + 3},"{n % 3},z"\n' for n in range(3))
    assert "x|y" in read(io.StringIO(barred)).items  # commas part most of them
    for head in ("order,basket", "order,product"):
        text = head + "\n" + "".join(f'{n},"{cell}"\n' for n, cell in enumerate(cells))
        assert list(map(set, read(io.StringIO(text)))) == [set(cell.split(",")) for cell in cells]


def test_lists_in_brackets() -> None:
    cells = ["['tea', 'egg, boiled']", "[]", "[\"jam's\", 'tea']", "[7, 'tea']", "['jam']"]
    rows = [(n, cell) for n, cell in enumerate(cells)]
    expected = [{"tea", "egg, boiled"}, {"jam's", "tea"}, {"7", "tea"}, {"jam"}]
    for options in ({}, {"item": "items"}):
        file = io.StringIO(pd.DataFrame(rows, columns=["order", "items"]).to_csv(index=False))
        baskets, report = read_report(file, **options)
        assert (list(map(set, baskets)), list(baskets.records), report.blank) == (expected, ["0", "2", "3", "4"], 1)
    alone = io.StringIO(pd.DataFrame(cells, columns=["items"]).to_csv(index=False))
    assert list(map(set, read(alone))) == expected


def test_a_single_column_of_quoted_lists() -> None:
    for text in ('items\n"tea, mint"\n"tea"\n', '"tea, mint"\n"tea"\n'):
        assert list(read(io.StringIO(text))) == [["tea", "mint"], ["tea"]]


@pytest.mark.parametrize(
    "text",
    [
        'user,movie\n1,"Birds, The"\n2,"Birds, The"\n3,"Birds, The"\n',  # by movie: no record twice
        'user,movie\n1,"Birds, The"\n1,"Sting, The"\n2,"Birds, The"\n',
        'user,movie\n1,"Birds, The"\n2,Alien\n3,Heat\n',
    ],
)
def test_titles_with_commas_are_no_lists(text: str) -> None:
    assert "Birds, The" in read(io.StringIO(text)).items


def test_a_list_without_its_record_is_named() -> None:
    with pytest.raises(InputError, match=r"line 3: an empty record name in ',tea,mint', expected a name"):
        read(io.StringIO('basket,items\n1,"tea,jam"\n,"tea,mint"\n'))


COLONS = {
    "header": ("order,product\n" + "1,std::map\n1,std::set\n2,std::map\n" * 20, ["std::map", "std::set"]),
    "no header": ("1,std::map\n1,std::set\n2,std::map\n", ["std::map", "std::set"]),
    "item first": ("std::map,1\nstd::set,1\nstd::map,2\n", ["1", "2"]),
    "twice": ("1,std::chrono::day\n1,std::chrono::year\n", ["std::chrono::day", "std::chrono::year"]),
    "blanks": ("1 std::map\n1 std::set\n", ["std::map", "std::set"]),
    "a number behind": ("1 std::map 4\n1 std::set 5\n2 std::map 5\n", ["std::map", "std::set"]),
    "baskets of two": ("lib::a lib::b\nlib::c lib::a\nlib::b lib::a\n", ["lib::b", "lib::a"]),
    "baskets": ("lib::a lib::b\nlib::c\nlib::b lib::a lib::c\n", ["lib::a", "lib::b", "lib::c"]),
    "baskets with commas": ("lib::a,lib::b\nlib::c\nlib::b,lib::a,x\n", ["lib::a", "lib::b", "lib::c", "x"]),
}


@pytest.mark.parametrize("which", COLONS)
def test_two_colons_inside_names_part_nothing(which: str) -> None:
    text, items = COLONS[which]
    assert list(read(io.StringIO(text)).items) == items


def test_two_colons_part_what_nothing_else_parts() -> None:
    for text in ("1::1193::5::978300760\n1::661::3::978302109\n2::661::4::978298413\n", "1::1193::4,5\n1::661::3,5\n",
                 "1::Star Wars\n1::Taxi Driver\n", "1::Star Wars::5\n1::Taxi Driver::4\n"):  # fmt: skip
        assert read_report(io.StringIO(text))[1].separator == "::"
    told = "two columns parted by commas on the first 2 lines"
    assert told in read_report(io.StringIO("1,std::map\n1,std::set\n"))[1].notes[0]


def test_two_colons_part_the_columns_of_a_table_with_bad_lines() -> None:
    ragged = "u1::Toy, The\nu1::Heat::x\nu2::Alien, 3\nu2::Heat\n"
    baskets = read(io.StringIO(ragged), format="pairs", skip_bad=True)
    assert {"Toy, The", "Alien, 3"} <= set(baskets.items)


def test_what_is_told_is_not_noted(tmp_path: Path) -> None:
    assert read_report(io.StringIO("1 2\n3 4\n"), format="lines")[1].notes == ()


def test_records_of_one_item_each_are_warned_of() -> None:
    alone, more = "1,a\n2,b\n3,c\n", "1,a\n2,b\n2,c\n"
    for source in (alone, [["a"], ["b"]], pl.DataFrame({"user": [1, 2], "item": ["a", "b"]}), np.eye(2)):
        report = read_report(io.StringIO(source) if isinstance(source, str) else source)[1]
        last = str(report).splitlines()[-1]
        assert last.startswith(
            "warning: no record has two items, so there is nothing to learn; say --record and --item"
        )
    assert "warning" not in str(read_report(io.StringIO(more))[1])
    assert read_rows(io.StringIO(alone), lambda piece: None, size=2)[1].warning is None  # to be completed


def test_bad_lines_in_a_long_table_do_not_make_it_lines() -> None:
    text = "1 2\n" * 50 + "1 2 3\n"
    assert read_report(io.StringIO(text), skip_bad=True)[1].format == "pairs"


def test_vocabulary_by_first_kept_appearance() -> None:
    text = "1,z,1\n1,y,5\n2,z,5\n0,q,1\n1,x,5\n"
    baskets = read(io.StringIO(text), threshold="> 1")
    assert list(baskets.items) == ["y", "z", "x"]
    assert list(baskets.records) == ["1", "2"]


def test_thresholds() -> None:
    text = "1,a,1\n1,b,2\n1,c,3\n"
    for threshold, kept in ((">= 2", "bc"), (">2", "c"), ("< 2", "a"), ("<= 2.0", "ab"), (Threshold(">", 0), "abc")):
        baskets, report = read_report(io.StringIO(text), threshold=threshold)
        assert "".join(baskets.items) == kept
        assert report.below_threshold == 3 - len(kept)


def test_wide_numbers_items_from_the_first_item_column() -> None:
    baskets = read(io.StringIO("2,99,1.5,-3\n1,4,99,\n"), format="wide", first=1, missing="99", threshold="> 0")
    assert list(baskets) == [["2"], ["1"]]


ITEMS = [f"i{n}" for n in range(1, 10)]


@pytest.mark.parametrize("name", ["order", "id", "ID", "order_id", "user_id", "customer_id", "", "Unnamed: 0", "what"])
@pytest.mark.parametrize("format", [None, "wide"])
def test_an_id_before_the_items_of_a_wide_table_is_no_item(name: str, format: str | None) -> None:  # noqa: A002
    for ids in (["7", "8", "9"], ["a7", "a8", "a9"], ["0.5", "1.5", "2"]):
        text = ",".join([name, *ITEMS]) + "\n" + "".join(f"{i},1,0,0,1,0,0,0,0,{i in ids[:1]:d}\n" for i in ids)
        baskets, report = read_report(io.StringIO(text), format=format)
        assert list(baskets) == [["i1", "i4", "i9"], ["i1", "i4"], ["i1", "i4"]]
        assert list(baskets.records) == ids
        column = f"the first column {name}".strip()
        assert f"{column} names the records and is no item" in report.notes


def test_a_small_table_of_zeros_and_ones_with_an_index() -> None:
    frame = pd.DataFrame([[1, 0, 1], [0, 1, 1], [1, 1, 0]], columns=["tea", "jam", "milk"])
    for label in (None, "order_id"):
        baskets = read(io.StringIO(frame.to_csv(index_label=label)))
        assert list(map(set, baskets)) == [{"tea", "milk"}, {"jam", "milk"}, {"tea", "jam"}]


def test_an_item_with_the_name_of_a_column_leaves_a_wide_table_wide() -> None:
    text = ",".join(["order", *ITEMS, "book"]) + "\n" + "1,1,0,0,1,0,0,0,0,1,1\n2,1,0,0,1,0,0,0,0,1,0\n"
    assert list(read(io.StringIO(text))) == [["i1", "i4", "i9", "book"], ["i1", "i4", "i9"]]


def test_a_first_item_is_not_taken_for_an_id() -> None:
    body = "0,1,0,0,1,0,0,0,1\n1,1,0,0,1,0,0,0,0\n"
    for head in ("", ",".join(["milk", *ITEMS[1:]]) + "\n"):
        assert read(io.StringIO(head + body)).lengths.tolist() == [3, 3]
    user = ",".join(["user", *ITEMS[1:]]) + "\n" + body + body  # words as items, and one of them is "user"
    assert "user" in read(io.StringIO(user)).items
    counts = "茶," + ",".join(ITEMS[1:]) + "\n2,1,0,0,1,0,0,0,0\n3,1,0,5,1,0,0,0,0\n"
    assert "茶" in read(io.StringIO(counts)).items
    assert read(io.StringIO("3,99,4,7,1,2,3,4\n2,1,99,3,1,1,1,1\n")).n_items == 8  # ratings: no one-hot table


def test_very_wide() -> None:
    width = 100_001
    line = ",".join(["0"] * (width - 1) + ["1"])
    assert list(read(io.StringIO(f"{line}\n{line}\n"), format="wide")) == [[str(width)], [str(width)]]


def test_standard_input(tmp_path: Path) -> None:
    code = "from cooccur.reading import read; print(list(read('-', format='lines')))"
    run = subprocess.run(
        [sys.executable, "-c", code], input=gzip.compress(b"a b\nc\n"), capture_output=True, check=True
    )
    assert run.stdout.decode().strip() == "[['a', 'b'], ['c']]"


def test_import_is_light() -> None:
    heavy = ("polars", "pandas", "scipy", "zstandard")
    code = f"import sys, cooccur.reading; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"[]"


# -- any records, written in each format, come back ---------------------------------------------------

plain = st.text(st.sampled_from("abcXYZ019_-.é漢"), min_size=1, max_size=4)
rich = st.text(st.sampled_from("abc 019\"',;|#\n\té漢😀"), min_size=1, max_size=6).map(str.strip).filter(bool)


def records(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, list[str]]]]:
    one = st.tuples(names, st.lists(names, min_size=1, max_size=5, unique=True))
    return st.lists(one, min_size=1, max_size=8, unique_by=lambda record: record[0])


def baskets_of(data: list[tuple[str, list[str]]], *, ids: bool = True) -> Baskets:
    return Baskets.from_lists([items for _, items in data], [record for record, _ in data] if ids else None)


@settings(max_examples=60, deadline=None)
@given(records(plain), st.sampled_from([" ", "\t", ",", ";", "|", "::"]), st.integers(1, 64))
def test_round_trip_of_lines_and_pairs(data: list[tuple[str, list[str]]], separator: str, block: int) -> None:
    lines = "".join(separator.join(items) + "\n" for _, items in data)
    got, _ = read_report(io.StringIO(lines), format="lines", separator=separator, _block=block)
    assert got == baskets_of(data, ids=False)
    pairs = "".join(f"{record}{separator}{item}\n" for record, items in data for item in items)
    got, _ = read_report(io.StringIO(pairs), format="pairs", separator=separator, header=False, _block=block)
    assert got == baskets_of(data)


@settings(max_examples=60, deadline=None)
@given(records(rich), st.sampled_from(",;\t|"), st.booleans(), st.integers(1, 64))
def test_round_trip_of_csv(data: list[tuple[str, list[str]]], separator: str, quote_all: bool, block: int) -> None:
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator="\r\n")
    writer.writerow(["user", "item"])
    writer.writerows((record, item) for record, items in data for item in items)
    # a name that starts with "#" and is not quoted would be a comment
    options: dict[str, Any] = {"format": "csv", "separator": separator, "comment": None, "record": "user"}
    got, report = read_report(io.StringIO(text.getvalue(), newline=""), _block=block, **options)
    assert got == baskets_of(data)
    assert report == read_report(io.StringIO(text.getvalue(), newline=""), **options)[1]


@settings(max_examples=40, deadline=None)
@given(records(rich), st.integers(1, 64))
def test_round_trip_of_jsonl_and_frames(data: list[tuple[str, list[str]]], block: int) -> None:
    lists = "".join(json.dumps({"user": record, "items": items}) + "\n" for record, items in data)
    assert read_report(io.StringIO(lists), format="jsonl", _block=block)[0] == baskets_of(data)
    bare = "".join(json.dumps(items, ensure_ascii=False) + "\n" for _, items in data)
    assert read_report(io.StringIO(bare), format="jsonl", _block=block)[0] == baskets_of(data, ids=False)
    long = [(record, item) for record, items in data for item in items]
    frame = pl.DataFrame(long, schema=["user", "item"], orient="row")
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    parquet.seek(0)
    pandas = pd.DataFrame(long, columns=["user", "item"])
    assert read(frame) == read(parquet) == read(pandas) == baskets_of(data)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from(["", "99", "-1.5", "0", "2", " 3e0 "]), min_size=width, max_size=width),
            min_size=1,
            max_size=8,
        )
    ),
    st.integers(1, 64),
)
def test_wide_keeps_what_passes(cells: list[list[str]], block: int) -> None:
    kept = [[str(i) for i, cell in enumerate(row, 1) if cell.strip() in ("2", "3e0")] for row in cells]
    text = "id," + "," * (len(cells[0]) - 1) + "\n" + "".join(f"r{n},{','.join(row)}\n" for n, row in enumerate(cells))
    text = text.partition("\n")[2]
    options: dict[str, Any] = {"format": "wide", "separator": ",", "header": False, "record": 0, "missing": "99"}
    if not any(kept):
        return
    got, report = read_report(io.StringIO(text), threshold="> 1", _block=block, **options)
    assert {record: set(items) for record, items in zip(got.records, got, strict=True)} == {
        f"r{n}": set(items) for n, items in enumerate(kept) if items
    }
    present = sum(cell not in ("", "99") for row in cells for cell in row)
    assert report.below_threshold == present - got.nnz


# -- real data ----------------------------------------------------------------------------------------

REAL = [
    ("retail/retail.dat.gz", {}, (88_162, 16_470, 908_576)),
    ("epinions/soc-Epinions1.txt.gz", {}, (60_341, 51_957, 508_837)),
    ("ml-1m/ratings.dat.gz", {"threshold": ">= 4"}, (6_038, 3_533, 575_281)),
    ("jester/jester-data-1.csv.gz", {"format": "wide", "first": 1, "missing": "99", "threshold": "> 0"},
     (24_913, 100, 1_077_115)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "counts"), REAL, ids=[name for name, *_ in REAL])
def test_real_data(name: str, options: dict[str, Any], counts: tuple[int, int, int]) -> None:
    if "COOCCUR_DATA" not in os.environ:
        pytest.skip("set COOCCUR_DATA to the folder of the real datasets")
    baskets, report = read_report(Path(os.environ["COOCCUR_DATA"]) / name, **options)
    assert (len(baskets), baskets.n_items, baskets.nnz) == counts
    assert (report.records, report.items, report.occurrences) == counts
    assert report.skipped == 0
