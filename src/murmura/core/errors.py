"""Every error Murmura raises on purpose.

MurmuraError                 exit 1
├── SettingError             exit 2   a setting, flag or argument is not what it must be
│   ├── DivergenceError      exit 2   a training grew without end
│   └── MemoryLimitError     exit 2   a table needs more memory than the settings allow
├── DataError                exit 3   a file or a table of interactions cannot be used
├── RunError                 exit 4   a run folder is absent, incomplete or of another configuration
├── MissingExtraError        exit 5   an optional part of Murmura is not installed
├── FederationError          exit 6   a client failed, or what crossed the network is not what was declared
└── LeakError                exit 7   a held-out row was used before the test part was opened

Each message is one sentence: what it must be, what it got, what to do. `did_you_mean` suggests a known name.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar


class MurmuraError(Exception):
    """The root: catch this to catch everything Murmura raises on purpose."""

    exit_code: ClassVar[int] = 1


@contextmanager
def said_of(whose: str) -> Iterator[None]:
    """Whatever is refused in this block begins with whom it is about: a model's label."""
    try:
        yield
    except MurmuraError as error:
        if not str(error).startswith(whose):
            error.args = (f"{whose}: {error}",)
        raise


class SettingError(MurmuraError):
    """A setting, flag or argument is not what it must be."""

    exit_code = 2


class DivergenceError(SettingError):
    """A training grew without end: a learning rate is too large. What it left is no result."""


class MemoryLimitError(SettingError):
    """A table needs more memory than the settings allow. It was not made."""


class DataError(MurmuraError):
    """A file or a table of interactions cannot be used."""

    exit_code = 3


class RunError(MurmuraError):
    """A run folder is absent, incomplete or of another configuration."""

    exit_code = 4


class MissingExtraError(MurmuraError):
    """An optional part of Murmura is not installed."""

    exit_code = 5

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs an optional part that is not installed: run pip install 'murmura[{extra}]'."
        )


class FederationError(MurmuraError):
    """A client failed, or what crossed the network is not what was declared."""

    exit_code = 6


class LeakError(MurmuraError):
    """A held-out row was used before the test part was opened."""

    exit_code = 7


def did_you_mean(name: str, known: Iterable[str], otherwise: str, like: float = 0.6) -> str:
    """The question with the nearest known name, or what is said where none is `like` it."""
    lower = {one.casefold(): one for one in reversed(list(known))}  # capitals are no difference
    near = difflib.get_close_matches(name.casefold(), lower, n=1, cutoff=like)
    return f"did you mean '{lower[near[0]]}'?" if near else otherwise
