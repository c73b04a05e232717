"""Where a search looks: the ranges that a model declares by `parameter(search=...)`, less what the user has set.

A number drawn from a range is cut to three digits before it is tried, so that the spelling of a winner, such as
`lwcvg:length=1.2,source=0.63`, is exactly what was measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from cooccur.errors import ParameterError
from cooccur.models import make_model, model_class
from cooccur.models.parameters import plain_types

Space = dict[str, BaseDistribution]
Settings = dict[str, Any]


def search_space(spec: str) -> Space:
    """What there is to search in a model as spelled; a parameter set there, or by a preset named there, stays fixed.

    >>> search_space("lrw:total=no")
    {'steps': IntDistribution(high=4, log=False, low=1, step=1)}
    """
    make_model(spec)  # a bad spelling gets its error
    name, _, tail = spec.partition(":")
    model = model_class(name.strip())
    fixed: set[str] = set()
    for word in filter(None, (part.strip() for part in tail.split(","))):
        key, equals, _ = word.partition("=")
        fixed |= {key.strip()} if equals else model.presets[key].keys()
    fields = [field for field in dataclasses.fields(model) if field.metadata["search"] and field.name not in fixed]
    return {field.name: _distribution(field) for field in fields}


def space_to_search(spec: str) -> Space:
    """The same, where it may not be empty."""
    space = search_space(spec)
    if not space:
        raise ParameterError(f"{spec}: there is nothing to search; its parameters have no range, or are set")
    return space


def _distribution(field: dataclasses.Field[Any]) -> BaseDistribution:
    search = field.metadata["search"]
    if not (isinstance(search, tuple) and len(search) == 2 and {int, float} & set(plain_types(field))):
        return CategoricalDistribution(list(search))
    low, high = search
    log = low > 0 and high >= 10 * low
    if float in plain_types(field):
        return FloatDistribution(low, high, log=log)
    return IntDistribution(low, high, log=log)


def inside(space: Space, settings: Settings) -> bool:
    """Whether the ranges hold these settings; a default such as `none` for "chosen inside `fit`" may lie outside.

    >>> inside(search_space("lrw"), {"steps": 2, "total": False}), inside(search_space("lrw"), {"steps": None})
    (True, False)
    """
    for name, value in settings.items():
        where = space[name]
        if isinstance(where, CategoricalDistribution):
            if value not in where.choices:
                return False
        elif isinstance(where, (IntDistribution, FloatDistribution)) and (
            value is None or not where.low <= value <= where.high
        ):
            return False
    return True


def cut(space: Space, drawn: Mapping[str, Any]) -> Settings:
    """The settings to try: what was drawn, numbers of ranges with three digits.

    >>> cut({"rate": FloatDistribution(0.001, 0.1)}, {"rate": 0.0123456})
    {'rate': 0.0123}
    """
    found: Settings = {}
    for name, value in drawn.items():
        where = space[name]
        if isinstance(where, FloatDistribution):
            value = min(max(float(f"{value:.3g}"), where.low), where.high)
        found[name] = value
    return found


def spelled(spec: str, settings: Settings) -> str:
    """The spelling of a model with some more settings.

    >>> spelled("lrw", {"steps": None, "total": True}), spelled("dem:bias=no", {"rate": 0.02}), spelled("cvg", {})
    ('lrw:steps=none,total=yes', 'dem:bias=no,rate=0.02', 'cvg')
    """
    name, _, tail = spec.partition(":")
    told = ",".join(filter(None, (tail, *(f"{key}={_word(value)}" for key, value in settings.items()))))
    return f"{name}:{told}" if told else name


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
