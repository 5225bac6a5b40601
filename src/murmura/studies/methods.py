"""A model by its name on the command line, centralised or federated, and the settings it takes by default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import yaml

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.algorithms.preset import ConfiguredPreset
from murmura.baselines import BASELINES, baseline
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Method, Model
from murmura.core.plugins import unknown_name
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict, from_dict
from murmura.engine.federation import Runtime
from murmura.engine.protocol_text import SPLIT, taken_apart, with_order

AT_PI = ":pi="  # in the name of settings that are kept for a pi of their own
# a centralised method that computes what a federated one does, and takes the settings kept for it
TWINS = {"pooled-ease": "fed-ease", "pooled-item-knn": "fed-item-knn", "pooled-order": "fed-order"}


def names() -> tuple[str, ...]:
    """Every model that can be named on the command line."""
    return (*BASELINES, *ALGORITHMS)


def method_class(name: str) -> type[Any]:
    """The settings class behind a name."""
    if name in BASELINES and name in ALGORITHMS:
        raise SettingError(
            f"the model '{name}' must be a baseline or a federated method, but packages register it as both; "
            "uninstall the one that took the name."
        )
    if name in BASELINES:
        return baseline(name)
    if name in ALGORITHMS:
        return algorithm(name).settings
    raise SettingError(unknown_name("model", name, names()))


def kept_settings(protocol: str, data: str, model: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """What the package keeps for a model with these own settings; {} with noise: none is chosen for it."""
    return {} if own.get("epsilon") is not None else defaults(protocol, data, model, own.get("pi"))


def defaults(protocol: str, data: str, model: str, pi: object = 1.0) -> dict[str, Any]:
    """What the package keeps for a model under a protocol on a data set, chosen on the validation part.

    {} where none are kept. A protocol with a changed split takes those of its name; one whose order inside days
    is hidden takes those kept for that, where there are any: `fpl:order=day`. Another split altogether takes
    none: they were chosen for the one it replaces. A twin takes those of its other.
    Where several are kept for a model, `fed-ease:pi=0.1` beside `fed-ease`, those of the nearest pi are meant.
    """
    base, changes = taken_apart(protocol)
    hidden = [with_order(base, "day")] if changes.get("order") == "day" else []
    for name in (*hidden, base) if SPLIT not in changes else ():
        by_data = _all_defaults().get(name) or {}
        found = _nearest(by_data.get(data) or {}, model, pi) or _nearest(by_data.get("*") or {}, model, pi)
        if found:
            return found
    return defaults(protocol, data, TWINS[model], pi) if model in TWINS else {}


def model_and_pi(label: str) -> tuple[str, float]:
    """`fed-ease:pi=0.1` taken apart; 1 where it names no pi."""
    model, _, pi = label.partition(AT_PI)
    try:
        return model, float(pi or 1)
    except ValueError:
        raise SettingError(f"what follows '{AT_PI}' must be a number, but is '{pi}' in '{label}'.") from None


def _nearest(kept: dict[str, dict[str, Any]], model: str, pi: object) -> dict[str, Any]:
    """Of a model's settings those whose pi is nearest, as a ratio; a pi that is no number counts as 1."""
    own = {at: found for label, found in kept.items() for name, at in [model_and_pi(label)] if name == model}
    asked = max(float(pi), 1e-3) if isinstance(pi, int | float) else 1.0
    return dict(own[min(own, key=lambda at: abs(math.log(at / asked)))]) if own else {}


@cache
def _all_defaults() -> dict[str, Any]:
    text = resources.files("murmura.studies").joinpath("defaults.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text) or {}


def few_people(name: str, settings: dict[str, Any], train: Interactions) -> dict[str, Any]:
    """What a simulated federation takes where there are fewer people than one asks for; {}: nothing else."""
    if name not in ALGORITHMS:
        return {}
    from murmura.runtimes.simulation import small_cohort

    return small_cohort(name, settings, train.n_users)


def name_and_settings(entry: dict[str, Any], label: str = "") -> tuple[str, dict[str, Any]]:
    """A configuration's entry taken apart; where it has no name, its label is the model's."""
    return str(entry.get("name", label)), {key: value for key, value in entry.items() if key != "name"}


def whole_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Every setting of a method as plain values, those at their defaults too, those without a use left out."""
    made = from_dict(method_class(name), settings)
    unused = made.unused() if isinstance(made, ConfiguredPreset) else ()
    return {key: value for key, value in as_dict(made).items() if key not in unused}


def method(name: str, settings: dict[str, Any], workers: int = 1, runtime: Runtime | None = None) -> Method:
    """The method of that name with these hyper-parameters, the others at their defaults.

    `runtime` carries the rounds of a federated one, by default this process.
    """
    if name in ALGORITHMS:
        from murmura.runtimes.simulation import simulated

        made = simulated(name, settings, workers)
        return made if runtime is None else replace(made, runtime=runtime)
    centralised: Method = from_dict(method_class(name), settings)
    return centralised


def fit(
    name: str,
    train: Interactions,
    settings: dict[str, Any] | None = None,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = SILENT,
) -> Model:
    """Fit the model of that name, centralised or federated, with these settings as on the command line."""
    given = settings or {}
    return method(name, {**few_people(name, given, train), **given}, workers).fit(train, seed, progress)
