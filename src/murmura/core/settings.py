"""Hyper-parameters and configurations: frozen dataclasses that check themselves.

A class under `@settings` states each field once: its type, its bounds and, in a comment, its meaning. From that
statement come the constructor's check, the YAML schema, the help and the command line's `-S key=value`.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import textwrap
import tokenize
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar, cast, dataclass_transform, get_type_hints

import pydantic
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass as checked_dataclass

from murmura.core.errors import SettingError, did_you_mean

T = TypeVar("T")
Count = Annotated[int, Field(ge=1)]
Times = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
# `field(..., metadata=PRIVATE)`: what this setting holds was made from private data and may not be published
PRIVATE = {"private": True}
# pydantic's names for a setting that does not exist
UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")


@dataclasses.dataclass(frozen=True)
class Flag:
    """How a field is given on the command line, in `Annotated`; its help is the comment beside the field."""

    name: str = ""  # "": as the field is called
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None  # how its text becomes the value; None: by its type
    default: Any = (
        None  # what is meant where neither a flag nor a file says anything; None: the field's default
    )
    several: bool = False  # whether it may be repeated
    envvar: str | None = None


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field, dataclasses.field))
def settings(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass whose constructor refuses what its fields do not allow."""
    rules = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)
    made = cast(type[T], checked_dataclass(frozen=True, kw_only=True, config=rules)(cls))
    made.__init__ = _one_sentence(made.__init__, made)  # type: ignore[method-assign]
    return made


def _one_sentence(init: Callable[..., None], cls: type) -> Callable[..., None]:
    def checked_init(self: object, **values: Any) -> None:
        try:
            init(self, **values)
        except pydantic.ValidationError as error:
            first = min(error.errors(), key=lambda one: one["type"] not in UNKNOWN)
            whole = _all_alternatives(first, error.errors())
            raise SettingError(problem(whole, cls, getattr(cls, "name", cls.__name__))) from None

    checked_init.__wrapped__ = init  # type: ignore[attr-defined]
    return checked_init


def _all_alternatives(first: Any, errors: Sequence[Any]) -> Any:
    """A setting that may be one thing or another fails as each: one error that names them all."""
    same = [error for error in errors if error["loc"][:1] == first["loc"][:1]]
    if len(same) == 1 or first["type"] in UNKNOWN:
        return first
    texts = dict.fromkeys(str(error["msg"]).removeprefix("Input should be ") for error in same)
    return {**first, "loc": first["loc"][:1], "msg": "Input should be " + " or ".join(texts)}


def problem(error: Any, cls: type, owner: str) -> str:
    """One sentence for one pydantic error: the setting, what it must be, what it got."""
    where = ".".join([*([owner] if owner else []), *(str(part) for part in error["loc"])])
    if error["type"] in UNKNOWN:
        return unknown(str(error["loc"][-1]), field_names(cls), owner)
    if error["type"] in {"missing", "missing_keyword_only_argument"}:
        return f"{where} must be given."
    text = str(error["msg"])
    text = text[0].lower() + text[1:]
    return f"{where}: {text}, but it is {error['input']!r}."


def unknown(name: str, known: list[str], owner: str) -> str:
    """The sentence for a setting that does not exist, with the nearest one that does."""
    hint = did_you_mean(name, known, f"it knows {', '.join(known) or 'no settings'}.", like=0.5)
    return f"unknown setting '{owner + '.' if owner else ''}{name}'. {hint[0].upper()}{hint[1:]}"


def field_names(cls: type) -> list[str]:
    """The settings of a class, in the order it states them."""
    return [field.name for field in dataclasses.fields(cls)]


def joined_fields(owner: str, parts: Sequence[type], changed: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The body of a class with the settings of all parts, some defaults changed; refuses a name that two have.

    `owner` is what the class is called in a message; the last part is the one that must give way.
    """
    whose: dict[str, type] = {}
    body: dict[str, Any] = {"__annotations__": {}}
    for part in parts:
        hints = get_type_hints(part, include_extras=True)
        for one in dataclasses.fields(part):
            if one.name in whose:
                raise SettingError(
                    f"the settings of '{owner}' must have names of their own, but '{one.name}' is one of "
                    f"{part.__name__} and of {whose[one.name].__name__}; rename it in the algorithm."
                )
            whose[one.name], body["__annotations__"][one.name] = part, hints[one.name]
            default, factory = one.default, one.default_factory
            if one.name in changed:
                default, factory = changed[one.name], dataclasses.MISSING
            body[one.name] = dataclasses.field(default=default, default_factory=factory, metadata=one.metadata)
    if strange := next((key for key in changed if key not in whose), None):
        raise SettingError(unknown(strange, list(whose), owner))
    return body


def private_settings(value: Any) -> list[str]:
    """The settings that hold something private: those marked so that are not at their defaults."""
    found = []
    for field in dataclasses.fields(value):
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        if field.metadata.get("private") and getattr(value, field.name) != default:
            found.append(field.name)
    return found


def as_dict(value: Any) -> dict[str, Any]:
    """The settings as plain values, ready for YAML or JSON."""
    return cast(dict[str, Any], TypeAdapter(type(value)).dump_python(value, mode="json"))


def from_dict(cls: type[T], values: dict[str, Any]) -> T:
    """Build `cls` from plain values; the opposite of `as_dict`."""
    return cls(**values)


def changed(value: T, **changes: Any) -> T:
    """A copy with some settings changed, checked like a new one."""
    return type(value)(**{**{f: getattr(value, f) for f in field_names(type(value))}, **changes})


def meanings(cls: type) -> dict[str, str]:
    """Setting -> the comment at the end of its line, else that above it; "" where there is none."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        found |= {name: text for name, text in _of_class(one).items() if text}
    return {field.name: found.get(field.name, "") for field in dataclasses.fields(cls)}


@cache
def _of_class(cls: type) -> dict[str, str]:
    try:
        text = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):  # made at run time, or without its source
        return {}
    comments = {
        token.start[0]: (token.string.lstrip("# ").rstrip(), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    body = ast.parse(text).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        node.target.id: _joined(comments, node.lineno, node.end_lineno or node.lineno)
        for node in body.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _joined(comments: dict[int, tuple[str, bool]], first: int, last: int) -> str:
    """The comment inside a field's lines or at their end; without one the lines of comment right above it."""
    found = [comments[line][0] for line in range(first, last + 1) if line in comments]
    if found:
        return " ".join(found)
    while (above := comments.get(first - 1)) is not None and above[1]:
        found, first = [above[0], *found], first - 1
    return " ".join(found)
