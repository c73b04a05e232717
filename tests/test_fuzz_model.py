"""Ten thousand damaged model files: each is refused by a CooccurError, or loads and answers finite numbers.

Nothing else may happen: no other exception or warning (pytest makes errors of them), no reading beside an array, and no
allocation above ALLOWED bytes and FACTOR times the file's size. Half of the cases have a right checksum, so that they
reach the checks behind it. `pytest -s tests/test_fuzz_model.py` prints the figures.
"""

from __future__ import annotations

import copy
import json
import math
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cooccur.errors import CooccurError, ModelFileError
from cooccur.models import REGISTRY, make_model
from cooccur.models.base import Model
from cooccur.models.calibrated import calibrate
from cooccur.models.trained import Trained
from cooccur.storage import load
from model_files import TOY, apart, together

CASES = 10_400  # 800 of each way
ALLOWED, FACTOR = 2**20, 32
SMALL = {"dem": "dem:hidden=3x2,pairs=learned", "multvae": "multvae:hidden=4x2", "dae": "dae:hidden=3x2"}

Random = np.random.Generator
NUMBERS = [0, 1, -1, 2, 5, 6, 7, 8, 255, 2**31 - 1, 2**31, 2**40, 2**62, 2**63, 2**64, 10**30, 0.5, 1e12, 1e38, 1e308]
ANYTHING = [
    *NUMBERS,
    None,
    True,
    "",
    "x",
    "9" * 5000,
    "1x1",
    [],
    {},
    [[]],
    {"a": {}},
    float("nan"),
    float("inf"),
    "é\ud800",
]
DTYPES = ["F16", "F32", "F64", "I32", "I64", "U8", "BF16", "BOOL", "U64", "F8_E4M3", "float32", "", None, 7]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A small file of each model, one that is calibrated and one in half precision."""
    path = tmp_path_factory.mktemp("models") / "model"
    found = {}
    for name in REGISTRY:
        model = make_model(SMALL.get(name, name))
        short = {"epochs": 2, "factors": 3, "topics": 3, "iterations": 5}
        model.set_params(**{key: value for key, value in short.items() if key in model.get_params()})
        model.fit(TOY)
        if isinstance(model, Trained):  # the time that it took would make other cases in each run
            model.history_.epochs = [replace(e, seconds=1.0, records_per_second=1.0) for e in model.history_.epochs]
        model.save(path)
        found[name] = path.read_bytes()
        if name == "fvbm":
            model.notes_ = {"validation": {"top1": 12.5}}
            calibrate(model, TOY).save(path, half=True)
            found["fvbm, calibrated, half"] = path.read_bytes()
    return found


# -- damage -------------------------------------------------------------------------------------------


def one(rng: Random, values: Any) -> Any:
    """One of them, as a copy that may be changed."""
    return copy.deepcopy(values[rng.integers(len(values))])


def cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.integers(len(content))]


def flip(content: bytes, rng: Random) -> bytes:
    damaged = bytearray(content)
    for at in rng.integers(len(content), size=one(rng, [1, 1, 2, 8])):
        damaged[at] ^= 1 << rng.integers(8)
    return bytes(damaged)


def splice(content: bytes, rng: Random) -> bytes:
    """Bytes put in, taken out, written over, or a piece of the file in another place."""
    at, to = np.sort(rng.integers(len(content), size=2))
    size = int(rng.integers(1, 64))
    junk = one(rng, [rng.bytes(size), b"\0" * size, content[to : to + size], b"[" * 5000, b"{" * 50])
    return one(
        rng,
        [content[:at] + junk + content[at:], content[:at] + content[to:], content[:at] + junk + content[at + size :]],
    )


def edit_length(content: bytes, rng: Random) -> bytes:
    length = one(rng, [0, 1, 7, len(content), len(content) - 8, 2**31, 2**63, 2**64 - 1, int(rng.integers(2**40))])
    return int(length).to_bytes(8, "little") + content[8:]


def edit_table(content: bytes, rng: Random) -> bytes:
    """Types, shapes and places of arrays, as the header of safetensors states them."""
    length = int.from_bytes(content[:8], "little")
    table = json.loads(content[8 : 8 + length])
    name = one(rng, [name for name in table if name != "__metadata__"])
    what = one(
        rng, ["dtype", "shape", "data_offsets", "drop", "rename", "whole", "metadata", "many", "deep", "size", "size"]
    )
    if what == "dtype":
        table[name]["dtype"] = one(rng, DTYPES)
    elif what in ("shape", "data_offsets"):
        entry = table[name][what]
        table[name][what] = one(rng, ANYTHING)
        if entry and rng.random() < 0.8:
            entry[rng.integers(len(entry))] = one(rng, ANYTHING)
            table[name][what] = entry
    elif what == "size":  # consistent, and beyond the file
        size = int(one(rng, [2**20, 2**40, 2**60]))
        table[name]["shape"], begin = [size], table[name]["data_offsets"][0]
        table[name]["dtype"], table[name]["data_offsets"] = "U8", [begin, begin + size]
    elif what == "drop":
        del table[name]
    elif what == "rename":
        table[one(rng, ["model.other_", "", "__metadata__", "frequencies"])] = table.pop(name)
    elif what == "metadata":
        table["__metadata__"] = one(rng, [*ANYTHING, {"cooccur": 1}, {"cooccur": "null"}, {"cooccur": "[" * 9000}])
    elif what == "many":
        table |= {f"more{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(400)}
    else:
        table[name] = one(rng, ANYTHING)
    text = json.dumps(table).encode()
    if what == "deep":
        text = text[:-1] + b',"deep":' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"}"
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def edit_header(content: bytes, rng: Random) -> bytes:
    """The library's own header, under a right checksum."""
    header, arrays = apart(content)
    inner = one(
        rng, [header, header, header["params"] or header, header["history"] or header, header["half"] or header]
    )
    if inner is header["history"] and inner["epochs"] and rng.random() < 0.7:
        inner = one(rng, inner["epochs"])
    key = one(rng, list(inner))
    if rng.random() < 0.15:
        del inner[key]
    else:
        inner[key] = one(rng, ANYTHING) if rng.random() < 0.8 else one(rng, list(header.values()))
    if rng.random() < 0.05:
        return together(
            None, arrays, text=one(rng, ["[" * 5000, '{"format": 2, "format": 2}', '{"format": 1e999}', "7"])
        )
    return together(header, arrays)


