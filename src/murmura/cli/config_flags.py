"""The flags of a command that come from a configuration class: one for each of its fields that is a `Flag`.

The help of a flag is the comment beside the field. The class is loaded when somebody asks for the flags, so the
list of all commands stays light.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property, update_wrapper
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

READING = "reading"
CONTEXT, FILE, SETTINGS = "context", "config_file", "settings"
FILE_FLAG = Annotated[Path | None, typer.Option("--config", help="A YAML file; flags given here come on top.")]
SETTINGS_FLAG = Annotated[
    list[str], typer.Option("-S", "--set", metavar="KEY=VALUE", help="A setting, e.g. -S user-knn.k=100.")
]


@dataclass(frozen=True)
class FieldFlag:
    """The flag of one field: the parameter of the command, and how its text becomes the field's value."""

    path: tuple[str, ...]  # the field, or the field of a nested class
    parameter: inspect.Parameter
    read: Callable[[Any], Any] | None
    first: bool


class ConfiguredCommand:
    """A command with the flags of a configuration class in place of one of its parameters."""

    def __init__(self, command: Callable[..., None], place: str, parameter: str, file: bool) -> None:
        update_wrapper(self, command)
        self.__annotations__ = {key: kind for key, kind in command.__annotations__.items() if key != parameter}
        self._command, self._place, self._parameter, self._file = command, place, parameter, file

    @cached_property
    def config_class(self) -> Any:
        """The class, from its place "module:name"."""
        module, _, name = self._place.partition(":")
        return getattr(import_module(module), name)

    @cached_property
    def flags(self) -> list[FieldFlag]:
        """The flags of the class, first those that say which data and which models."""
        found = flags_of(self.config_class, nested=self._parameter == READING)
        return sorted(found, key=lambda flag: not flag.first)

    @property
    def __signature__(self) -> inspect.Signature:
        hints = get_type_hints(self, include_extras=True)
        made: list[inspect.Parameter] = [_parameter(CONTEXT, typer.Context, inspect.Parameter.empty)]
        for one in inspect.signature(self._command).parameters.values():
            if one.name == self._parameter:
                made += [flag.parameter for flag in self.flags]
                made += [_parameter(SETTINGS, SETTINGS_FLAG, [])] if self._takes_settings else []
                made += [_parameter(FILE, FILE_FLAG, None)] if self._file else []
            elif one.name != CONTEXT:
                made.append(_parameter(one.name, hints[one.name], one.default))
        return inspect.Signature(made)

    @property
    def _takes_settings(self) -> bool:
        return hasattr(self.config_class, "with_settings")

    def __call__(self, **given: Any) -> None:
        """Call the command with what the flags say, on top of the file where one is given."""
        context = given[CONTEXT] if CONTEXT in self.__annotations__ else given.pop(CONTEXT)
        file, said = given.pop(FILE, None), dict[tuple[str, ...], Any]()
        for flag in self.flags:
            value = given.pop(flag.parameter.name)
            if value not in (None, []) and _is_given(context, flag.parameter.name, file is None):
                said[flag.path] = flag.read(value) if flag.read else value
        if self._parameter == READING:
            self._command(**given, reading={name: value for (name,), value in said.items()})
            return
        base = self.config_class.default() if file is None else self.config_class.of_file(file)
        config = base.with_flags(said)
        if self._takes_settings:
            config = config.with_settings(given.pop(SETTINGS))
        self._command(**{self._parameter: config}, **given)


def takes(place: str, parameter: str = "config", file: bool = False) -> Callable[..., ConfiguredCommand]:
    """Give a command the flags of the class at `module:name`, and --config where it reads a file."""
    return lambda command: ConfiguredCommand(command, place, parameter, file)


def takes_reading(command: Callable[..., None]) -> ConfiguredCommand:
    """Give a command the flags about reading data, which it gets as its one argument `reading`."""
    return ConfiguredCommand(command, "murmura.data.reading:Reading", READING, False)


def _is_given(context: typer.Context, name: str, alone: bool) -> bool:
    """Whether a flag stands on the command line; without a file the environment counts as well."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", *(["ENVIRONMENT"] if alone else []))


def flags_of(cls: type, nested: bool = False, path: tuple[str, ...] = ()) -> Iterator[FieldFlag]:
    """Every field that is a flag, those of nested classes in their place.

    A nested class says only what is given, so its flags have no defaults.
    """
    from murmura.core.settings import Flag, meanings

    hints, help_of = get_type_hints(cls, include_extras=True), meanings(cls)
    own = dict.fromkeys(name for one in cls.__mro__ for name in getattr(one, "__annotations__", {}))
    defaults = {one.name: one.default for one in fields(cls)}
    for name in (name for name in own if name in defaults):  # of the class before those of its bases
        kind, found = _taken_apart(hints[name])
        if isinstance(kind, type) and is_dataclass(kind):
            yield from flags_of(kind, True, (*path, name))
        if (flag := next((one for one in found if isinstance(one, Flag)), None)) is None:
            continue
        unsaid = nested or flag.read is not None or defaults[name] is MISSING
        usual = flag.default or (None if unsaid else defaults[name])
        words = flag.name or f"--{name.replace('_', '-')}"
        parameter = words.removeprefix("--").replace("-", "_")
        if kind is bool and usual is None and type(None) in get_args(get_args(hints[name])[0]):
            words = f"{words}/--no-{words.removeprefix('--')}"
        metavar = flag.metavar or ("FILE" if kind is Path else None)
        least = next((one.ge for one in found if hasattr(one, "ge")), None)
        option = typer.Option(words, metavar=metavar, help=help_of[name], min=least, envvar=flag.envvar)
        typed: Any = _typed(kind, flag.several, flag.read is not None)
        annotated: Any = Annotated[typed if usual is not None else typed | None, option]
        one = _parameter(parameter, annotated, usual)
        yield FieldFlag((*path, name), one, flag.read, flag.default is not None)


def _typed(kind: Any, several: bool, is_read: bool) -> Any:
    """What typer makes of the words; a file stays as it was named."""
    if several:
        return list[str]
    return str if is_read or kind is Path else kind


def _taken_apart(hint: Any) -> tuple[Any, list[Any]]:
    """The type behind a field's annotations, and those: bounds, and how it is a flag."""
    if get_origin(hint) is Annotated:
        inner, *more = get_args(hint)
        kind, found = _taken_apart(inner)
        bounds = [bound for one in more for bound in getattr(one, "metadata", ())]
        return kind, [*found, *more, *bounds]
    if get_origin(hint) in (Union, UnionType):
        kind, found = _taken_apart(next(one for one in get_args(hint) if one is not type(None)))
        return kind, found
    return hint, []


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
