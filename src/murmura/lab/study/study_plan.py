"""What a study is told: data sets with their protocols, methods, and how many settings of each are tried."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from murmura.core.errors import SettingError, said_of
from murmura.core.flag_text import parse_models
from murmura.core.interactions import Interactions
from murmura.core.settings import Count, Times, field_names, settings
from murmura.studies.configuration import ProtocolConfig, checked, read_yaml
from murmura.studies.methods import method_class, name_and_settings
from murmura.studies.search.folder import measured, side
from murmura.studies.search.grid import check_candidates
from murmura.studies.search.space import Values, grid

Grid = dict[str, Values]  # a setting -> the values that are tried
Settings = dict[str, Any]
NEEDS = {"recency": "time", "features": "features"}  # not searched where the rows have no such thing
TAKES = "settings_of"  # beside a method: it takes what won for another one, as far as it has such settings


@settings
class StudyData(ProtocolConfig):
    """A data set of a study under its protocol; `metric` decides there in place of the plan's."""

    metric: str | None = None


@settings
class StudyPlan:
    """Every method is searched on every data set with the same number of trials."""

    data: dict[str, StudyData]
    # label -> settings that are not searched; `name` where the label is no model; `settings_of` another label
    methods: dict[str, Settings]
    grids: dict[str, Grid] = field(default_factory=dict)  # label or model -> what is tried in place of ours
    trials: Count = 20
    metric: str = "nDCG@10"
    seeds: Count = 1  # of the fits whose lists are scored on the test part
    seed: Times = 0

    def metric_on(self, name: str) -> str:
        """What decides on a data set, and what its column shows."""
        return self.data[name].metric or self.metric

    def model(self, label: str) -> str:
        """The model behind a label."""
        return self.stated(label)[0]

    def stated(self, label: str) -> tuple[str, Settings]:
        """The model behind a label, and the settings that are not searched."""
        model, fixed = name_and_settings(self.methods[label], label)
        return model, {key: value for key, value in fixed.items() if key != TAKES}

    def searched(self, label: str) -> str:
        """The label whose trials decide about a method: nearly always its own."""
        return str(self.methods[label].get(TAKES, label))

    def chosen(self, label: str, won: Settings) -> Settings:
        """The settings of a method once it is known what won."""
        model, fixed = self.stated(label)
        if self.searched(label) == label:
            return won
        known = field_names(method_class(model))
        return {**{key: value for key, value in won.items() if key in known}, **fixed}

    def whole_grid(self, label: str, train: Interactions | None = None) -> list[Settings]:
        """Every setting the grid of a method has, with those the plan fixes; one where it has no grid.

        What needs times or features is left out where the rows that are learned from have none.
        """
        model, fixed = self.stated(label)
        axes = next(
            (found[key] for found in (self.grids, grids()) for key in (label, model) if key in found), {}
        )
        unknown = [key for key, part in NEEDS.items() if train is not None and getattr(train, part) is None]
        without = {*fixed, *unknown}
        return [{**one, **fixed} for one in grid({key: axes[key] for key in axes if key not in without})]

    def candidates(self, label: str, train: Interactions | None = None) -> list[Settings]:
        """What is tried of a method: `trials` settings drawn from its grid, or all where it has fewer."""
        every = self.whole_grid(label, train)
        if len(every) <= self.trials:
            return every
        drawn = np.random.default_rng(self.seed).choice(len(every), self.trials, replace=False)
        return [every[place] for place in sorted(drawn.tolist())]

    def check(self) -> None:
        """Refuse what cannot be run, before any data is read."""
        for name in self.data:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) or name == "trials":
                raise SettingError(
                    f"a data set of a study must be called by letters, digits, '.', '_', '+' or '-', and not "
                    f"'trials', but it is '{name}'; choose another label."
                )
            side(self.metric_on(name))
            measured(self.metric_on(name))
        for label, own in self.methods.items():
            source = self.searched(label)
            if source not in self.methods or (source != label and self.searched(source) != source):
                raise SettingError(
                    f"{label}.{TAKES} must be a method of the plan that is searched, but is {own[TAKES]!r}."
                )
            with said_of(label):
                check_candidates(self.model(label), self.candidates(label))
        for key in self.grids:
            if key not in self.methods and key not in map(self.model, self.methods):
                raise SettingError(
                    f"'grids' must be of methods of the plan, but '{key}' is none; add it there."
                )


@cache
def grids() -> Mapping[str, Grid]:
    """The grids that come with the package, by model."""
    text = resources.files("murmura.lab.study").joinpath("grids.yaml").read_text(encoding="utf-8")
    found: dict[str, Grid] = yaml.safe_load(text)
    return found


def read_study(path: Path) -> StudyPlan:
    """Read and check the plan in a file; a mistake is named with its line."""
    values, lines = read_yaml(path, "'data:' and 'methods:'")

    def where(at: tuple[str, ...]) -> str:
        return f"{path}:{lines[at]}: " if at in lines else f"{path}: "

    plan = plan_of(values, where)
    plan.check()
    return plan


def plan_of(values: Mapping[str, Any], where: Any = lambda _: "") -> StudyPlan:
    """A plan from plain values; data may be named by text alone, and methods as `--models` takes them."""
    made, data, methods = dict(values), values.get("data"), values.get("methods")
    if isinstance(data, dict):
        made["data"] = {str(name): _named(given) for name, given in data.items()}
    if isinstance(methods, str):
        made["methods"] = parse_models(methods)
    elif isinstance(methods, dict):
        made["methods"] = {label: own or {} for label, own in methods.items()}
    return checked(StudyPlan, made, where, {"data": StudyData})


def _named(given: Any) -> Any:
    """A data set of a plan: its name, or the fields of its configuration with a name under `data`."""
    given = {"data": given} if isinstance(given, str) else given
    if isinstance(given, dict) and isinstance(given.get("data"), str):
        return {**given, "data": {"name": given["data"]}}
    return given
