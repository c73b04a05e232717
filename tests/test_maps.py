"""The map: what lies close, that it is the same each time, which names are shown, and the files."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooccur import drawing, maps
from cooccur.cli import main
from cooccur.drawing import place_labels
from cooccur.errors import CooccurError
from cooccur.maps import Map, make_map
from cooccur.models import make_model
from cooccur.reproduce.movies import nearest
from cooccur.synthetic import planted_shop

STATIC = Path(maps.__file__).parent / "serve" / "static"


def topics(groups: int = 4, size: int = 12, records: int = 600) -> list[list[str]]:
    """Records that stay within a topic: items of one name's first letter go together."""
    rng = np.random.default_rng(0)
    return [
        [f"{'abcdefgh'[topic]}{item}" for item in rng.choice(size, 4, replace=False)]
        for topic in rng.integers(0, groups, records)
    ]


def purity(made: Map) -> float:
    """The share of the five nearest neighbours in the map that are of the same topic."""
    topic = np.array([item[0] for item in made.items])
    return float((topic[nearest(made.xy.astype(float), 5)] == topic[:, None]).mean())


@pytest.mark.parametrize("spec", ["lwcvg", "ease", "mmmf:factors=8", "itemknn"])
def test_what_goes_together_lies_close(spec: str) -> None:
    made = make_map(make_model(spec).fit(topics()))
    assert made.xy.shape == (48, 2)
    assert made.xy.dtype == np.float32
    assert np.abs(made.xy).max() == 1
    assert purity(made) > 0.9


def test_the_same_model_and_seed_give_the_same_map() -> None:
    model = make_model("lwcvg").fit(topics())
    one, again, other = (make_map(model, seed=seed).xy for seed in (0, 0, 5))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_hidden_layers_bring_their_own_vectors() -> None:
    model = make_model("lwcvg").fit(topics())
    model.R_ = np.eye(48)[:, :7]  # type: ignore[attr-defined]
    assert np.array_equal(maps.vectors(model), np.eye(48)[:, :7])
    model.R_ = np.zeros((48, 0))  # type: ignore[attr-defined]  # a DEM without hidden layers
    assert maps.vectors(model).shape == (48, 47)


@pytest.mark.parametrize("records", [[["a", "b"]], [["a", "b"], ["a", "c"]], [["a", "b", "c"], ["d", "e"]]])
def test_a_handful_of_items(records: list[list[str]]) -> None:
    made = make_map(make_model("cvg").fit([*records, ["a", "b"]]))
    assert np.isfinite(made.xy).all()


@pytest.mark.parametrize("spec", ["popularity", "independent"])
def test_a_model_without_pairs_has_no_map(spec: str) -> None:
    with pytest.raises(CooccurError, match="sees every item by itself"):
        make_map(make_model(spec).fit(topics()))


def test_progress_rises_to_the_end() -> None:
    told: list[float] = []
    make_map(make_model("lwcvg").fit(topics()), progress=lambda share, words: told.append(share))
    assert told == sorted(told)
    assert told[-1] == 1


# -- names ------------------------------------------------------------------------------------------

boxes = st.lists(
    st.tuples(st.floats(0, 400, width=32), st.floats(0, 300, width=32), st.floats(1, 150, width=32)), max_size=60
)


@given(boxes, st.integers(0, 40))
def test_no_name_covers_another_or_leaves_the_picture(given: list[tuple[float, float, float]], limit: int) -> None:
    places, widths = [(x, y) for x, y, _ in given], [width for *_, width in given]
    shown = place_labels(np.reshape(places, (-1, 2)), widths, 10, (400, 300), limit=limit)
    assert len(shown) <= limit
    rectangles = [(left, top, left + widths[number], top + 10) for number, left, top in shown]
    for at, a in enumerate(rectangles):
        assert 0 <= a[0] <= a[2] <= 400
        assert 0 <= a[1] <= a[3] <= 300
        for b in rectangles[:at]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_the_first_names_win() -> None:
    crowd = np.tile([[200.0, 150.0]], (50, 1))
    assert [number for number, *_ in place_labels(crowd, [80.0] * 50, 10, (400, 300))] == [0, 1, 2, 3]


def test_page_and_print_have_the_same_colours() -> None:
    script = (STATIC / "map.js").read_text()
    named = re.search(r"PALETTE = \[(.*?)\]", script, re.S)
    assert named is not None
    assert tuple(re.findall(r"#\w{6}", named[1])) == drawing.PALETTE


# -- files ------------------------------------------------------------------------------------------

AWKWARD = ["</script><script>alert(1)</script>", "$x^$ & <b>", "a\x00b", "寿司 \U0001f363", "/*DATA*/", "\ud800"]


@pytest.fixture
def awkward() -> tuple[Map, dict[str, tuple[str, str | None]]]:
    n = len(AWKWARD)
    angle = np.linspace(0, 6, n)
    items = np.array([str(at) for at in range(n)], dtype=object)
    made = Map(np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32), items, np.arange(n) + 1, 3)
    return made, {str(at): (title, "$group$" if at else None) for at, title in enumerate(AWKWARD)}


def test_awkward_titles_stay_text(tmp_path: Path, awkward: tuple[Map, dict[str, tuple[str, str | None]]]) -> None:
    made, titles = awkward
    for name in ("a.html", "a.svg", "a.png"):
        made.write(tmp_path / name, titles, heading="<h1> & $x")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    [data] = re.findall(r'id="data">(.*?)</script>', page)
    assert json.loads(data)["title"] == AWKWARD
    assert not re.search(r"/\*(DATA|STYLE|SCRIPT)\*/", page.replace(data, ""))
    assert not re.search(r"""(src|href)=["'](?!data:,)|https?://|@import|url\(""", page.replace(data, ""))
    text = "".join(ET.parse(tmp_path / "a.svg").getroot().itertext())
    assert "$x^$ & <b>" in text
    assert "寿司" in text
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_is_the_same_each_time(tmp_path: Path) -> None:
    make_model("lwcvg").fit(planted_shop().sample(500)).save(tmp_path / "shop.model")
    for ending in ("html", "svg", "png"):
        for name in ("a", "b"):
            output = tmp_path / f"{name}.{ending}"
            assert main(["map", str(tmp_path / "shop.model"), "-o", str(output), "--labels", "10"]) == 0
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    texts = re.findall(r"<text\b", (tmp_path / "a.svg").read_text())
    assert len(texts) == 10 + 1  # the names and the heading


def test_the_command_says_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, output = tmp_path / "shop.model", tmp_path / "map.html"
    make_model("lwcvg").fit(planted_shop().sample(500)).save(model)
    assert main(["map", str(model), "-o", str(output), "--json", "--seed", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["items"] == 40
    assert found["seed"] == 3
    assert found["bytes"] == output.stat().st_size


def test_the_commands_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "shop.model"
    make_model("popularity").fit(planted_shop().sample(100)).save(model)
    assert main(["map", str(model), "-o", str(tmp_path / "map.gif")]) == 2
    assert "use one of .html .png .svg" in capsys.readouterr().err
    assert main(["map", str(model), "-o", str(tmp_path / "map.html")]) == 2
    assert "sees every item by itself" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["shop.model"]
