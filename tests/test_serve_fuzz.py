"""10,000 requests that nobody should send: whatever comes, the answer is a document, and never a 500.

Half are bodies (bytes, mutated documents, wrong types), half addresses, queries, methods, headers; a thousand more are
what schemathesis makes of the OpenAPI document, half of them against it. All go to the application itself, without
sockets, so that they are many; what only sockets show is in `test_serve.py`.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")
import hypothesis
import schemathesis

from client import Client
from cooccur.serve.app import create_app
from cooccur.serve.limits import Limits
from cooccur.storage import save
from test_serve import small_dem

OWN, GENERATED = 9000, 1200
OPEN = {"/api/v1/complete", "/api/v1/complete/batch", "/api/v1/explain", "/api/v1/similar", "/api/v1/items"}
PATHS = [
    "/api/v1/complete", "/api/v1/complete/batch", "/api/v1/explain", "/api/v1/similar", "/api/v1/items",
    "/api/v1/model", "/api/v1/map", "/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/static/a.js",
]  # fmt: skip
GOOD: list[tuple[str, Any]] = [
    ("/api/v1/complete", {"basket": ["tea 0"], "k": 3, "candidates": ["cup 1"], "exclude": ["x"]}),
    ("/api/v1/complete", {"basket": [], "min_probability": 0.1}),
    ("/api/v1/complete/batch", {"baskets": [["tea 0"], []], "k": 3}),
    ("/api/v1/explain", {"basket": ["tea 0"], "item": "cup 1"}),
]  # fmt: skip
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**40, 1e308, -0.0, 0.5, "", "tea 0", "\0", "\ud800",
    "é" * 99, "../../etc/passwd", "x" * 5000, [], [[]], [None], ["tea 0"] * 50, {}, {"a": 1}, {"basket": []}, "NaN",
]  # fmt: skip
QUERIES = ["item", "k", "q", "limit", "offset", "nothing", "item[]", ""]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    path = tmp_path_factory.mktemp("fuzz") / "dem.model"
    save(small_dem(), path)
    return Client(create_app(path, limits=Limits(basket=40, batch=20, body=20_000)))


def mutated(rng: random.Random, value: Any) -> Any:
    """The document with something in it changed, taken away or added."""
    if rng.random() < 0.25:
        return rng.choice(ODD)
    if isinstance(value, dict):
        changed = dict(value)
        key = rng.choice(list(changed) or [""])
        match rng.randrange(4):
            case 0:
                changed.pop(key, None)
            case 1:
                changed[str(rng.choice(ODD))[:60]] = rng.choice(ODD)
            case _:
                changed[key] = mutated(rng, changed.get(key))
        return changed
    if isinstance(value, list):
        return [mutated(rng, part) for part in value] * rng.choice([1, 1, 1, 2, 30])
    return rng.choice(ODD)


def body(rng: random.Random) -> tuple[str, bytes]:
    path, document = rng.choice(GOOD)
    text = json.dumps(mutated(rng, document)).encode()
    match rng.randrange(6):
        case 0:
            text = text[: rng.randrange(len(text) + 1)]
        case 1 if text:
            broken = bytearray(text)
            for _ in range(rng.randrange(1, 5)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            text = bytes(broken)
        case 2 if rng.random() < 0.3:
            text = rng.choice(
                [rng.randbytes(50), b"[" * 9000, b'{"k":' * 1500, b"9" * 6000, b"\xef\xbb\xbf{}", text * 200]
            )
    return path, text


def request(rng: random.Random) -> dict[str, Any]:
    """Any request; most are malformed in one way or another."""
    path, content = body(rng)
    method, headers = "POST", {"content-type": "application/json"}
    if rng.random() < 0.5:
        path, method = (
            rng.choice(PATHS),
            rng.choice(["GET"] * 6 + ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "X"]),
        )
        odd = [(rng.choice(QUERIES), str(rng.choice(ODD))) for _ in range(rng.randrange(4))]
        path += "?" + "&".join(f"{name}={quote(value, errors='surrogatepass')}" for name, value in odd)
        if rng.random() < 0.2:
            path = rng.choice(PATHS) + rng.choice(
                ["/", "//", "/..", "%00", "%ff", "%2e%2e/x", "?%", "?q=%ff%fe", ";a", "?q"]
            )
    if rng.random() < 0.3:
        name = rng.choice(
            ["content-type", "authorization", "origin", "accept-encoding", "content-length", "host", "range"]
        )
        headers[name] = rng.choice(
            ["", "\xff", "a" * 3000, "text/plain", "application/json; charset=utf-16", "-1", "0", "*"]
        )
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    return {"method": method, "path": path, "headers": encoded, "content": content}


def checked(answer: Any, asked: Any, statuses: Counter[int]) -> None:
    statuses[answer.status_code] += 1
    assert answer.status_code < 500 or answer.status_code == 503, (asked, answer.text)
    if answer.status_code >= 400 and answer.request.method != "HEAD":
        error = answer.json()["error"]
        assert all(error[part] for part in ("code", "message", "remedy")), (asked, error)


def test_malformed_requests_give_no_500(client: Client) -> None:
    rng, statuses, start, slowest = random.Random(0), Counter[int](), time.perf_counter(), 0.0
    for _ in range(OWN // 100):
        asked = [request(rng) for _ in range(100)]
        for one, answer in zip(asked, client.requests(asked), strict=True):
            checked(answer, one, statuses)
            slowest = max(slowest, answer.elapsed.total_seconds())
    assert sum(statuses.values()) == OWN
    assert statuses[200] < OWN / 2
    seconds = time.perf_counter() - start
    print(f"\n{OWN:,} malformed requests in {seconds:.0f} s, slowest {slowest:.2f} s: {dict(sorted(statuses.items()))}")


def test_what_schemathesis_makes_of_the_openapi_document(client: Client) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operations = [found.ok() for found in schema.get_all_operations()]
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    asked = [(operation, mode) for operation in operations for mode in modes if operation.path in OPEN]
    assert len(asked) == 2 * len(OPEN)
    statuses, start = Counter[int](), time.perf_counter()
    for operation, mode in asked:

        @hypothesis.settings(
            max_examples=-(-GENERATED // len(asked)), database=None, derandomize=True, deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
        )  # fmt: skip
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def one(case: schemathesis.Case) -> None:
            known = case.as_transport_kwargs(base_url="http://testserver")
            known = {name: value for name, value in known.items() if value is not None and name != "cookies"}
            path = known.pop("url").removeprefix("http://testserver")
            answer = client.request(path=path, **{"content" if n == "data" else n: v for n, v in known.items()})
            checked(answer, (case.method, path, known), statuses)
            case.operation.validate_response(schemathesis.Response.from_any(answer))  # as the document says

        one()
    found, seconds = sum(statuses.values()), time.perf_counter() - start
    assert found + OWN >= 10_000
    print(f"\n{found:,} cases of schemathesis in {seconds:.0f} s: {dict(sorted(statuses.items()))}")
