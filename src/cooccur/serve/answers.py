"""What goes back: JSON documents, and errors of one shape.

{"error": {"code": "unknown_item", "message": "unknown item 'mlik'", "remedy": "did you mean 'milk'?"}}
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

LONGEST = 300  # characters of an error's message: what a client sent may be part of it


class Problem(Exception):  # noqa: N818
    """Something the client can mend, and the status it is answered with."""

    def __init__(self, status: int, code: str, message: str, remedy: str, headers: Mapping[str, str] | None = None):
        super().__init__(message)
        self.status, self.code, self.message, self.remedy, self.headers = status, code, message, remedy, headers

    def response(self) -> Response:
        words = {"code": self.code, "message": _short(self.message), "remedy": _short(self.remedy)}
        return document({"error": words}, self.status, self.headers)


def document(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(encode(content), status, headers, "application/json")


def encode(content: Any) -> bytes:
    """JSON in ASCII, so that any item name survives, lone surrogates too.

    >>> encode({"item": "caf\\u00e9"})
    b'{"item":"caf\\\\u00e9"}'
    """
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def finite(value: Any) -> Any:
    """The same document with null for numbers that JSON does not have.

    >>> finite({"loss": [1.0, float("nan")]})
    {'loss': [1.0, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
