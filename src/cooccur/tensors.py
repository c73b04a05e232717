"""A safetensors file, written and mapped with care: named arrays and texts, and a checksum of them.

    8 bytes     length of the table
    table       JSON: each array's type, shape and place, and the metadata, texts by name; spaces up to a multiple of 8
    arrays      one behind the other, those with the largest numbers first

The file is mapped, not read: the arrays are read-only views of it, and processes that load the same file share its
pages. The table is checked against the file's size before anything is allocated.
"""

from __future__ import annotations

import json
import math
import mmap
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

MOST_HEADER = 16 * 2**20  # bytes: a history of a hundred thousand epochs
MOST_ARRAYS, MOST_DIMENSIONS = 256, 8
DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "u1"}

Arrays = dict[str, npt.NDArray[Any]]


def write(file: BinaryIO, metadata: Mapping[str, str], arrays: Arrays) -> None:
    """As safetensors writes it, but for the order of its metadata, which changes from run to run: the same model gives
    the same bytes. Nor is there a second copy of the arrays in memory."""
    codes = {np.dtype(dtype): code for code, dtype in DTYPES.items()}
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))  # so that each is aligned
    table: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name, array in ordered:
        place = [at, at := at + array.nbytes]
        table[name] = {"dtype": codes[array.dtype], "shape": list(array.shape), "data_offsets": place}
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for _, array in ordered:
        file.write(array.reshape(-1).view(np.uint8).data)


def mapped(path: Path) -> mmap.mmap:
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("this is no file")
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def views(data: mmap.mmap) -> tuple[dict[str, str], Arrays]:
    """The metadata, and the arrays as views; nothing is allocated for more than the file holds."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, MOST_HEADER):
        raise ValueError(f"a header of {length:,} bytes in a file of {len(data):,}")
    table = parsed(data[8 : 8 + length].decode())
    metadata = table.pop("__metadata__", {})
    if len(table) > MOST_ARRAYS or not all(isinstance(text, str) for text in metadata.values()):
        raise ValueError(f"{len(table):,} arrays, or metadata that are no text")
    arrays, at = {}, 0
    start = 8 + length
    for name, entry in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        (begin, end), shape = entry["data_offsets"], entry["shape"]
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"the array {name} is of type {entry['dtype']}")
        dtype = np.dtype(DTYPES[entry["dtype"]])
        plain = all(type(number) is int and number >= 0 for number in (begin, end, *shape))
        if not plain or begin != at or len(shape) > MOST_DIMENSIONS or math.prod(shape) * dtype.itemsize != end - begin:
            raise ValueError(f"the array {name} of shape {shape} at {begin} to {end}")
        if start + end > len(data):
            raise ValueError("the file is cut off")
        view = np.frombuffer(data, dtype, math.prod(shape), start + begin) if end > begin else np.empty(0, dtype)
        arrays[name] = (view if view.flags.aligned else view.copy()).reshape(shape)
        at = end
    if start + at != len(data):
        raise ValueError(f"{len(data) - start - at:,} bytes behind the last array")
    return metadata, arrays


def parsed(text: str) -> Any:
    """JSON in which nothing stands twice and every number is one."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name that stands twice in the header")
        return found

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(f"{number:.20} in the header")
        return float(number)

    return json.loads(text, object_pairs_hook=once, parse_constant=finite, parse_float=finite)


def checksum_of(header: str, arrays: Arrays) -> str:
    crc = zlib.crc32(header.encode())
    for name, array in sorted(arrays.items()):
        crc = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), crc)
        flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        crc = zlib.crc32(flat, crc)
    return f"{crc:08x}"
