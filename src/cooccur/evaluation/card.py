"""How well a model does, in a few figures that go into its file: one fold of the leaderboard, beside two baselines.

A model of the same settings learns from four fifths of the records and is asked about the others: one item removed from
each, and, where it gives probabilities, each item given the rest. The file's own model learns from all records.
"""

from __future__ import annotations

from typing import Any

from cooccur.baskets import Baskets
from cooccur.errors import CooccurError
from cooccur.evaluation.calibration import LEAST, Curve
from cooccur.evaluation.metrics import summarise
from cooccur.evaluation.removal import fold_numbers, rank, remove_items
from cooccur.models import make_model
from cooccur.models.base import Progress, part_of, silent
from cooccur.models.calibrated import Calibration, Histogram, fit_calibrated, given_rest, logit, sigmoid
from cooccur.models.energy import LogOdds

FOLDS = 5
BASELINES = ("popularity", "lwcvg")
MOST = 2000  # records on which probabilities are looked at


def measure(
    spec: str, baskets: Baskets, *, calibrate: float = 0.0, seed: int | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """A dict of plain JSON types: `summary` (the model, then the baselines), `removals`, and `reliability` or None.
    A `seed` is the model's own too, in place of its `random_state`.

    >>> shop = Baskets.from_lists([["milk", "bread"], ["milk", "bread", "tea"], ["tea", "mint"], ["tea", "mint"]] * 5)
    >>> found = measure("cvg", shop)
    >>> [(row["label"], round(row["top1"])) for row in found["summary"]], found["reliability"]
    ([('cvg', 100), ('popularity', 25), ('lwcvg', 100)], None)
    """
    numbers = fold_numbers(len(baskets), FOLDS, seed or 0)
    training, test = baskets[numbers > 0], baskets[numbers == 0]
    removals = remove_items(test, seed=seed or 0)
    if not len(removals):
        raise CooccurError("no test record has two items, so nothing can be measured; leave --measure out")
    rows, reliability = [], None
    for label in dict.fromkeys((spec, *BASELINES)):
        shown = part_of(progress, 0.0 if label == spec else 0.9, 0.9 if label == spec else 1.0, f"measuring {label}: ")
        shown(0.0, "learning")
        model = make_model(label)
        if seed is not None and "random_state" in model.get_params():
            model.set_params(random_state=seed)
        if label == spec and calibrate:
            fit_calibrated(model, training, share=calibrate, seed=seed or 0, progress=shown)
        else:
            model.fit(training, progress=shown)
        if model.interrupted:
            raise KeyboardInterrupt
        found = summarise(rank(model, removals), model.frequencies_[removals.target] > 0, (1, 10))
        rows.append({"label": label, **{name: found[name] for name in ("top1", "top10", "mrr")}})
        if label == spec and isinstance(model, LogOdds):
            reliability = _curve(model, test[:MOST]).as_dict()
    return {"summary": rows, "removals": len(removals), "reliability": reliability}


def _curve(model: LogOdds, records: Baskets) -> Curve:
    seen, calibration = Histogram(), model.calibration_ or Calibration.identity()
    for _, phi, present in given_rest(model, records):
        z = calibration.log_odds(phi)
        likely = z >= logit(LEAST)
        seen.add(z[likely], sigmoid(z[likely]), present[likely])
    return Curve.of(seen)
