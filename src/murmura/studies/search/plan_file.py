"""Many searches from one file: what is behind the package's defaults, resumable, winners as YAML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings
from murmura.engine.protocol import Selection
from murmura.studies.config import DataConfig, checked
from murmura.studies.methods import method, model_and_pi
from murmura.studies.search.grid import Trial, best, grid, search
from murmura.studies.search.tpe import corners, space_of, tpe
from murmura.studies.worker_pool import Workers

Axes = dict[str, Annotated[list[Any], Field(min_length=1)] | str]


@settings
class SearchPlan:
    """protocol -> data -> model -> axes, and the metric each protocol is judged by.

    An axis is a list of values or, for a model under `trials`, a range LOW:HIGH[:log][:int].
    """

    metric: dict[str, str]
    grids: dict[str, dict[str, dict[str, Axes]]]
    trials: dict[str, Annotated[int, Field(ge=1)]] = field(default_factory=dict)  # of models searched by tpe
    patience: dict[str, Annotated[int, Field(ge=1)]] = field(default_factory=dict)  # of models that stop early


@dataclass(frozen=True)
class SearchWinner:
    """What won on the validation part."""

    protocol: str
    data: str
    model: str  # or a model at some pi: `fed-ease:pi=0.1`
    metric: str
    trials: int
    winner: Trial


def read_plan(path: Path) -> SearchPlan:
    """Read and check a plan: every model and every setting of it must exist."""
    try:
        values = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingError(f"{path} must be a readable YAML file, but: {error}.") from None
    plan = checked(SearchPlan, values, lambda _: f"{path}: ")
    for by_data in plan.grids.values():
        for models in by_data.values():
            for label, axes in models.items():
                model, _ = model_and_pi(label)
                for candidate in corners(space_of(axes)) if model in plan.trials else candidates(label, axes):
                    method(model, candidate)
    return plan


def candidates(label: str, axes: Axes) -> list[dict[str, Any]]:
    """Every combination of the grid of a model, or of a model at some pi, `fed-ease:pi=0.1`; refuses ranges."""
    model, pi = model_and_pi(label)
    axes = axes if model == label else {"pi": [pi], **axes}
    lists = {key: axis for key, axis in axes.items() if not isinstance(axis, str)}
    if len(lists) < len(axes):
        raise SettingError(
            f"the grid of {model} must have lists of values, but has a range; name {model} under 'trials:'."
        )
    return grid(lists)


def run_plan(
    plan: SearchPlan,
    history: Path | None,
    data_dir: Path | None,
    workers: int | Workers = 1,
    progress: Progress = SILENT,
) -> Iterator[SearchWinner]:
    """Search after search; what the history holds is not tried again."""
    for rules, by_data in plan.grids.items():
        metric = plan.metric[rules]
        for name, models in by_data.items():
            selection = DataConfig(name=name).prepare(rules, data_dir).selection()
            for label, axes in models.items():
                trials = list(_search(plan, selection, label, axes, metric, history, workers, progress))
                yield SearchWinner(rules, name, label, metric, len(trials), best(trials, metric))


def _search(
    plan: SearchPlan,
    selection: Selection,
    label: str,
    axes: Axes,
    metric: str,
    history: Path | None,
    workers: int | Workers,
    progress: Progress,
) -> Iterator[Trial]:
    model, _ = model_and_pi(label)
    patience = plan.patience.get(model)
    if model in plan.trials:
        return tpe(
            selection, model, space_of(axes), plan.trials[model], history,
            metric=metric, workers=workers, patience=patience, progress=progress,
        )  # fmt: skip
    return search(
        selection, model, candidates(label, axes), history,
        metric=metric, workers=workers, patience=patience, progress=progress,
    )  # fmt: skip


def as_defaults(choices: list[SearchWinner]) -> str:
    """The winners in the form of `studies/defaults.yaml`."""
    found: dict[str, Any] = {}
    for choice in choices:
        found.setdefault(choice.protocol, {}).setdefault(choice.data, {})[choice.model] = choice.winner.settings
    return yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110)
