"""Many searches from one file: what is behind the package's defaults, resumable, winners as YAML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import yaml

from murmura.core.errors import SettingError
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Count, settings
from murmura.engine.prepared import Selection
from murmura.studies.configuration import DataConfig, checked
from murmura.studies.methods import model_and_pi
from murmura.studies.search.folder import Choice
from murmura.studies.search.grid import check_candidates, search
from murmura.studies.search.space import Axes
from murmura.studies.search.tpe import Candidates, candidates
from murmura.studies.worker_pool import Workers


@settings
class SearchPlan:
    """protocol -> data -> model -> axes, and the metric each protocol is judged by.

    An axis is a list of values or, for a model under `trials`, a range LOW:HIGH[:log][:int].
    """

    metric: dict[str, str]
    grids: dict[str, dict[str, dict[str, Axes]]]
    trials: dict[str, Count] = field(default_factory=dict)  # of models searched by tpe
    patience: dict[str, Count] = field(default_factory=dict)  # of models that stop early

    def candidates(self, label: str, axes: Axes) -> Candidates:
        """What is tried of a model, or of a model at some pi, `fed-ease:pi=0.1`; a grid has no ranges."""
        model, pi = model_and_pi(label)
        no_range = (
            f"the grid of {model} must have lists of values, but has a range; name {model} under 'trials:'."
        )
        return candidates(axes, self.trials.get(model), {} if model == label else {"pi": pi}, no_range)

    def selections(self, data_dir: Path | None) -> Iterator[tuple[str, str, Selection]]:
        """Protocol and data set of every group of grids, and what is chosen on there."""
        for rules, by_data in self.grids.items():
            for name in by_data:
                yield rules, name, DataConfig(name=name).prepare(rules, data_dir).selection()

    def run(
        self,
        history: Path | None,
        data_dir: Path | None,
        workers: int | Workers = 1,
        progress: Progress = SILENT,
    ) -> Iterator[Choice]:
        """What won each search, one after the other; what the history holds is not tried again."""
        for rules, name, selection in self.selections(data_dir):
            metric = self.metric[rules]
            for label, axes in self.grids[rules][name].items():
                model, _ = model_and_pi(label)
                trials = list(search(
                    selection, model, self.candidates(label, axes), history,
                    metric=metric, workers=workers, patience=self.patience.get(model), progress=progress,
                ))  # fmt: skip
                won = Choice.of(trials, selection, label, metric, history)
                yield replace(won, data=name, protocol=rules)

    @staticmethod
    def as_defaults(choices: list[Choice]) -> str:
        """The winners in the form of `studies/defaults.yaml`."""
        found: dict[str, Any] = {}
        for choice in choices:
            found.setdefault(str(choice.protocol), {}).setdefault(str(choice.data), {})[choice.model] = (
                choice.settings
            )
        return yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110)


def read_plan(path: Path) -> SearchPlan:
    """Read and check a plan: every model and every setting of it must exist."""
    try:
        values = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingError(f"{path} must be a readable YAML file, but: {error}.") from None
    plan = checked(SearchPlan, values, lambda _: f"{path}: ")
    for models in (models for by_data in plan.grids.values() for models in by_data.values()):
        for label, axes in models.items():
            check_candidates(model_and_pi(label)[0], plan.candidates(label, axes))
    for rules in plan.grids.keys() - plan.metric.keys():
        raise SettingError(f"{path}: metric must name one for every protocol, but has none for '{rules}'.")
    return plan
