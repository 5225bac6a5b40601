"""`--config FILE`: a configuration, and on top of it the flags that stand beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from murmura.cli import options
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.studies.configuration import CompareConfig, FitConfig

C = TypeVar("C", "FitConfig", "CompareConfig")
SAME = ("protocol", "split", "candidates", "seed", "seeds", "workers")  # flags named as their keys
INSTEAD = {"model": "lists 'models:'; use `murmura compare`", "models": "has one 'model:'; use `murmura fit`"}


def read_with_flags(path: Path, kind: type[C], context: typer.Context, reading: options.Reading) -> C:
    """The configuration of a file; what is given on the command line, and there alone, takes its place."""
    from murmura.core.settings import changed
    from murmura.studies.configuration import FitConfig, load_config

    read = load_config(path)
    if not isinstance(read, kind):
        key = "models" if isinstance(read, FitConfig) else "model"
        raise SettingError(f"{path} must have '{key}:', but {INSTEAD[key]}.")
    given = {name: value for name, value in context.params.items() if _is_given(context, name)}
    found: dict[str, Any] = {name: given[name] for name in SAME if name in given}
    found |= {"cutoffs": options.parse_cutoffs(given["at"])} if given.get("at") else {}
    found |= {"metrics": options.parse_metrics(given["metrics"])} if given.get("metrics") else {}
    data = {"name": given["data"]} if given.get("data") else {}
    data |= {"dir": str(given["data_dir"])} if given.get("data_dir") else {}
    if isinstance(read, FitConfig):
        found["model"] = _one_model(dict(read.model), given)
    else:
        found["models"] = _several_models({label: dict(own) for label, own in read.models.items()}, given)
    return changed(read, **found, data=changed(read.data, **data, **reading))


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether a flag stands on the command line; what the environment or a default says is below the file."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _one_model(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The file's model; another one has none of its settings."""
    name = given.get("model") or own["name"]
    kept = own if name == own["name"] else {"name": name}
    return kept | options.parse_settings(given.get("settings", []), [name])[name]


def _several_models(own: dict[str, dict[str, Any]], given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The file's models, or those that are named: a label of the file stands for what it is there."""
    named = options.parse_models(given["models"]) if given.get("models") else own
    made = {
        label: own[label] if one == {"name": label} and label in own else one for label, one in named.items()
    }
    for label, settings in options.parse_settings(given.get("settings", []), list(made)).items():
        made[label] = made[label] | settings
    return made
