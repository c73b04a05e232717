"""Learn what goes together from sets of items, and say what is missing from a set, with the reason.

    import cooccur
    baskets = cooccur.read("baskets.csv")
    model = cooccur.make_model("lwcvg").fit(baskets)
    model.complete(["pasta", "bread"])

The names below are imported when they are first used, so that `import cooccur` and `cooccur --help` are instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cooccur.errors import CooccurError

if TYPE_CHECKING:
    from cooccur.baskets import Baskets
    from cooccur.datasets import load as load_dataset
    from cooccur.evaluation.protocol import evaluate
    from cooccur.models import make_model
    from cooccur.reading import read
    from cooccur.storage import load
    from cooccur.synthetic import planted_shop

    __version__: str

__all__ = [
    "Baskets",
    "CooccurError",
    "__version__",
    "evaluate",
    "load",
    "load_dataset",
    "make_model",
    "planted_shop",
    "read",
]

_WHERE = {
    "Baskets": "baskets:Baskets",
    "evaluate": "evaluation.protocol:evaluate",
    "load": "storage:load",
    "load_dataset": "datasets:load",
    "make_model": "models:make_model",
    "planted_shop": "synthetic:planted_shop",
    "read": "reading:read",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("cooccur")
    if name not in _WHERE:
        raise AttributeError(f"module 'cooccur' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    return getattr(import_module(f"cooccur.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
