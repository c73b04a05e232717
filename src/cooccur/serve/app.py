"""The routes: what can be asked, and where. `create_app` makes an ASGI application of a model file.

A quick question is answered in the event loop itself: handing it to a thread would cost as much again. What takes
longer (batches, reasons, near spellings, models that are slow) goes to a thread, so that others need not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import anyio.to_thread
from fastapi import FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from cooccur.serve import schemas
from cooccur.serve.answers import Problem, document
from cooccur.serve.limits import PAGE_LIMIT, Guard, Limits
from cooccur.serve.metrics import KIND, Metrics
from cooccur.serve.state import Keeper, Titles

STATIC = Path(__file__).with_name("static")
API = "/api/v1"
SHAPE = "the documents are described at /openapi.json"
WORDS = {
    400: "not readable", 401: "no token", 404: "no such thing", 405: "no such method here", 408: "too slow",
    413: "too large", 422: "not as described", 503: "busy, too slow or not ready",
}  # fmt: skip
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Refused, "description": words} for status, words in WORDS.items()
}

T = TypeVar("T")
Item = Annotated[str, Query(description="an item's id")]


def create_app(
    path: str | Path, *, titles: Titles | None = None, token: str | None = None, origins: Sequence[str] = (),
    limits: Limits | None = None, poll: float = 1.0, static: Path = STATIC,
) -> FastAPI:  # fmt: skip
    """An application that answers for the model file at `path`, and for each that takes its place there.

    Parameters
    ----------
    titles : id -> (title, group); else those in the file, if any.
    token : what `Authorization: Bearer` must bring to /api and /metrics; None: nothing.
    origins : other web pages' origins whose scripts may ask.
    limits : what one request may ask for.
    poll : seconds between two looks at the file.
    static : the folder of the page.

    >>> import tempfile
    >>> from cooccur.models import make_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_model("cvg").fit([["a", "b"]]).save(folder + "/shop.model")
    ...     create_app(folder + "/shop.model").title
    'cooccur'
    """
    most = limits or Limits()
    keeper, metrics = Keeper(path, titles), Metrics()
    lane = anyio.CapacityLimiter(1)  # of batches, one at a time: each uses all threads that the kernels have

    def report(result: str) -> None:
        metrics.reload(result)
        metrics.loaded(keeper.current.at.timestamp(), len(keeper.current.items))

    keeper.report = report
    metrics.loaded(keeper.current.at.timestamp(), len(keeper.current.items))

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        wake = asyncio.Event()
        with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            # not on Windows, and not in a thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, wake.set)
        watching = asyncio.create_task(_watch(keeper, poll, wake))
        yield
        keeper.ready = False
        watching.cancel()
        metrics.close()

    app = FastAPI(
        title="cooccur", description="What goes together, and what is missing?", version=version("cooccur"),
        docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=lifespan, responses=ERRORS,
    )  # fmt: skip
    app.state.keeper = keeper

    async def beside(work: Callable[..., T], *arguments: Any, limiter: anyio.CapacityLimiter | None = None) -> T:
        try:
            async with asyncio.timeout(most.seconds):
                return await anyio.to_thread.run_sync(work, *arguments, limiter=limiter, abandon_on_cancel=True)
        except TimeoutError:
            words = f"no answer after {most.seconds:g} seconds"
            raise Problem(503, "too_slow", words, "ask for less at a time, or again later") from None

    def check(wanted: schemas.Wanted, baskets: Sequence[Sequence[str]]) -> None:
        most.check("suggestions (k)", wanted.k, most.k)
        most.check("baskets", baskets, most.batch)
        for basket in baskets:
            most.check("items in a basket", basket, most.basket)
        most.check("suggestions in all", wanted.k * len(baskets), max(most.suggestions, most.k))

    def count(found: list[dict[str, Any]]) -> None:
        metrics.completed(len(found), sum(len(one["unknown"]) for one in found))

    # -- what is asked ------------------------------------------------------------------------------

    @app.post(API + "/complete", response_model=schemas.Completed, summary="What does this basket lack?")
    async def complete(ask: schemas.Complete) -> Response:
        now = keeper.current
        check(ask, [ask.basket])
        found = now.complete([ask.basket], ask) if now.quick else await beside(now.complete, [ask.basket], ask)
        count(found)
        return document(found[0])

    @app.post(API + "/complete/batch", response_model=schemas.CompletedBatch, summary="What do these baskets lack?")
    async def complete_batch(ask: schemas.CompleteBatch) -> Response:
        check(ask, ask.baskets)
        deadline = time.monotonic() + most.seconds
        found = await beside(keeper.current.complete, ask.baskets, ask, deadline, limiter=lane)
        count(found)
        return document({"results": found})

    @app.post(API + "/explain", response_model=schemas.Explained, summary="Why is this item suggested?")
    async def explain(ask: schemas.Explain) -> Response:
        most.check("items in a basket", ask.basket, most.basket)
        return document(await beside(keeper.current.explain, ask))

    @app.get(API + "/similar", response_model=schemas.Similar, summary="What goes with this item?")
    async def similar(item: Item, k: Annotated[int, Query(ge=1)] = 10) -> Response:
        most.check("items (k)", k, most.k)
        return document(await beside(keeper.current.similar, item, k))

    @app.get(API + "/items", response_model=schemas.Found, summary="Find items by what somebody types")
    async def items(
        q: Annotated[str, Query(description="empty: all, by frequency", max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 20,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        return document(await beside(keeper.current.find, q, limit, offset))

    @app.get(API + "/model", response_model=schemas.About, summary="What the model is, and how it was measured")
    async def model() -> Response:
        return document(keeper.current.about)

    @app.get(
        API + "/map", response_model=schemas.Map, summary="Where each item lies on a map of all",
        responses={202: {"model": schemas.Making, "description": "it is being made; ask again"}},
    )  # fmt: skip
    async def drawn(accept_encoding: Annotated[str, Header()] = "") -> Response:
        making = keeper.current.making
        making.start()
        if making.problem is not None:
            raise making.problem
        if making.done is None:
            return document({"state": "making", "share": making.share}, 202, {"retry-after": "1"})
        packed = "gzip" in accept_encoding
        headers = {"vary": "accept-encoding", **({"content-encoding": "gzip"} if packed else {})}
        return Response(making.done[packed], 200, headers, "application/json")

    # -- how it is ----------------------------------------------------------------------------------

    @app.get("/healthz", response_model=schemas.State, summary="The process lives")
    async def healthz() -> Response:
        return document({"state": "alive"})

    @app.get("/readyz", response_model=schemas.State, summary="A model is loaded and warm")
    async def readyz() -> Response:
        if not keeper.ready:
            raise Problem(
                503, "not_ready", "the model is being warmed up, or the service ends", "ask again in a second"
            )
        return document({"state": "ready"})

    @app.get("/metrics", response_class=Response, summary="For Prometheus")
    async def counted() -> Response:
        return Response(metrics.text(), media_type=KIND)

    # -- the page -----------------------------------------------------------------------------------

    files = _files(static)

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in files:
            raise HTTPException(404)
        content, kind = files[name]
        return Response(content, 200, {"cache-control": "no-cache"}, kind)

    app.add_route("/", page, include_in_schema=False)
    app.add_route("/static/{name:path}", page, include_in_schema=False)

    # -- around it ----------------------------------------------------------------------------------

    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _bug)
    paths = [str(getattr(route, "path", "")) for route in app.routes]
    app.add_middleware(Guard, limits=most, token=token, metrics=metrics, paths=paths)
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )  # fmt: skip
    return app


async def _watch(keeper: Keeper, poll: float, wake: asyncio.Event) -> None:
    """Warm up, then look at the file now and then, or when SIGHUP says so."""
    await asyncio.to_thread(keeper.warm)
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), poll)
        wake.clear()
        await asyncio.to_thread(keeper.look)


def _files(folder: Path) -> dict[str, tuple[bytes, str]]:
    """The page's files by name, read once: no path from a request ever touches the file system."""
    found = (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".py")
    kinds = {".js": "text/javascript", ".mjs": "text/javascript"}  # whatever the system's own table says
    return {
        file.relative_to(folder).as_posix(): (
            file.read_bytes(),
            kinds.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream",
        )
        for file in found
    }


# -- errors, in one shape -----------------------------------------------------------------------------


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = WORDS.get(error.status_code, str(error.detail))
    code = words.replace(" ", "_")
    return Problem(
        error.status_code, code, f"{request.method} {request.url.path}: {words}", SHAPE, error.headers
    ).response()


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "json_invalid":
        return Problem(400, "bad_json", f"{place}: {first['ctx']['error']}", "send one JSON document").response()
    if not request.headers.get("content-type", "").startswith("application/json") and place == "body":
        words, remedy = "the body is not declared as JSON", "send the header `Content-Type: application/json`"
        return Problem(422, "invalid", words, remedy).response()
    return Problem(422, "invalid", f"{place}: {first['msg']}", SHAPE).response()


async def _bug(request: Request, error: Exception) -> Response:
    words = "this is a bug in cooccur; the service's log has the details"
    return Problem(500, "bug", words, "please report it").response()
