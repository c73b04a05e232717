"""What a training has been like, epoch by epoch; kept in the model file, and read from there without torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave: `loss` is the mean over records; `top1`, `top10` in percent, None without validation;
    `likelihood`, where that chooses the epoch, is the mean pseudo-log-likelihood of the held-out records."""

    epoch: int
    loss: float
    top1: float | None
    top10: float | None
    likelihood: float | None
    seconds: float
    records_per_second: float


@dataclass
class History:
    """The epochs, which of them was kept, whether Ctrl-C ended the training, and what went wrong, if that ended it."""

    epochs: list[Epoch]
    best: int
    interrupted: bool
    stopped: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
