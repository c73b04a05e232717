"""Bad parameters, matrices, queries and command lines, made from the declarations: whatever is declared is tried.

`pytest -s tests/test_bad_input.py` prints how many cases that were. Bad files are in test_read_bad.py and, at random,
in test_fuzz_read.py; bad model files in test_storage.py.
"""

from __future__ import annotations

import dataclasses
import gzip
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from scipy.sparse import coo_matrix, csr_matrix, issparse

from cooccur.baskets import Baskets
from cooccur.cli import app, main
from cooccur.errors import CooccurError, InputError, ParameterError
from cooccur.models import REGISTRY, make_model, model_class
from cooccur.models.base import Model
from cooccur.models.parameters import plain_types
from cooccur.reading import read, streams

TOY = [["milk", "bread", "butter"], ["milk", "bread"], ["tea", "mint"], ["tea", "mint", "honey"], ["bread", "butter"]]

# -- parameters ---------------------------------------------------------------------------------------


def outside(field: dataclasses.Field[Any]) -> Iterator[Any]:
    """Values that the declaration of a parameter does not allow."""
    types, low, high = plain_types(field), field.metadata["low"], field.metadata["high"]
    yield from (
        [1],
        {},
        b"1",
        object(),
        1j,
        float("nan"),
        float("inf"),
        -float("inf"),
        np.float32("nan"),
        np.array([1]),
    )
    if type(None) not in types:
        yield None
    if bool not in types:
        yield from (True, np.True_)
    if str not in types:
        yield from ("", "many", "1", "\ud800", "nan")
    elif field.metadata["choices"]:
        yield from ("", "never one of them")
    if not {int, float} & set(types):
        yield from (3, 0.5)
    elif float not in types:
        yield 0.5
    for limit, direction in ((low, -1), (high, 1)):
        if limit is not None:
            yield from (limit + direction * step for step in (1, 10**30))


PARAMETERS = [(name, field) for name in REGISTRY for field in dataclasses.fields(model_class(name))]


@pytest.mark.parametrize("name", REGISTRY)
def test_parameters_outside_their_range(name: str) -> None:
    """The error names the parameter, the value and the range: when made, when set, and as spelled."""
    for field in dataclasses.fields(model_class(name)):
        expected = rf"{name}: {field.name} = .*; expected \w+"
        for value in outside(field):
            with pytest.raises(ParameterError, match=expected) as caught:
                make_model(name, **{field.name: value})
            assert str(caught.value).isprintable()
            with pytest.raises(ParameterError, match=expected):
                model_class(name)().set_params(**{field.name: value}).fit(TOY)
            if isinstance(value, (int, float)) and not {bool, str} & {type(value), *plain_types(field)}:
                with pytest.raises(ParameterError, match=expected):
                    make_model(f"{name}:{field.name}={value}")


def test_every_number_has_a_range() -> None:
    for name, field in PARAMETERS:
        if {int, float} & set(plain_types(field)):
            assert field.metadata["low"] is not None, (name, field.name)


@pytest.mark.parametrize(
    "spec",
    ["", ":", "dem:", "dem:=", "dem:=3", "dem:hidden", "dem:hidden=", "dem:hidden=0x0", "dem:hidden=1x", "dem::", "DEM",
     "dem:hidden=9999999999999x9999999999999", "lrw:steps=1e3", "lrw:steps=3;4", "lrw:,,,", "lrw:steps=" + "9" * 5000,
     "lwcvg:source=1e400", "ease:paper,paper", "\ud800", "no\nmodel", "dem:\0=1"],
)  # fmt: skip
def test_spellings(spec: str) -> None:
    try:
        make_model(spec)
    except ParameterError as error:
        assert str(error).isprintable()  # noqa: PT017


# -- matrices and queries -----------------------------------------------------------------------------

EYE = np.eye(3, dtype=np.int64)


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


