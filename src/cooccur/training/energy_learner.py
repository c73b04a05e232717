"""The learner of the energy models: `likelihood.Energy` with its initial values, optimisers and sampled items."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from cooccur.baskets import Baskets
from cooccur.errors import ParameterError
from cooccur.models.base import Progress, silent
from cooccur.models.energy import log_odds_alone
from cooccur.training import missing, support
from cooccur.training.batches import Batch
from cooccur.training.learner import Arrays, Learner, State, home, put
from cooccur.training.likelihood import Energy
from cooccur.training.pair_term import PairTerm
from cooccur.training.portable import PortablePairs
from cooccur.training.row_adam import RowAdam
from cooccur.training.samples import Sample, draw_items
from cooccur.training.softmax import choose_left_out
from cooccur.training.steps import descend_rows

if TYPE_CHECKING:
    from cooccur.models.pseudo_likelihood import PseudoLikelihood

ON = 2.0  # input of a unit that is always on


class EnergyLearner(Learner):
    """Steps on one model's parameters; see `training.learner.Learner`. `portable` forces the path of other devices."""

    def __init__(
        self, model: PseudoLikelihood, baskets: Baskets, *, fresh: bool, progress: Progress = silent,
        portable: bool = False,
    ) -> None:  # fmt: skip
        self.model = model
        self.device = _device(model.device)
        self.portable = portable or self.device.type != "cpu"
        self.rng = np.random.default_rng([model._seed(), 4])
        self.generator = torch.Generator().manual_seed(model._seed())
        terms = model._terms()
        self.which = terms.which
        n = baskets.n_items
        self.energy = Energy(
            n, b=None, pairs=None, sharpness=model.sharpness, dropout=terms.dropout,
            kinds=terms.kinds, generator=self.generator, device=self.device, portable=self.portable,
        )  # fmt: skip
        if terms.bias:
            b = log_odds_alone(baskets.frequencies, len(baskets)) if fresh else model.b_
            self.energy.b = torch.tensor(b, dtype=torch.float32, device=self.device)
        has_pairs = terms.pairs if fresh else len(model.columns_) + len(model.sets_) > 0
        widths = terms.widths if fresh else tuple(model.sizes_.tolist())
        self.pairs = self._pairs(baskets, terms.tied, fresh, progress) if has_pairs else None
        if self.pairs is not None:
            self.energy.pairs = PortablePairs(self.pairs, self.device) if self.portable else self.pairs
        if widths:
            size = max(1.0, float(baskets.lengths.mean())) ** (0.5 - terms.kinds[0].spread)
            self._hidden(n, widths, terms.start.inputs / size, terms.start.outputs)
            if not fresh:
                self._take_over()
            elif not terms.bias:
                self._lead(baskets, terms.kinds[0].units)
        self.dense = list(self.energy.dense().values())
        self.draws = model._negatives()
        if self.draws:
            popular = baskets.frequencies + 1.0 if model.sampling == "popular" else np.ones(n)
            self.draw = popular / popular.sum()
        self._optimise(model)

    def _optimise(self, model: PseudoLikelihood) -> None:
        """Where items are drawn and nothing is pulled, a step moves the rows that it has seen alone."""
        e, adaptive, some = self.energy, model.optimiser == "adaptive", bool(self.draws) and not model.decay
        wide = [part for part in (e.E, e.R) if part is not None]
        self.by_rows = [RowAdam(part, model._rate()) for part in wide if some and adaptive and not self.portable]
        self.plain = [part for part in (e.b, *wide) if some and not (adaptive or self.which) and part is not None]
        apart = [*self.plain, *(adam.parameter for adam in self.by_rows)]
        whole = [part for part in self.dense if all(part is not other for other in apart)]
        make: Any = torch.optim.Adam if adaptive else torch.optim.SGD
        groups = [  # the bias is not pulled
            {"params": [part for part in whole if part is not self.energy.b], "weight_decay": model.decay},
            {"params": [part for part in whole if part is self.energy.b]},
        ]
        self.optimiser = make(groups, lr=model._rate(), fused=True) if whole else None

    def _pairs(self, baskets: Baskets, tied: bool, fresh: bool, progress: Progress) -> PairTerm:
        m = self.model
        rate = m.pair_rate / max(1.0, float(baskets.lengths.mean()))  # a record's log-odds are a sum over its items
        settings = {"rate": rate, "decay": m.pair_decay, "tied": tied, "adaptive": m.optimiser == "adaptive"}
        if not fresh:
            pairs = PairTerm.zeros(m.starts_.copy(), m.columns_.copy(), caution=m.caution, sets=m.sets_, **settings)
            pairs.weights[:] = m.weights_
            return pairs
        chosen = support.choose(baskets, m.memory, progress)
        pairs = PairTerm.zeros(chosen.starts, chosen.columns, caution=m.caution, **settings)
        if m.prior == "counts":
            pairs.anchor, pairs.own = support.counts_prior(chosen, baskets.frequencies, len(baskets))
            pairs.weights[:] = pairs.anchor
        return pairs

    def _hidden(self, n: int, widths: tuple[int, ...], scale: float, out: float) -> None:
        """First values: E and R of these standard deviations."""

        def normal(*shape: int, scale: float) -> torch.Tensor:
            return (torch.randn(*shape, generator=self.generator) * scale).to(self.device)

        self.energy.E = normal(n, widths[0], scale=scale).requires_grad_()
        inner = itertools.pairwise(widths)
        weights = [None, *(normal(size, below, scale=2 / below**0.5).requires_grad_() for below, size in inner)]
        self.energy.layers = [
            (W, torch.zeros(size, device=self.device).requires_grad_()) for W, size in zip(weights, widths, strict=True)
        ]
        self.energy.R = normal(n, sum(widths), scale=out)

    def _lead(self, baskets: Baskets, units: str) -> None:
        """Without a bias one unit that is always on starts as it: else all units learn to be always on, and stay so."""
        assert self.energy.R is not None
        (_, B), R = self.energy.layers[0], self.energy.R
        with torch.no_grad():
            B[0] = ON
            b = torch.tensor(log_odds_alone(baskets.frequencies, len(baskets)), dtype=R.dtype, device=self.device)
            R[:, 0] = b / getattr(torch, units)(B[0])

    def _take_over(self) -> None:
        """Go on from the model's hidden layers."""
        m, e = self.model, self.energy
        assert e.R is not None
        assert e.E is not None
        with torch.no_grad():
            e.R.copy_(torch.tensor(m.R_))  # not from_numpy: the arrays of a loaded model are read-only
            e.E.copy_(torch.tensor(m.E_))
            at = 0
            for part in (part for layer in e.layers for part in layer if part is not None):
                part.copy_(torch.tensor(m.layers_[at : at + part.numel()]).reshape(part.shape))
                at += part.numel()

    # -- the learner ----------------------------------------------------------------------------------

    def step(self, batch: Batch, rate: float) -> float:
        left_out = choose_left_out(batch, missing.TARGETS, self.rng) if self.which else None
        sample = self._sample(batch) if self.draws else None
        seen = batch.distinct if sample is None else np.union1d(batch.distinct, sample.items)
        if self.by_rows:
            self.bring(batch.distinct, seen)
        if left_out is not None:
            loss = missing.gradients(self.energy, batch, left_out, sample)
        else:
            loss, delta, slot = self.energy.gradients(batch, sample)
            if self.energy.pairs is not None:
                self.energy.pairs.step(delta, batch, slot, rate)
            if self.plain:
                rows = torch.from_numpy(seen).to(self.device)
                descend_rows(self.plain, rows, rate * self.model._rate() / len(batch))
        self.descend(len(batch), rate)
        return loss

    def arrays(self) -> Arrays:
        """Views of what is learned: a change to them is a change to the parameters."""
        found: Arrays = [_view(tensor) for tensor in self.dense]
        return [*found, self.energy.pairs.weights] if self.energy.pairs is not None else found

    def state(self) -> State:
        pairs = self.energy.pairs
        return super().state() | ({} if pairs is None else {"squares": home(pairs.squares)})

    def set_state(self, state: State) -> None:
        super().set_state(state)
        if self.energy.pairs is not None:
            put(self.energy.pairs.squares, state["squares"])

    def learned(self) -> dict[str, npt.NDArray[Any]]:
        """The model's arrays."""
        e, n = self.energy, self.energy.n_items
        if isinstance(e.pairs, PortablePairs):
            e.pairs.back()
        pairs = self.pairs
        flat = [home(part).ravel() for layer in e.layers for part in layer if part is not None]
        nothing = np.zeros((n, 0), dtype=np.float32)
        return {
            "b_": home(e.b) if e.b is not None else np.zeros(n, dtype=np.float32),
            "starts_": pairs.starts if pairs is not None else np.zeros(n + 1, dtype=np.int64),
            "columns_": pairs.columns if pairs is not None else np.zeros(0, dtype=np.int32),
            "weights_": pairs.weights if pairs is not None else np.zeros(0, dtype=np.float32),
            "E_": home(e.E) if e.E is not None else nothing,
            "R_": home(e.R) if e.R is not None else nothing,
            "layers_": np.concatenate(flat) if flat else np.zeros(0, dtype=np.float32),
            "sizes_": np.array([len(B) for _, B in e.layers], dtype=np.int64),
        }

    def _sample(self, batch: Batch) -> Sample:
        """T draws with replacement; u_t = draws of t / (T q_t), so that the sum over them is unbiased. A pair term
        needs columns for the batch's own items too."""
        weighted, pairs = self.model.sampling != "unweighted", self.energy.pairs
        return draw_items(self.draw, self.draws, self.rng, None if pairs is None else batch.indices, weighted)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError(
            f"device = {name!r} is not to be had here ({reason}); expected cpu, cuda, mps ..."
        ) from None
    return device


def _view(tensor: torch.Tensor) -> Any:
    """numpy's view of a tensor on the CPU; elsewhere the tensor itself, cut from autograd."""
    return tensor.detach().numpy() if tensor.device.type == "cpu" else tensor.detach()
