"""The model that is served at this moment, and how the next one takes its place.

`Loaded` is a model with all that its answers need, made once and never changed. `Keeper` holds the present one in
`current`: a request takes it once and keeps it to its end, so no answer is of two models. When another file is at the
path (by its inode, size and times), it is loaded beside the old one, asked a first question, and only then put in
`current`, by one assignment; a bad file is refused, and the old model goes on.

The file must be replaced by a rename, as `cooccur fit -o` does: the old one lives on while it is mapped.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cooccur.errors import CooccurError, ModelFileError
from cooccur.index import Index
from cooccur.models.base import Model
from cooccur.serve.answers import Problem, encode, finite
from cooccur.serve.schemas import Explain, Wanted
from cooccur.storage import load

Titles = Mapping[str, tuple[str, str | None]]
Document = dict[str, Any]

QUICK = 0.005  # seconds: an answer that takes less is made at once, a longer one in a thread beside
CHUNK = 32  # baskets of a batch that are completed before the clock is looked at

log = logging.getLogger("cooccur.serve")


class Loaded:
    """A model and what its answers need. All methods may be called from any thread."""

    def __init__(self, path: Path, titles: Titles | None = None) -> None:
        self.model: Model = load(path)
        self.file, self.at = path.name, datetime.now(UTC)
        names: list[str] = self.model.items_.tolist()
        if not names:
            raise ModelFileError(f"{path}: a model without items; fit it again")
        known = titles if titles is not None else self.model.titles_
        self.items: list[Document] = [
            {"id": name, "title": title or name, "group": group or None}
            for name in names
            for title, group in [known.get(name, (name, None))]
        ]
        self.search = Index([item["title"] or "" for item in self.items], self.model.frequencies_, names)
        self.number: dict[str, int] = self.model._index
        self.making = Making(self)
        # Without OpenMP and TBB, Numba's threads break if two threads of ours start them at once; see `warm`.
        self.turn: contextlib.AbstractContextManager[Any] = threading.Lock()
        self.quick = self._first_answer() < QUICK

    def _first_answer(self) -> float:
        """Ask a first question, since a file can be whole and yet no model; the CPU seconds that it takes."""
        basket = [self.items[int(self.search.by_frequency[0])]["id"]]
        if np.isnan(self.model.scores([basket])).sum() > 1:  # its own item's is masked
            raise ModelFileError(f"{self.file}: its scores are no numbers; fit the model again")
        taken = []
        for _ in range(3):
            start = time.thread_time()  # what it costs, not how busy the machine is just now
            self.complete([basket], Wanted())
            taken.append(time.thread_time() - start)
        return min(taken)

    def warm(self) -> None:
        """Compile what batches need, and what a search for near spellings does, before somebody waits for it."""
        from numba.np.ufunc import threading_layer

        self.complete([[]] * CHUNK, Wanted())
        self.search.near("warm")
        with contextlib.suppress(ValueError):  # no kernel of this model runs in parallel
            if threading_layer() != "workqueue":
                self.turn = contextlib.nullcontext()

    # -- answers ------------------------------------------------------------------------------------

    def complete(self, baskets: Sequence[Sequence[str]], wanted: Wanted, deadline: float = math.inf) -> list[Document]:
        """One document for each basket."""
        if wanted.min_probability > 0 and self.model.probability(0.0) is None:
            raise Problem(
                422, "no_probability", f"{self.model.name}: its score is a {self.model.score_is}, no probability",
                "leave min_probability out",
            )  # fmt: skip
        candidates, strange = None, [name for name in wanted.exclude if name not in self.number]
        if wanted.candidates is not None:
            candidates = [name for name in wanted.candidates if name in self.number]
            strange += [name for name in wanted.candidates if name not in self.number]
        exclude = [name for name in wanted.exclude if name in self.number]
        done: list[Document] = []
        for start in range(0, len(baskets), CHUNK):
            if time.monotonic() > deadline:
                raise Problem(503, "too_slow", f"not ready in time: {start} baskets are done", "ask for less at a time")
            chunk = baskets[start : start + CHUNK]
            with self.turn:
                batch = self.model.complete_batch(chunk, wanted.k, candidates=candidates, exclude=exclude)
            for names, items, scores in zip(chunk, batch.items.tolist(), batch.scores.tolist(), strict=True):
                found = (pair for pair in zip(items, scores, strict=True) if pair[0] >= 0)
                done.append(self._completed(names, strange, found, wanted.min_probability))
        return done

    def _completed(
        self, names: Sequence[str], strange: list[str], found: Iterable[tuple[int, float]], least: float
    ) -> Document:  # fmt: skip
        distinct = dict.fromkeys(names)
        suggestions = []
        for item, score in found:
            p = self.model.probability(score)
            if p is not None and p < least:
                break
            suggestions.append({**self.items[item], "score": number(score), "probability": number(p)})
            suggestions[-1]["rank"] = len(suggestions)
        return {
            "model": self.model.name,
            "score_is": self.model.score_is,
            "basket": [self.items[self.number[name]] for name in distinct if name in self.number],
            "unknown": [name for name in dict.fromkeys([*distinct, *strange]) if name not in self.number],
            "suggestions": suggestions,
        }

    def explain(self, ask: Explain) -> Document:
        item = self.items[self.known(ask.item)]
        with self.turn:
            reason = self.model.explain([name for name in ask.basket if name in self.number], ask.item)
        return {
            "item": item,
            "score": number(reason.score),
            "probability": number(self.model.probability(reason.score)),
            "prior": number(reason.prior),
            "shares": [self._share(name, share) for name, share in reason.shares],
            "rest": number(reason.rest),
            "hidden": [self._share(name, share) for name, share in reason.hidden],
            "unknown": [name for name in dict.fromkeys(ask.basket) if name not in self.number],
        }

    def _share(self, name: str, share: float) -> Document:
        return {"id": name, "title": self.items[self.number[name]]["title"], "share": number(share)}

    def similar(self, item: str, k: int) -> Document:
        own = self.items[self.known(item)]
        with self.turn:
            found = self.model.similar_items(item, k)
        rows = [
            {**self.items[self.number[s.item]], "score": number(s.score), "rank": rank}
            for rank, s in enumerate(found, 1)
        ]
        return {"item": own, "similar": rows}

    def find(self, query: str, limit: int, offset: int) -> Document:
        found = self.search.find(query)
        page = found[offset : offset + limit].tolist()
        rows = [{**self.items[i], "frequency": int(self.model.frequencies_[i])} for i in page]
        return {"total": len(found), "items": rows}

    def known(self, name: str) -> int:
        """The number of an item that an answer cannot do without."""
        if name in self.number:
            return self.number[name]
        near = [repr(self.items[i]["id"]) for i in self.search.near(name)[:3]]
        remedy = f"did you mean {' or '.join(near)}?" if near else "the model was not trained on it"
        raise Problem(404, "unknown_item", f"unknown item {name[:100]!r}", remedy)

    @cached_property
    def about(self) -> Document:
        """What the model is and how it was measured."""
        model = self.model
        history, calibration = getattr(model, "history_", None), getattr(model, "calibration_", None)
        facts = {
            "model": model.name,
            "params": model.get_params(),
            "score_is": model.score_is,
            "records": model.n_records_,
            "items": len(self.items),
            "fingerprint": model.fingerprint_,
            "library": version("cooccur"),
            "file": self.file,
            "loaded_at": self.at.isoformat(timespec="seconds"),
            "history": history.as_dict() if history is not None else None,
            "measured": model.notes_ or None,
            "calibration": {name: array.tolist() for name, array in calibration.arrays().items()}
            if calibration is not None
            else None,
        }
        made: Document = finite(facts)
        return made


class Making:
    """The map of a model's items: made in a thread when it is first asked for, then kept."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._lock = threading.Lock()
        self._started = False
        self.share = 0.0
        self.problem: Problem | None = None
        self.done: tuple[bytes, bytes] | None = None  # JSON, plain and gzipped

    def start(self) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                threading.Thread(target=self._make, name="map", daemon=True).start()

    def _make(self) -> None:
        try:
            make_map = import_module("cooccur.maps").make_map
        except ImportError:
            remedy = "install the packages that draw it: pip install 'cooccur[serve]'"
            self.problem = Problem(404, "no_map", "this service draws no map", remedy)
            return
        try:
            xy = np.asarray(make_map(self._loaded.model, progress=self._progress).xy, dtype=np.float64).round(4)
        except CooccurError as error:
            self.problem = Problem(404, "no_map", str(error), "ask a model with item vectors")
            return
        except Exception:
            log.exception("the map could not be made")
            self.problem = Problem(404, "no_map", "the map could not be made", "see the service's log")
            return
        items = self._loaded.items
        groups = [item["group"] for item in items]
        plain = encode(
            {
                "x": finite(xy[:, 0].tolist()),
                "y": finite(xy[:, 1].tolist()),
                "id": [item["id"] for item in items],
                "title": [item["title"] for item in items],
                "group": groups if any(group is not None for group in groups) else None,
                "frequency": self._loaded.model.frequencies_.tolist(),
            }
        )
        self.done = plain, gzip.compress(plain, 5)

    def _progress(self, share: float, words: str) -> None:
        self.share = share


