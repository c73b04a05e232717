"""The learner of the log-bilinear model: `softmax.LogBilinear` with its optimiser, initial values and sampled items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from cooccur.baskets import Baskets
from cooccur.training.batches import Batch
from cooccur.training.learner import Arrays, Learner
from cooccur.training.row_adam import RowAdam
from cooccur.training.samples import draw_items
from cooccur.training.softmax import LogBilinear, choose_left_out

if TYPE_CHECKING:
    from cooccur.models.lbl import Lbl

START = 0.01  # spread of the first vectors; larger, and the sum over a long record is noise that is hard to unlearn


class LblLearner(Learner):
    """Steps on one model's parameters; see `training.learner.Learner`."""

    def __init__(self, model: Lbl, baskets: Baskets, *, fresh: bool) -> None:
        self.model = model
        self.rng = np.random.default_rng([model.random_state, 4])
        popular = baskets.frequencies + 1.0
        self.draw = popular / popular.sum()
        generator = torch.Generator().manual_seed(model.random_state)
        shape = (baskets.n_items, model.factors)
        f, g = (torch.randn(*shape, generator=generator) * START for _ in range(2))
        b = torch.tensor(np.log(self.draw), dtype=torch.float32)
        if not fresh:
            f, g, b = (torch.from_numpy(array.copy()) for array in (model.F_, model.G_, model.b_))
        self.lbl = LogBilinear(f, None if model.tied else g, b if model.bias else None)
        self.dense = list(self.lbl.dense().values())
        self.draws = model.negatives if 0 < model.negatives < baskets.n_items else 0
        wide = [part for part in self.dense if part.ndim == 2]
        self.by_rows = [RowAdam(part, model.rate) for part in wide if self.draws]
        whole = [part for part in self.dense if not self.draws or part.ndim == 1]
        self.optimiser = torch.optim.Adam(whole, lr=model.rate, fused=True) if whole else None

    def step(self, batch: Batch, rate: float) -> float:
        left_out = choose_left_out(batch, self.model.targets, self.rng)
        sample = None
        if self.draws:
            sample = draw_items(self.draw, self.draws, self.rng)
            seen = np.union1d(batch.distinct, sample.items)
            self.bring(*([seen] if self.lbl.g is None else [batch.distinct, seen]))
        loss = self.lbl.gradients(batch, left_out, sample)
        self.descend(len(batch), rate)
        return loss

    def arrays(self) -> Arrays:
        return [tensor.numpy() for tensor in self.dense]
