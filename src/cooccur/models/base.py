"""The contract: what every model is and promises. Rows are records, columns are items, always.

A model is a dataclass whose fields are its parameters, declared once with `parameter(...)`: type, default, range and
meaning. `__init__` only stores them; `fit` learns arrays whose names end in `_` and returns the model itself.

To write a model, fill in two methods:

    _fit(baskets, progress)    learn the arrays named in `arrays`
    _scores(baskets)           (records, n_items) float32: for each item, how much the record asks for it

`_scores` is asked about records over the model's own vocabulary and may write anything in the columns of a record's own
items: they are masked before anybody looks. Everything else here follows: completion, similar items, reasons, files.

What every model keeps (tests/contract.py checks it for each):
the order of a basket's items changes nothing; unknown items are reported and ignored; an empty basket gets the model's
prior; k may exceed the number of items; items of the basket are never suggested; a batch equals its rows one by one;
the same seed gives the same result; save and load change nothing; input is never modified.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cooccur import memory, ops
from cooccur.baskets import Baskets, Names, item_names
from cooccur.errors import CooccurError, InputError, NotFittedError, ParameterError
from cooccur.models.answers import BatchCompletion, Completion, Reason, Suggestion
from cooccur.models.arrays import Array
from cooccur.models.parameters import check, no_such_parameter
from cooccur.near import did_you_mean
from cooccur.notebook import ModelView
from cooccur.titles import Titles

if TYPE_CHECKING:
    from cooccur.models.calibrated import Calibration

Floats = npt.NDArray[np.float32]
Progress = Callable[[float, str], None]
"""Called with the share done (0 to 1) and a few words."""

BLOCK_BYTES = 16 * 2**20  # scores are made in blocks of records about this large, so they stay near the cache


def silent(share: float, words: str) -> None:
    """The progress report of those who want none."""


def part_of(progress: Progress, start: float, stop: float, before: str = "") -> Progress:
    """The report of a part of the work, which the whole reaches at the share `start` and leaves at `stop`.

    >>> part_of(lambda share, words: print(share, words), 0.5, 1.0, "net 2 of 2: ")(0.5, "epoch 7")
    0.75 net 2 of 2: epoch 7
    """
    return lambda share, words: progress(start + (stop - start) * min(share, 1.0), before + words)


@dataclass(eq=False, kw_only=True)
class Model(ModelView, ABC):
    """Base of all models; see the top of this file."""

    name: ClassVar[str]
    level: ClassVar[str]  # L1, L2 or Lk: the order of dependence between items it can express
    score_is: ClassVar[str]  # what a score means, in a few words
    arrays: ClassVar[Mapping[str, Array]] = {}  # the learned arrays, kept in the model file
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    named_ = False  # whether records bore names of items, and the model made use of it
    titles_ = Titles()  # what people call the items; set it to others, and the model file keeps them

    @abstractmethod
    def _fit(self, baskets: Baskets, progress: Progress) -> None: ...

    @abstractmethod
    def _scores(self, baskets: Baskets) -> Floats: ...

    def _probability(self, score: float) -> float | None:
        """What a score says as a probability, where it says one."""
        return None

    def _check_learned(self) -> None:
        """Whether the arrays fit each other, as far as `arrays` cannot say it; a ValueError says what does not."""

    def _affinity(self, item: int) -> Floats:
        """(n_items,) what the presence of one item adds to the score of each other one."""
        alone = Baskets(np.array([0, 1, 1]), np.array([item]), self.items_)  # {item} and the empty basket
        present, empty = self._scores(alone)
        return np.asarray(present - empty)

    # -- learning -----------------------------------------------------------------------------------

    def estimate(self, baskets: Baskets) -> int:
        """Bytes that learning from these records will need at its peak, beside the records; within a factor of two."""
        return 4_000_000 + 24 * baskets.nnz

    def check_memory(self, baskets: Baskets) -> None:
        """Raise if that is more than there is room (see `cooccur.memory`), and say how many items would fit."""

        def remedy(room: int) -> str:
            fits, too_many = 0, baskets.n_items
            while too_many - fits > max(1, fits // 50):
                half = (fits + too_many) // 2
                enough = self.estimate(baskets.filter(top_items=half)) <= room
                fits, too_many = (half, too_many) if enough else (fits, half)
            return f"--top-items {fits} would fit" if fits > 1 else "free some, or raise --memory"

        memory.check(self.estimate(baskets), f"{self.name}: learning {baskets.n_items:,} items", remedy)

    def fit(self, baskets: Any, *, progress: Progress = silent) -> Self:
        """Learn from records: a `Baskets`, or anything that `as_baskets` takes."""
        self.check_parameters()
        training = as_baskets(baskets)
        if not len(training) or not training.nnz:
            raise InputError("no record with an item to learn from")
        self.check_memory(training)
        vars(self).pop("_index_cache", None)  # of an earlier fit
        self.items_: Names = training.items
        self.frequencies_: npt.NDArray[np.int64] = training.frequencies
        self.n_records_: int = len(training)
        self.fingerprint_: str = training.fingerprint()
        self.calibration_: Calibration | None = None  # see `calibrated.py`; it was learned for the model as it was
        self.notes_: dict[str, Any] = {}
        self.named_ = False
        self._fit(training, progress)
        return self

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the learning early. Such a model is worth keeping, a figure about it is not."""
        return bool(getattr(getattr(self, "history_", None), "interrupted", False))

    # -- asking -------------------------------------------------------------------------------------

    def scores(self, baskets: Any) -> Floats:
        """(records, n_items) float32 scores; the columns of a record's own items hold NaN.

        The whole matrix: for many records over many items prefer `complete_batch` or `blocks`.
        """
        known, _ = self._known(baskets)
        scores = self._scores(known)
        ops.mask(scores, known.indptr, known.indices)
        return scores

    def blocks(self, baskets: Baskets) -> Iterator[tuple[slice, Floats]]:
        """The same in blocks of records that fit the cache: (which records, their scores)."""
        rows = self._rows_at_once()
        for start in range(0, len(baskets), rows):
            which = slice(start, min(start + rows, len(baskets)))
            yield which, self.scores(baskets[which])

    def complete(
        self, basket: Iterable[str], k: int = 10, *, candidates: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
    ) -> Completion:  # fmt: skip
        """The k items that one basket of names lacks most.

        `candidates` limits the answer to these items, `exclude` takes items out of it.
        """
        names = _distinct(basket)
        batch = self.complete_batch([names], k, candidates=candidates, exclude=exclude)
        found = [
            self._suggestion(str(self.items_[item]), float(score), self.probability(float(score)))
            for item, score in zip(batch.items[0], batch.scores[0], strict=True)
            if item >= 0
        ]
        unknown = set(batch.unknown)
        return Completion(tuple(n for n in names if n not in unknown), batch.unknown, tuple(found), self.titles_)

    def complete_batch(
        self, baskets: Any, k: int = 10, *, candidates: Iterable[str] | None = None, exclude: Iterable[str] = ()
    ) -> BatchCompletion:
        """The k best items of many records; unknown items are left out of the records and listed.

        Nobody is suggested to himself: where the model has learned from records that bear names of items (`named_`),
        the item whose name a record bears is no candidate for it.
        """
        _check_k(k)
        known, unknown = self._known(baskets)
        barred = self._barred(candidates, exclude)
        width = min(k, len(self.items_))
        items = np.full((len(known), width), -1, dtype=np.int32)
        values = np.full((len(known), width), np.nan, dtype=np.float32)
        for which, scores in self.blocks(known):
            if barred is not None:
                scores[:, barred] = np.nan
            if self.named_ and not known.numbered:
                own = [(row, self._index[name]) for row, name in enumerate(known.records[which]) if name in self._index]
                for row, number in own:
                    scores[row, number] = np.nan
            items[which], values[which] = ops.top_k(scores, width)
        if np.isinf(values).any():
            raise CooccurError(
                f"{self.name}: a score is infinite; the numbers of this model are too large, fit it again"
            )
        return BatchCompletion(items, values, self.items_, tuple(unknown), self.titles_)

    def probability(self, score: float) -> float | None:
        """What a score says as a probability, where it says one; calibrated, where the model is."""
        calibration = getattr(self, "calibration_", None)
        return self._probability(score if calibration is None else float(calibration.log_odds(score)))

    def similar_items(self, item: str, k: int = 10) -> Completion:
        """The k items that go best with one item, however popular they are by themselves."""
        _check_k(k)
        number = self.number(item)
        affinity = np.array(self._affinity(number), dtype=np.float32).reshape(1, -1)
        affinity[0, number] = np.nan
        items, values = ops.top_k(affinity, min(k, affinity.size))
        best = zip(items[0], values[0], strict=True)
        found = tuple(self._suggestion(str(self.items_[i]), float(s)) for i, s in best if i >= 0)
        return Completion((item,), (), found, self.titles_)

    def explain(self, basket: Iterable[str], item: str) -> Reason:
        """Why `item` has its score: what each item of the basket adds, found by leaving it out."""
        known = self._rest(basket, item)
        target, own = self.number(item), known.row(0)
        without = [np.delete(own, at) for at in range(len(own))]
        ask = [own, *without, own[:0]]
        lengths = [len(row) for row in ask]
        trial = Baskets(np.concatenate(([0], np.cumsum(lengths))), np.concatenate(ask), self.items_)
        rows = self._rows_at_once()
        parts = [self._scores(trial[at : at + rows])[:, target] for at in range(0, len(trial), rows)]
        score, *left_out, prior = (float(s) for s in np.concatenate(parts))
        shares = [(str(self.items_[i]), score - s) for i, s in zip(own, left_out, strict=True)]
        shares.sort(key=lambda share: -abs(share[1]))
        rest = score - prior - sum(value for _, value in shares)
        return Reason(item, score, prior, tuple(shares), rest, titles=self.titles_)

    def number(self, item: str) -> int:
        """The column of an item; an unknown name is an error that suggests near ones."""
        self._check_fitted()
        if not isinstance(item, str) or item not in self._index:
            raise InputError(did_you_mean(str(item), self._index))
        return self._index[item]

    # -- parameters (scikit-learn's manners) --------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **params: Any) -> Self:
        for name, value in params.items():
            if name not in self.get_params():
                raise ParameterError(no_such_parameter(self.name, name, list(self.get_params())))
            setattr(self, name, value)
        return self

    def check_parameters(self) -> None:
        """Each parameter against its declared range; the error names parameter, value and range."""
        for field in dataclasses.fields(self):
            check(self.name, field, getattr(self, field.name))

    # -- files --------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, half: bool = False) -> None:
        """Write the model to one file, whole or not at all; with `half` its pair weights in half precision.

        `notes_`, a dict of plain JSON, goes with it: how the model was measured, for one.
        """
        from cooccur.storage import save

        save(self, path, half=half)

    # -- inside -------------------------------------------------------------------------------------

    def _rows_at_once(self) -> int:
        """Of how many records the scores are a block of about BLOCK_BYTES."""
        return max(1, BLOCK_BYTES // (4 * len(self.items_)))

    def _known(self, baskets: Any) -> tuple[Baskets, list[str]]:
        """Records over the model's own vocabulary, and the names that it does not know."""
        self._check_fitted()
        if isinstance(baskets, Baskets):
            if baskets.items is self.items_ or np.array_equal(baskets.items, self.items_):
                return baskets, []
            return baskets.with_vocabulary(self.items_)
        if hasattr(baskets, "shape"):
            if len(baskets.shape) == 2 and baskets.shape[-1] != len(self.items_):
                raise InputError(f"a matrix {baskets.shape[-1]} wide; the model knows {len(self.items_)} items")
            return Baskets.from_matrix(baskets, self.items_), []
        return self._numbered(baskets)

    def _numbered(self, lists: Iterable[Iterable[Any]]) -> tuple[Baskets, list[str]]:
        """`Baskets.from_lists(lists).with_vocabulary(self.items_)`, at the cost of the lists and not of the items."""
        numbers: list[int] = []
        lengths: list[int] = []
        unknown: dict[str, None] = {}
        for names in item_names(lists):
            found = {name: self._index.get(name) for name in names}
            own = sorted(number for number in found.values() if number is not None)
            unknown.update((name, None) for name, number in found.items() if number is None)
            numbers += own
            lengths.append(len(own))
        indptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        return Baskets(indptr, np.array(numbers, dtype=np.int32), self.items_), list(unknown)

    def _rest(self, basket: Iterable[str], item: str) -> Baskets:
        """One record: the known items of the basket but this one."""
        return self._known([[name for name in _distinct(basket) if name != item]])[0]

    def _barred(self, candidates: Iterable[str] | None, exclude: Iterable[str]) -> npt.NDArray[np.bool_] | None:
        excluded = [self.number(item) for item in exclude]
        if candidates is None and not excluded:
            return None
        barred = np.full(len(self.items_), candidates is not None)
        barred[[self.number(item) for item in candidates or ()]] = False
        barred[excluded] = True
        return barred

    def _suggestion(self, item: str, score: float, probability: float | None = None) -> Suggestion:
        return Suggestion(item, score, probability, self.titles_[item].title if item in self.titles_ else "")

    @property
    def _index(self) -> dict[str, int]:
        index: dict[str, int] | None = self.__dict__.get("_index_cache")
        if index is None:
            index = self.__dict__["_index_cache"] = {name: number for number, name in enumerate(self.items_)}
        return index

    def _check_fitted(self) -> None:
        if not hasattr(self, "items_"):
            raise NotFittedError(f"this {self.name} has not learned yet; call fit first")


def _distinct(basket: Iterable[str]) -> list[str]:
    """The names of a basket, each once."""
    if isinstance(basket, str) or not isinstance(basket, Iterable):
        raise InputError(f"a basket is a list of names, not {'the text ' * isinstance(basket, str)}{basket!r}")
    return list(dict.fromkeys(str(item) for item in basket))


def _check_k(k: int) -> None:
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise ParameterError(f"k = {k!r}; expected 1 or more, a whole number")


def as_baskets(data: Any) -> Baskets:
    """A `Baskets` from one, from a 0/1 matrix (dense or scipy), or from lists of names."""
    if isinstance(data, Baskets):
        return data
    return Baskets.from_matrix(data) if hasattr(data, "shape") else Baskets.from_lists(data)
