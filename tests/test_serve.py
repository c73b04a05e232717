"""The service: what it answers, what it refuses, and how it lives and ends. Real processes for what only they show."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
from client import Client
from cooccur.cli import main
from cooccur.index import Index, edits, fold
from cooccur.models import make_model
from cooccur.models.base import Model
from cooccur.models.dem import Dem
from cooccur.serve import schemas
from cooccur.serve.app import create_app
from cooccur.serve.limits import Limits
from cooccur.serve.state import Keeper
from cooccur.storage import load, save

RUN = [sys.executable, "-c", "import sys; from cooccur.cli import main; sys.exit(main())"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
NAMES = [f"{kind} {number}" for kind in ("tea", "cup", "milk", "sugar") for number in range(10)]
TITLES = {"tea 0": ("Earl Grey", "drinks"), "cup 1": ("Cup with a rose", None)}


def small_dem(seed: int = 0, names: list[str] = NAMES) -> Dem:
    """Random weights; nothing is learned, so torch is not needed."""
    rng = np.random.default_rng(seed)
    model, n, width = Dem(hidden="4"), len(names), 4
    model.items_ = make_model("popularity").fit([names]).items_
    model.frequencies_ = np.arange(n, 0, -1)
    model.n_records_, model.fingerprint_, model.calibration_ = 100, f"{seed:064d}", None
    pairs = rng.normal(size=(n, n)).astype(np.float32)
    model.starts_ = np.arange(n + 1) * n
    model.columns_, model.weights_ = np.tile(np.arange(n, dtype=np.int32), n), pairs.ravel()
    model.b_, model.strengths_ = rng.normal(size=n).astype(np.float32), np.ones(1, dtype=np.float32)
    model.E_, model.R_ = (rng.normal(size=(n, width)).astype(np.float32) for _ in range(2))
    model.layers_, model.sizes_ = np.zeros(width, dtype=np.float32), np.array([width])
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save(small_dem(), folder / "dem.model")
    save(make_model("cvg").fit([["a", "b", "c"], ["a", "b"], ["b", "d"]]), folder / "cvg.model")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder / "dem.model")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    with Client(create_app(folder / "dem.model", titles=TITLES)) as client:
        yield client


def problem(response: Any, status: int, code: str) -> dict[str, str]:
    assert response.status_code == status, response.text
    document = response.json()
    assert set(document) == {"error"}
    assert set(document["error"]) == {"code", "message", "remedy"}
    assert document["error"]["code"] == code
    assert all(document["error"].values())
    found: dict[str, str] = document["error"]
    return found


# -- what it answers ----------------------------------------------------------------------------------


def test_complete_is_what_the_library_says(client: Client, model: Model) -> None:
    asked = {"basket": ["tea 0", "nothing", "cup 1", "tea 0"], "k": 5}
    found = client.post("/api/v1/complete", json=asked).json()
    schemas.Completed.model_validate(found)
    wanted = model.complete(asked["basket"], 5)
    assert [(s["id"], s["score"], s["probability"], s["rank"]) for s in found["suggestions"]] == [
        (s.item, s.score, s.probability, rank) for rank, s in enumerate(wanted, 1)
    ]
    assert found["basket"] == [
        {"id": "tea 0", "title": "Earl Grey", "group": "drinks"},
        {"id": "cup 1", "title": "Cup with a rose", "group": None},
    ]
    assert found["unknown"] == ["nothing"]
    assert (found["model"], found["score_is"]) == ("dem", "log-odds given the basket")


def test_candidates_exclude_and_the_least_probability(client: Client, model: Model) -> None:
    def ask(**more: Any) -> dict[str, Any]:
        found: dict[str, Any] = client.post("/api/v1/complete", json={"basket": ["tea 1"], **more}).json()
        return found

    ids = lambda found: [s["id"] for s in found["suggestions"]]  # noqa: E731
    found = ask(candidates=["cup 3", "milk 2", "strange"], exclude=["milk 2", "stranger"])
    assert ids(found) == ["cup 3"]
    assert found["unknown"] == ["stranger", "strange"]
    assert ids(ask(candidates=[])) == []
    everything = ask(k=100)["suggestions"]
    assert len(everything) == len(NAMES) - 1
    middle = everything[7]["probability"]
    assert ids(ask(k=100, min_probability=middle)) == [s["id"] for s in everything[:8]]
    assert ids(ask(basket=[])) == model.complete([]).items


def test_a_batch_is_its_baskets_one_by_one(client: Client) -> None:
    baskets = [["tea 0"], [], ["x"], *([NAMES[i], NAMES[-i], "y"] for i in range(1, 39))]
    found = client.post("/api/v1/complete/batch", json={"baskets": baskets, "k": 3}).json()
    schemas.CompletedBatch.model_validate(found)
    assert len(found["results"]) == len(baskets)
    for basket, result in zip(baskets, found["results"], strict=True):
        alone = client.post("/api/v1/complete", json={"basket": basket, "k": 3}).json()
        for one, other in zip(alone["suggestions"], result["suggestions"], strict=True):
            assert one.pop("score") == pytest.approx(other.pop("score"), rel=1e-4)
            assert one.pop("probability") == pytest.approx(other.pop("probability"), rel=1e-4)
        assert alone == result


def test_explain_adds_up(client: Client, model: Model) -> None:
    asked = {"basket": ["tea 0", "cup 1", "strange"], "item": "milk 3"}
    found = client.post("/api/v1/explain", json=asked).json()
    schemas.Explained.model_validate(found)
    total = found["prior"] + sum(s["share"] for s in found["shares"]) + found["rest"]
    assert found["score"] == pytest.approx(total)
    (alone,) = model.complete(["tea 0", "cup 1"], candidates=["milk 3"])
    assert (found["score"], found["probability"]) == pytest.approx((alone.score, alone.probability))
    assert {s["id"]: s["title"] for s in found["hidden"]} == {"tea 0": "Earl Grey", "cup 1": "Cup with a rose"}
    assert (found["item"]["id"], found["unknown"]) == ("milk 3", ["strange"])


def test_similar(client: Client, model: Model) -> None:
    found = client.get("/api/v1/similar", params={"item": "tea 0", "k": 3}).json()
    schemas.Similar.model_validate(found)
    assert [(s["id"], s["score"]) for s in found["similar"]] == [
        (s.item, s.score) for s in model.similar_items("tea 0", 3)
    ]
    assert found["item"]["title"] == "Earl Grey"


def test_an_unknown_item_where_one_is_needed(client: Client) -> None:
    for response in (
        client.get("/api/v1/similar", params={"item": "sugra 3"}),
        client.post("/api/v1/explain", json={"basket": [], "item": "sugra 3"}),
    ):
        found = problem(response, 404, "unknown_item")
        assert found["message"] == "unknown item 'sugra 3'"
        assert "did you mean 'sugar 3'" in found["remedy"]


def test_items(client: Client) -> None:
    def find(**params: Any) -> tuple[int, list[str]]:
        found = client.get("/api/v1/items", params=params).json()
        schemas.Found.model_validate(found)
        return found["total"], [item["id"] for item in found["items"]]

    assert find(limit=3) == (40, NAMES[:3])
    assert find(limit=3, offset=38) == (40, NAMES[38:])
    assert find(offset=10**30) == (40, [])
    assert find(q="TEA", limit=2)[1] == ["tea 1", "tea 2"]  # tea 0 begins otherwise by now
    assert find(q="grey") == (1, ["tea 0"])
    assert find(q="tea 0")[1][0] == "tea 0"  # the id still finds it
    assert find(q="suger 7")[1][0] == "sugar 7"
    assert find(q="qqqqqq") == (0, [])


def test_model_and_state(client: Client) -> None:
    found = client.get("/api/v1/model").json()
    schemas.About.model_validate(found)
    assert (found["model"], found["items"], found["records"], found["file"]) == ("dem", 40, 100, "dem.model")
    assert found["params"]["hidden"] == "4"
    assert client.get("/healthz").json() == {"state": "alive"}
    for _ in range(600):
        if client.get("/readyz").status_code == 200:
            break
        time.sleep(0.1)
    assert client.get("/readyz").json() == {"state": "ready"}


def test_not_ready_before_it_is_warm(folder: Path) -> None:
    app = create_app(folder / "dem.model")
    cold = Client(app)  # outside `with`: the service has not started
    problem(cold.get("/readyz"), 503, "not_ready")
    assert cold.post("/api/v1/complete", json={"basket": []}).status_code == 200


def test_a_calibrated_model_says_how(folder: Path) -> None:
    from cooccur.models.calibrated import calibrate

    learned = make_model("independent").fit([["a"], ["a", "b"]] * 50)
    save(calibrate(learned, [["a", "b"], ["a"]] * 30), folder / "calibrated.model")
    client = Client(create_app(folder / "calibrated.model"))
    assert set(client.get("/api/v1/model").json()["calibration"]) == {"given_rest", "missing_one", "beta"}
    found = client.post("/api/v1/complete", json={"basket": ["a"]}).json()["suggestions"][0]
    assert found["probability"] == load(folder / "calibrated.model").complete(["a"]).suggestions[0].probability


def test_a_model_without_probabilities(folder: Path) -> None:
    client = Client(create_app(folder / "cvg.model"))
    found = client.post("/api/v1/complete", json={"basket": ["a"]}).json()
    assert [s["probability"] for s in found["suggestions"]] == [None] * 3
    asked = {"basket": ["a"], "min_probability": 0.5}
    problem(client.post("/api/v1/complete", json=asked), 422, "no_probability")


def test_any_name_can_be_asked_for(folder: Path) -> None:
    """Also one that is no valid Unicode, which JSON can still spell."""
    names = ["\ud800 alone", "naïve café", "日本", "🛒", "", "two\nlines", "\0"]
    save(make_model("cvg").fit([names]), folder / "names.model")
    client = Client(create_app(folder / "names.model"))
    found = client.post("/api/v1/complete", json={"basket": ["日本"], "k": 10}).json()
    assert {s["id"] for s in found["suggestions"]} == set(names) - {"日本"}
    assert client.get("/api/v1/items", params={"q": "CAFE"}).json()["items"][0]["id"] == "naïve café"
    assert client.get("/api/v1/items").json()["total"] == len(names)
    assert client.get("/api/v1/similar", params={"item": ""}).status_code == 200
    lone = b'{"basket": ["\\ud800 alone", "\\udfff"]}'
    found = client.post("/api/v1/complete", content=lone, headers={"content-type": "application/json"}).json()
    assert ([item["id"] for item in found["basket"]], found["unknown"]) == (["\ud800 alone"], ["\udfff"])


# -- the page and the map -----------------------------------------------------------------------------


def test_the_page_comes_from_memory(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "static" / "deep").mkdir(parents=True)
    (tmp_path / "static" / "index.html").write_text("<p>hello")
    (tmp_path / "static" / "deep" / "map.js").write_text("1")
    (tmp_path / "secret").write_text("secret")
    client = Client(create_app(folder / "dem.model", static=tmp_path / "static"))
    page = client.get("/")
    assert (page.text, page.headers["content-type"]) == ("<p>hello", "text/html; charset=utf-8")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert client.get("/static/deep/map.js").headers["content-type"].startswith("text/javascript")
    for path in ("../secret", "%2e%2e/secret", "..%2fsecret", "deep", "deep/", "/etc/passwd", "deep/../../secret"):
        problem(client.get(f"/static/{path}"), 404, "no_such_thing")
    shutil.rmtree(tmp_path / "static")
    assert client.get("/static/index.html").text == "<p>hello"


def test_no_page_without_its_files(folder: Path, tmp_path: Path) -> None:
    client = Client(create_app(folder / "dem.model", static=tmp_path / "none"))
    problem(client.get("/"), 404, "no_such_thing")


def test_the_map_is_made_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    go, made = threading.Event(), []

    class Drawn:
        xy = np.arange(80, dtype=np.float32).reshape(40, 2)

    def make_map(model: Model, *, seed: int = 0, progress: Callable[[float, str], None]) -> Drawn:
        made.append(model)
        progress(0.4, "placing")
        go.wait(30)
        return Drawn()

    monkeypatch.setitem(sys.modules, "cooccur.maps", types.SimpleNamespace(make_map=make_map))
    client = Client(create_app(folder / "dem.model", titles=TITLES))
    states = [client.get("/api/v1/map") for _ in range(3)]
    assert [state.status_code for state in states] == [202] * 3
    schemas.Making.model_validate(states[0].json())
    go.set()
    for _ in range(300):
        if (answer := client.get("/api/v1/map")).status_code == 200:
            break
        time.sleep(0.02)
    found = answer.json()
    schemas.Map.model_validate(found)
    assert answer.headers["content-encoding"] == "gzip"
    assert client.get("/api/v1/map", headers={"accept-encoding": "identity"}).json() == found
    assert (found["x"][3], found["y"][3], found["id"], found["title"][0]) == (6, 7, NAMES, "Earl Grey")
    assert found["group"][:2] == ["drinks", None]
    assert len(made) == 1


@pytest.mark.parametrize("how", ["missing", "no vectors", "a bug"])
def test_no_map(folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    import types

    from cooccur.errors import ParameterError

    def make_map(model: Model, **_: Any) -> None:
        raise ParameterError("it has no vectors") if how == "no vectors" else ValueError("oh")

    made = None if how == "missing" else types.SimpleNamespace(make_map=make_map)
    monkeypatch.setitem(sys.modules, "cooccur.maps", made)
    client = Client(create_app(folder / "dem.model"))
    for _ in range(300):
        if (answer := client.get("/api/v1/map")).status_code != 202:
            break
        time.sleep(0.02)
    problem(answer, 404, "no_map")


# -- what it refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ("{", 400, "bad_json", "body.1: Expecting property name"),
        ("", 422, "invalid", "body: "),
        ("[1]", 422, "invalid", "body: Input should be a valid dictionary"),
        ("[" * 100_000, 400, "not_readable", "not readable"),
        ('{"basket": %s}' % ("9" * 5000), 400, "not_readable", "not readable"),
        ('{"basket": "tea"}', 422, "invalid", "body.basket: Input should be a valid list"),
        ('{"basket": [1]}', 422, "invalid", "body.basket.0: Input should be a valid string"),
        ('{"basket": [], "k": 0}', 422, "invalid", "body.k: "),
        ('{"basket": [], "k": "3"}', 422, "invalid", "body.k: "),
        ('{"basket": [], "k": true}', 422, "invalid", "body.k: "),
        ('{"basket": [], "min_probability": NaN}', 422, "invalid", "body.min_probability: "),
        ('{"basket": [], "exlude": []}', 422, "invalid", "body.exlude: Extra inputs are not permitted"),
        ('{"basket": [], "k": 1001}', 422, "too_large", "1001 suggestions (k); this service takes 1000"),
        ('{"basket": [], "k": 1%s}' % ("0" * 30), 422, "too_large", "suggestions (k)"),
        (json.dumps({"basket": ["x"] * 1001}), 422, "too_large", "1001 items in a basket; this service takes 1000"),
        (json.dumps({"basket": ["x" * 2**20]}), 413, "too_large", "the body is longer than 1,048,576 bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_bodies(client: Client, body: str, status: int, code: str, words: str) -> None:
    headers = {"content-type": "application/json"}
    found = problem(client.post("/api/v1/complete", content=body, headers=headers), status, code)
    assert words in found["message"]
    assert len(found["message"]) <= 300


def test_bad_requests_otherwise(client: Client) -> None:
    problem(client.post("/api/v1/complete", content='{"basket": []}'), 422, "invalid")  # not declared as JSON
    problem(client.get("/api/v1/complete"), 405, "no_such_method_here")
    problem(client.get("/api/v1/nothing"), 404, "no_such_thing")
    problem(client.post("/api/v1/complete/", json={"basket": []}), 404, "no_such_thing")
    problem(client.get("/api/v1/similar"), 422, "invalid")
    problem(client.get("/api/v1/similar?item=tea%200&k=no"), 422, "invalid")
    problem(client.get("/api/v1/items?limit=101"), 422, "invalid")
    problem(client.get("/api/v1/items?q=" + "x" * 9000), 413, "too_large")
    problem(client.get("/docs"), 404, "no_such_thing")  # it would load scripts from elsewhere
    many = {"baskets": [[]] * 1001}
    problem(client.post("/api/v1/complete/batch", json=many), 422, "too_large")
    many = {"baskets": [[]] * 21, "k": 1000}
    found = problem(client.post("/api/v1/complete/batch", json=many), 422, "too_large")
    assert found["message"] == "21000 suggestions in all; this service takes 20000"


def test_a_body_in_pieces_is_bounded_too(client: Client) -> None:
    """Without a Content-Length nobody knows how long it will be."""
    pieces = (b" " * 2**16 for _ in range(100))
    headers = {"content-type": "application/json"}
    problem(client.post("/api/v1/complete", content=pieces, headers=headers), 413, "too_large")


def test_limits_are_settings(folder: Path) -> None:
    limits = Limits(basket=2, batch=1, k=3, body=100, seconds=0.0)
    client = Client(create_app(folder / "dem.model", limits=limits))
    problem(client.post("/api/v1/complete", json={"basket": ["a", "b", "c"]}), 422, "too_large")
    problem(client.post("/api/v1/complete", json={"basket": [], "k": 4}), 422, "too_large")
    problem(client.post("/api/v1/complete", json={"basket": ["x" * 100]}), 413, "too_large")
    problem(client.post("/api/v1/complete/batch", json={"baskets": [[]], "k": 1}), 503, "too_slow")


def test_too_many_at_once(folder: Path) -> None:
    client = Client(create_app(folder / "dem.model", limits=Limits(running=0)))
    answer = client.get("/healthz")
    problem(answer, 503, "busy")
    assert answer.headers["retry-after"] == "1"


def test_the_token(folder: Path) -> None:
    client = Client(create_app(folder / "dem.model", token="s3cret"))
    for headers in ({}, {"authorization": "Bearer s3cre"}, {"authorization": "s3cret"}, {"authorization": "Bearer é"}):
        for path in ("/api/v1/model", "/metrics", "/api/v1/nothing"):
            encoded = {name: value.encode() for name, value in headers.items()}
            answer = client.get(path, headers=encoded)
            problem(answer, 401, "no_token")
            assert answer.headers["www-authenticate"] == "Bearer"
    assert client.get("/healthz").status_code == 200
    for path in ("/api/v1/model", "/metrics"):
        assert client.get(path, headers={"authorization": "Bearer s3cret"}).status_code == 200


def test_other_origins(folder: Path) -> None:
    ours, theirs = "https://shop.example", "https://else.example"
    client = Client(create_app(folder / "dem.model", origins=[ours], token="s3cret"))
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    allowed = client.options("/api/v1/complete", headers={"origin": ours, **asks})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, ours)
    refused = client.options("/api/v1/complete", headers={"origin": theirs, **asks})
    assert "access-control-allow-origin" not in refused.headers
    no_token = client.get("/api/v1/model", headers={"origin": ours})
    assert (no_token.status_code, no_token.headers["access-control-allow-origin"]) == (401, ours)
    plain = Client(create_app(folder / "dem.model")).get("/api/v1/model", headers={"origin": ours})
    assert "access-control-allow-origin" not in plain.headers


def test_a_bug_is_one_shape_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(folder / "dem.model")
    monkeypatch.setattr(app.state.keeper.current, "complete", lambda *_: 1 / 0)
    client = Client(app)
    problem(client.post("/api/v1/complete", json={"basket": []}), 500, "bug")
    metrics = client.get("/metrics").text
    assert 'cooccur_requests_total{path="/api/v1/complete",status="500"} 1.0' in metrics


def test_metrics(folder: Path) -> None:
    client = Client(create_app(folder / "dem.model"))
    client.post("/api/v1/complete/batch", json={"baskets": [["tea 0", "x"], ["y", "z"]]})
    client.get("/api/v1/" + "x" * 50)
    text = client.get("/metrics").text
    assert "cooccur_baskets_total 2.0" in text
    assert "cooccur_unknown_items_total 3.0" in text
    assert "cooccur_model_items 40.0" in text
    assert 'cooccur_requests_total{path="other",status="404"} 1.0' in text
    assert 'cooccur_request_seconds_count{path="/api/v1/complete/batch"} 1.0' in text
    assert "xxxxx" not in text  # what clients make up is no label


def test_the_openapi_document_has_no_other_error(client: Client) -> None:
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method in methods.values():
            for status, answer in method["responses"].items():
                if int(status) >= 400:
                    shape = answer["content"]["application/json"]["schema"]
                    assert shape == {"$ref": "#/components/schemas/Refused"}, (path, status)
    assert "HTTPValidationError" not in document["components"]["schemas"]


# -- finding items ------------------------------------------------------------------------------------

words = st.text("ab é", max_size=6)


@given(st.lists(words, min_size=1, max_size=20), words)
def test_search_finds_what_holds_the_query(names: list[str], query: str) -> None:
    found = Index(names, [0] * len(names)).find(query).tolist()
    asked = fold(query).decode()
    folded = [fold(name).decode() for name in names]
    if not asked:
        assert found == list(range(len(names)))
        return

    def kind(name: str) -> int:
        begins, inside = name.startswith(asked), re.search(r"(?<!\w)" + re.escape(asked), name)
        return 0 if begins else 1 if inside else 2

    holds = [i for i, name in enumerate(folded) if asked in name]
    assert found[: len(holds)] == sorted(holds, key=lambda i: (kind(folded[i]), i))


def slow_edits(a: str, b: str) -> int:
    """Insert, delete, change, or swap two neighbours, the plain way."""
    d = {(i, -1): i + 1 for i in range(-1, len(a))} | {(-1, j): j + 1 for j in range(-1, len(b))}
    for i in range(len(a)):
        for j in range(len(b)):
            ways = [d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i] != b[j])]
            if i and j and a[i] == b[j - 1] and a[i - 1] == b[j]:
                ways.append(d[i - 2, j - 2] + 1)
            d[i, j] = min(ways)
    return d[len(a) - 1, len(b) - 1]


@given(st.text("abc", min_size=1, max_size=7), st.lists(st.text("abc", max_size=8), min_size=1, max_size=5))
def test_edits_against_the_plain_way(query: str, names: list[str]) -> None:
    table = np.array([list(name.encode().ljust(8, b"\0")) for name in names], dtype=np.uint8)
    wanted = [min(slow_edits(query, name[:end]) for end in range(len(name) + 1)) for name in names]
    assert edits(query.encode(), table).tolist() == wanted


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("star wras", "Star Wars"), ("walace", "Wallace & Gromit"), ("amelei", "Amélie"),
        ("gromt wallace", "Wallace & Gromit"),
    ],
)  # fmt: skip
def test_typos(typed: str, first: str) -> None:
    names = ["Toy Story", "Star Trek", "Star Wars", "Amélie", "Wallace & Gromit"]
    assert names[Index(names, [1] * 5).find(typed)[0]] == first


# -- another file at the path -------------------------------------------------------------------------


def put(model: Model | bytes, path: Path) -> None:
    """By a rename, as `cooccur fit` does."""
    fresh = path.with_name("fresh")
    if isinstance(model, bytes):
        fresh.write_bytes(model)
    else:
        save(model, fresh)
    fresh.replace(path)


def test_reload(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, results = tmp_path / "a.model", []
    put(small_dem(0), path)
    keeper = Keeper(path)
    keeper.report = results.append
    old = keeper.current
    keeper.look()
    assert keeper.current is old
    put(small_dem(1), path)
    keeper.look()
    assert keeper.current is not old
    assert keeper.current.model.complete(["tea 0"]) == small_dem(1).complete(["tea 0"])
    assert old.model.complete(["tea 0"]) == small_dem(0).complete(["tea 0"])  # who has it still can ask it
    good = keeper.current
    whole = path.read_bytes()
    bad: list[Model | bytes] = [b"", whole[:-100], whole[:900] + b"\xff" + whole[901:], b"another file"]
    for content in bad:
        put(content, path)
        keeper.look()
        assert keeper.current is good
        keeper.look()  # said once
    path.unlink()
    keeper.look()
    assert keeper.current is good
    put(small_dem(3), path)
    keeper.look()
    assert keeper.current.model.complete([]) == small_dem(3).complete([])
    assert results == ["swapped", "refused", "refused", "refused", "refused", "swapped"]
    assert sum("refused the new model file" in record.message for record in caplog.records) == len(bad)


# -- real processes -----------------------------------------------------------------------------------


class Service:
    """`cooccur serve` in a process of its own, on a free port."""

    def __init__(self, path: Path, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*RUN, "serve", str(path), "--port", "0", *options], stderr=subprocess.PIPE, encoding="utf-8",
            env={**os.environ, "PYTHONUTF8": "1", **environment},
        )  # fmt: skip
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line.rstrip())
            if match := re.search(r"http://(.*):(\d+)", line):
                self.host, self.port = match[1], int(match[2])
                break
        else:
            raise AssertionError(self.said)
        self.reader = threading.Thread(
            target=lambda: self.said.extend(map(str.rstrip, self.process.stderr or ())), daemon=True
        )
        self.reader.start()
        self.wait(lambda: self.get("/readyz")[0] == 200)

    def connect(self, seconds: float = 60) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=seconds)

    def get(self, path: str, headers: Mapping[str, str] = {}) -> tuple[int, bytes]:
        with contextlib.closing(self.connect()) as connection:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()

    def wait(self, done: Callable[[], bool]) -> None:
        for _ in range(1200):
            with contextlib.suppress(OSError):
                if done():
                    return
            assert self.process.poll() is None, self.said
            time.sleep(0.05)
        raise AssertionError(self.said)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.reader.join(60)
        return code


@contextlib.contextmanager
def service(path: Path, *options: str, **environment: str) -> Iterator[Service]:
    running = Service(path, *options, **environment)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()
        running.reader.join(60)
        assert running.process.stderr is not None
        running.process.stderr.close()


def ask(connection: http.client.HTTPConnection, path: str, body: Any) -> tuple[int, Any]:
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@POSIX
def test_reload_under_load_drops_no_request(tmp_path: Path) -> None:
    """Four clients ask all the time while models come and go: each answer is wholly the one's or the other's."""
    path, body = tmp_path / "a.model", {"basket": ["tea 0", "cup 3"], "k": 40}
    models = {seed: small_dem(seed) for seed in (0, 1)}
    wanted = {seed: [(s.item, s.score) for s in model.complete(body["basket"], 40)] for seed, model in models.items()}
    put(models[0], path)
    seen: list[int | str] = []
    stop = threading.Event()

    def hammer() -> None:
        connection = running.connect()
        while not stop.is_set():
            try:
                _, found = ask(connection, "/api/v1/complete", body)
                got = [(s["id"], s["score"]) for s in found["suggestions"]]
                seen.append(next((seed for seed, answer in wanted.items() if got == answer), f"mixed: {found}"))
            except Exception as error:
                seen.append(f"failed: {error!r}")
                connection.close()
        connection.close()

    def swaps(result: str) -> int:
        return int(re.search(rf'reloads_total{{result="{result}"}} (\d+)', running.get("/metrics")[1].decode())[1])  # type: ignore[index]

    with service(path) as running:
        clients = [threading.Thread(target=hammer) for _ in range(4)]
        for client in clients:
            client.start()
        try:
            for turn in range(4):
                put(b"no model" * turn, path)
                running.process.send_signal(signal.SIGHUP)
                running.wait(lambda turn=turn: swaps("refused") == turn + 1)  # type: ignore[misc]
                put(models[(turn + 1) % 2], path)
                if turn:  # the first is found without being told
                    running.process.send_signal(signal.SIGHUP)
                running.wait(lambda turn=turn: swaps("swapped") == turn + 1)  # type: ignore[misc]
        finally:
            stop.set()
            for client in clients:
                client.join()
        assert running.end() == 0
        assert sum("refused the new model file" in line for line in running.said) == 4
    assert set(seen) == {0, 1}
    print(f"reload under load: {len(seen)} requests, 4 swaps, 4 refused files, no request failed")


@POSIX
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_end_waits_for_requests_under_way(folder: Path, how: signal.Signals) -> None:
    with service(folder / "dem.model") as running, contextlib.closing(running.connect()) as connection:
        text = json.dumps({"baskets": [NAMES[:20]] * 100, "k": 20})
        connection.putrequest("POST", "/api/v1/complete/batch")
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", str(len(text)))
        connection.endheaders()
        connection.send(text[:50].encode())
        running.wait(lambda: running.get("/healthz")[0] == 200)
        running.process.send_signal(how)
        for _ in range(200):  # until it takes no new ones
            try:
                socket.create_connection((running.host, running.port), 5).close()
            except OSError:
                break
            time.sleep(0.05)
        connection.send(text[50:].encode())
        answer = connection.getresponse()
        assert answer.status == 200
        assert len(json.loads(answer.read())["results"]) == 100
        assert running.process.wait(60) == {signal.SIGTERM: 0, signal.SIGINT: 130}[how]
        running.reader.join(60)
    assert not any("Traceback" in line for line in running.said)


@POSIX
def test_several_workers(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    put(small_dem(0), path)
    titles = tmp_path / "titles.csv"
    titles.write_text(f"id,title,group\n{NAMES[0]},The First,ones\n")
    with service(path, "--workers", "2", "--titles", str(titles), COOCCUR_TOKEN="s3cret") as running:
        token = {"authorization": "Bearer s3cret"}
        assert running.get("/api/v1/model")[0] == 401
        [found] = json.loads(running.get("/api/v1/items?q=the+first&limit=1", token)[1])["items"]
        assert (found["id"], found["title"], found["group"]) == (NAMES[0], "The First", "ones")

        def count() -> int:
            text = running.get("/metrics", token)[1].decode()
            found = re.search(r'requests_total{path="/api/v1/model",status="200"} (\d+)', text)
            return int(found[1]) if found else 0

        for _ in range(12):  # each by a connection of its own, so both will answer some
            assert running.get("/api/v1/model", token)[0] == 200
        running.wait(lambda: count() == 12)  # whoever is asked, the counts are those of all
        for _ in range(5):
            assert count() == 12
        assert running.end() == 0
    assert not any("Traceback" in line for line in running.said), running.said
    assert not any("s3cret" in line for line in running.said)


@POSIX
def test_what_only_a_socket_shows(folder: Path) -> None:
    with service(folder / "dem.model", "--max-seconds", "1", "--max-body", "1000") as running:
        head = b"POST /api/v1/complete HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        for request, status in (
            (head + b"content-length: 100\r\n\r\n{", b"408"),  # and the rest never comes
            (head + b"content-length: 1001\r\n\r\n", b"413"),
            (head + b"content-length: 99999999999999999999999\r\n\r\n", b"4"),
            (b"\x00\x01\x02\r\n\r\n", b"400"),
            (b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 20_000, b"4"),  # a head without an end
        ):
            with socket.create_connection((running.host, running.port), 30) as connection:
                connection.sendall(request)
                with contextlib.suppress(ConnectionResetError):
                    assert connection.recv(1000).split(b" ")[1].startswith(status)
        with socket.create_connection((running.host, running.port), 30) as connection:
            connection.sendall(head + b"content-length: 900\r\n\r\n{")  # and the client goes away
        assert running.get("/healthz")[0] == 200
        assert running.end() == 0
    assert not any("Traceback" in line for line in running.said), running.said


def test_it_starts_without_heavy_packages(folder: Path) -> None:
    code = f"""
