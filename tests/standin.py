"""A small service for the page's tests that answers the same requests as `cooccur.serve`, from a real model."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

import cooccur
from cooccur.errors import CooccurError
from cooccur.maps import Map, make_map
from cooccur.storage import load

STATIC = Path(cooccur.__file__).parent / "serve" / "static"


def create_app(path: str | Path, *, titles: Mapping[str, Any] | None = None, **_: Any) -> FastAPI:
    app, model, named = FastAPI(), load(path), titles or {}
    frequency = dict(zip(model.items_, model.frequencies_.tolist(), strict=True))
    made: list[Map | CooccurError] = []
    share = [0.0]

    def make() -> None:
        try:
            made.append(make_map(model, progress=lambda done, words: share.__setitem__(0, done)))
        except CooccurError as error:
            made.append(error)

    def item(name: str) -> dict[str, Any]:
        title, group = named.get(name, (name, None))
        return {"id": name, "title": title, "group": group or None}

    def refused(status: int, message: str, remedy: str = "") -> JSONResponse:
        return JSONResponse({"error": {"code": "refused", "message": message, "remedy": remedy}}, status)

    @app.middleware("http")
    async def headers(request: Request, call: Any) -> Response:
        answer: Response = await call(request)
        answer.headers["Content-Security-Policy"] = "default-src 'self'"
        return answer

    @app.exception_handler(CooccurError)
    async def wrong(request: Request, error: Exception) -> JSONResponse:
        return refused(404, str(error))

    @app.post("/api/v1/complete")
    def complete(body: dict[str, Any]) -> dict[str, Any]:
        found = model.complete(body["basket"], body.get("k", 10))
        rows = [
            item(s.item) | {"score": s.score, "probability": s.probability, "rank": rank}
            for rank, s in enumerate(found, 1)
        ]
        return {
            "model": model.name, "score_is": model.score_is, "basket": [item(one) for one in found.basket],
            "unknown": list(found.unknown), "suggestions": rows,
        }  # fmt: skip

    @app.post("/api/v1/explain")
    def explain(body: dict[str, Any]) -> dict[str, Any]:
        basket = [one for one in body["basket"] if one in frequency]
        reason = model.explain(basket, body["item"])
        return {
            "item": item(reason.item), "score": reason.score, "probability": model.probability(reason.score),
            "prior": reason.prior, "shares": [item(one) | {"share": value} for one, value in reason.shares],
            "rest": reason.rest, "hidden": [item(one) | {"share": value} for one, value in reason.hidden],
            "unknown": [],
        }  # fmt: skip

    @app.get("/api/v1/similar")
    def similar(item_: str = "", k: int = 10, *, request: Request) -> dict[str, Any]:
        found = model.similar_items(request.query_params["item"], k)
        rows = [item(s.item) | {"score": s.score, "rank": rank} for rank, s in enumerate(found, 1)]
        return {"item": item(request.query_params["item"]), "similar": rows}

    @app.get("/api/v1/items")
    def items(q: str = "", limit: int = 20) -> dict[str, Any]:
        found = [one for one in frequency if q.lower() in item(one)["title"].lower()]
        found.sort(key=lambda one: (not item(one)["title"].lower().startswith(q.lower()), -frequency[one]))
        return {"total": len(found), "items": [item(one) | {"frequency": frequency[one]} for one in found[:limit]]}

    @app.get("/api/v1/model")
    def about() -> dict[str, Any]:
        history = getattr(model, "history_", None)
        return {
            "model": model.name, "params": model.get_params(), "score_is": model.score_is, "records": model.n_records_,
            "items": len(model.items_), "fingerprint": model.fingerprint_, "library": cooccur.__version__,
            "file": Path(path).name, "loaded_at": time.time(), "measured": None, "calibration": None,
            "history": history.as_dict() if history is not None else None,
        }  # fmt: skip

    @app.get("/api/v1/map")
    def the_map() -> Any:
        if not made:
            return JSONResponse({"state": "making", "share": share[0]}, 202)
        if isinstance(made[0], CooccurError):
            return refused(404, str(made[0]))
        return made[0].to_dict(named)

    @app.get("/readyz")
    def ready() -> dict[str, str]:
        return {"state": "ready"}

    @app.get("/")
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC))
    threading.Thread(target=make, daemon=True).start()
    return app
