"""The map: every item a point in the plane, items that go together close to each other.

    vectors   of a model with hidden layers or factors: its own, R_t = (R1_t, ..., Rk_t) of a DEM; of any other model
              the leading spectrum of S = D^-1/2 (A + A') D^-1/2, where A holds what each item adds to its best others
    places    t-SNE of the vectors, each of length 1 (so that the angle counts and not how frequent an item is)

The same model and seed give the same map, on one thread. A map has two forms: `to_dict` for the page, and files for
people (`drawing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur import drawing
from cooccur.baskets import Names
from cooccur.errors import CooccurError
from cooccur.files import whole, whole_path
from cooccur.models.base import Floats, Model, Progress, part_of, silent

Doubles = npt.NDArray[np.float64]
Titles = Mapping[str, Any]
"""From an item's id to its title and group: a pair, or something with these attributes."""

OWN = ("R_", "F_", "W_")  # item vectors, as the models call them: hidden layers, factors, a Boltzmann machine's
BEST = 100  # others of each item that the spectrum is made from
WIDTH = 64  # of the spectrum
FEW = 12  # items: too few for t-SNE, they get the plane of their widest spread
MANY, AXES = 10_000, 50  # items from where on the map is made in fewer dimensions
ENDINGS = (".html", ".png", ".svg")


@dataclass(frozen=True, eq=False)
class Map:
    """Places `xy` (n_items, 2) float32 within -1 to 1, of the items and their frequencies, from vectors so wide."""

    xy: Floats
    items: Names
    frequencies: npt.NDArray[np.int64]
    dimensions: int

    def to_dict(self, titles: Titles | None = None) -> dict[str, Any]:
        """Plain JSON types: `x`, `y`, `id`, `title`, `frequency`, and `group`, None if no item has one.

        >>> Map(np.zeros((1, 2), np.float32), np.array(["1"], object), np.array([7]), 2).to_dict({"1": ("Toys", "")})
        {'x': [0.0], 'y': [0.0], 'id': ['1'], 'title': ['Toys'], 'group': None, 'frequency': [7]}
        """
        named = [_named(str(item), (titles or {}).get(str(item))) for item in self.items]
        groups = [group for _, group in named]
        x, y = (np.round(self.xy.T.astype(np.float64), 4) + 0.0).tolist()  # + 0.0: no -0.0
        return {
            "x": x, "y": y, "id": [str(item) for item in self.items], "title": [title for title, _ in named],
            "group": groups if any(groups) else None, "frequency": self.frequencies.tolist(),
        }  # fmt: skip

    def write(
        self, path: str | Path, titles: Titles | None = None, *, labels: int = 250, heading: str = "", about: str = ""
    ) -> int:
        """The map in a file, by its ending one of `.html`, `.png` and `.svg`; how many names it shows at most."""
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in ENDINGS:
            raise CooccurError(f"{target}: the ending names no known form; use one of {' '.join(ENDINGS)}")
        data = self.to_dict(titles)
        if ending == ".html":
            with whole(target) as file:
                file.write(drawing.page(data, labels, heading, about).encode())
            return min(labels, len(self.items))
        picture, shown = drawing.picture(data, labels, heading, halo=ending == ".png")
        with whole_path(target) as temporary:
            drawing.save(picture, temporary, ending[1:])
        return shown


def make_map(model: Model, *, seed: int = 0, progress: Progress = silent) -> Map:
    """Lay the items of a fitted model out in the plane.

    >>> from cooccur.models import make_model
    >>> made = make_map(make_model("ease:l2=1").fit([["milk", "bread"], ["milk", "bread"], ["tea", "mint"]]))
    >>> made.xy.shape, made.to_dict()["id"]
    ((4, 2), ['milk', 'bread', 'tea', 'mint'])
    """
    wide = vectors(model, progress=part_of(progress, 0, 0.4))
    size = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, size, out=np.zeros_like(wide), where=size > 0)
    places = layout(unit, seed, part_of(progress, 0.4, 1))
    places -= (places.min(axis=0) + places.max(axis=0)) / 2
    places /= np.abs(places).max() or 1.0
    return Map(places.astype(np.float32), model.items_, np.asarray(model.frequencies_), wide.shape[1])


