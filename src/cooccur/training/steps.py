"""One step of a torch optimiser, as all learners take it."""

from __future__ import annotations

import torch


def descend(optimiser: torch.optim.Optimizer, records: int, rate: float) -> None:
    """Step along the mean gradient of a batch of `records`, each group's learning rate multiplied by `rate`.

    >>> w = torch.zeros(1, requires_grad=True)
    >>> w.grad = torch.tensor([8.0])
    >>> descend(torch.optim.SGD([w], lr=0.5), records=4, rate=0.1)
    >>> round(w.item(), 6), w.grad
    (-0.1, None)
    """
    for group in optimiser.param_groups:
        group["lr"] = rate * group.setdefault("full_rate", group["lr"])
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad /= records
    optimiser.step()
    optimiser.zero_grad()
