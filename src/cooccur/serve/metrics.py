"""What the service counts, as Prometheus reads it.

With several processes they share a folder (PROMETHEUS_MULTIPROC_DIR, which `cooccur serve --workers` makes) and any of
them answers for all.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
KIND = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self._requests = Counter("cooccur_requests", "Requests answered", ["path", "status"], registry=own)
        self._seconds = Histogram("cooccur_request_seconds", "Until answered", ["path"], registry=own, buckets=SECONDS)
        self._baskets = Counter("cooccur_baskets", "Baskets completed", registry=own)
        self._unknown = Counter(
            "cooccur_unknown_items", "Items of a request that the model does not know", registry=own
        )
        self._reloads = Counter("cooccur_reloads", "New model files, by what became of them", ["result"], registry=own)
        self._loaded = Gauge(
            "cooccur_model_loaded_timestamp_seconds", "When the model was loaded; the oldest of all processes",
            registry=own, multiprocess_mode="livemin",
        )  # fmt: skip
        self._items = Gauge(
            "cooccur_model_items", "Items the model knows", registry=own, multiprocess_mode="livemostrecent"
        )
        for result in ("swapped", "refused"):
            self._reloads.labels(result)

    def request(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def completed(self, baskets: int, unknown: int) -> None:
        self._baskets.inc(baskets)
        if unknown:
            self._unknown.inc(unknown)

    def reload(self, result: str) -> None:
        self._reloads.labels(result).inc()

    def loaded(self, seconds: float, items: int) -> None:
        self._loaded.set(seconds)
        self._items.set(items)

    def text(self) -> bytes:
        registry = self.registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def close(self) -> None:
        if FOLDER in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]
