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
from murmura.core.settings import Count, Times, settings
from murmura.studies.configuration import ProtocolConfig, checked, read_yaml
from murmura.studies.methods import name_and_settings
from murmura.studies.search.folder import measured, side
from murmura.studies.search.grid import check_candidates
from murmura.studies.search.space import Values, grid

Grid = dict[str, Values]  # a setting -> the values that are tried
Settings = dict[str, Any]
OF_TIMES = "recency"  # which is not searched where rows have no times


@settings
class StudyData(ProtocolConfig):
    """A data set of a study under its protocol; `metric` decides there in place of the plan's."""

    metric: str | None = None


@settings
class StudyPlan:
    """Every method is searched on every data set with the same number of trials."""

    data: dict[str, StudyData]
    methods: dict[str, Settings]  # label -> settings that are not searched; `name` where the label is no model
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
        return name_and_settings(self.methods[label], label)[0]

    def whole_grid(self, label: str, times: bool = True) -> list[Settings]:
        """Every setting the grid of a method has, with those the plan fixes; one where it has no grid.

        `times` says whether the rows that are learned from have any.
        """
        model, fixed = name_and_settings(self.methods[label], label)
        axes = next(
            (found[key] for found in (self.grids, grids()) for key in (label, model) if key in found), {}
        )
        without = {*fixed, *([] if times else [OF_TIMES])}
        return [{**one, **fixed} for one in grid({key: axes[key] for key in axes if key not in without})]

    def candidates(self, label: str, times: bool = True) -> list[Settings]:
        """What is tried of a method: `trials` settings drawn from its grid, or all where it has fewer."""
        every = self.whole_grid(label, times)
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
        for label in self.methods:
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
    text = resources.files("murmura.studies.study").joinpath("grids.yaml").read_text(encoding="utf-8")
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
