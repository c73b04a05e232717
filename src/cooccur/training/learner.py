"""What a model brings to the training loop: a step on a batch, its arrays, and everything else that its steps change.

`state` is all of that as plain arrays, so that a new learner of the same model and data which is given it (`set_state`)
goes on bit by bit where the old one was:

    arrays.0 ...          what is learned
    optimiser.0.NAME ...  what torch's optimiser remembers of each of its parameters
    by_rows.0.NAME ...    the same of parameters that move by rows
    rng, generator        where numpy's and torch's random numbers are
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cooccur.training.batches import Batch
from cooccur.training.row_adam import RowAdam
from cooccur.training.steps import descend

Arrays = list[Any]  # numpy arrays, or torch tensors on another device
State = dict[str, npt.NDArray[Any]]


class Learner(ABC):
    """Base of the learners. One that changes more than this from step to step adds it to `state` and `set_state`."""

    rng: np.random.Generator
    generator: torch.Generator | None = None
    optimiser: Any = None  # one of torch's
    by_rows: Sequence[RowAdam] = ()  # for parameters of which a step moves few rows

    @abstractmethod
    def step(self, batch: Batch, rate: float) -> float:
        """One update, its rates multiplied by `rate`; the batch's summed loss."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """The arrays that are learned, themselves and not copies."""

    def bring(self, *rows: npt.NDArray[np.int64]) -> None:
        """These rows are what a step needs of each of the parameters that move by rows."""
        for adam, some in zip(self.by_rows, rows, strict=True):
            adam.bring(some)

    def descend(self, records: int, rate: float) -> None:
        """Step along the mean gradient of a batch of `records`, the learning rates multiplied by `rate`."""
        if self.optimiser is not None:
            descend(self.optimiser, records, rate)
        for adam in self.by_rows:
            adam.step(records, rate)

    def settled(self) -> Arrays:
        """The arrays, once every row has moved as far as it should have by now."""
        for adam in self.by_rows:
            adam.settle()
        return self.arrays()

    def copies(self) -> Arrays:
        """The arrays as they are now."""
        return [array.copy() if isinstance(array, np.ndarray) else array.clone() for array in self.settled()]

    def restore(self, arrays: Arrays) -> None:
        """Back to these arrays."""
        for array, kept in zip(self.settled(), arrays, strict=True):
            put(array, kept)

    def finite(self) -> bool:
        """Whether every number that is learned is one."""
        return all(
            bool(np.isfinite(array).all() if isinstance(array, np.ndarray) else array.isfinite().all())
            for array in self.settled()
        )

    def state(self) -> State:
        """Everything that the next step depends on; views where that is possible, so write it before the next step."""
        found = {f"arrays.{i}": home(array) for i, array in enumerate(self.settled())}
        found["rng"] = random_state(self.rng)
        if self.generator is not None:
            found["generator"] = self.generator.get_state().numpy()
        if self.optimiser is not None:
            for i, remembered in self.optimiser.state_dict()["state"].items():
                found |= {f"optimiser.{i}.{name}": home(value) for name, value in remembered.items()}
        for i, adam in enumerate(self.by_rows):
            found |= {f"by_rows.{i}.{name}": value for name, value in adam.state().items()}
        return found

    def set_state(self, state: State) -> None:
        """Go on from there."""
        self.restore([state[f"arrays.{i}"] for i in range(len(self.arrays()))])
        set_random_state(self.rng, state["rng"])
        if self.generator is not None:
            self.generator.set_state(torch.tensor(state["generator"]))
        if self.optimiser is not None:
            remembered: dict[int, dict[str, torch.Tensor]] = {}
            for key in (key for key in state if key.startswith("optimiser.")):
                _, number, name = key.split(".", 2)
                remembered.setdefault(int(number), {})[name] = torch.tensor(state[key])
            # a new optimiser has the same groups: their rates are set at each step
            self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": remembered})
        for i, adam in enumerate(self.by_rows):
            adam.set_state(**{name: state[f"by_rows.{i}.{name}"] for name in adam.state()})


def home(array: Any) -> npt.NDArray[Any]:
    """A numpy array, whatever it was."""
    return array if isinstance(array, np.ndarray) else array.detach().cpu().numpy()


def put(array: Any, values: Any) -> None:
    """Fill an array or a tensor with these values."""
    array[...] = values if isinstance(array, np.ndarray) else torch.as_tensor(values)


def random_state(rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Where a generator is, as the bytes of a JSON text.

    >>> rng, other = np.random.default_rng(0), np.random.default_rng(1)
    >>> set_random_state(other, random_state(rng))
    >>> bool(other.random() == rng.random())
    True
    """
    text = json.dumps(rng.bit_generator.state, default=lambda array: array.tolist())
    return np.frombuffer(text.encode(), dtype=np.uint8)


def set_random_state(rng: np.random.Generator, state: npt.NDArray[np.uint8]) -> None:
    """Bring a generator of the same kind there."""
    rng.bit_generator.state = json.loads(state.tobytes())
