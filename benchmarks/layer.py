"""A step of a net of one hidden layer, by hand (`training/one_layer.py`) and by autograd.

    COOCCUR_DATA=FOLDER python benchmarks/layer.py [jester ml-1m-top500 ml-1m]

The calm and the free net of a `dem`, 128 units, batches as `fit` takes them. For each, in one run and in turn, best of
40 steps: by autograd, by hand, the ratio, and how far the last losses are apart. Without COOCCUR_DATA: the demo's shop.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch

from cooccur.datasets import load
from cooccur.models import make_model
from cooccur.synthetic import planted_shop
from cooccur.training.batches import batches
from cooccur.training.energy_learner import EnergyLearner

STEPS = 40


def main() -> None:
    at_hand = bool(os.environ.get("COOCCUR_DATA"))
    print(f"{torch.get_num_threads()} threads, 128 units, milliseconds a step")
    for name in sys.argv[1:] or (["jester", "ml-1m-top500", "ml-1m"] if at_hand else ["shop"]):
        baskets = load(name) if at_hand else planted_shop().sample(20_000)
        for start in ("calm", "free"):
            model = make_model(f"dem:pairs=no,start={start}")
            model._begin(start)
            model._alone = True
            learners = [EnergyLearner(model, baskets, fresh=True) for _ in range(2)]
            learners[0].energy.by_hand = None
            weights, rng = np.ones(len(baskets), dtype=np.float32), np.random.default_rng(0)
            seconds, losses = np.full(2, np.inf), np.zeros(2)
            for step, batch in zip(range(STEPS), batches(baskets, weights, model._batch(baskets), rng), strict=False):
                for which, learner in enumerate(learners):
                    begun = time.perf_counter()
                    losses[which] = learner.step(batch, 1.0)
                    if step:
                        seconds[which] = min(seconds[which], time.perf_counter() - begun)
            auto, hand = 1000 * seconds
            apart = abs(losses[0] / losses[1] - 1)
            times = f"autograd {auto:6.1f}   by hand {hand:5.1f}   ratio {auto / hand:4.1f}"
            print(f"{name:14} {start}   {times}   apart {apart:.0e}")


if __name__ == "__main__":
    main()
