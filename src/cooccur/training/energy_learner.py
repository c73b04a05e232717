"""The learner of the energy models: `likelihood.Energy` with its optimisers, initial values and sampled items."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from cooccur.baskets import Baskets
from cooccur.models.base import Floats
from cooccur.training import support
from cooccur.training.batches import Batch
from cooccur.training.likelihood import Energy, Sample
from cooccur.training.loop import Arrays
from cooccur.training.pair_term import PairTerm

if TYPE_CHECKING:
    from cooccur.models.dem import PseudoLikelihood


class EnergyLearner:
    """Steps on one model's parameters; see `training.loop.Learner`."""

    def __init__(self, model: PseudoLikelihood, baskets: Baskets, *, fresh: bool) -> None:
        self.model = model
        self.rng = np.random.default_rng([model.random_state, 4])
        generator = torch.Generator().manual_seed(model.random_state)
        bias, pairs, widths, tied, dropout = model._terms()
        n = baskets.n_items
        self.energy = Energy(n, b=None, pairs=None, sharpness=model.sharpness, dropout=dropout, generator=generator)
        if bias:
            share = (baskets.frequencies + 0.5) / (len(baskets) + 1)
            self.energy.b = torch.tensor(np.log(share / (1 - share)), dtype=torch.float32)
        if pairs:
            chosen = support.choose(baskets, model.memory)
            self.energy.pairs = PairTerm.zeros(
                chosen.starts, chosen.columns, rate=model.pair_rate, decay=model.pair_decay, tied=tied,
                adaptive=model.optimiser == "adaptive", caution=model.caution,
            )  # fmt: skip
        if widths:
            self._hidden(n, widths, float(baskets.lengths.mean()), generator)
        if not fresh:
            self._take_over()
        self.dense = list(self.energy.dense().values())
        make: Any = torch.optim.Adam if model.optimiser == "adaptive" else torch.optim.SGD
        self.optimiser = make(self.dense, lr=model.rate, fused=True) if self.dense else None
        if model.negatives:
            popular = baskets.frequencies + 1.0 if model.sampling == "popular" else np.ones(n)
            self.draw = popular / popular.sum()

    def _hidden(self, n: int, widths: tuple[int, ...], mean_length: float, generator: torch.Generator) -> None:
        """Inputs of about unit size for a record of mean length, outputs small."""

        def normal(*shape: int, scale: float) -> torch.Tensor:
            return (torch.randn(*shape, generator=generator) * scale).requires_grad_()

        self.energy.E = normal(n, widths[0], scale=1 / max(mean_length, 1.0) ** 0.5)
        inner = itertools.pairwise(widths)
        weights = [None, *(normal(size, below, scale=2 / below**0.5) for below, size in inner)]
        self.energy.layers = [(W, torch.zeros(size).requires_grad_()) for W, size in zip(weights, widths, strict=True)]
        self.energy.R = normal(n, sum(widths), scale=0.1).detach()

    # -- the learner ----------------------------------------------------------------------------------

    def step(self, batch: Batch, rate: float) -> float:
        loss, delta, slot = self.energy.gradients(batch, self._sample(batch))
        if self.energy.pairs is not None:
            self.energy.pairs.step(delta, batch, slot, rate)
        if self.optimiser is not None:
            for parameter in self.dense:
                if parameter.grad is not None:
                    parameter.grad /= len(batch)
            self.optimiser.param_groups[0]["lr"] = rate * self.model.rate
            self.optimiser.step()
            self.optimiser.zero_grad()
        return loss

    def scores(self, baskets: Baskets) -> Floats:
        self.model._keep(self)
        return self.model._scores(baskets)

    def arrays(self) -> Arrays:
        found: Arrays = [tensor.detach().numpy() for tensor in self.dense]
        return [*found, self.energy.pairs.weights] if self.energy.pairs is not None else found

    def learned(self) -> dict[str, npt.NDArray[Any]]:
        """The model's arrays (views of what is being learned)."""
        e, n = self.energy, self.energy.n_items
        pairs = e.pairs
        flat = [part.detach().numpy().ravel() for layer in e.layers for part in layer if part is not None]
        nothing = np.zeros((n, 0), dtype=np.float32)
        return {
            "b_": e.b.numpy() if e.b is not None else np.zeros(n, dtype=np.float32),
            "starts_": pairs.starts if pairs is not None else np.zeros(n + 1, dtype=np.int64),
            "columns_": pairs.columns if pairs is not None else np.zeros(0, dtype=np.int32),
            "weights_": pairs.weights if pairs is not None else np.zeros(0, dtype=np.float32),
            "E_": e.E.detach().numpy() if e.E is not None else nothing,
            "R_": e.R.numpy() if e.R is not None else nothing,
            "layers_": np.concatenate(flat) if flat else np.zeros(0, dtype=np.float32),
            "sizes_": np.array([len(B) for _, B in e.layers], dtype=np.int64),
        }

    # -- inside ---------------------------------------------------------------------------------------

    def _take_over(self) -> None:
        """Go on from the model's arrays."""
        m, e = self.model, self.energy
        if e.b is not None:
            e.b = torch.from_numpy(m.b_.copy())
        if e.pairs is not None:
            e.pairs = PairTerm.zeros(
                m.starts_, m.columns_, rate=e.pairs.rate, decay=e.pairs.decay, tied=e.pairs.tied,
                adaptive=e.pairs.adaptive,
            )  # fmt: skip
            e.pairs.weights[:] = m.weights_
        if e.R is not None and e.E is not None:
            e.R = torch.from_numpy(m.R_.copy())
            e.E = torch.from_numpy(m.E_.copy()).requires_grad_()
            at = 0
            for layer in e.layers:
                for part in layer:
                    if part is not None:
                        with torch.no_grad():
                            part.copy_(torch.from_numpy(m.layers_[at : at + part.numel()]).reshape(part.shape))
                        at += part.numel()

    def _sample(self, batch: Batch) -> Sample | None:
        """T draws with replacement; u_t = draws of t / (T q_t), so that the sum over them is unbiased."""
        T = self.model.negatives
        if not T:
            return None
        n = self.energy.n_items
        times = np.bincount(self.rng.choice(n, T, p=self.draw), minlength=n)
        weights = times / (T * self.draw) if self.model.sampling != "unweighted" else times.astype(np.float64)
        present = np.zeros(n, dtype=bool)
        present[batch.indices] = True
        items = np.flatnonzero((times > 0) | present)
        slot = np.full(n, -1, dtype=np.int64)
        slot[items] = np.arange(len(items))
        return Sample(items, weights[items].astype(np.float32), slot)
