"""Model files taken apart and put together again, for tests that damage them."""

from __future__ import annotations

import io
import json
from functools import cache
from typing import Any

import numpy as np
from safetensors.numpy import load

from cooccur.tensors import checksum_of, write

TOY = [["milk", "bread", "butter"], ["milk", "bread"], ["tea", "mint"], ["tea", "mint", "honey"], ["bread", "butter"]]
TOY = TOY * 24  # enough records for models that hold some out


def apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON header and the arrays (copies) of a whole model file."""
    text, arrays = _apart(content)
    return json.loads(text), {name: array.copy() for name, array in arrays.items()}


@cache
def _apart(content: bytes) -> tuple[str, dict[str, Any]]:
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    return metadata["cooccur"], load(content)


def together(header: Any, arrays: dict[str, Any], *, text: str | None = None) -> bytes:
    """A model file with a right checksum, whatever the header and the arrays hold."""
    text = json.dumps(header) if text is None else text
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    file = io.BytesIO()
    write(file, {"cooccur": text, "checksum": checksum_of(text, arrays)}, arrays)
    return file.getvalue()
