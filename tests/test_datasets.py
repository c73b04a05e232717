"""Datasets: found, verified and formed as the table says; downloaded from a server that behaves well and badly."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cooccur.datasets import DATASETS, Dataset, Title, data_home, download, find, load, titles
from cooccur.errors import DatasetError, InputError

LINES = "".join(f"{i % 7} {i % 11 + 7} {i}\n" for i in range(40_000)).encode()  # several network blocks


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `content` at every path; its attributes say how well it behaves, `asked` is what was asked of it."""

    content = LINES
    ranges = True
    etag = '"one"'
    status: int | None = None
    cut: int | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(dict(self.headers))
        if server.status:
            self.send_error(server.status)
            return
        start, whole = 0, len(server.content)
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and server.ranges and self.headers.get("If-Range", server.etag) == server.etag:
            start = int(wanted[1])
            if start >= whole:
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        self.send_header("Content-Length", str(whole - start))
        self.send_header("ETag", server.etag)
        self.end_headers()
        self.wfile.write(server.content[start : server.cut or whole])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def lines(server: Server) -> Dataset:
    """Retail's entry, with what the server has as the published file."""
    return replace(DATASETS["retail"], url=f"{server.url}/retail.dat", sha256=sha256(LINES))


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def cut_off(server: Server, dataset: Dataset, home: Path, at: int = 200_000) -> None:
    server.cut = at
    with pytest.raises(DatasetError, match=f"{at:,} bytes so far are kept"):
        download(dataset, home)
    server.cut = None
    assert (home / "retail/retail.dat.part").read_bytes() == LINES[:at]


# -- downloading --------------------------------------------------------------------------------------


