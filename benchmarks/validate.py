"""Accuracy on validation records, for choices that must not look at test records.

    COOCCUR_DATA=FOLDER python benchmarks/validate.py DATASET MODEL [MODEL ...]   # or a file in place of DATASET

Takes the training part of fold 0 (`--seed 1` of `cooccur evaluate`), holds out a tenth of its records (at most 6,000),
learns from the rest and prints Top@1 / Top@10 of about 10,000 removals from the held-out ones, epochs (all, best),
strengths of a DEM's parts, and seconds.
"""

from __future__ import annotations

import sys
import time

from cooccur.datasets import DATASETS, load
from cooccur.evaluation.removal import fold_numbers, hold_out
from cooccur.models import make_model
from cooccur.reading import read
from cooccur.training.loop import validate


def main(name: str, *specs: str) -> None:
    baskets = load(name) if name in DATASETS else read(name)
    training = baskets[fold_numbers(len(baskets), 5, 1) != 0]
    learn, removals = hold_out(training, 0.1, 7, at_most=6000, removals=10_000)
    print(f"{name}: {len(learn):,} records learned from, {len(removals):,} removals")
    for spec in specs:
        start = time.perf_counter()
        model = make_model(spec).fit(learn)
        seconds = time.perf_counter() - start
        top1, top10 = validate(model._scores, removals)
        history = getattr(model, "history_", None)
        epochs = f"{len(history.epochs)} epochs, best {history.best}" if history else ""
        strengths = [round(float(a), 2) for a in getattr(model, "strengths_", [])]
        print(f"{spec:<40}{top1:6.2f} / {top10:5.2f}  {epochs}  {strengths or ''}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
