"""Parameters of models, declared once as dataclass fields with range and meaning; checked and described from there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np

from cooccur.errors import ParameterError

if TYPE_CHECKING:
    from cooccur.models.base import Model

_LARGEST = 2**32 - 1  # of whole numbers without a limit of their own: what every random generator takes


def parameter(
    default: Any, meaning: str, *, low: float | None = None, high: float | None = None, choices: Sequence[str] = (),
    search: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """Declare a parameter of a model: a dataclass field with its range and its meaning.

    `search` is where a search for better settings looks: (from, to) of a number, drawn evenly in its logarithm where
    that spans a factor of ten or more; a list of values for anything else. Without it the parameter keeps its default.
    """
    return dataclasses.field(
        default=default, metadata={"meaning": meaning, "low": low, "high": high, "choices": choices, "search": search}
    )


def describe_range(field: dataclasses.Field[Any]) -> str:
    """The declared range of a parameter in words."""
    meta = field.metadata
    if meta["choices"]:
        return ", ".join(meta["choices"])
    if bool in plain_types(field):
        return "yes or no"
    low, high = meta["low"], meta["high"]
    kind = "whole number" if int in plain_types(field) else "number" if float in plain_types(field) else "text"
    bounds = (
        f"{low:g} to {high:g}"
        if low is not None and high is not None
        else f"{low:g} or more"
        if low is not None
        else ""
    )
    words = f"{kind} {bounds}".strip()
    return f"{words}, or none" if type(None) in plain_types(field) else words


def parse_value(model: type[Model], name: str, text: str) -> Any:
    """The value of a parameter as spelled on the command line: `steps=3`, `total=yes`, `steps=none`."""
    fields = {field.name: field for field in dataclasses.fields(model)}
    if name not in fields:
        raise ParameterError(no_such_parameter(model.name, name, list(fields)))
    field = fields[name]
    types = plain_types(field)
    word = text.strip().lower()
    value: Any = text
    if type(None) in types and word in ("none", "auto"):
        value = None
    elif bool in types and word in ("yes", "true", "1", "no", "false", "0"):
        value = word in ("yes", "true", "1")
    elif int in types or float in types:
        for kind in (int, float):
            if kind in types:
                try:
                    value = kind(text)
                    break
                except ValueError:
                    continue
    check(model.name, field, value)
    return value


def plain_types(field: dataclasses.Field[Any]) -> tuple[Any, ...]:
    """The plain types of a parameter. With postponed annotations a field's type is its text, as in `int | None`."""
    if isinstance(field.type, str):
        plain = {"int": int, "float": float, "bool": bool, "str": str, "None": type(None)}
        return tuple(plain[part.strip()] for part in field.type.split("|"))
    return get_args(field.type) if get_origin(field.type) is not None else (field.type,)


def check(model: str, field: dataclasses.Field[Any], value: Any) -> None:
    types, meta = plain_types(field), field.metadata
    if value is None and type(None) in types:
        return
    fits = (
        (bool in types and isinstance(value, bool))
        or (int in types and isinstance(value, (int, np.integer)) and not isinstance(value, bool))
        or (float in types and isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool))
        or (str in types and isinstance(value, str))
    )
    if fits and meta["choices"]:
        fits = value in meta["choices"]
    if fits and not isinstance(value, (str, bool)):
        fits = abs(int(value)) <= _LARGEST if isinstance(value, (int, np.integer)) else math.isfinite(value)
        fits = (
            fits and (meta["low"] is None or value >= meta["low"]) and (meta["high"] is None or value <= meta["high"])
        )
    if not fits:
        large = isinstance(value, (int, np.integer)) and value > _LARGEST and int in types and meta["high"] is None
        most = f", {_LARGEST} at most" if large else ""
        shown = repr(value) if len(repr(value)) <= 100 else repr(value)[:97] + "..."
        raise ParameterError(f"{model}: {field.name} = {shown}; expected {describe_range(field)}{most}")


def no_such_parameter(model: str, name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=1)
    known = f"its parameters are {', '.join(names)}" if names else "it has none"
    return f"{model} has no parameter {name!r}; " + (f"did you mean {near[0]!r}? " if near else "") + known
