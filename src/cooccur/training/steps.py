"""One step of a torch optimiser, as all learners take it.

A gradient keeps its memory from step to step, and a step adds to it in place: on 80,000 items of width 128
(40 MB), fresh memory from the system takes longer than all that is computed.
"""

from __future__ import annotations

import torch


def descend(optimiser: torch.optim.Optimizer, records: int, rate: float) -> None:
    """Step along the mean gradient of a batch of `records`, each group's learning rate multiplied by `rate`.

    >>> w = torch.zeros(1, requires_grad=True)
    >>> w.grad = torch.tensor([8.0])
    >>> descend(torch.optim.SGD([w], lr=0.5), records=4, rate=0.1)
    >>> round(w.item(), 6), w.grad.item()
    (-0.1, 0.0)
    """
    for group in optimiser.param_groups:
        group["lr"] = rate * group.setdefault("full_rate", group["lr"])
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad /= records
    optimiser.step()
    optimiser.zero_grad(set_to_none=False)


def gradient(parameter: torch.Tensor) -> torch.Tensor:
    """Its gradient, to add to in place; 0 at first and after each `descend`.

    >>> w = torch.ones(2)
    >>> gradient(w)[0] += 3
    >>> w.grad.tolist()
    [3.0, 0.0]
    """
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
