"""YAML in, checked settings out; a mistake is named with its file and line and the nearest key that exists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from murmura.core.errors import SettingError
from murmura.core.settings import UNKNOWN, as_dict, field_names, problem, settings, unknown
from murmura.evaluation.registry import DEFAULT_METRICS
from murmura.studies.methods import method, method_class

Count = Annotated[int, Field(ge=1)]
Path_ = tuple[str, ...]
Where = Callable[[Path_], str]
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}  # of a JSON schema
WORDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true, false"} | {
    "array": "list",
    "object": "mapping",
    "null": "null",
}


@settings
class DataConfig:
    """Which data: a source's name or a file, and where its folder is."""

    name: str
    dir: str | None = None  # the folder that holds the data sets; default: MURMURA_DATA
    skip_bad: bool = False  # keep the good rows of a file and report the others


@settings
class FitConfig:
    """One model on one data set: what `murmura fit` takes from its flags."""

    data: DataConfig
    protocol: str = "default"
    model: dict[str, Any]  # `name` says which model; the rest are its settings
    seed: Annotated[int, Field(ge=0)] = 0
    workers: Count = 1
    cutoffs: tuple[Count, ...] = (10,)


@settings
class CompareConfig:
    """A comparison as a file: what `murmura compare` takes from its flags."""

    data: DataConfig
    protocol: str = "default"
    models: dict[str, dict[str, Any]]  # label -> settings; `name` says which model, the label itself by default
    seeds: Count = 1
    seed: Annotated[int, Field(ge=0)] = 0
    workers: Count = 1
    cutoffs: tuple[Count, ...] = (10,)
    metrics: tuple[str, ...] = DEFAULT_METRICS


Config = FitConfig | CompareConfig


def load_config(path: Path) -> Config:
    """Read and check a configuration file: of one model (`model:`) or of several (`models:`)."""
    values, lines = read_yaml(path, "'data:' and 'model:'")
    return check_config(values, str(path), lines)


def read_yaml(path: Path, such_as: str) -> tuple[dict[str, Any], dict[Path_, int]]:
    """The settings of a file, and the line each of them stands on; `such_as` names some it must hold."""
    try:
        text = path.read_text(encoding="utf-8")
        values, lines = yaml.safe_load(text), _lines(yaml.compose(text, Loader=yaml.SafeLoader))
    except OSError as error:
        raise SettingError(f"{path} must be a readable file, but: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SettingError(f"{path} must be UTF-8 text, but it is not; save it as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise SettingError(f"{where}: not valid YAML ({getattr(error, 'problem', error)}).") from None
    if not isinstance(values, dict):
        raise SettingError(f"{path} must hold settings such as {such_as}, but holds none.")
    return values, lines


def check_config(values: dict[str, Any], file: str = "", lines: dict[Path_, int] | None = None) -> Config:
    """Check plain values; `lines` says on which line of `file` each key stands."""

    def where(path: Path_) -> str:
        line = (lines or {}).get(path)
        return f"{file}:{line}: " if line else (f"{file}: " if file else "")

    if isinstance(values.get("data"), str):
        values = {**values, "data": {"name": values["data"]}}
    cls: type[Config] = CompareConfig if "models" in values else FitConfig
    try:
        config: Config = TypeAdapter(cls).validate_python(values)
    except ValidationError as error:
        raise SettingError(_sentence(error, cls, where)) from None
    if isinstance(config, FitConfig):
        if "name" not in config.model:
            raise SettingError(where(("model",)) + "model.name must be given: which model is meant?")
        _check_model(("model",), config.model, str(config.model["name"]), where)
    else:
        for label, chosen in config.models.items():
            _check_model(("models", label), chosen, str(chosen.get("name", label)), where)
    return config


def _sentence(error: ValidationError, cls: type, where: Where) -> str:
    # a key that does not exist explains a key that is missing, so it is named first
    first = min(error.errors(), key=lambda one: one["type"] not in UNKNOWN)
    path = tuple(str(part) for part in first["loc"])
    inner = DataConfig if len(path) > 1 and path[0] == "data" else cls
    if first["type"] in UNKNOWN:
        return where(path) + unknown(path[-1], field_names(inner), ".".join(path[:-1]))
    return where(path) + problem(first, cls, "")


def _check_model(path: Path_, chosen: dict[str, Any], name: str, where: Where) -> None:
    try:
        known = field_names(method_class(name))
        for key in chosen:
            if key != "name" and key not in known:
                path = (*path, key)
                raise SettingError(unknown(key, known, ".".join(path[:-1])))
        method(name, {key: value for key, value in chosen.items() if key != "name"})
    except SettingError as error:
        raise SettingError(where(path) + str(error)) from None


def schema(kind: str) -> dict[str, Any]:
    """The JSON schema of a configuration file: kind is `fit`, `compare` or a model's name."""
    cls = {"fit": FitConfig, "compare": CompareConfig}.get(kind) or method_class(kind)
    return TypeAdapter(cls).json_schema()


def describe_settings(name: str) -> list[tuple[str, str, str]]:
    """The settings of a model: name, what it may be, default."""
    cls = method_class(name)
    allowed, usual = TypeAdapter(cls).json_schema()["properties"], as_dict(cls())
    return [(key, _allowed(allowed[key]), _plain(usual[key])) for key in field_names(cls)]


def _allowed(schema: dict[str, Any]) -> str:
    """What a part of a JSON schema lets through, in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_allowed, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return ", ".join(map(_plain, schema.get("enum", [schema.get("const")])))
    bounds = [f"{sign} {schema[key]:g}" for key, sign in BOUNDS.items() if key in schema]
    return " ".join([WORDS.get(schema.get("type", ""), "settings"), *bounds])


def _plain(value: Any) -> str:
    """A value as -S takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _lines(node: Any, path: Path_ = ()) -> dict[Path_, int]:
    """The line each key, or each member of a list, stands on."""
    found: dict[Path_, int] = {}
    if isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            here = (*path, str(place))
            found[here] = value.start_mark.line + 1
            found |= _lines(value, here)
    if not isinstance(node, yaml.MappingNode):
        return found
    for key, value in node.value:
        here = (*path, str(key.value))
        found[here] = key.start_mark.line + 1
        found |= _lines(value, here)
    return found
