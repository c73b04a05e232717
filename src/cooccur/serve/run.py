"""From settings to a running service: the socket, the log, one process or several."""

from __future__ import annotations

import functools
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from cooccur.errors import CooccurError
from cooccur.serve.app import create_app
from cooccur.serve.limits import Limits
from cooccur.serve.metrics import FOLDER
from cooccur.serve.state import Titles

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from fastapi import FastAPI

HTTP = "h11"  # bounds the length of a request's head; httptools, which does not, saves 0.1 ms a request
KEEP_ALIVE = 65  # seconds; longer than a proxy's, so that it is the proxy who closes


@dataclass(frozen=True)
class Settings:
    """What `cooccur serve` was told; goes to each process."""

    path: Path
    token: str | None = field(default=None, repr=False)
    origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    poll: float = 1.0
    titles: Titles | None = None


def application(settings: Settings) -> FastAPI:
    """The application of one process, and its log on stderr."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("cooccur.serve").setLevel(logging.INFO)
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    return create_app(
        settings.path, titles=settings.titles, token=settings.token, origins=settings.origins, limits=settings.limits,
        poll=settings.poll,
    )  # fmt: skip


def _end_with(parent: BaseProcess) -> None:
    """A worker whose parent was killed would hold the port for ever."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address; not yet listening."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise CooccurError(
            f"--host {host}: no such address ({error}); take one of this machine, as 127.0.0.1"
        ) from None
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        remedy = "take another --port" if port else "take another --host"
        raise CooccurError(f"cannot listen on {host} port {port} ({error.strerror}); {remedy}") from None
    bound.set_inheritable(True)
    return bound


def run(settings: Settings, bound: socket.socket, workers: int = 1, app: FastAPI | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that are under way then are answered first."""
    config = uvicorn.Config(
        app or functools.partial(application, settings), factory=app is None, workers=workers, loop="asyncio",
        http=HTTP, ws="none", lifespan="on", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=round(settings.limits.seconds) + 5,
        timeout_worker_healthcheck=60,
    )  # fmt: skip
    if workers == 1:
        signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn ends by it, then raises it once more
        uvicorn.Server(config).run(sockets=[bound])
        return
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="cooccur-metrics-") as folder:
        os.environ[FOLDER] = folder  # read by the processes that are started now
        Multiprocess(config, sockets=[bound]).run()