def edit_array(content: bytes, rng: Random) -> bytes:
    """Numbers, shapes and types of the arrays, under a right checksum."""
    header, arrays = apart(content)
    name, other = one(rng, list(arrays)), one(rng, list(arrays))
    array = arrays[name]
    what = one(rng, ["number", "number", "number", "all", "shuffle", "bits", "swap", "drop", "size", "shape", "type"])
    if what in ("number", "all") and array.size:
        value = one(rng, NUMBERS) * one(rng, [1, 1, -1]) if array.dtype.kind == "f" else int(one(rng, NUMBERS))
        value = one(rng, [value, value, float("nan"), float("inf"), 1e-300]) if array.dtype.kind == "f" else value
        with np.errstate(over="ignore"):
            value = np.array([value], dtype=float if array.dtype.kind == "f" else object).astype(np.float64)
            limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
            if limits:
                value = value.clip(limits.min, float(limits.max) if limits.bits < 64 else 2**62)
            array.reshape(-1)[slice(None) if what == "all" else rng.integers(array.size)] = value.astype(array.dtype)[0]
    elif what == "shuffle":
        flat = array.reshape(-1)
        rng.shuffle(flat)
    elif what == "bits" and array.size:
        raw = array.reshape(-1).view(np.uint8)
        for at in rng.integers(raw.size, size=3):
            raw[at] ^= np.uint8(1 << rng.integers(8))
    elif what == "swap":
        arrays[name], arrays[other] = arrays[other], array
    elif what == "drop":
        del arrays[name]
    elif what == "size":
        arrays[name] = one(rng, [array[:-1], array[1:], np.concatenate([array, array]), array[:0], array[..., :-1]])
    elif what == "shape":
        arrays[name] = one(rng, [array.reshape(-1), array[None], array.T, array.reshape(-1, 1)])
    else:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(one(rng, ["f2", "f4", "f8", "i4", "i8", "u1"]))
    return together(header, arrays)


def exchange(content: bytes, rng: Random) -> bytes:
    """The header of one model over the arrays of another."""
    header, arrays = apart(content)
    return together(header | {"model": one(rng, list(REGISTRY)), "params": one(rng, [{}, header["params"]])}, arrays)


WAYS: list[Callable[[bytes, Random], bytes]] = [
    cut, flip, splice, edit_length, edit_table, edit_table, edit_header, edit_header, edit_array, edit_array,
    edit_array, edit_array, exchange,
]  # fmt: skip


# -- what may happen ------------------------------------------------------------------------------------