GOOD: dict[str, Any] = {
    "int64": csr_matrix((np.ones(3), np.array([0, 1, 2], np.int64), np.array([0, 1, 2, 3], np.int64)), shape=(3, 3)),
    "unsorted": csr_matrix((np.ones(4), np.array([2, 0, 1, 2]), np.array([0, 2, 3, 4])), shape=(3, 3)),
    "stored twice": coo_matrix((np.ones(4), ([0, 0, 1, 2], [0, 0, 1, 2])), shape=(3, 3)),
    "stored zeros": csr_matrix((np.array([1, 0, 1]), np.array([0, 1, 2]), np.array([0, 1, 2, 3])), shape=(3, 3)),
    "read-only": frozen(EYE.copy()),
    "empty rows": np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]]),
    "empty columns": np.array([[1, 0, 0], [1, 0, 0]]),
    "bool": EYE.astype(bool),
    "fortran": np.asfortranarray(EYE),
    "float16": EYE.astype(np.float16),
    "unsigned": EYE.astype(np.uint8),
    "strided": np.eye(6)[::2, ::2],
    "big-endian": EYE.astype(">i8"),
    "np.matrix": csr_matrix(EYE).todense(),
}
BAD: dict[str, tuple[Any, str]] = {
    "NaN": (np.array([[1, np.nan, 0]]), "the matrix holds NaN or infinity"),
    "infinity": (csr_matrix([[1, np.inf, 0]]), "the matrix holds NaN or infinity"),
    "negative": (-EYE, "the matrix holds a negative value"),
    "counts": (2 * EYE, "the matrix holds 2; expected 0 and 1"),
    "halves": (EYE / 2, "the matrix holds 0.5; expected 0 and 1"),
    "complex": (EYE * 1j, "a matrix of complex128; expected numbers 0 and 1"),
    "text": (np.array([["a", "b", "c"]]), "a matrix of <U1; expected numbers 0 and 1"),
    "objects": (np.array([[1, None, 0]], dtype=object), "a matrix of object; expected numbers 0 and 1"),
    "dates": (np.zeros((1, 3), "datetime64[s]"), "a matrix of datetime64"),
    "differences": (np.zeros((1, 3), "timedelta64[s]"), "a matrix of timedelta64"),
    "cube": (np.zeros((2, 2, 3)), "an array of 3 dimensions; expected records x items"),
    "vector": (np.ones(3), "an array of 1 dimensions; expected records x items"),
    "scalar": (np.array(1), "an array of 0 dimensions; expected records x items"),
    "damaged": (broken := csr_matrix(EYE), "the matrix is damaged (axis 1 index 7 exceeds"),
}
broken.indices = np.array([0, 7, 2], dtype=np.int32)
MODELS = ("popularity", "ease", "lwcvg")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", GOOD)
def test_odd_matrices_that_are_right(name: str, kind: str) -> None:
    matrix = GOOD[kind]
    model = make_model(name).fit(matrix)
    assert len(model.items_) == 3
    scores = model.scores(matrix)
    own = (matrix.toarray() if issparse(matrix) else np.asarray(matrix)) > 0
    assert scores.shape == matrix.shape
    assert np.isfinite(scores[~own]).all()
    assert model.complete_batch(matrix, 2).items.shape == (matrix.shape[0], 2)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", BAD)
def test_matrices_that_are_wrong(name: str, kind: str) -> None:
    matrix, message = BAD[kind]
    model = make_model(name).fit(EYE)
    for use in (make_model(name).fit, model.scores, model.complete_batch):
        with pytest.raises(InputError, match=re.escape(message)):
            use(matrix)


@pytest.mark.parametrize("name", MODELS)
def test_sizes(name: str) -> None:
    for nothing in ([], [[]], np.zeros((0, 3)), np.zeros((3, 0)), csr_matrix((2, 2)), Baskets.from_lists([])):
        with pytest.raises(InputError, match="no record with an item to learn from"):
            make_model(name).fit(nothing)
    one = make_model(name).fit([["a"], ["a"]])
    assert (one.complete(["a"]).items, one.complete([]).items) == ([], ["a"])
    assert np.isnan(one.scores([["a"]])).all()
    model = make_model(name).fit(TOY)
    assert model.scores([]).shape == (0, 6)
    assert model.scores(np.zeros((0, 6))).shape == (0, 6)
    for wrong in (np.zeros((0, 7)), np.zeros((2, 8)), csr_matrix((1, 1))):
        with pytest.raises(InputError, match=r"a matrix \d wide; the model knows 6 items"):
            model.complete_batch(wrong)


