"""What does HTTP add to a completion, and how many can be had a second?

    python benchmarks/serve.py [16470 [77360 ...]]

For each number of items a DEM of that size is made from random numbers (256 hidden units, some hundred pairs an
item, uneven as in a shop), saved, and served by `cooccur serve` in a process of its own, over
loopback. Baskets of ten items, ten suggestions.

(1) From the start of the process to its first answer.
(2) One client, and the same calls in this process, in turns of 50 so that a busy machine hits both alike: p50 and p99,
    and what the service adds. The client is a plain socket; what it costs itself is in the figure. On a machine with
    more to do than cores the processes wait for their turn; the CPU time of each side tells what is work.
(3) Sixteen clients at once: requests a second, p50 and p99.
(4) Eight clients while the model file is replaced again and again, by good files and by bad ones: failed requests.

Bounded: some 15 seconds a model. Set OMP_NUM_THREADS for the threads of both sides; here it is 1 unless it is set.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cooccur.baskets import Baskets
from cooccur.models.dem import Dem
from cooccur.storage import load

SIZES = {16_470: 440, 77_360: 230}  # pairs an item
HIDDEN, ROUNDS, TURN, SECONDS = 256, 12, 50, 4.0


def random_dem(n: int, pairs: int) -> Dem:
    """A DEM with weights of a likely size, as `fit` would have left it."""
    rng = np.random.default_rng(0)
    p = 1 / (np.arange(n) + 10)
    p /= p.sum()
    rows = np.repeat(np.arange(n), np.minimum(n // 2, 1 + p * n * pairs * 1.5).astype(np.int64))
    columns = np.searchsorted(np.cumsum(p), rng.random(len(rows), dtype=np.float32)).clip(0, n - 1)
    codes = np.unique(rows * n + columns)
    normal = lambda *shape: rng.normal(0, 0.1, shape).astype(np.float32)  # noqa: E731
    model = Dem()
    model.items_ = Baskets.from_lists([[f"item {i}" for i in range(n)]]).items
    model.frequencies_, model.n_records_ = (p * 1e6).astype(np.int64) + 1, 100_000
    model.fingerprint_, model.calibration_ = "0" * 64, None
    model.starts_ = np.searchsorted(codes, np.arange(n + 1) * n)
    model.columns_, model.weights_ = (codes % n).astype(np.int32), normal(len(codes))
    model.b_, model.E_, model.R_ = np.log(p).astype(np.float32), normal(n, HIDDEN), normal(n, HIDDEN)
    model.layers_, model.sizes_ = normal(HIDDEN), np.array([HIDDEN])
    model.strengths_ = np.ones(1, dtype=np.float32)
    return model


def request(basket: list[str]) -> bytes:
    body = json.dumps({"basket": basket, "k": 10}).encode()
    lines = ["POST /api/v1/complete HTTP/1.1", "host: x", "content-type: application/json"]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body


def cpu(process: int) -> float:
    """The CPU seconds that a process has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Service:
    """`cooccur serve` on a free port; `first` is the seconds from its start to its first answer."""

    def __init__(self, path: Path, asked: bytes) -> None:
        start = time.perf_counter()
        command = [
            sys.executable,
            "-c",
            "import sys; from cooccur.cli import main; sys.exit(main())",
            "serve",
            str(path),
        ]
        self.process = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = re.search(r"http://127.0.0.1:(\d+)", self.process.stderr.readline())
        assert found is not None
        self.port = int(found[1])
        while True:
            try:
                self.client = socket.create_connection(("127.0.0.1", self.port))
                break
            except ConnectionRefusedError:
                time.sleep(0.005)
        self.ask(asked)
        self.first = time.perf_counter() - start
        while b'"state":"ready"' not in self.ask(b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n", b""):
            time.sleep(0.05)
        self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, asked: bytes, wanted: bytes = b"200") -> bytes:
        self.client.sendall(asked)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.client.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
        while len(body) < length:
            body += self.client.recv(65536)
        assert head.startswith(b"HTTP/1.1 " + wanted), head
        return body

    def end(self) -> None:
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