def ask(model: Model) -> None:
    """Everything that a user can ask; each number must be finite."""
    names = [str(name) for name in model.items_[:3]]
    for completion in (model.complete(names, k=5), model.similar_items(names[0], k=3)):
        for suggestion in completion:
            assert math.isfinite(suggestion.score)
            assert suggestion.probability is None or 0 <= suggestion.probability <= 1
    batch = model.complete_batch([names, [], names[1:]], k=3)  # by the compiled kernels
    assert np.isfinite(batch.scores[batch.items >= 0]).all()
    reason = model.explain(names[1:], names[0])
    assert math.isfinite(reason.score)


def outcome(path: Path, *, answers: bool) -> tuple[str, int]:
    """What became of a file, and the most bytes allocated meanwhile; with `answers` those for answering count too."""
    tracemalloc.start()
    try:
        model = load(path)
        grown = tracemalloc.get_traced_memory()[1]
        if not answers:
            tracemalloc.stop()  # it makes everything several times slower
        ask(model)
        return "answers", max(grown, tracemalloc.get_traced_memory()[1])
    except ModelFileError as error:
        sentence = str(error).startswith(f"{path}: ") and "\n" not in str(error)
        return "refused" if sentence else "refused without a sentence", tracemalloc.get_traced_memory()[1]
    except CooccurError:
        return "loads, but does not answer", grown
    finally:
        tracemalloc.stop()


def test_ten_thousand_damaged_files(files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "model"
    for content in files.values():  # as they are; also compiles the kernels
        path.write_bytes(content)
        assert outcome(path, answers=True)[0] == "answers"
    rng = np.random.default_rng(1)
    seen: Counter[str] = Counter()
    slowest, most = 0.0, 0
    for case in range(CASES):
        name, way = one(rng, list(files)), WAYS[case % len(WAYS)]
        content = way(files[name], rng)
        path.unlink()  # an older model may still have it mapped
        path.write_bytes(content)
        begun = time.perf_counter()
        try:
            what, grown = outcome(path, answers=case % 8 == 0)
        except Exception as error:
            raise AssertionError(f"case {case}, {way.__name__} of {name}: {error!r}") from error
        limit = ALLOWED + FACTOR * len(content)
        if grown >= limit:  # what the file needs it needs each time; a thread of another test, or an import, does not
            grown = min(outcome(path, answers=case % 8 == 0)[1] for _ in range(3))
        assert grown < limit, f"case {case}, {way.__name__} of {name}: {grown:,} bytes"
        seen[what] += 1
        slowest, most = max(slowest, time.perf_counter() - begun), max(most, grown)
    print(f"\n{CASES:,} damaged files: {dict(seen)}; slowest {1000 * slowest:.0f} ms, most memory {most / 1e3:.0f} kB")
    assert seen.keys() <= {"answers", "refused", "loads, but does not answer"}
    assert seen["answers"] > CASES / 10  # the damage is not all of the crudest kind


def test_memory_is_bounded_by_the_files_size(files: dict[str, bytes], tmp_path: Path) -> None:
    """Files of a megabyte that make as much of it as they can: short names, and a header of small things."""
    path, size = tmp_path / "model", 2**20
    header, arrays = apart(files["popularity"])
    names = [f"{number:x}".encode() for number in range(size // 20)]
    large = arrays | {
        "vocabulary.bytes": np.frombuffer(b"".join(names), dtype=np.uint8),
        "vocabulary.ends": np.cumsum([len(name) for name in names]),
        "frequencies": np.zeros(len(names), dtype=np.int64),
    }
    epoch = json.dumps(apart(files["fvbm"])[0]["history"]["epochs"][0])
    many = f'{{"best": 0, "interrupted": false, "epochs": [{epoch}' + f", {epoch}" * (size // len(epoch)) + "]}"
    start = json.dumps(header)[:-1]
    bombs = ["[]", "{}", '""', '{"":0}', "1e1", '"é"']
    contents = [
        together(header, large),
        together(header, arrays, text=start.replace('"history": null', f'"history": {many}') + "}"),
        *(together(header, arrays, text=f'{start}, "x": [0' + f",{bomb}" * (size // 4) + "]}") for bomb in bombs),
    ]
    worst = 0.0
    for content in contents:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        became, grown = outcome(path, answers=False)
        assert became == "answers"
        worst = max(worst, grown / len(content))
    print(f"\nfiles of a megabyte: at most {worst:.1f} times their size")
    assert worst < FACTOR
