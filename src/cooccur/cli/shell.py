"""`cooccur shell`: put a basket together and see what it lacks, at a prompt that completes names, or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cooccur.cli.options import ModelFile, Threads
from cooccur.cli.output import console, indented, say
from cooccur.cli.suggestions import print_suggestions
from cooccur.errors import CooccurError, InputError

if TYPE_CHECKING:
    from cooccur.models.base import Model

HELP = {
    "ITEM": "put it into the basket, by name or title; Tab completes",
    "-ITEM": "take it out again",
    "take N": "put in suggestion N",
    "why N": "why suggestion N (or any item) has its score",
    "similar N": "what goes with suggestion N (or any item)",
    "undo": "as before the last change",
    "clear": "an empty basket",
    "add ITEM": "for an item whose name is a command or begins with -",
    "help": "this",
    "quit": "leave; so does Ctrl-D",
}


def shell(
    file: ModelFile,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many items to suggest.")] = 5,
    threads: Threads = None,
) -> None:
    """Fill a basket at a prompt and see what it lacks, why, and what is similar.

    Tab completes names and titles. When the input is no terminal, each line of it is one command.
    """
    from cooccur.storage import load

    made = Shell(load(file), k)
    person = sys.stdin.isatty() and sys.stdout.isatty()
    if person:
        made.greet()
    failed = False
    for line in _typed(made) if person else sys.stdin:
        try:
            if not made.do(line.strip()):
                break
        except CooccurError as error:
            failed = True
            say(f"error: {error}")
    if failed and not person:
        raise typer.Exit(2)


class Shell:
    """A model, a basket, and what was suggested last; `do` obeys one line."""

    def __init__(self, model: Model, k: int) -> None:
        from cooccur.search import Search

        self.model, self.k, self.search, self.out = model, k, Search(model), console()
        self.title = model.titles_.title
        self.basket: list[str] = []
        self.past: list[list[str]] = []
        self.found = model.complete([], k)
        self.commands: dict[str, Callable[..., None]] = {
            "add": self._add, "take": self._take, "why": self._why, "similar": self._similar,
        }  # fmt: skip
        self.words: dict[str, Callable[[], None]] = {"undo": self._undo, "clear": self._clear, "help": self._help}

    def greet(self) -> None:
        seen = f"{self.model.n_records_:,} records over {len(self.model.items_):,} items"
        self.out.print(f"{self.model.name}, learned from {seen}. Type an item (Tab completes), or help.")

    def do(self, line: str) -> bool:
        """Obey one line; False if it says to leave."""
        word, _, rest = line.partition(" ")
        if line in ("quit", "exit"):
            return False
        if line in self.words:
            self.words[line]()
        elif line.startswith("-"):
            self._remove(line[1:].strip())
        elif word in self.commands and (not rest or line not in self.model._index):
            if not rest:
                raise InputError(f"{word} what? see help; to put in an item of that name say add {word}")
            self.commands[word](rest.strip())
        elif line:
            self._add(line)
        return True

    # -- what a line can ask for --------------------------------------------------------------------

    def _add(self, typed: str) -> None:
        item = self.search.item(typed)
        if item in self.basket:
            raise InputError(f"{self.title(item)} is in the basket already")
        self._change([*self.basket, item])

    def _remove(self, typed: str) -> None:
        item = self.search.item(typed)
        if item not in self.basket:
            raise InputError(f"{self.title(item)} is not in the basket")
        self._change([other for other in self.basket if other != item])

    def _take(self, typed: str) -> None:
        if not self._is_rank(typed):
            raise InputError(f"there is no suggestion {typed}", remedy=f"take 1 to {len(self.found)}")
        self._change([*self.basket, self.found.items[int(typed) - 1]])

    def _undo(self) -> None:
        if not self.past:
            raise InputError("nothing to undo")
        self.basket = self.past.pop()
        self._show()

    def _clear(self) -> None:
        self._change([])

    def _why(self, typed: str) -> None:
        item = self._meant(typed)
        asked = self.model.complete([other for other in self.basket if other != item], 1, candidates=[item])
        print_suggestions(asked, [self.model.explain(self.basket, item)])

    def _similar(self, typed: str) -> None:
        item = self._meant(typed)
        self.out.print(f"goes with {self.title(item)}, however popular by itself", style="dim")
        print_suggestions(self.model.similar_items(item, self.k))

    def _help(self) -> None:
        for words, meaning in HELP.items():
            indented(self.out, f"{words:<10} {meaning}", 2)

    # -- inside -------------------------------------------------------------------------------------

    def _meant(self, typed: str) -> str:
        """A suggestion by its number, or any item."""
        return self.found.items[int(typed) - 1] if self._is_rank(typed) else self.search.item(typed)

    def _is_rank(self, typed: str) -> bool:
        return typed.isdecimal() and 1 <= int(typed) <= len(self.found)

    def _change(self, basket: list[str]) -> None:
        self.past.append(self.basket)
        self.basket = basket
        self._show()

    def _show(self) -> None:
        self.found = self.model.complete(self.basket, self.k)
        self.out.print(f"basket: {', '.join(map(self.title, self.basket)) or '(empty)'}", style="bold")
        print_suggestions(self.found)


def _typed(shell: Shell) -> Iterator[str]:
    """What a person types, line by line, with a menu of names that fit so far."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document

    class Names(Completer):
        def get_completions(self, document: Document, complete_event: Any) -> Iterator[Completion]:
            for text, length, name in offers(shell, document.text_before_cursor):
                yield Completion(text, -length, display_meta=name)

    session: PromptSession[str] = PromptSession(completer=Names())
    while True:
        try:
            yield session.prompt("> ")
        except KeyboardInterrupt:  # the line is given up, not the shell
            continue
        except EOFError:
            return


def offers(shell: Shell, line: str) -> Iterator[tuple[str, int, str]]:
    """For the line so far: what may stand in place of its last so many characters, and the item's name if it differs.

    >>> from cooccur.models import make_model
    >>> small = Shell(make_model("popularity").fit([["milk", "oat milk"], ["milk"]]), 5)
    >>> [text for text, _, _ in offers(small, "mi")], [text for text, _, _ in offers(small, "why o")]
    (['milk', 'oat milk'], ['oat milk'])
    """
    word, space, rest = line.partition(" ")
    fragment = line
    if line.startswith("-"):
        fragment = line[1:]
        fitting = [i for i in shell.basket if fragment.casefold() in shell.title(i).casefold()]
    else:
        if space and word in shell.commands:
            fragment = rest.lstrip()
        elif line:
            for command in (*shell.commands, *shell.words, "quit"):
                if command.startswith(line):
                    yield command, len(line), "command"
        fitting = shell.search.starting(fragment)
    for item in fitting:
        text = shell.search.spelled(item)
        yield text, len(fragment), item if item != text else ""
