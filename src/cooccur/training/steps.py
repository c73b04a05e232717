"""One step of a torch optimiser, as all learners take it.

A gradient keeps its memory from step to step, and a step adds to it in place: on 80,000 items of width 128
(40 MB), fresh memory from the system takes longer than all that is computed. Where a step has a gradient in some rows
only, as with sampled items, autograd sees those (`rows_of`), and plain descent moves no others (`descend_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence

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


def rows_of(parameter: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """These rows of it, which may repeat, for autograd: their gradient is added to the parameter's.

    >>> w = torch.zeros(3, 1, requires_grad=True)
    >>> (2 * rows_of(w, torch.tensor([0, 2, 2]))).sum().backward()
    >>> w.grad.ravel().tolist()
    [2.0, 0.0, 4.0]
    """

    def add(by_rows: torch.Tensor) -> None:
        gradient(parameter).index_add_(0, rows, by_rows)

    found = parameter.detach()[rows].requires_grad_()
    found.register_hook(add)  # type: ignore[no-untyped-call]  # autograd would make a whole new gradient
    return found


def descend_rows(parameters: Sequence[torch.Tensor], rows: torch.Tensor, rate: float) -> None:
    """Plain descent, w -= rate * gradient, where only these distinct rows have a gradient.

    >>> w = torch.zeros(3, 1)
    >>> gradient(w)[1] = 4
    >>> descend_rows([w], torch.tensor([1]), rate=0.5)
    >>> w.ravel().tolist(), w.grad.ravel().tolist()
    ([0.0, -2.0, 0.0], [0.0, 0.0, 0.0])
    """
    with torch.no_grad():
        for parameter in parameters:
            down = gradient(parameter)
            parameter.index_add_(0, rows, down[rows], alpha=-rate)
            down.index_fill_(0, rows, 0)