def test_fresh_download(server: Server, lines: Dataset, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = download(lines, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "retail/retail.dat" == find(lines, tmp_path)
    assert path.read_bytes() == LINES
    assert files(tmp_path) == ["retail/retail.dat"]
    assert "Range" not in server.asked[0]
    assert len(seen) > 1
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (len(LINES), len(LINES))
    assert len(load(lines, tmp_path)) == 40_000


def test_a_file_at_hand_is_verified_and_not_fetched_again(server: Server, lines: Dataset, tmp_path: Path) -> None:
    path = download(lines, tmp_path)
    assert download(lines, tmp_path) == path
    assert len(server.asked) == 1
    path.write_bytes(b"my own notes")
    with pytest.raises(DatasetError, match="delete it"):
        download(lines, tmp_path)
    assert path.read_bytes() == b"my own notes"


def test_gzip_is_kept_as_published_and_hashed_uncompressed(server: Server, lines: Dataset, tmp_path: Path) -> None:
    server.content = gzip.compress(LINES)
    path = download(replace(lines, url=f"{server.url}/retail.dat.gz"), tmp_path)
    assert path == tmp_path / "retail/retail.dat.gz"
    assert path.read_bytes() == server.content


def test_a_broken_download_goes_on_where_it_stopped(server: Server, lines: Dataset, tmp_path: Path) -> None:
    cut_off(server, lines, tmp_path)
    seen: list[int] = []
    path = download(lines, tmp_path, progress=lambda done, total: seen.append(done))
    assert server.asked[1]["Range"] == "bytes=200000-"
    assert server.asked[1]["If-Range"] == '"one"'
    assert seen[0] > 200_000
    assert path.read_bytes() == LINES
    assert files(tmp_path) == ["retail/retail.dat"]


def test_a_server_without_ranges_sends_all_again(server: Server, lines: Dataset, tmp_path: Path) -> None:
    server.ranges = False
    cut_off(server, lines, tmp_path)
    assert download(lines, tmp_path).read_bytes() == LINES
    assert "Range" in server.asked[1]


def test_a_file_that_changed_meanwhile_is_not_mixed(server: Server, lines: Dataset, tmp_path: Path) -> None:
    cut_off(server, lines, tmp_path)
    server.content, server.etag = LINES[::-1], '"two"'
    changed = replace(lines, sha256=sha256(LINES[::-1]))
    assert download(changed, tmp_path).read_bytes() == LINES[::-1]
    assert len(server.asked) == 2


def test_a_part_longer_than_the_file_starts_again(server: Server, lines: Dataset, tmp_path: Path) -> None:
    part = tmp_path / "retail/retail.dat.part"
    part.parent.mkdir()
    part.write_bytes(LINES + b"more")
    assert download(lines, tmp_path).read_bytes() == LINES
    assert ["Range" in asked for asked in server.asked] == [True, False]  # the first was answered by 416


def test_wrong_content_leaves_nothing(server: Server, lines: Dataset, tmp_path: Path) -> None:
    server.content = b"<html>please log in</html>"
    with pytest.raises(DatasetError) as error:
        download(lines, tmp_path)
    message = str(error.value)
    assert message.startswith(f"{lines.url} is not the published retail")
    assert f"expected sha256 {sha256(LINES)}, found {sha256(server.content)}" in message
    assert lines.page in message
    assert files(tmp_path) == []


def test_a_gzip_that_ends_early_leaves_nothing(server: Server, lines: Dataset, tmp_path: Path) -> None:
    server.content = gzip.compress(LINES)[:-100]
    with pytest.raises(DatasetError, match="cannot be read"):
        download(replace(lines, url=f"{server.url}/retail.dat.gz"), tmp_path)
    assert files(tmp_path) == []


def test_not_found_names_page_and_place(server: Server, lines: Dataset, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(DatasetError, match="404") as error:
        download(lines, tmp_path)
    assert lines.page in str(error.value)
    assert str(tmp_path / "retail/retail.dat") in str(error.value)
    assert "\n" not in str(error.value)
    assert files(tmp_path) == []


def test_no_network(lines: Dataset, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DatasetError, match="could not be downloaded") as error:
        download(replace(lines, url=f"http://127.0.0.1:{port}/retail.dat"), tmp_path)
    assert lines.page in str(error.value)
    assert files(tmp_path) == []


def test_a_silent_server_times_out(lines: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cooccur.datasets.remote._TIMEOUT", 0.05)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(DatasetError, match="timed out"):
            download(replace(lines, url=f"http://127.0.0.1:{silent.getsockname()[1]}/retail.dat"), tmp_path)


def test_a_home_that_is_a_file(lines: Dataset, tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(DatasetError, match="COOCCUR_DATA"):
        download(lines, tmp_path / "home")


def test_a_dataset_without_address_cannot_be_downloaded(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"soc-Slashdot0811-undirected\.txt"):
        download("slashdot0811-undirected", tmp_path)


# -- archives -----------------------------------------------------------------------------------------

RATINGS = b"1::10::5::0\n1::20::3::0\n2::10::4::0\n3::20::1::0\n"
MOVIES = "10::Léon (1994)::Crime|Drama\n20::Up (2009)::Comedy\n"


def zipped(**members: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return target.getvalue()


@pytest.fixture
def movies(server: Server) -> Dataset:
    server.content = zipped(**{"ml-10M100K/ratings.dat": RATINGS, "ml-10M100K/movies.dat": MOVIES.encode()})
    return replace(DATASETS["ml-10m"], url=f"{server.url}/ml-10m.zip", counts={"lines": 4, "users": 3})


def test_zip_member(movies: Dataset, tmp_path: Path) -> None:
    assert titles(movies, tmp_path) == {}
    assert download(movies, tmp_path).read_bytes() == RATINGS
    assert files(tmp_path) == ["ml-10m/movies.dat", "ml-10m/ratings.dat"]
    assert list(load(movies, tmp_path)) == [["10"], ["10"]]
    assert titles(movies, tmp_path)["10"] == Title("Léon (1994)", "Crime|Drama")


def test_an_archive_saved_by_hand_is_used_and_kept(server: Server, movies: Dataset, tmp_path: Path) -> None:
    saved = tmp_path / "ml-10m/ml-10m.zip"
    with pytest.raises(DatasetError, match=re.escape(str(saved))):
        load(movies, tmp_path)
    saved.parent.mkdir()
    saved.write_bytes(server.content)
    download(movies, tmp_path)
    assert server.asked == []
    assert files(tmp_path) == ["ml-10m/ml-10m.zip", "ml-10m/movies.dat", "ml-10m/ratings.dat"]


@pytest.mark.parametrize("content", [b"no zip", zipped(other=b""), zipped(**{"ml-10M100K/ratings.dat": RATINGS[:-12]})])
def test_a_wrong_archive_leaves_nothing(server: Server, movies: Dataset, tmp_path: Path, content: bytes) -> None:
    server.content = content
    with pytest.raises(DatasetError):
        download(movies, tmp_path)
    assert files(tmp_path) == []


@pytest.fixture
def jokes(server: Server) -> Dataset:
    """Two users rate 100 jokes; the first likes jokes 1 and 3, the second none."""
    import xlwt

    book = xlwt.Workbook()
    sheet = book.add_sheet("jester-data-1-new")
    for user, ratings in enumerate([[3, 7.82, -1.5, 0.1 + 0.2], [2, -9.95, 0]]):
        for column, value in enumerate(ratings + [99] * (101 - len(ratings))):
            sheet.write(user, column, value)
    target = io.BytesIO()
    book.save(target)
    server.content = zipped(**{"jester-data-1.xls": target.getvalue()})
    counts = {"lines": 2, "records": 1, "items": 2, "occurrences": 2}
    return replace(DATASETS["jester"], url=f"{server.url}/jester_dataset_1_1.zip", counts=counts)


def test_xls_becomes_csv(jokes: Dataset, tmp_path: Path) -> None:
    path = download(jokes, tmp_path)
    assert path == tmp_path / "jester/jester-data-1.csv"
    first, second = path.read_text().splitlines()
    assert first == "3,7.82,-1.5,0.3" + ",99" * 97
    assert second == "2,-9.95,0" + ",99" * 98
    assert load(jokes, tmp_path).lengths.tolist() == [2]
    assert files(tmp_path) == ["jester/jester-data-1.csv"]


def test_xls_of_other_counts_is_refused(jokes: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="expected 3 occurrences, found 2"):
        download(replace(jokes, counts={**jokes.counts, "occurrences": 3}), tmp_path)
    assert files(tmp_path) == []


def test_xls_that_is_none(server: Server, jokes: Dataset, tmp_path: Path) -> None:
    server.content = zipped(**{"jester-data-1.xls": b"no workbook"})
    with pytest.raises(DatasetError, match=r"jester-data-1\.xls"):
        download(jokes, tmp_path)


def test_xls_needs_its_package(server: Server, jokes: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DatasetError, match=r"pip install cooccur\[xls\]"):
        download(jokes, tmp_path)
    assert server.asked == []


# -- finding, naming, verifying -----------------------------------------------------------------------


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COOCCUR_DATA", "from-environment")
    assert data_home("given") == Path("given")
    assert data_home() == Path("from-environment")
    monkeypatch.delenv("COOCCUR_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_home() == tmp_path / "cooccur"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_home() == Path.home() / ".cache/cooccur"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_home() == Path.home() / "Library/Caches/cooccur"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert data_home() == tmp_path / "cooccur"


@pytest.mark.parametrize("place", ["retail/retail.dat", "retail/retail.dat.gz", "retail.dat", "retail.dat.gz"])
def test_find(tmp_path: Path, place: str) -> None:
    assert find("retail", tmp_path) is None
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert find("retail", tmp_path) == path


def test_unknown_name() -> None:
    with pytest.raises(DatasetError, match=r"did you mean retail\?.*ml-10m-top500"):
        load("retial")


@pytest.mark.parametrize("name", DATASETS)
def test_not_at_hand(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError) as error:
        load(name, tmp_path)
    message = str(error.value)
    assert DATASETS[name].page in message
    assert str(tmp_path / DATASETS[name].path.split("/")[0]) in message
    assert (f"`cooccur datasets get {name}`" in message) == (DATASETS[name].url is not None)
    assert "\n" not in message


def test_table_is_complete() -> None:
    assert list(DATASETS) == [dataset.name for dataset in DATASETS.values()]
    for dataset in DATASETS.values():
        assert dataset.sha256 is None or re.fullmatch("[0-9a-f]{64}", dataset.sha256)
        assert dataset.counts.keys() <= {"lines", "users", "nodes", "records", "items", "occurrences"}
        assert dataset.sha256 or "lines" in dataset.counts
        published = (dataset.url or f"{dataset.path}.gz").rsplit("/", 1)[1]
        assert dataset.member or published == f"{Path(dataset.path).name}.gz"  # what a user saves by hand is found
        assert (dataset.member is not None) == (dataset.url is not None and dataset.url.endswith(".zip"))


def test_ml_10m_is_known_by_its_counts(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_bytes(b"1::122::5::838985046\n1::185::4.5::838983525\n2::122::3.5::1\n")
    small = replace(DATASETS["ml-10m"], counts={"lines": 3, "users": 2})
    assert list(load(small, tmp_path)) == [["122", "185"]]
    with pytest.raises(DatasetError, match="expected 10,000,054 lines, found 3"):
        load("ml-10m", tmp_path)
    with pytest.raises(DatasetError, match="expected 3 users, found 2"):
        load(replace(small, counts={"users": 3}), tmp_path)


def test_slashdot0811_is_known_by_its_counts_and_loses_self_loops(tmp_path: Path) -> None:
    (tmp_path / "soc-Slashdot0811.txt").write_bytes(b"# From\tTo\r\n0\t0\r\n0\t1\r\n1\t0\r\n2\t2\r\n3\t1\r\n")
    small = replace(DATASETS["slashdot0811"], counts={"lines": 5, "nodes": 4})
    links = load(small, tmp_path)
    assert dict(zip(links.records, links, strict=True)) == {"0": ["1"], "1": ["0"], "3": ["1"]}
    assert sorted(links.items) == ["0", "1"]
    with pytest.raises(DatasetError, match="expected 77,360 nodes, found 4"):
        load(replace(small, counts={"nodes": 77_360}), tmp_path)


def test_undirected_pairs_are_taken_both_ways(tmp_path: Path) -> None:
    (tmp_path / "soc-Slashdot0811-undirected.txt").write_bytes(b"0 1\n0 2\n")
    links = load(replace(DATASETS["slashdot0811-undirected"], sha256=None, counts={"lines": 2}), tmp_path)
    assert {record: set(names) for record, names in zip(links.records, links, strict=True)} == {
        "0": {"1", "2"}, "1": {"0"}, "2": {"0"},
    }  # fmt: skip


def test_top500_keeps_the_most_liked(tmp_path: Path) -> None:
    lines = [f"{user}::{movie}::5::0" for user in (1, 2) for movie in range(500)] + ["3::999::5::0", "4::0::1::0"]
    (tmp_path / "ratings.dat").write_text("\n".join(lines) + "\n")
    top = load(replace(DATASETS["ml-1m-top500"], sha256=None, counts={"lines": 1002}), tmp_path)
    assert (len(top), top.n_items, top.nnz) == (2, 500, 1000)
    assert "999" not in top.items


def test_titles_of_jokes_and_bad_titles(tmp_path: Path) -> None:
    (tmp_path / "jester-jokes.csv").write_bytes(b'joke_id,text\r\n1,"Knock, knock.\n""Who?"""\r\n')
    assert titles("jester", tmp_path) == {"1": Title('Knock, knock.\n"Who?"')}
    assert titles("retail", tmp_path) == {}
    (tmp_path / "movies.dat").write_bytes("1::Léon (1994)::Crime\n".encode("latin-1"))
    assert titles("ml-1m-top500", tmp_path) == {"1": Title("Léon (1994)", "Crime")}
    with pytest.raises(DatasetError, match=r"movies\.dat"):  # ml-10m is utf-8
        titles("ml-10m", tmp_path)
    (tmp_path / "movies.dat").write_bytes(b"1::A::B\n2::C\n")
    with pytest.raises(InputError, match=r"movies\.dat, line 2"):
        titles("ml-1m", tmp_path)


def test_import_is_light() -> None:
    heavy = "{'polars', 'scipy', 'numba', 'torch'}"
    code = f"import sys, cooccur.datasets; sys.exit(' '.join({heavy} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr.strip() == ""
    )


# -- the real files -----------------------------------------------------------------------------------


@pytest.fixture
def real() -> Path:
    if not (folder := os.environ.get("COOCCUR_DATA")):
        pytest.skip("set COOCCUR_DATA to the folder with the real data")
    return Path(folder)


@pytest.mark.parametrize(
    ("name", "records", "items", "occurrences"),
    [
        ("retail", 88_162, 16_470, 908_576),
        ("epinions", 60_341, 51_957, 508_837),
        ("slashdot0811-undirected", 77_360, 77_360, 938_360),
        ("slashdot0902", 71_891, 82_168, 870_161),
        ("jester", 24_913, 100, 1_077_115),
        ("ml-1m", 6_038, 3_533, 575_281),
        ("ml-1m-top500", 6_037, 500, 359_149),
    ],
)
def test_real_counts(real: Path, name: str, records: int, items: int, occurrences: int) -> None:
    baskets = load(name, real)
    assert (len(baskets), baskets.n_items, baskets.nnz) == (records, items, occurrences)
    assert baskets.frequencies.min() > 0
    known = DATASETS[name].counts
    assert (known["records"], known["items"], known["occurrences"]) == (records, items, occurrences)


def test_jester_is_accepted_by_counts_too(real: Path) -> None:
    assert len(load(replace(DATASETS["jester"], sha256="0" * 64), real)) == 24_913


def test_real_titles(real: Path) -> None:
    movies = titles("ml-1m", real)
    assert len(movies) == 3_883
    assert movies["1"] == Title("Toy Story (1995)", "Animation|Children's|Comedy")
    assert set(load("ml-1m-top500", real).items) <= movies.keys()
    assert set(load("jester", real).items) == titles("jester", real).keys()


@pytest.mark.parametrize("name", ["retail", "ml-1m"])
def test_one_flipped_byte_is_refused(real: Path, tmp_path: Path, name: str) -> None:
    source = find(name, real)
    assert source is not None
    content = bytearray(gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / Path(DATASETS[name].path).name).write_bytes(content)
    with pytest.raises(DatasetError, match=f"expected sha256 {DATASETS[name].sha256}"):
        load(name, tmp_path)