WRONG_LISTS: list[tuple[Any, str]] = [
    (None, "None cannot"), (7, "7 cannot"), ("milk", "'milk' cannot"), (b"milk", "b'milk' cannot"),
    ([1, 2], "record 0 is 1"), ([["a"], None], "record 1 is None"), ([["a", None]], "record 0"),
    ([["a", float("nan")]], "record 0"),
    ([[["a"]]], "record 0"), (["milk"], "record 0 is the text 'milk'"), ({"a": 1}, "record 0 is the text 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(("lists", "message"), WRONG_LISTS, ids=[repr(lists) for lists, _ in WRONG_LISTS])
def test_lists_that_are_wrong(lists: Any, message: str) -> None:
    model = make_model("popularity").fit(TOY)
    for use in (make_model("popularity").fit, model.scores, model.complete_batch):
        with pytest.raises(InputError, match=re.escape(message)):
            use(lists)


@pytest.fixture(scope="module")
def toy() -> Model:
    return make_model("lwcvg").fit(TOY)


def test_queries(toy: Model) -> None:
    everything = list(toy.items_)
    assert toy.complete(everything).items == []
    assert toy.complete(["milk", "milk"]) == toy.complete(["milk"])
    assert toy.complete(["unicorn"]).suggestions == toy.complete([]).suggestions
    assert toy.complete(["", "\ud800", "\0", "x" * 10**6]).suggestions == toy.complete([]).suggestions
    assert toy.complete(["milk"], candidates=[]).items == []
    assert toy.complete(["milk"], exclude=everything).items == []
    assert len(toy.complete(["milk"], k=10**18)) == 5
    assert len(toy.similar_items("milk", k=10**18)) == 5
    assert toy.explain([], "milk").shares == ()
    assert toy.explain(["unicorn", "milk"], "milk").shares == ()


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True, float("nan"), float("inf"), [1]])
def test_k_outside_its_range(toy: Model, k: Any) -> None:
    for use in (
        lambda: toy.complete(["milk"], k),
        lambda: toy.complete_batch([["milk"]], k),
        lambda: toy.similar_items("milk", k),
    ):
        with pytest.raises(ParameterError, match=re.escape(f"k = {k!r}; expected 1 or more, a whole number")):
            use()


@pytest.mark.parametrize(
    "use",
    [lambda toy: toy.similar_items("unicorn"), lambda toy: toy.similar_items(""), lambda toy: toy.similar_items(None),
     lambda toy: toy.similar_items(["milk"]), lambda toy: toy.explain(["milk"], "unicorn"),
     lambda toy: toy.complete("milk"), lambda toy: toy.complete(None), lambda toy: toy.complete(7),
     lambda toy: toy.explain("milk", "tea"), lambda toy: toy.complete(["milk"], candidates=["unicorn"]),
     lambda toy: toy.complete(["milk"], exclude="milk"), lambda toy: toy.complete(["milk"], candidates="milk")],
)  # fmt: skip
def test_queries_that_are_wrong(toy: Model, use: Callable[[Model], Any]) -> None:
    with pytest.raises(InputError) as caught:
        use(toy)
    assert str(caught.value).isprintable()


# -- the command line ---------------------------------------------------------------------------------

JUNK = ["", "-1", "0", "nan", "inf", "1e99", "9" * 30, "0.5", "x", "a=b", "\u00b2", "\0", "-", "--", "no/such/file",
        ".", "/", "shop.txt", "shop.model", "junk.bin", "\udcff", "milk", "lwcvg", "ease:", "[b]", "> 3"]  # fmt: skip
# what a command needs to start at all, and what keeps it short
NEEDED = {
    "describe": ["shop.txt"],
    "fit": ["shop.txt", "-m", "lwcvg", "-o", "out.model"],
    "complete": ["shop.model", "milk"],
    "similar": ["shop.model", "milk"],
    "inspect": ["shop.model"],
    "map": ["shop.model", "-o", "out.html"],
    "serve": None,  # it would not end; without FILE it does not begin
    "shell": ["shop.model"],
    "evaluate": ["shop.txt", "-m", "popularity"],
    "calibration": ["shop.txt", "-m", "independent"],
    "tune": ["shop.txt", "-m", "lwcvg", "--budget", "1"],
    "reproduce": ["table1", "--render-only"],
    "models": [],
    "datasets": [],
    "datasets get": ["nothing"],
    "doctor": [],
    "demo": None,  # half a minute; its options are tried with a value that cannot be
}

ENDLESS = ("--budget", "--tune")  # a number of trials that is large is right, and takes its time


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COOCCUR_DATA", str(tmp_path))
    Path("shop.txt").write_text("\n".join(" ".join(record) for record in TOY * 4))
    Path("junk.bin").write_bytes(bytes(range(256)))
    make_model("lwcvg").fit(TOY).save("shop.model")


def commands() -> Iterator[tuple[str, Any]]:
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield name, command
        yield from ((f"{name} {inner}", each) for inner, each in getattr(command, "commands", {}).items())


def lines_of(rng: random.Random) -> Iterator[list[str]]:
    """Each option of each command with junk, less of it where another command had it; then words by chance."""
    seen: set[str] = set()
    for name, command in commands():
        needed = NEEDED[name]
        options = [p for p in command.params if p.param_type_name == "option"]
        for option in options:
            if option.opts[-1] in ENDLESS:
                continue
            some = 3 if option.opts[-1] in seen else 14
            seen.add(option.opts[-1])
            for junk in rng.sample(JUNK, some) if not getattr(option, "is_flag", False) else ["1"]:
                if needed is not None:
                    yield [*name.split(), *needed, option.opts[-1], junk]
                elif option.opts[-1] != "--keep":
                    yield [*name.split(), option.opts[-1], "never"]
        for _ in range(25 if needed is not None else 0):
            words = [rng.choice(JUNK) for _ in range(rng.randrange(4))]
            for option in rng.sample(options, min(len(options), 2)):
                if option.opts[-1] not in ENDLESS:
                    words += [option.opts[-1], rng.choice(JUNK)]
            yield [*name.split(), *words]


