"""`cooccur models`: what there is, and the parameters of each."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cooccur.cli.options import Json
from cooccur.cli.output import console, indented, print_json

if TYPE_CHECKING:
    from cooccur.models.base import Model

LEVELS = "L1: items by themselves; L2: pairs of items; Lk: combinations of any size."


def models(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One model in detail.")] = None,
    as_json: Json = False,
) -> None:
    """List the models with their parameters, or one in detail."""
    from cooccur.models import REGISTRY, model_class

    found = [_about(model_class(each)) for each in ([name] if name else REGISTRY)]
    if as_json:
        print_json(found[0] if name else {"models": found})
        return
    out = console()
    for model in found:
        out.print(f"{model['name']:<12} {model['level']:<3} score: {model['score_is']}", style="bold")
        if name:
            indented(out, model["doc"], 13)
        for key, about in model["parameters"].items():
            indented(out, f"{key} = {_spelled(about['default'])}  ({about['range']})", 13)
            indented(out, about["meaning"], 17, "dim")
        for key, settings in model["presets"].items():
            spelled = ",".join(f"{k}={_spelled(v)}" for k, v in settings.items())
            indented(out, f"preset {model['name']}:{key} is {spelled}", 13)
    out.print(f"\n{LEVELS}\nSpelling: NAME, NAME:param=value,... or NAME:preset", style="dim")


def _about(model: type[Model]) -> dict[str, Any]:
    from cooccur.models.parameters import describe_range

    return {
        "name": model.name,
        "level": model.level,
        "score_is": model.score_is,
        "doc": (inspect.getdoc(model) or "").partition(">>>")[0].strip(),
        "parameters": {
            field.name: {
                "default": field.default,
                "range": describe_range(field),
                "meaning": field.metadata["meaning"],
            }
            for field in dataclasses.fields(model)
        },
        "presets": {key: dict(settings) for key, settings in model.presets.items()},
    }


def _spelled(value: Any) -> str:
    """As one writes it on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
