"""`cooccur fit`: learn a model from data and keep it in one file."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cooccur.cli.data import load
from cooccur.cli.options import Data, Json, Memory, Reading, Threads, unfolded
from cooccur.cli.output import check_output, console, print_json, progress, say, size
from cooccur.cli.titles import load_titles, titles_of
from cooccur.errors import ParameterError, is_interrupt

if TYPE_CHECKING:
    from cooccur.models.base import Model


@unfolded
def fit(
    data: Data,
    models: Annotated[
        list[str],
        typer.Option("-m", "--model", metavar="MODEL", help="NAME or NAME:param=value,...; see `cooccur models`."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The model file to write.")],
    reading: Reading,
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="For models that draw random numbers.")] = None,
    calibrate: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=0.5, help="Hold out this share to calibrate probabilities on.")
    ] = 0.0,
    titles: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of id, title and group: what people call the items.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Hold out a fifth first and keep how well it does in the file.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FOLDER", help="Keep there after each epoch where the fit is."),
    ] = None,
    every: Annotated[int, typer.Option("--every", metavar="N", min=1, help="... or after each N epochs.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the fit in the --checkpoint folder that was stopped.")
    ] = False,
    half: Annotated[
        bool, typer.Option("--half", help="Keep the pair weights in half precision: a smaller file, see the docs.")
    ] = False,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Learn a model and write it to a file."""
    from cooccur.models import make_model

    if len(models) > 1:
        raise ParameterError(f"-m is given {len(models)} times; fit learns one model into one file")
    model = models[0]
    check_output(output)
    learner = make_model(model)  # a misspelt model is found before a large file is read
    if half and not any(array.pairs for array in learner.arrays.values()):
        raise ParameterError(f"--half: {learner.name} has no pair weights; leave it out")
    if seed is not None and "random_state" in learner.get_params():
        learner.set_params(random_state=seed)
    named = load_titles(data, titles, reading.data_home)
    with _checkpointed(learner, checkpoint, every, resume) as options:
        baskets = load(data, reading)
        learner.titles_ = titles_of(baskets, named, titles)
        learner.check_memory(baskets)
        start = time.perf_counter()
        with progress(f"learning {model}") as report:
            if calibrate:
                from cooccur.models.calibrated import fit_calibrated

                fit_calibrated(learner, baskets, share=calibrate, seed=seed or 0, progress=report, **options)
            else:
                learner.fit(baskets, progress=report, **options)
        seconds = time.perf_counter() - start
        if learner.interrupted:
            not_measured = ", and not measured" if measure else ""
            say(f"interrupted: the best epoch so far is kept{not_measured}" + ("; --resume goes on" if options else ""))
        elif measure:
            from cooccur.evaluation import card

            try:
                with progress(f"measuring {model}") as report:
                    learner.notes_ = card.measure(model, baskets, calibrate=calibrate, seed=seed, progress=report)
            except (KeyboardInterrupt, SystemError) as error:
                if not is_interrupt(error):
                    raise
                say("interrupted: the model is kept, and not measured")
        learner.save(output, half=half)
    history = getattr(learner, "history_", None)
    arrays = {name.rstrip("_"): getattr(learner, name) for name in learner.arrays}
    found: dict[str, Any] = {
        "data": data,
        "model": learner.name,
        "params": learner.get_params(),
        "records": len(baskets),
        "items": baskets.n_items,
        "occurrences": baskets.nnz,
        "learned": {name: array.item() if array.size == 1 else list(array.shape) for name, array in arrays.items()},
        "fit_seconds": seconds,
        "titles": len(learner.titles_),
        "calibrated": getattr(learner, "calibration_", None) is not None,
        "history": history.as_dict() if history is not None else None,
        "file": str(output),
        "bytes": output.stat().st_size,
    }
    if as_json:
        print_json(found)
        return
    out = console()
    seen = f"{len(baskets):,} records over {baskets.n_items:,} items"
    out.print(f"{learner.name} learned from {seen} in {_time(seconds)}")
    for name, array in learner.arrays.items():
        if array.shape == "1":  # what `fit` has chosen; the others are shown by `inspect`
            out.print(f"  {name.rstrip('_'):<12}{getattr(learner, name).item()}")
    for row in learner.notes_.get("summary", ()):
        out.print(f"  {row['label']:<24}Top@1 {row['top1']:5.2f}   Top@10 {row['top10']:5.2f}")
    out.print(f"written to {output} ({size(found['bytes'])})", soft_wrap=True)
    item = str(baskets.items[baskets.frequencies.argmax()])
    first = min(learner.titles_.title(item), item, key=lambda name: len(name) > 40)  # a joke is too long to type
    words = ["--explain", "--", first] if first.startswith("-") else [first, "--explain"]
    out.print(f"\nNext: {shlex.join(['cooccur', 'complete', str(output), *words])}", soft_wrap=True)


@contextmanager
def _checkpointed(model: Model, folder: Path | None, every: int, resume: bool) -> Iterator[dict[str, Any]]:
    """What `fit` is given beside the data; the folder is ours until the model is written."""
    if folder is None:
        if resume or every != 1:
            raise ParameterError("--resume and --every need --checkpoint FOLDER")
        yield {}
        return
    from cooccur.models.trained import Trained
    from cooccur.training.checkpoint import Checkpoint

    if not isinstance(model, Trained):
        raise ParameterError(f"{model.name}: it is not learned in epochs, there is no checkpoint; omit --checkpoint")
    with Checkpoint(folder, every=every, resume=resume) as checkpoint:
        if resume:
            say(f"{folder}: " + ("going on from there" if checkpoint.found else "nothing there yet; a new fit starts"))
        yield {"checkpoint": checkpoint}


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"
