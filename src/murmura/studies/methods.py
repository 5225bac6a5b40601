"""A model by its name on the command line, centralised or federated, and the settings it takes by default.

Those are what the package keeps for a data set; for another one what a rule gives from its sizes alone. The
numbers of the rule are what did best on the data sets whose trials are kept (docs/results/searches.csv); a test
fits them again. docs/results/rule.csv has what it is worth on each data set when it was fitted without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Self

import numpy as np
import yaml
from pydantic import TypeAdapter

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.algorithms.preset import ConfiguredPreset
from murmura.baselines import BASELINES, baseline
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Method, Model
from murmura.core.plugins import unknown_name
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict, field_names, from_dict, meanings
from murmura.data.splits.random_holdout import DrawnHoldout
from murmura.engine.federation import Runtime
from murmura.engine.protocol import SPLIT, parse_protocol, with_order

BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}  # of a JSON schema
WORDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true, false"} | {
    "array": "list",
    "object": "mapping",
    "null": "null",
}
AT_PI = ":pi="  # in the name of settings that are kept for a pi of their own
# a centralised method that computes what a federated one does, and takes the settings kept for it
EQUIVALENTS = {
    "pooled-ease": "fed-ease",
    "pooled-item-knn": "fed-item-knn",
    "pooled-order": "fed-order",
    "pooled-neighbours": "fed-neighbours",
}

LADDER = (100.0, 300.0, 1000.0, 3000.0, 10000.0)  # what reg may be: what was tried
MANY = 5000  # clients from which a rule for few of them is none


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


def published_settings(protocol: str, data: str, model: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """What the package keeps for a model with these own settings; {} with noise: none is chosen for it."""
    return {} if own.get("epsilon") is not None else defaults(protocol, data, model, own.get("pi"))


def defaults(protocol: str, data: str, model: str, pi: object = 1.0) -> dict[str, Any]:
    """What the package keeps for a model under a protocol on a data set, chosen on the validation part.

    {} where none are kept. A protocol with a changed split takes those of its name; one whose order inside days
    is hidden takes those kept for that, where there are any: `fpl:order=day`. Another split altogether takes
    none: they were chosen for the one it replaces. A twin takes those of its other.
    Where several are kept for a model, `fed-ease:pi=0.1` beside `fed-ease`, those of the nearest pi are meant.
    """
    base, changes = parse_protocol(protocol)
    hidden = [with_order(base, "day")] if changes.get("order") == "day" else []
    for name in (*hidden, base) if SPLIT not in changes else ():
        by_data = _all_defaults().get(name) or {}
        found = _nearest(by_data.get(data) or {}, model, pi) or _nearest(by_data.get("*") or {}, model, pi)
        if found:
            return found
    return defaults(protocol, data, EQUIVALENTS[model], pi) if model in EQUIVALENTS else {}


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


@dataclass(frozen=True)
class Sizes:
    """How much data there is: the users, items and rows that a method learns from."""

    users: int
    items: int
    rows: int
    times: bool = False  # whether rows have times, and what is held out are not rows drawn from all times
    features: bool = False  # whether items have features

    @classmethod
    def of(cls, train: Interactions, split: object = None) -> Self:
        """Of a training part under a split; users and items that do not occur in it do not count."""
        users, items = (int(np.count_nonzero(counts)) for counts in (train.user_counts, train.item_counts))
        timed = train.time is not None and not isinstance(split, DrawnHoldout)
        return cls(users, items, len(train), timed, train.features is not None)


@dataclass(frozen=True)
class SizeRule:
    """What a model takes whatever the sizes, and what grows with the data."""

    fitted: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)  # which is not fitted
    rows_per_reg: float | None = None  # reg is rows over this, as the nearest rung of LADDER
    few: bool = False  # only for fewer clients than MANY

    def settings(self, sizes: Sizes) -> dict[str, Any]:
        """The settings for data of these sizes; {} where those of the class are meant."""
        if self.few and sizes.users >= MANY:
            return {}
        found = {**self.fitted, **self.also}
        if self.rows_per_reg is not None:
            found = {"reg": rung(sizes.rows / self.rows_per_reg), **found}
        for key, there in (("recency", sizes.times), ("features", sizes.features)):
            if not there:
                found.pop(key, None)
        return found


def rung(reg: float) -> float:
    """The rung of LADDER that is nearest by its logarithm."""
    return min(LADDER, key=lambda one: abs(math.log(one / max(reg, 1e-9))))


_PUBLISHED = resources.files("murmura.studies").joinpath("size_rules.yaml").read_text(encoding="utf-8")
RULES = {model: SizeRule(**stated) for model, stated in yaml.safe_load(_PUBLISHED).items()}


def by_rule(model: str, sizes: Sizes) -> dict[str, Any]:
    """The settings of a model for data of these sizes; {} where there is no rule for it."""
    return RULES[model].settings(sizes) if model in RULES else {}


def below_minimum_cohort(name: str, settings: dict[str, Any], train: Interactions) -> dict[str, Any]:
    """What a simulated federation takes where there are fewer people than one asks for; {}: nothing else."""
    if name not in ALGORITHMS:
        return {}
    from murmura.runtimes.simulation import small_cohort

    return small_cohort(name, settings, train.n_users)


def name_and_settings(entry: dict[str, Any], label: str = "") -> tuple[str, dict[str, Any]]:
    """A configuration's entry taken apart; where it has no name, its label is the model's."""
    return str(entry.get("name", label)), {key: value for key, value in entry.items() if key != "name"}


def resolved_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
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
    return method(name, {**below_minimum_cohort(name, given, train), **given}, workers).fit(
        train, seed, progress
    )


def describe_settings(name: str) -> list[tuple[str, str, str]]:
    """The settings of a model: name, what it may be, default."""
    cls = method_class(name)
    allowed, default = TypeAdapter(cls).json_schema()["properties"], as_dict(cls())
    return [(key, _allowed(allowed[key]), _plain(default[key])) for key in field_names(cls)]


def setting_groups(name: str) -> dict[str, dict[str, str]]:
    """The settings of a model in groups: what a group is about -> setting -> what it means.

    Those of a federated method are its own and those of the parts it is used with; every line is the first of a
    docstring, or the comment beside the setting.
    """
    if name not in ALGORITHMS:
        return {_first_line(method_class(name)): meanings(method_class(name))}
    preset = algorithm(name)
    own = meanings(preset.method) | (meanings(preset.noisy) if preset.noisy is not None else {})
    parts = {_first_line(part): meanings(part) for part in preset.parts}
    return {preset.summary: own, **parts}


def _first_line(cls: type) -> str:
    return (cls.__doc__ or cls.__name__).strip().partition("\n")[0]


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
