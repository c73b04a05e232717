"""Every error that a user can cause. The command line prints one line of it and exits with 2. Last, Ctrl-C."""

from __future__ import annotations


class CooccurError(Exception):
    """Something the user can mend. The message says what was found, where, and the remedy."""


class InputError(CooccurError):
    """A file, matrix or frame that does not hold what was expected.

    Parameters
    ----------
    problem : what was found and what was expected.
    source, line : where (the file's name and the line, counted from 1), if known.
    remedy : what the user can do.

    >>> print(InputError("3 fields, expected 2", source="edges.txt", line=7, remedy="add --skip-bad"))
    edges.txt, line 7: 3 fields, expected 2; add --skip-bad
    """

    def __init__(
        self, problem: str, *, source: str | None = None, line: int | None = None, remedy: str | None = None
    ) -> None:
        self.problem, self.source, self.line, self.remedy = problem, source, line, remedy
        place = source or ""
        if line is not None:
            place += f"{', ' if place else ''}line {line}"
        super().__init__(f"{place + ': ' if place else ''}{problem}{'; ' + remedy if remedy else ''}")


class ParameterError(CooccurError):
    """A parameter outside its declared range, or a name that does not exist."""


class NotFittedError(CooccurError):
    """A model that was asked before it was fitted."""


class ModelFileError(CooccurError):
    """A model file that is damaged, foreign or from a newer version."""


class DatasetError(CooccurError):
    """A dataset that is not at hand or not the published one."""


def is_interrupt(error: BaseException) -> bool:
    """Whether this is Ctrl-C, which comes out of a compiled kernel as the cause of a SystemError.

    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(SystemError())
    (True, False)
    """
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)
