"""The models by name. Adding one is a file and a line in `REGISTRY`; nothing is imported before it is asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cooccur.errors import ParameterError

if TYPE_CHECKING:
    from cooccur.models.base import Model

REGISTRY = {
    "popularity": "popularity:Popularity",
    "cvg": "graph:Cvg",
    "normcvg": "graph:NormCvg",
    "lwcvg": "graph:LwCvg",
    "lrw": "lrw:Lrw",
    "links": "links:Links",
    "fvbm": "fvbm:Fvbm",
    "dem": "dem:Dem",
    "independent": "independent:Independent",
    "rbm": "rbm:Rbm",
    "lk-fvbm": "lk_fvbm:LkFvbm",
    "ease": "ease:Ease",
    "mmmf": "mmmf:Mmmf",
    "lda": "lda:Lda",
    "lbl": "lbl:Lbl",
    "dae": "dae:Dae",
    "edlae": "edlae:Edlae",
    "itemknn": "neighbours:ItemKnn",
    "rp3beta": "neighbours:Rp3Beta",
    "ials": "ials:Ials",
    "multvae": "multvae:MultVae",
}


def model_class(name: str) -> type[Model]:
    """The class of a model by its name.

    >>> model_class("cvg").level
    'L2'
    """
    if name not in REGISTRY:
        near = get_close_matches(name, REGISTRY, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(f"unknown model {name!r}; {hint}there are {', '.join(REGISTRY)}")
    module, _, attribute = REGISTRY[name].partition(":")
    found: type[Model] = getattr(import_module(f"cooccur.models.{module}"), attribute)
    return found


def make_model(spec: str, **params: Any) -> Model:
    """A model from its spelling `name[:preset][,param=value...]`; keyword parameters win over the spelling.

    >>> make_model("lwcvg:source=0.5,length=0")
    LwCvg(length=0.0, source=0.5, target=0.0)
    """
    from cooccur.models.parameters import parse_value

    name, _, tail = spec.partition(":")
    found = model_class(name.strip())
    settings: dict[str, Any] = {}
    for word in filter(None, (part.strip() for part in tail.split(","))):
        key, equals, text = word.partition("=")
        if equals:
            settings[key.strip()] = parse_value(found, key.strip(), text)
        elif key in found.presets:
            settings |= found.presets[key]
        else:
            presets = f"its presets are {', '.join(found.presets)}" if found.presets else "it has no presets"
            raise ParameterError(f"{spec!r}: expected param=value, found {word!r}; {presets}")
    model = found().set_params(**(settings | params))
    model.check_parameters()
    return model
