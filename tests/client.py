"""An HTTP client for an ASGI application in this process, without sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any, Self

import httpx
from fastapi import FastAPI


class Client:
    """Asks `app`, whose event loop runs in a thread; within `with` it has been started, too."""

    def __init__(self, app: FastAPI) -> None:
        self.app, self._life = app, AsyncExitStack()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://testserver")

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(300)

    def __enter__(self) -> Self:
        self.run(self._life.enter_async_context(self.app.router.lifespan_context(self.app)))
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._life.aclose())

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        if isinstance(pieces := more.get("content"), Iterable) and not isinstance(pieces, (str, bytes)):
            more["content"] = _later(pieces)
        answer: httpx.Response = self.run(self._client.request(method, path, **more))
        return answer

    def requests(self, asked: Iterable[dict[str, Any]]) -> list[httpx.Response]:
        """Many, one after the other, at less cost than one by one."""

        async def all_of_them() -> list[httpx.Response]:
            return [await self._client.request(one["method"], one["path"], **_rest(one)) for one in asked]

        answers: list[httpx.Response] = self.run(all_of_them())
        return answers

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)

    def options(self, path: str, **more: Any) -> httpx.Response:
        return self.request("OPTIONS", path, **more)


def _rest(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name not in ("method", "path")}


async def _later(pieces: Iterable[bytes]) -> Any:
    for piece in pieces:
        yield piece
