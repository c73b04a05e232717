"""One step of hidden layers and bias by the question that a user asks: which item is missing?

    maximise  sum_v w_v mean_{t in I_v} [ phi(t, v_-t) - ln( e^phi(t, v_-t) + sum_{j not in I_v} e^phi(j, v_-t) ) ]

Where phi is the log-odds of an energy, e^phi(t, v_-t) is p(v) / p(v_-t): this is the likelihood of v among the records
that share all items but one with it. A constant added to phi changes nothing; `temper.py` brings it to log-odds.
Every record counts the same, as in the evaluation, whatever its length. Of each record `TARGETS` items, drawn anew at
each step, stand for all t: unbiased. The softmax is that of `softmax.py`, with hidden layers h in place of its sums.

Cost a record: 6 TARGETS N H for the products, TARGETS N exponentials.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from cooccur.training.batches import Batch
from cooccur.training.likelihood import Energy
from cooccur.training.samples import Sample
from cooccur.training.softmax import against_rivals, times_left_out

TARGETS = 4


def gradients(energy: Energy, batch: Batch, left_out: npt.NDArray[np.int64], sample: Sample | None = None) -> float:
    """Add to `.grad` of the dense parameters with the downhill direction; the loss. `left_out` (P,) are places in
    `batch.indices`; with a `sample` its items stand for all j."""
    assert energy.R is not None
    times = (batch.weights / times_left_out(batch, left_out))[batch.rows[left_out]]
    indices, rows, places, weights = (
        torch.from_numpy(array).to(energy.device)
        for array in (batch.indices.astype(np.int64), batch.rows, left_out, times)
    )
    weights, layer = weights.to(energy.dtype), energy.by_hand
    if layer is not None:
        H = layer.ask(batch, left_out, energy.kept(len(indices)))
    else:
        H = energy.hidden(energy.inputs(batch, indices, rows, places)[1])
    with torch.no_grad():
        loss, down = against_rivals(H.detach(), energy.R, energy.b, weights, batch, left_out, sample)
    if layer is not None:
        layer.answer(batch, left_out, down)
    else:
        H.backward(down)  # type: ignore[no-untyped-call]
    return loss
