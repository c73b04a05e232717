"""Results in a notebook and as frames."""

from __future__ import annotations

import builtins
import json
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

import cooccur
from cooccur.baskets import Baskets
from cooccur.errors import CooccurError, NotFittedError
from cooccur.evaluation.protocol import evaluate
from cooccur.evaluation.report import render
from cooccur.models.base import Model
from cooccur.notebook import Evaluation
from cooccur.titles import Titles

EVIL = '<script>alert("&")</script>'
SHOP = Baskets.from_lists([["milk", EVIL], ["milk", EVIL, "tea"], ["tea", "mint"], ["milk"]] * 10)


@pytest.fixture(scope="module")
def model() -> Model:
    model = cooccur.make_model("independent").fit(SHOP)
    model.titles_ = Titles({"tea": (f"Green {EVIL}", "drinks")})
    return model


@pytest.fixture(scope="module")
def result() -> Evaluation:
    return evaluate(SHOP, ["popularity", "cvg"], folds=2)


class Page(HTMLParser):
    """Checks that what is opened is closed, and keeps the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.tags: set[str] = set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_whole_and_harmless(model: Model, result: Evaluation) -> None:
    shown = {
        "completion": model.complete(["milk", EVIL]),
        "no probabilities": cooccur.make_model("cvg").fit(SHOP).complete(["milk"]),
        "nothing": model.complete(list(SHOP.items)),
        "reason": model.explain([EVIL], "tea"),
        "batch": model.complete_batch([["milk"]] * 30),
        "baskets": SHOP,
        "model": model,
        "evaluation": result,
        "not fitted": cooccur.make_model("dem"),
    }
    pages = {}
    for what, thing in shown.items():
        page = pages[what] = Page(thing._repr_html_())  # type: ignore[attr-defined]
        assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "div", "p", "b"}, what
    for what in ("completion", "reason", "batch", "baskets"):
        assert EVIL in pages[what].text, what
    assert f"Green {EVIL}" in pages["reason"].text
    assert "and 20 more" in pages["batch"].text
    assert "and 30 more" in pages["baskets"].text
    assert "has not learned yet" in pages["not fitted"].text
    assert "cvg" in pages["evaluation"].text
    assert "b" in pages["evaluation"].tags  # the best figure


def test_no_colour_of_text_or_page_is_set(model: Model) -> None:
    html = model.explain(["milk"], "tea")._repr_html_()
    assert "color:#" not in html
    assert "background:#fff" not in html


def test_frames_agree_with_the_results(model: Model, result: Evaluation) -> None:
    found = model.complete(["milk"], 3)
    frame = found.to_polars()
    assert frame.columns == ["rank", "item", "title", "score", "probability"]
    assert frame["item"].to_list() == found.items
    assert frame["title"].to_list() == [model.titles_.title(item) for item in found.items]
    reason = model.explain(["milk", "tea"], "mint")
    assert reason.to_polars()["share"].sum() == pytest.approx(reason.score)
    batch = model.complete_batch([["milk"], ["tea", "mint"]], 3).to_polars()
    assert batch.filter(pl.col("record") == 0)["item"].to_list() == found.items
    assert Baskets.from_lists([["a", "b"], [], ["b"]]).to_polars().rows() == [("0", "a"), ("0", "b"), ("2", "b")]
    assert cooccur.read(SHOP.to_polars()) == SHOP
    items = model.to_polars()
    assert dict(zip(items["item"], items["records"], strict=True)) == {"milk": 30, EVIL: 20, "tea": 20, "mint": 10}
    rows = result.to_polars()
    assert rows["label"].to_list() == ["popularity", "cvg"] * 2
    assert rows["top1"].to_list() == [row["top1"] for row in result["rows"]]


def test_pandas_says_the_same(model: Model, result: Evaluation) -> None:
    batch = model.complete_batch([["milk"], ["tea"]], 2)
    for thing in (model.complete(["milk"]), model.explain(["milk"], "tea"), batch, SHOP, model, result):
        pandas, polars = thing.to_pandas(), thing.to_polars()
        assert list(pandas.columns) == polars.columns
        for name in polars.columns:
            values = pandas[name].astype(object).where(pandas[name].notna(), None).tolist()
            assert values == polars[name].to_list(), name


def test_pandas_is_optional(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CooccurError, match="pip install pandas"):
        model.complete([]).to_pandas()


def test_an_evaluation_is_still_plain_json(result: Evaluation) -> None:
    assert json.loads(json.dumps(result)) == result
    assert json.loads(render(result, "json"))["rows"] == result["rows"]


def test_a_model_that_has_not_learned_has_no_items() -> None:
    with pytest.raises(NotFittedError):
        cooccur.make_model("ease").to_polars()
