"""Titles: read from a table, kept in the model file, typed and shown in place of names."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cooccur
from cooccur.cli import main
from cooccur.cli.suggestions import Axis, parts
from cooccur.errors import InputError, ModelFileError
from cooccur.models.answers import Reason
from cooccur.models.base import Model
from cooccur.search import Search
from cooccur.titles import Title, Titles, dataset_titles, read_titles

TABLE = {"1": Title("Toy Story (1995)", "Animation"), "2": Title("Jumanji (1995)", ""), "3": Title("", "Drama")}
MOVIES = [["1", "2", "7"], ["1", "2"], ["1", "3"], ["1", "2", "3"]] * 20


def written(path: Path) -> Path:
    frame = pl.DataFrame({
        "movieId": [int(i) for i in TABLE], "title": [t.title for t in TABLE.values()],
        "genres": [t.group or None for t in TABLE.values()],
    })  # fmt: skip
    match path.suffixes[0]:
        case ".csv":
            path.write_text(frame.write_csv())
        case ".tsv":
            frame.write_csv(path, separator="\t")
        case ".jsonl":
            frame.write_ndjson(path)
        case ".parquet":
            frame.write_parquet(path)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz"])
def test_every_form_says_the_same(ending: str, tmp_path: Path) -> None:
    found = read_titles(written(tmp_path / f"movies{ending}"))
    assert dict(found) == TABLE
    assert found.title("3") == "3"
    assert (found.group("3"), found.group("9")) == ("Drama", "")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("product_id,product_name,category_name", ("a", "b", "c")),
        ("Genre,Title,ID", ("c", "b", "a")),
        ("sku,name", ("a", "b", "")),
        ("when,item,department", ("b", "", "c")),
        ("id,id_of_shop,label", ("a", "c", "")),
    ],
)
def test_columns_by_usual_names(header: str, expected: tuple[str, str, str]) -> None:
    row = ",".join("abc"[: header.count(",") + 1])
    (item, title), *_ = read_titles(io.StringIO(f"{header}\n{row}\n")).items()
    assert (item, *title) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("id,title\n", "no title is in it; expected the columns id, title, group"),
        ("a,b\n1,2\n", "no column looks like the id; the columns are a, b; name the first line id, title, group"),
        ("id,title\n1,A\n1,B\n", "line 3: the id '1' is called 'B' here and 'A' before; keep one of them"),
        ("id,title\n ,A\n", "line 2: the id is empty"),
        ("id,title\n1,A,B\n", "line 2: 3 fields, expected 2; put quotes around a title that holds the separator"),
        ('id,title\n1,"A\n', "check the quotes"),
        ('{"id": 1, "title": "A"}\n[1]\n', 'line 2: no JSON object; expected {"id": ..., "title": ...}'),
        ('{"id": [1]}\n', "line 1: the id is empty"),
        ("id\0,title\n", "a NUL byte"),
        ("PAR1 and no more", "damaged parquet data"),
    ],
)
def test_bad_tables_name_line_and_remedy(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        read_titles(io.StringIO(text))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_the_same_row_twice_is_no_contradiction() -> None:
    assert len(read_titles(io.StringIO("id,title\n1,A\n\n1, A\n"))) == 1


@pytest.fixture(scope="module")
def model() -> Model:
    model = cooccur.make_model("lwcvg").fit(MOVIES)
    model.titles_ = Titles({**TABLE, "99": "not in the model"})
    return model


def test_the_file_keeps_titles(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "a.model")
    loaded = cooccur.load(tmp_path / "a.model")
    for item in model.items_:
        assert (loaded.titles_.title(item), loaded.titles_.group(item)) == (
            model.titles_.title(item), model.titles_.group(item),
        )  # fmt: skip
    assert "99" not in loaded.titles_
    first = loaded.complete(["1"], 1).suggestions[0]
    assert (first.item, first.title) == ("2", "Jumanji (1995)")
    assert loaded.complete(["1"]).items == model.complete(["1"]).items


def test_a_file_without_titles_has_none(tmp_path: Path) -> None:
    cooccur.make_model("popularity").fit(MOVIES).save(tmp_path / "a.model")
    loaded = cooccur.load(tmp_path / "a.model")
    assert len(loaded.titles_) == 0
    assert loaded.complete([]).suggestions[0].title == ""


def test_too_few_titles_in_a_file_are_an_error(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cooccur import storage

    pack = storage._pack
    monkeypatch.setattr(storage, "_pack", lambda names: pack(list(names)[: 4 if names is model.items_ else 3]))
    model.save(tmp_path / "a.model")
    with pytest.raises(ModelFileError, match="damaged model file"):
        cooccur.load(tmp_path / "a.model")


# -- finding ------------------------------------------------------------------------------------------


def test_an_item_by_name_title_and_case(model: Model) -> None:
    search = Search(model)
    assert [search.item(typed) for typed in ("1", "Toy Story (1995)", " toy  STORY (1995)", "7")] == [
        "1",
        "1",
        "1",
        "7",
    ]
    with pytest.raises(InputError, match=r"unknown item 'Tuy Story'; did you mean 'Toy Story \(1995\)'\?"):
        search.item("Tuy Story")


def test_one_title_for_two_items() -> None:
    model = cooccur.make_model("popularity").fit([["a", "b", "c", "d"]])
    model.titles_ = Titles({"a": "Hamlet", "b": "Hamlet", "c": "HAMLET", "d": "a"})
    search = Search(model)
    with pytest.raises(InputError, match="'Hamlet' is the title of 2 items; say which by its name, 'a' or 'b'"):
        search.item("Hamlet")
    with pytest.raises(InputError, match="3 items"):
        search.item("hamlet")
    assert search.item("HAMLET") == "c"
    assert search.item("a") == "a"
    for item in model.items_:
        assert search.item(search.spelled(item)) == item


def test_what_begins_so_comes_first_then_words_then_the_rest() -> None:
    names = ["oat milk", "milk", "buttermilk", "milk chocolate", "tea", "silk (milk)"]
    model = cooccur.make_model("popularity").fit([names, ["milk chocolate"], ["buttermilk"], ["buttermilk"]])
    found = Search(model).starting("MILK")
    assert found[:2] == ["milk chocolate", "milk"]  # the more frequent first
    assert set(found[2:4]) == {"oat milk", "silk (milk)"}
    assert found[4:] == ["buttermilk"]
    assert Search(model).starting("MILK", 1) == ["milk chocolate"]
    assert len(Search(model).starting("")) == 6
    assert Search(model).starting(".*") == []


def test_every_item_is_found_by_every_part_of_its_title() -> None:
    rng = np.random.default_rng(0)
    letters = np.array([*"ab (c"])
    titles = {str(i): "x" + "".join(rng.choice(letters, 5)) + "y" for i in range(200)}
    model = cooccur.make_model("popularity").fit([list(titles)])
    model.titles_ = Titles(titles)
    search = Search(model)
    for part in ("xa", "b", "(", "cy", "17", "c b"):
        wanted = {i for i, t in titles.items() if part in " ".join(t.split()) or part in i}
        assert set(search.starting(part, 1000)) == wanted, part


# -- the command line ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("movies")
    (folder / "likes.txt").write_text("\n".join(" ".join(likes) for likes in MOVIES) + "\n")
    written(folder / "movies.csv")
    arguments = ["fit", "likes.txt", "--format", "lines", "-m", "lwcvg", "-o", "movies.model", "--titles", "movies.csv"]
    assert main([str(folder / a) if (folder / a).exists() or a.endswith("model") else a for a in arguments]) == 0
    return folder


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_name_and_title(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "complete", str(files / "movies.model"), "toy story (1995)", "zzz", "--explain", "-k", "2")
    assert (found["basket"], found["titles"], found["unknown"]) == (["1"], ["Toy Story (1995)"], ["zzz"])
    assert [(s["item"], s["title"]) for s in found["suggestions"]] == [("2", "Jumanji (1995)"), ("3", "3")]
    assert found["suggestions"][0]["reason"]["shares"][0]["title"] == "Toy Story (1995)"
    found = asked(capsys, "similar", str(files / "movies.model"), "Jumanji (1995)", "-k", "1")
    assert (found["item"], found["title"]) == ("2", "Jumanji (1995)")


def test_titles_are_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", str(files / "movies.model"), "1", "--explain"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Toy Story (1995) · score")
    assert "1  Jumanji (1995)" in out
    assert "because of Toy Story (1995)" in out
    assert main(["similar", str(files / "movies.model"), "1"]) == 0
    assert "Jumanji (1995)" in capsys.readouterr().out


def test_titles_that_fit_no_item(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "other.csv").write_text("id,title\nx,Ex\n")
    fit = ["fit", str(files / "likes.txt"), "--format", "lines", "-m", "cvg", "-o", str(files / "other.model")]
    assert main([*fit, "--titles", str(files / "other.csv")]) == 2
    assert "no id of 1 is an item of the data: an id is 'x', an item '1'" in capsys.readouterr().err
    (files / "other.csv").write_text("id,title\nx,Ex\n1,One\n")
    assert main([*fit, "--titles", str(files / "other.csv")]) == 0
    err = capsys.readouterr().err
    assert "3 of 4 items have no title" in err
    assert "1 of 2 titles are of items that are not in the data" in err
    assert main([*fit, "--titles", str(files / "nothing.csv")]) == 2


def test_a_dataset_brings_its_titles(tmp_path: Path) -> None:
    (tmp_path / "movies.dat").write_bytes("1::Léon (1994)::Crime|Drama\n".encode("latin-1"))
    (tmp_path / "jester-jokes.csv").write_text('joke_id,text\n5,"Knock, knock.\nWho is there? ' + "Joe " * 50 + '"\n')
    assert dict(dataset_titles("ml-1m", tmp_path)) == {"1": Title("Léon (1994)", "Crime")}
    joke = dataset_titles("jester", tmp_path)["5"].title
    assert joke.startswith("Knock, knock. Who is there? Joe")
    assert len(joke) <= 80
    assert joke.endswith("…")


# -- reasons as bars ----------------------------------------------------------------------------------


def test_the_parts_add_up_to_the_score() -> None:
    shares = tuple((f"item {i}", 1.0 / (i + 1)) for i in range(12))
    reason = Reason("x", 0.7 + sum(s for _, s in shares) - 3, -3.0, shares, 0.7)
    found = parts(reason)
    assert sum(value for _, value in found) == pytest.approx(reason.score)
    assert [words for words, _ in found] == [
        "by itself", *(f"because of item {i}" for i in range(5)), "because of 7 others", "the items together",
    ]  # fmt: skip


def test_who_is_strong_in_combination() -> None:
    hidden = (("flour", 2.0), ("eggs", 1.5), ("tea", 0.1))
    reason = Reason("syrup", 3.0, -1.0, (), 4.0, hidden)
    assert parts(reason)[-1] == ("the items together, flour and eggs above all", 4.0)
    assert parts(reason, width=20)[-1] == ("the items together", 4.0)


def test_bars_are_to_scale_and_fit() -> None:
    for low, high in ((-3.0, 1.0), (-1.0, 0.0), (0.0, 2.0), (-0.001, 5.0), (-5.0, 0.001), (0.0, 0.0)):
        axis = Axis(low, high, 40)
        for value in (low, high, low / 2, high / 2):
            drawn = axis.bar(value).plain
            left, right = drawn.split("│")
            assert len(drawn) <= 40
            assert len(left) == axis.left
            ink = left if value < 0 else right
            assert abs(len(ink.strip()) - abs(value) * axis.scale) <= 1
            assert not (right if value < 0 else left).strip()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_reasons_fit_the_terminal(
    columns: int, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["complete", str(files / "movies.model"), "1", "2", "7", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    axes = {line.index("│") for line in lines if "│" in line}
    assert len(axes) == 1
    assert "\x1b" not in "".join(lines)