def _named(item: str, entry: Any) -> tuple[str, str | None]:
    """Title and group, as far as there are any."""
    if entry is None:
        return item, None
    title, group = (entry.title, entry.group) if hasattr(entry, "title") else entry
    return title or item, group or None


# -- vectors ----------------------------------------------------------------------------------------


def vectors(model: Model, *, progress: Progress = silent) -> Doubles:
    """(n_items, d) the model's item vectors, or the spectrum of what its items do for each other.

    >>> from cooccur.models import make_model
    >>> vectors(make_model("cvg").fit([["a", "b"], ["a", "b", "c"], ["c", "d"]])).shape
    (4, 3)
    """
    model._check_fitted()
    for name in OWN:
        found = getattr(model, name, None)
        if found is not None and found.shape[1] > 1:
            return np.asarray(found, dtype=np.float64)
    return _spectrum(model, progress)


def _spectrum(model: Model, progress: Progress) -> Doubles:
    from scipy.sparse import csr_matrix, diags
    from scipy.sparse.linalg import svds

    n = len(model.items_)
    keep = min(BEST, n - 1)
    columns, values = np.zeros((n, keep), dtype=np.int64), np.zeros((n, keep))
    for item in range(n if keep else 0):
        affinity = np.array(model._affinity(item), dtype=np.float64)
        affinity[item] = -np.inf
        best = np.argpartition(affinity, -keep)[-keep:]
        columns[item], values[item] = best, np.maximum(affinity[best], 0)
        if not item % 256:
            progress(0.8 * item / n, "what goes with each item")
    if not values.any():
        raise CooccurError(f"{model.name} sees every item by itself, so it has no map; use a model of pairs, as lwcvg")
    A = csr_matrix((values.ravel(), columns.ravel(), np.arange(n + 1) * keep), shape=(n, n))
    S = A + A.T
    degree = np.asarray(S.sum(axis=1)).ravel()
    scale = diags(np.divide(1, np.sqrt(degree), out=np.zeros(n), where=degree > 0))
    progress(0.8, "the spectrum of the pairs")
    # svds wants fewer than n; the start is fixed, for it decides the last digits and the signs
    u, s, _ = svds((scale @ S @ scale).tocsr(), k=min(WIDTH, n - 1), v0=np.linspace(1, 2, n))
    return np.asarray(u * np.sqrt(s))


# -- places -----------------------------------------------------------------------------------------


def layout(points: Doubles, seed: int = 0, progress: Progress = silent) -> Doubles:
    """(items, 2) the vectors' places in the plane, by t-SNE; for a handful, the plane of their widest spread.

    >>> layout(np.eye(3)).shape
    (3, 2)
    """
    if len(points) >= FEW:
        return tsne(points, seed, progress)
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(points), 2))
    places[:, : min(2, len(s))] = (u * s)[:, :2]
    return places


def tsne(points: Doubles, seed: int, progress: Progress = silent) -> Doubles:
    """(items, 2) the places by t-SNE on one thread.

    Above 10,000 items openTSNE approximates (annoy, FFT), and the vectors' 50 main axes stand for them.
    """
    if len(points) > MANY and points.shape[1] > AXES:
        centred = points - points.mean(axis=0)
        points = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -AXES:]
    perplexity = min(30.0, (len(points) - 1) / 3)
    calm, all_steps, every = 250, 750, 25
    done = 0

    def report(iteration: int, error: float, embedding: Any) -> None:
        nonlocal done
        done = min(done + every, all_steps)
        progress(done / all_steps, "t-SNE")

    progress(0.0, "t-SNE: neighbours")
    made = load_tsne()(
        perplexity=perplexity, early_exaggeration_iter=calm, n_iter=all_steps - calm, random_state=seed, n_jobs=1,
        callbacks=report, callbacks_every_iters=every,
    )  # fmt: skip
    return np.array(made.fit(points), dtype=np.float64)


def load_tsne() -> Any:
    """openTSNE's class, or a sentence about how to get it."""
    try:
        from openTSNE import TSNE
    except ImportError:
        raise CooccurError("a map needs openTSNE: pip install 'cooccur[map]'") from None
    return TSNE