import sys
from cooccur.serve.app import create_app
create_app({str(folder / "dem.model")!r})
print([name for name in ("torch", "polars", "scipy", "numba", "pandas") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert found.stdout.strip() == "[]"


# -- one line for what the user can mend --------------------------------------------------------------


def line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["serve", *arguments]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    return said


def test_it_does_not_start(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(folder / "dem.model")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = f"error: cannot listen on 127.0.0.1 port {port} (Address already in use); take another --port"
        assert line(capsys, file, "--port", port) == said
    assert line(capsys, file, "--host", "no such host").startswith("error: --host no such host: no such address (")
    for more in ((), ("--workers", "2")):
        said = line(capsys, str(tmp_path / "none"), "--port", "0", *more)
        assert said == f"error: {tmp_path / 'none'}: no such file; make one with `cooccur fit DATA -m MODEL -o FILE`"
    (tmp_path / "bad").write_bytes(b"bad")
    assert "not a readable model file" in line(capsys, str(tmp_path / "bad"), "--port", "0")
    (tmp_path / "empty").write_text("\n")
    assert "no token in it" in line(capsys, file, "--port", "0", "--token-file", str(tmp_path / "empty"))
    assert "cannot read it" in line(capsys, file, "--port", "0", "--token-file", str(tmp_path / "none"))
    monkeypatch.setenv("COOCCUR_TOKEN", "two words")
    assert line(capsys, file, "--port", "0").startswith("error: COOCCUR_TOKEN: no token in it")


def test_without_the_extra(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("cooccur.serve")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = "error: serve needs the package uvicorn; install it with pip install 'cooccur[serve]'"
    assert line(capsys, str(folder / "dem.model"), "--port", "0") == said
