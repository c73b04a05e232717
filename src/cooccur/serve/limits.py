"""How much one request may ask for, and the guard that says no before anything is parsed.

The guard stands before the routes. It bounds the body (bytes, and seconds until it has arrived) and the number of
requests at a time, asks for the token, counts and times what passes, and adds the headers that browsers obey.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cooccur.serve.answers import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from cooccur.serve.metrics import Metrics

PAGE_LIMIT = 100  # items of one page of a search
LONGEST_QUERY = 8192  # bytes of an address behind its question mark
HEADERS = [
    (b"content-security-policy", b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


@dataclass(frozen=True)
class Limits:
    """What one request may ask for at most, and one process do at a time."""

    basket: int = 1000  # items of one basket
    batch: int = 1000  # baskets
    k: int = 1000  # suggestions for one basket
    suggestions: int = 20_000  # in one answer, all baskets together
    body: int = 2**20  # bytes
    seconds: float = 10.0  # until the body is here, and until the answer is
    running: int = 200  # requests

    def check(self, what: str, found: Sized | int, most: int) -> None:
        """A problem if there is more than `most` of it.

        >>> Limits(basket=2).check("items in a basket", ["a", "b", "c"], 2)
        Traceback (most recent call last):
        cooccur.serve.answers.Problem: 3 items in a basket; this service takes 2
        """
        count = found if isinstance(found, int) else len(found)
        if count > most:
            raise Problem(422, "too_large", f"{count} {what}; this service takes {most}", "ask for less at a time")


class Guard:
    """ASGI middleware, see the top of this file."""

    def __init__(
        self, app: ASGIApp, limits: Limits, token: str | None, metrics: Metrics, paths: Iterable[str]
    ) -> None:  # fmt: skip
        self.app, self.limits, self.metrics, self.paths = app, limits, metrics, frozenset(paths)
        self.wanted = None if token is None else b"Bearer " + token.encode()
        self.running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, start = 500, perf_counter()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        self.running += 1
        try:
            if (again := await self._admit(scope, receive)) is not None:
                await self.app(scope, again, answer)
        except Problem as problem:
            await problem.response()(scope, receive, answer)
        finally:
            self.running -= 1
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.request(path, status, perf_counter() - start)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive | None:
        """The request's body, whole, to be received again; None if the client has gone."""
        headers = dict(scope["headers"])
        if self.wanted is not None and scope["path"].startswith(("/api/", "/metrics")):
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self.wanted):  # as long for a near miss as for a far one
                raise Problem(
                    401, "no_token", "this service asks for a token", "send the header `Authorization: Bearer TOKEN`",
                    {"www-authenticate": "Bearer"},
                )  # fmt: skip
        if self.running > self.limits.running:
            raise Problem(503, "busy", "too many requests at once", "try again in a second", {"retry-after": "1"})
        if len(scope["query_string"]) > LONGEST_QUERY:
            raise self._too_large("address", LONGEST_QUERY)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self.limits.body:
            raise self._too_large("body", self.limits.body)
        if scope["method"] in ("GET", "HEAD"):
            return receive
        try:
            async with asyncio.timeout(self.limits.seconds):
                body = await self._body(receive)
        except TimeoutError:
            words = f"the body was not here after {self.limits.seconds:g} seconds"
            raise Problem(408, "too_slow", words, "send it faster, or less of it", {"connection": "close"}) from None
        if body is None:
            return None
        first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return first.pop() if first else await receive()

        return again

    async def _body(self, receive: Receive) -> bytes | None:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limits.body:
                raise self._too_large("body", self.limits.body)
            if not message.get("more_body"):
                return b"".join(parts)

    def _too_large(self, what: str, most: int) -> Problem:
        # closed, since the rest of the body may still be on its way
        remedy, close = "send less at a time", {"connection": "close"}
        return Problem(413, "too_large", f"the {what} is longer than {most:,} bytes", remedy, close)