async def hammer(port: int, asked: list[bytes], clients: int, seconds: float) -> tuple[list[float], int]:
    """The seconds of each answered request, and how many failed."""
    times: list[float] = []
    failed = 0
    stop = time.perf_counter() + seconds

    async def one(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = number
        while time.perf_counter() < stop:
            turn += 1
            start = time.perf_counter()
            try:
                writer.write(asked[turn % len(asked)])
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
                await reader.readexactly(length)
                failed += not head.startswith(b"HTTP/1.1 200")
            except (OSError, asyncio.IncompleteReadError):
                failed += 1
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            times.append(time.perf_counter() - start)
        writer.close()

    await asyncio.gather(*(one(number) for number in range(clients)))
    return times, failed


def show(what: str, times: list[float]) -> float:
    p10, p50, p99 = np.quantile(times, (0.1, 0.5, 0.99)) * 1e3
    print(f"  {what:24} p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   p10 {p10:7.2f} ms")
    return float(p50)


async def replaced(service: Service, folder: Path, path: Path, asked: list[bytes]) -> None:
    """Eight clients ask while other files come to the path."""
    load_test = asyncio.create_task(hammer(service.port, asked, 8, 3 * SECONDS))
    good = [(folder / name).read_bytes() for name in ("first", "second")]
    for turn in range(5):
        for content in (b"no model", good[(turn + 1) % 2]):
            await asyncio.to_thread((folder / "fresh").write_bytes, content)
            (folder / "fresh").replace(path)
            await asyncio.sleep(1.1)
    times, failed = await load_test
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    counted = dict(re.findall(rb'reloads_total{result="(\w+)"} (\d+)', await reader.read()))
    writer.close()
    swapped, refused = int(counted[b"swapped"]), int(counted[b"refused"])
    show("8 clients, reloading", times)
    print(f"  {len(times):,} requests while {swapped} models were swapped and {refused} refused: {failed} failed")


def measure(n: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "dem.model")
        made = random_dem(n, SIZES.get(n, 300))
        made.save(folder / "first")
        made.b_ = made.b_[::-1].copy()
        made.save(folder / "second")
        path.write_bytes((folder / "first").read_bytes())
        model = load(path)
        rng = np.random.default_rng(0)
        baskets = [[f"item {int(i)}" for i in n * rng.random(10) ** 3] for _ in range(200)]
        asked = [request(basket) for basket in baskets]
        print(f"DEM of {n:,} items, {len(model.columns_):,} pairs, {path.stat().st_size / 1e6:.0f} MB")
        service = Service(path, asked[0])
        try:
            print(f"  first answer {service.first:.2f} s after the start of the process")
            inside: list[float] = []
            served: list[float] = []
            own, theirs = 0.0, cpu(service.process.pid)
            for turn in range(ROUNDS):
                before = time.process_time()
                for i in range(TURN):
                    start = time.perf_counter()
                    model.complete(baskets[(turn * TURN + i) % len(baskets)])
                    inside.append(time.perf_counter() - start)
                own += time.process_time() - before
                for i in range(TURN):
                    start = time.perf_counter()
                    service.ask(asked[(turn * TURN + i) % len(asked)])
                    served.append(time.perf_counter() - start)
            added = -show("in this process", inside[TURN:]) + show("1 client", served[TURN:])
            own, theirs = (1e3 * spent / (ROUNDS * TURN) for spent in (own, cpu(service.process.pid) - theirs))
            print(f"  the service adds {added:.2f} ms at p50; CPU a call: {own:.2f} ms here, {theirs:.2f} ms there")
            times, failed = asyncio.run(hammer(service.port, asked, 16, SECONDS))
            show("16 clients", times)
            print(f"  {len(times) / SECONDS:,.0f} requests a second, {failed} failed")
            asyncio.run(replaced(service, folder, path, asked))
        finally:
            service.end()


if __name__ == "__main__":
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for size in map(int, sys.argv[1:] or SIZES):
        measure(size)
