"""Figure 3: item vectors of DEM*, their map, and how well both group what belongs together.

The vector of item t is R_t = (R1_t, ..., Rk_t); t-SNE lays the vectors out in the plane. For each movie and its ten
nearest others, in the map and among the vectors:

    share   of these neighbours that are of the same series (over the movies that have one), or share a genre
    chance  what ten random neighbours would give: (others that belong with it) / (all others)
    most    what the best neighbours could give: min(10, others that belong with it) / 10

Genres are MovieLens's. Of the same series are two titles with the same stem (`series`): a rule about titles, which
knows neither that Aliens follows Alien nor whether two films of one name are related. Three of the four Wallace &
Gromit films do not say so in their titles and are named here, because the paper names that series.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.maps import tsne
from cooccur.models import make_model
from cooccur.models.base import Progress, part_of

Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
NEAR = 10
WALLACE = ("grand day out", "close shave", "wrong trousers")
_YEAR = re.compile(r"\s*\(\d{4}\)\s*$")
_OTHER_NAME = re.compile(r"\s*\([^)]*\)")
_ARTICLE = re.compile(r",\s*(the|a|an)\b")
# What follows the name of a series: a colon, a dash, a number (in Roman figures too), a part.
_SEQUEL = re.compile(r"\s*(:|\s-\s|\b(part|episode|chapter|\d[\d/]*|[ivx]*[ivx])\b(?!')).*")


def series(title: str) -> str:
    """The stem of a title, by which films of a series are known: what stands before a colon, a dash or a number.

    >>> series("Star Trek IV: The Voyage Home (1986)"), series("Star Trek: First Contact (1996)")
    ('star trek', 'star trek')
    >>> series("Godfather: Part II, The (1974)"), series("Toy Story 2 (1999)"), series("2001: A Space Odyssey (1968)")
    ('godfather', 'toy story', '2001')
    """
    plain = _ARTICLE.sub("", _OTHER_NAME.sub("", _YEAR.sub("", title)).lower()).strip()
    if plain in WALLACE:
        return "wallace & gromit"
    first, _, rest = plain.partition(" ")  # a title may begin with a number, but nothing follows what is not there
    head = re.sub(r":.*", "", first)
    return head if head != first else f"{first}{_SEQUEL.sub('', ' ' + rest)}".strip()


def make_map(label: str, baskets: Baskets, seed: int, progress: Progress) -> dict[str, Any]:
    """Learn from all records; the items, their places in the plane, and the nearest neighbours in both spaces."""
    if baskets.n_items <= NEAR + 1:
        raise CooccurError(f"a map needs more than {NEAR + 1} items; there are {baskets.n_items}")
    started = time.perf_counter()
    model = make_model(label).fit(baskets, progress=part_of(progress, 0, 0.9))
    if model.interrupted:
        raise KeyboardInterrupt
    vectors = np.asarray(model.R_, dtype=np.float64)  # type: ignore[attr-defined]
    progress(0.9, "t-SNE")
    places = tsne(vectors, seed)
    return {
        "chosen": label, "items": [str(item) for item in baskets.items], "dimensions": vectors.shape[1],
        "places": places.round(4).tolist(), "near_vectors": nearest(vectors).tolist(),
        "near_map": nearest(places).tolist(), "seconds": time.perf_counter() - started,
    }  # fmt: skip


def nearest(points: Doubles, k: int = NEAR) -> npt.NDArray[np.int64]:
    """(items, k) the nearest other points by Euclidean distance, nearest first; ties by number.

    >>> nearest(np.array([[0.0], [1.0], [5.0]]), k=1).tolist()
    [[1], [0], [1]]
    """
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def score(near: npt.NDArray[np.int64], together: Bools) -> dict[str, float]:
    """Share, chance and most (percent), over the items that belong with another; `together` is (items, items).

    >>> pairs = np.kron(np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool))  # 0 with 1, 2 with 3
    >>> score(np.array([[1], [0], [0], [2]]), pairs)
    {'items': 4, 'share': 75.0, 'chance': 33.33, 'most': 100.0}
    """
    mates = together & ~np.eye(len(together), dtype=bool)
    of = np.flatnonzero(mates.any(axis=1))
    count, k = mates[of].sum(axis=1), near.shape[1]
    found = np.take_along_axis(mates, near, axis=1)[of]
    shares = {
        "share": found.mean(),
        "chance": (count / (len(mates) - 1)).mean(),
        "most": (np.minimum(count, k) / k).mean(),
    }
    return {"items": len(of)} | {name: round(100 * float(value), 2) for name, value in shares.items()}


def belongs(groups: Sequence[Any], same: Callable[[Any, Any], Any]) -> Bools:
    """(items, items) which two belong together."""
    return np.array([[bool(same(one, other)) for other in groups] for one in groups])