class Keeper:
    """The present model, and the look-out for the next."""

    def __init__(self, path: str | Path, titles: Titles | None = None) -> None:
        self.path, self.titles = Path(path), titles
        self._seen = self._mark()
        self.current = Loaded(self.path, titles)
        self.ready = False
        self.report: Callable[[str], None] = lambda result: None

    def warm(self) -> None:
        self.current.warm()
        self.ready = True

    def look(self) -> None:
        """Load the file if it is another one than before."""
        mark = self._mark()
        if mark is None or mark == self._seen:
            return
        self._seen = mark
        try:
            fresh = Loaded(self.path, self.titles)
            fresh.warm()
        except Exception as error:  # whatever is wrong with it: the old model goes on
            words = str(error) if isinstance(error, CooccurError) else f"{type(error).__name__}: {error}"
            log.warning("refused the new model file, the old one stays: %s", words)
            self.report("refused")
            return
        self.current = fresh
        log.info("serving the new %s: %s, %s items", fresh.file, fresh.model.name, f"{len(fresh.items):,}")
        self.report("swapped")

    def _mark(self) -> tuple[int, ...] | None:
        """What tells one file at the path from another; None while there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def number(value: float | None) -> float | None:
    """A number that JSON has, or null."""
    return value if value is None or math.isfinite(value) else None