@pytest.mark.usefixtures("files")
def test_no_command_line_is_a_bug(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name for name, _ in commands()} == set(NEEDED)  # a new command has to be entered
    codes: Counter[int] = Counter()
    for line in lines_of(random.Random(0)):
        with Path("shop.txt").open() as shop:
            monkeypatch.setattr(sys, "stdin", shop)
            code = main(line)
        out, err = capsys.readouterr()
        codes[code] += 1
        assert code in (0, 2), (line, err)
        assert "Traceback" not in err, line
        if code == 2:
            assert out == "" or line[0] == "shell", line
            assert err.splitlines()[-1].startswith("error: "), (line, err)
            told = sum(words.startswith("error: ") for words in err.splitlines())
            assert told == 1 or (told and line[0] == "shell"), (line, err)  # the shell: for each line that it was given
    with capsys.disabled():
        print(f"\n{codes.total():,} command lines: {codes[0]:,} did something, {codes[2]:,} were refused in one line")
    assert codes.total() >= 1000
    assert codes[2] > codes[0] > 100


def test_exit_codes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the user, a bug of ours, Ctrl-C and a reader that has gone."""

    def run(error: BaseException) -> tuple[int, str]:
        def fail(*_: Any) -> None:
            raise error

        monkeypatch.setattr("cooccur.cli.models.print_json", fail)
        code = main(["models", "--json"])
        return code, capsys.readouterr().err

    assert run(CooccurError("a thing; mend it")) == (2, "error: a thing; mend it\n")
    assert run(CooccurError("a name\nwith a break")) == (2, "error: a name with a break\n")
    for bug in (RuntimeError("ours"), MemoryError(), RecursionError("deep"), AssertionError(), UnicodeError("bad")):
        code, err = run(bug)
        assert code == 70
        assert err.startswith("Traceback")
        assert type(bug).__name__ in err
        assert err.splitlines()[-1].startswith("this is a bug in cooccur")
    assert run(KeyboardInterrupt()) == (130, "interrupted\n")


# -- large files: the most memory, in a process of its own -------------------------------------------

PEAK = """
import itertools, pathlib
import cooccur
from cooccur.reading import read_report
class Made:
    name = "big.txt"
    def __init__(self, head, piece, times):
        self.pieces = itertools.chain([head] if head else [], itertools.repeat(piece, times))
    def read(self, size):
        return next(self.pieces, b"")
read_report(Made(b"a b\\n", b"", 1))
def peak():
    return 1024 * int(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
try:
    print(read_report(Made(HEAD, PIECE, TIMES))[0])
except cooccur.CooccurError as error:
    print(error)
print(peak() - before)
"""
M = 2**20
LARGE = [  # what the file repeats, its MB, how it starts, what is said of it, the most MB that it may take
    (b"x", 200, b"", "a line longer than 16,777,216 bytes", 150),
    (b"a ", 200, b"", "a line longer than 16,777,216 bytes", 300),
    (b"[", 15, b"", "is not JSON", 300),
    (b"a,bc", 15, b'user,item\n1,"', "a quote that is never closed", 200),
    (b"1,", 2, b"", "Baskets(1 records, 1,048,576 items, 1,048,576 occurrences)", 600),
    (b"a\n", 10, b"", "Baskets(5,242,880 records, 1 items, 5,242,880 occurrences)", 700),
]


@pytest.mark.skipif(sys.platform != "linux", reason="there the most memory of a process is told")
@pytest.mark.parametrize(("unit", "size", "head", "message", "most"), LARGE, ids=[repr(unit) for unit, *_ in LARGE])
def test_memory_is_bounded(unit: bytes, size: int, head: bytes, message: str, most: int) -> None:
    code = PEAK.replace("HEAD", repr(head)).replace("PIECE", f"{unit!r} * {M // len(unit)}").replace("TIMES", str(size))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told, taken = done.stdout.splitlines()
    print(f"\n{size} MB of {unit!r}: {int(taken) / M:.0f} MB")
    assert message in told
    assert int(taken) < most * M


def test_bombs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import zstandard

    monkeypatch.setattr(streams, "_HARMLESS", 2**20)
    for pack, kind in ((gzip.compress, "gzip"), (zstandard.compress, "zstd")):
        (tmp_path / "bomb").write_bytes(pack(b"a b\n" * 2**20))
        with pytest.raises(InputError, match=rf"bomb: [\d,]+ bytes of {kind} data grow to more than [\d,]+; if that"):
            read(tmp_path / "bomb")
