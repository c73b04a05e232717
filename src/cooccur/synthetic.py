"""The planted shop: named products and baskets whose true energy is known.

    E(v) = - sum_i b_i v_i - sum_{i<j} W_ij v_i v_j - sum_{i<j<k} T_ijk v_i v_j v_k
    phi(t, v) = b_t + sum_i W_it v_i + sum_{i<j} T_ijt v_i v_j           (the log-odds of t given the rest)

Three kinds of structure: products that are merely popular (first order); complements and substitutes (second order);
and recipes of three products that no pair reveals (third order): in a recipe every two products are independent, yet
whoever has two of them nearly always has the third. With p_i the share of baskets with product i, a recipe is

    p(v_i, v_j, v_k) = prod p(v) * (1 + e (v_i - p_i)(v_j - p_j)(v_k - p_k))

whose pair margins are those of independence for any e; b, W and T follow from its logarithm by inclusion and exclusion.
Baskets are drawn by Gibbs sampling, one chain a basket.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError

Floats = npt.NDArray[np.float64]

RECIPES = (
    (("flour", "eggs", "maple syrup"), 0.22),
    (("tortillas", "avocado", "black beans"), 0.18),
    (("rice", "nori", "wasabi"), 0.14),
    (("basil", "mozzarella", "tomatoes"), 0.24),
)
PAIRS = {
    ("coffee", "coffee filters"): 2.6,
    ("pasta", "pasta sauce"): 2.2,
    ("pasta sauce", "parmesan"): 1.3,
    ("pasta", "parmesan"): 1.1,
    ("toothbrush", "toothpaste"): 2.4,
    ("crackers", "cheddar"): 1.7,
    ("cheddar", "red wine"): 1.4,
    ("red wine", "dark chocolate"): 1.2,
    ("nappies", "baby wipes"): 3.0,
    ("nappies", "beer"): 1.2,
    ("milk", "cereal"): 1.6,
    ("milk", "oat milk"): -2.4,
    ("butter", "margarine"): -2.0,
    ("bread", "butter"): 1.2,
    ("bread", "margarine"): 0.9,
    ("beer", "red wine"): -1.0,
    ("coffee", "green tea"): -1.3,
}
BIASES = {
    **{"bananas": -0.4, "milk": -0.5, "bread": -0.7, "onions": -1.0, "carrots": -1.3, "apples": -1.1},
    **{"coffee": -1.8, "coffee filters": -3.6, "green tea": -2.0, "pasta": -2.1, "pasta sauce": -2.9, "parmesan": -3.0},
    **{"toothbrush": -3.3, "toothpaste": -2.4, "crackers": -2.4, "cheddar": -2.3, "red wine": -2.4},
    **{"dark chocolate": -2.3, "nappies": -3.5, "baby wipes": -3.6, "beer": -2.0, "cereal": -2.4, "oat milk": -1.8},
    **{"butter": -1.9, "margarine": -2.1, "batteries": -3.2, "light bulbs": -3.5, "candles": -3.0},
}


@dataclass(frozen=True, eq=False)
class Shop:
    """Items (n,), biases b (n,), symmetric pair weights W (n, n) and triples {(i, j, k): weight}."""

    items: tuple[str, ...]
    b: Floats
    W: Floats
    triples: dict[tuple[int, int, int], float]

    def energy(self, v: npt.ArrayLike) -> Floats:
        """E of each row of the 0/1 matrix v (records, n)."""
        x = np.atleast_2d(np.asarray(v, dtype=float))
        third = sum((T * x[:, i] * x[:, j] * x[:, k] for (i, j, k), T in self.triples.items()), np.zeros(len(x)))
        return np.asarray(-(x @ self.b + 0.5 * ((x @ self.W) * x).sum(axis=1) + third))

    def log_odds(self, t: int, v: npt.NDArray[Any]) -> Floats:
        """phi(t, v) for each row of v (records, n); the entry of t itself is not looked at."""
        phi = np.full(len(v), self.b[t])
        for i in np.flatnonzero(self.W[:, t]).tolist():
            phi += self.W[i, t] * v[:, i]
        for triple, T in self.triples.items():
            if t in triple:
                i, j = (item for item in triple if item != t)
                phi += T * (v[:, i] * v[:, j])
        return phi

    def sample(self, records: int = 20_000, seed: int = 0, sweeps: int = 100) -> Baskets:
        """Baskets by Gibbs sampling: each record is its own chain, `sweeps` passes over all items from a random start.

        >>> planted_shop().sample(3, seed=1, sweeps=5).n_items
        40
        """
        if records < 1 or sweeps < 1:
            raise ParameterError(f"records = {records}, sweeps = {sweeps}; expected 1 or more of each")
        rng = np.random.default_rng(seed)
        v = np.asfortranarray(rng.random((records, len(self.items))) < _sigmoid(self.b))  # an item's column is one run
        in_triples = {item for triple in self.triples for item in triple}
        linked = sorted({*np.flatnonzero(self.W.any(axis=0)).tolist(), *in_triples})  # for the others one draw is exact
        for _ in range(sweeps):
            for t in linked:
                v[:, t] = rng.random(records) < _sigmoid(self.log_odds(t, v))
        return Baskets.from_matrix(v, self.items)


def planted_shop(*, triples: bool = True) -> Shop:
    """The shop of the demo: 40 products. Without `triples` the recipes' products are merely popular ones.

    >>> shop = planted_shop()
    >>> len(shop.items), len(shop.triples), shop.items[:3]
    (40, 4, ('bananas', 'milk', 'bread'))
    """
    items = (*BIASES, *(name for names, _ in RECIPES for name in names))
    number = {name: i for i, name in enumerate(items)}
    b = np.array([BIASES.get(name, 0.0) for name in items])
    W = np.zeros((len(items), len(items)))
    for (left, right), weight in PAIRS.items():
        W[number[left], number[right]] = W[number[right], number[left]] = weight
    third: dict[tuple[int, int, int], float] = {}
    for names, share in RECIPES:
        i, j, k = (number[name] for name in names)
        if not triples:
            b[[i, j, k]] = np.log(share / (1 - share))
            continue
        bias, pair, triple = _recipe(share)
        b[[i, j, k]] = bias
        W[np.ix_([i, j, k], [i, j, k])] = pair * (1 - np.eye(3))
        third[i, j, k] = triple
    return Shop(items, b, W, third)


def _recipe(p: float, strength: float = 0.9) -> tuple[float, float, float]:
    """Bias, pair and triple weight of a recipe whose three products each have share p.

    `strength` is e as a share of the largest that keeps all probabilities positive, 1 / (p (1 - p)^2).
    """
    e = strength / (p * (1 - p) ** 2)
    log = [
        ones * np.log(p) + (3 - ones) * np.log(1 - p) + np.log1p(e * (1 - p) ** ones * (-p) ** (3 - ones))
        for ones in range(4)
    ]
    bias = log[1] - log[0]
    pair = log[2] - 2 * log[1] + log[0]
    triple = log[3] - 3 * log[2] + 3 * log[1] - log[0]
    return float(bias), float(pair), float(triple)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))
