"""Any source of bytes -> blocks of whole lines of text.

    raw chunks -> decompressed (by magic bytes, not by name) -> UTF-8 -> blocks of whole lines, numbered

Everything is an iterator of chunks, so memory is bounded by one block (or one line, which has a limit).
"""

from __future__ import annotations

import codecs
import itertools
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cooccur.errors import InputError
from cooccur.reading.report import Tally, shown

BLOCK = 16 * 2**20
LONGEST_LINE = (
    16 * 2**20
)  # a million columns fit; what is longer is no record, and would cost 30 times its length or more
SAMPLE_LINES = 1000
_SAMPLE_BYTES = 4 * 2**20
# A chunk of a zip bomb may grow 30,000-fold, so compressed chunks are small. Text grows 2- to 20-fold.
_COMPRESSED_CHUNK = 4096
_HARMLESS, _GROWTH = 64 * 2**20, 250

Chunks = Iterator[bytes]
Blocks = Iterator[tuple[int, str]]

_FOREIGN = {
    b"PK\x03\x04": ("a zip archive (or an xlsx sheet)", "unpack it, or save the sheet as csv"),
    b"\xd0\xcf\x11\xe0": ("an xls sheet", "save it as csv"),
    b"BZh": ("compressed with bzip2; gzip and zstd are read", "unpack it first"),
    b"\xfd7zXZ": ("compressed with xz; gzip and zstd are read", "unpack it first"),
    b"\xff\xfe": ("UTF-16 text, expected UTF-8", "save it as UTF-8 or add --encoding utf-16"),
    b"\xfe\xff": ("UTF-16 text, expected UTF-8", "save it as UTF-8 or add --encoding utf-16"),
}


def source_name(source: Any) -> str:
    """What errors call the source.

    >>> source_name("-"), source_name(Path("a.txt"))
    ('standard input', 'a.txt')
    """
    if isinstance(source, (str, Path)):
        return "standard input" if str(source) == "-" else str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the stream"


def chunks(source: Any, name: str) -> Chunks:
    """The decompressed bytes of a path, "-" or an open stream, in pieces.

    >>> import gzip, io
    >>> b"".join(chunks(io.BytesIO(gzip.compress(b"a b")), "a.txt"))
    b'a b'
    """
    raw = _raw(source, name)
    head, raw = peek(raw, 4)
    if head.startswith(b"\x1f\x8b"):
        return _inflate(raw, lambda: zlib.decompressobj(wbits=31), "gzip", name)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard

        return _inflate(raw, zstandard.ZstdDecompressor().decompressobj, "zstd", name)
    return raw


def peek(chunks: Chunks, size: int) -> tuple[bytes, Chunks]:
    """The first bytes, `size` or more if there are as many, and the whole stream again.

    >>> head, whole = peek(iter([b"ab", b"cd", b"ef"]), 3)
    >>> head, b"".join(whole)
    (b'abcd', b'abcdef')
    """
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= size:
            break
    return head, itertools.chain([head], chunks)


def decoded(chunks: Chunks, encoding: str, name: str) -> Chunks:
    """UTF-8 bytes without a byte order mark, whatever the encoding was.

    >>> b"".join(decoded(iter([b"caf\\xe9"]), "latin-1", "a.txt")).decode()
    'café'
    """
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        return _recoded(chunks, encoding, name)
    head, chunks = peek(chunks, 8)
    for magic, (what, remedy) in _FOREIGN.items():
        if head.startswith(magic):
            raise InputError(f"this is {what}", source=name, remedy=remedy)
    if head.startswith(codecs.BOM_UTF8):
        next(chunks)
        return itertools.chain([head[3:]], chunks)
    return chunks


def sample(chunks: Chunks, name: str) -> tuple[list[str], Chunks]:
    """The first lines (at most a thousand, whatever the block size), and the whole stream again.

    >>> sample(iter([b"a b\\nc", b" d"]), "a.txt")[0]
    ['a b', 'c d']
    """
    pieces: list[bytes] = []
    length = breaks = 0
    full = False
    for piece in chunks:
        pieces.append(piece)
        length, breaks = length + len(piece), breaks + piece.count(b"\n")
        # one line must be whole, however long: it says how many columns there are
        full = breaks > SAMPLE_LINES or (breaks > 0 and length >= _SAMPLE_BYTES) or length > LONGEST_LINE
        if full:
            break
    data = b"".join(pieces)
    if not data:
        raise InputError("the file is empty", source=name, remedy="check the name, or what wrote it")
    chunks = itertools.chain([data], chunks)
    end = data.rfind(b"\n") + 1 if full else len(data)
    if not end:  # no line at all, which `blocks` will say; its beginning has to do
        return [_text(data[:_SAMPLE_BYTES], 1, name, "ignore")], chunks
    return _text(data[:end], 1, name).removesuffix("\n").split("\n")[:SAMPLE_LINES], chunks


