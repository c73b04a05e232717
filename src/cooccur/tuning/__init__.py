"""Selection: the settings of a model that answer best on records which it did not learn from. Start at `search.py`."""

from __future__ import annotations

from importlib.util import find_spec

from cooccur.errors import CooccurError

if find_spec("optuna") is None:
    raise CooccurError("tuning searches with the library optuna; pip install 'cooccur[tune]'")

from cooccur.tuning.search import Tuned, tune
from cooccur.tuning.space import search_space, space_to_search
from cooccur.tuning.trials import Trial

__all__ = ["Trial", "Tuned", "search_space", "space_to_search", "tune"]
