"""What can be named: Murmura's own, and what other installed packages register under an entry-point group.

A package that is not ours is equal to ours everywhere a name is taken. Its module is imported when its name is
asked for and never before, so that a broken one disturbs nobody else. A name of ours stays ours: a package that
registers it too is refused, in one sentence.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from murmura.core.errors import MurmuraError, SettingError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
# from a name and what is registered under it; None: it is no such thing
Read = Callable[[str, object], "T | None"]


class Registry(Generic[T]):
    """Names of one kind of thing, in the order in which they are listed: ours, then the others' by name.

    kind       what one of them is called in a message: "federated method"
    group      the entry-point group: "murmura.algorithms"
    built_in   ours: name -> "module:attribute", imported on first use, or the thing itself
    wanted     what an entry point must hold, for a message: "an Algorithm class or a Preset"
    read       from a name and what is registered under it to what callers get; None where it is no such thing
    """

    def __init__(
        self, kind: str, group: str, built_in: Mapping[str, object], wanted: str, read: Read[T]
    ) -> None:
        self.kind, self.group, self.wanted, self._read = kind, group, wanted, read
        self.built_in = dict(built_in)

    def names(self) -> tuple[str, ...]:
        """Every name there is; imports nobody's module."""
        others = sorted(registered(self.group))
        return (*self.built_in, *(name for name in others if name not in self.built_in))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in registered(self.group)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def get(self, name: str) -> T:
        """What stands behind a name; refuses unknown, doubled and broken ones in one sentence."""
        others = registered(self.group).get(name, ())
        if name in self.built_in:
            if others:
                text = (
                    f"the {self.kind} '{name}' is Murmura's own, so that of {_packages(others)} is left out; "
                    "its authors must choose another name."
                )
                warnings.warn(text, stacklevel=2)
            return self._checked(name, "murmura", imported(self.built_in[name]))
        if not others:
            raise SettingError(unknown_name(self.kind, name, self.names()))
        if len(others) > 1:
            raise SettingError(
                f"the {self.kind} '{name}' must come from one package, but {_packages(others)} register it; "
                "uninstall all but one."
            )
        return self._checked(name, _package(others[0]), self._load(name, others[0]))

    @contextmanager
    def also(self, name: str, thing: object) -> Iterator[None]:
        """Within this block, and in this process alone, `name` stands for `thing`."""
        if name in self:
            raise SettingError(f"the {self.kind} '{name}' is there already; choose another name.")
        self.built_in[name] = thing
        try:
            yield
        finally:
            del self.built_in[name]

    def _load(self, name: str, entry: EntryPoint) -> object:
        try:
            return entry.load()
        except MurmuraError:
            raise
        except Exception as error:  # whatever a stranger's module does
            raise SettingError(
                f"the {self.kind} '{name}' of the package {_package(entry)} cannot be imported "
                f"({type(error).__name__}: {' '.join(str(error).split())}); mend the package or uninstall it."
            ) from error

    def _checked(self, name: str, package: str, found: object) -> T:
        made = self._read(name, found)
        if made is None:
            raise SettingError(
                f"the {self.kind} '{name}' of the package {package} must be {self.wanted}, but is "
                f"{found!r}; mend its entry point."
            )
        return made


def imported(place: object) -> Any:
    """What "module:attribute" names, imported now; anything else is itself."""
    if not isinstance(place, str):
        return place
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def unknown_name(kind: str, name: str, known: tuple[str, ...]) -> str:
    """The sentence for a name that does not exist, with the nearest one that does."""
    hint = did_you_mean(name, known, f"it is one of {', '.join(known)}.")
    return f"there is no {kind} '{name}': {hint}"


def registered(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """What installed packages register in a group, by name."""
    return _registered(group, tuple(sys.path))


@cache
def _registered(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    from importlib.metadata import entry_points  # slow to import; not needed to say --help

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _packages(entries: tuple[EntryPoint, ...]) -> str:
    return " and ".join(sorted(map(_package, entries)))