def blocks(chunks: Chunks, tally: Tally, size: int = BLOCK) -> Blocks:
    """Blocks of whole lines, about `size` bytes each: (number of the first line, text). Counts the lines.

    >>> list(blocks(iter([b"a\\nb", b"c\\r\\nd"]), Tally("a.txt"), size=1))
    [(1, 'a\\n'), (2, 'bc\\n'), (3, 'd')]
    """
    pending: list[bytes] = []
    length, newline, too_long = 0, False, False
    for piece in (chunk[i : i + size] for chunk in chunks for i in range(0, len(chunk), size)):
        if too_long:
            end = piece.find(b"\n") + 1
            if not end:
                continue
            tally.lines += 1
            piece, too_long = piece[end:], False
        pending.append(piece)
        length += len(piece)
        newline = newline or b"\n" in piece
        if newline and length >= size:
            data = b"".join(pending)
            end = data.rfind(b"\n") + 1
            yield _block(data[:end], tally)
            pending, length, newline = [data[end:]], len(data) - end, False
        elif not newline and length > LONGEST_LINE:
            start = shown(b"".join(pending)[:20].decode("utf-8", "replace"))
            tally.bad(
                tally.lines + 1,
                f"a line longer than {LONGEST_LINE:,} bytes that starts with {start}, expected a line break",
            )
            pending, length, too_long = [], 0, True
    if length:
        yield _block(b"".join(pending), tally)
    tally.lines += too_long


def _block(data: bytes, tally: Tally) -> tuple[int, str]:
    start = tally.lines + 1
    tally.lines += data.count(b"\n") + (not data.endswith(b"\n"))
    return start, _text(data, start, tally.source)


def _text(data: bytes, start: int, name: str, errors: str = "strict") -> str:
    """Decoded, with "\\n" as the one line break. `start` is the number of the first line, for the errors."""
    if (zero := data.find(b"\0")) >= 0:
        line = start + data.count(b"\n", 0, zero)
        raise InputError("a NUL byte: this is not a text file", source=name, line=line, remedy="check the file")
    try:
        text = data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise InputError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8", source=name,
            line=start + data.count(b"\n", 0, error.start), remedy="add --encoding latin-1, or save it as UTF-8",
        ) from None  # fmt: skip
    return text.replace("\r\n", "\n").replace("\r", " ") if "\r" in text else text


def _raw(source: Any, name: str) -> Chunks:
    """What the source gives, unchanged; text streams come as UTF-8."""
    if isinstance(source, (str, Path)) and str(source) != "-":
        return _file(Path(source), name)
    stream = sys.stdin.buffer if isinstance(source, (str, Path)) else source
    return _pieces(stream, name)


def _file(path: Path, name: str) -> Chunks:
    try:
        stream = path.open("rb")
    except IsADirectoryError:
        raise InputError("this is a folder", source=name, remedy="name a file in it") from None
    except FileNotFoundError:
        raise InputError("there is no such file", source=name, remedy="check the name") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the file cannot be opened ({reason})", source=name) from None
    with stream:
        yield from _pieces(stream, name)


def _pieces(stream: Any, name: str) -> Chunks:
    while True:
        try:
            piece = stream.read(2**20)
        except (OSError, ValueError) as error:
            raise InputError(f"reading failed ({error})", source=name) from None
        if not piece:
            return
        yield piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else bytes(piece)


def _inflate(chunks: Chunks, start: Callable[[], Any], kind: str, name: str) -> Chunks:
    """One compressed member after the other; a stream that ends inside one is damaged, and so is anything between."""
    member: Any = None
    taken = made = 0
    try:
        for piece in (c[i : i + _COMPRESSED_CHUNK] for c in chunks for i in range(0, len(c), _COMPRESSED_CHUNK)):
            rest = piece
            taken += len(piece)
            while rest:
                if member is None:
                    rest = rest.lstrip(b"\0")  # tapes and some writers pad with zeros
                    if not rest:
                        break
                    member = start()
                data = member.decompress(rest)
                made += len(data)
                if made > max(_HARMLESS, _GROWTH * taken):
                    problem = f"{taken:,} bytes of {kind} data grow to more than {made:,}"
                    raise InputError(problem, source=name, remedy="if that is right, unpack the file first")
                yield data
                rest = member.unused_data if member.eof else b""
                member = None if member.eof else member
    except Exception as error:  # zlib.error or ZstdError, which is not importable without zstandard
        if isinstance(error, InputError):
            raise
        raise InputError(f"damaged {kind} data ({error})", source=name, remedy="fetch the file again") from None
    if member is not None:
        raise InputError(f"the {kind} data ends too early", source=name, remedy="fetch the file again")


def _recoded(chunks: Chunks, encoding: str, name: str) -> Chunks:
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    for chunk in itertools.chain(chunks, [None]):
        try:
            text = decoder.decode(chunk or b"", final=chunk is None)
        except UnicodeError:
            raise InputError(
                f"bytes that are not {encoding}, in line {line:,} or soon after",
                source=name,
                remedy="choose another --encoding",
            ) from None
        line += text.count("\n")
        yield text.encode("utf-8", "surrogatepass")
