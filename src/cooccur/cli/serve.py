"""`cooccur serve`: answer over HTTP."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Annotated

import typer

from cooccur.cli.options import ModelFile, Threads
from cooccur.cli.output import say
from cooccur.errors import CooccurError

TOKEN = "COOCCUR_TOKEN"


def serve(
    file: ModelFile,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0: everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: any free one.")] = 8000,
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Processes; they share the weights.")] = 1,
    titles: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A table of id, title and group; else the titles that `fit` kept."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Holds the token that requests must bring; or set {TOKEN}."),
    ] = None,
    origins: Annotated[
        list[str] | None, typer.Option("--origin", metavar="URL", help="Let this web site's scripts ask too.")
    ] = None,
    max_basket: Annotated[int, typer.Option(metavar="N", min=1, help="Items in one basket.")] = 1000,
    max_batch: Annotated[int, typer.Option(metavar="N", min=1, help="Baskets in one request.")] = 1000,
    max_body: Annotated[int, typer.Option(metavar="BYTES", min=1, help="Of one request.")] = 2**20,
    max_seconds: Annotated[float, typer.Option(metavar="S", min=0.1, help="For one request.")] = 10.0,
    threads: Threads = None,
) -> None:
    """Answer over HTTP, and show the page. A new file at FILE is taken up while it runs."""
    try:
        from cooccur.serve.run import Settings, application, listen, run
    except ImportError as error:
        words = f"serve needs the package {error.name}; install it with pip install 'cooccur[serve]'"
        raise CooccurError(words) from None
    from cooccur.serve.limits import Limits
    from cooccur.storage import load
    from cooccur.titles import read_titles

    limits = Limits(basket=max_basket, batch=max_batch, body=max_body, seconds=max_seconds)
    named = None if titles is None else read_titles(titles)
    settings = Settings(file.absolute(), _token(token_file), tuple(origins or ()), limits, titles=named)
    with listen(host, port) as bound:
        if workers == 1:
            app = application(settings)
            model = app.state.keeper.current.model
        else:
            app, model = None, load(file)  # a bad file is found here, not in each process
        at = bound.getsockname()
        where = f"[{at[0]}]:{at[1]}" if ":" in at[0] else f"{at[0]}:{at[1]}"
        if settings.token is None and not ipaddress.ip_address(at[0].partition("%")[0]).is_loopback:
            say(f"warning: whoever reaches {where} can ask, without a token; set {TOKEN} or --token-file")
        say(f"serving {file} ({model.name}, {len(model.items_):,} items) at http://{where}; Ctrl-C ends it")
        del model  # else it would stay when another takes its place
        run(settings, bound, workers, app)


def _token(file: Path | None) -> str | None:
    """From a file or the environment. No option takes the token itself: every user of a machine sees command lines."""
    if file is None:
        token, source = os.environ.pop(TOKEN, None), TOKEN
        if token is None:
            return None
    else:
        source = str(file)
        try:
            token = file.read_text().strip()
        except (OSError, UnicodeError) as error:
            raise CooccurError(f"--token-file {file}: cannot read it ({error}); give a text file") from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CooccurError(f"{source}: no token in it; expected one word of ASCII letters, digits and signs")
    return token
