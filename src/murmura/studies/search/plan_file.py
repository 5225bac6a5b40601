"""Many searches from one file: the grids behind the package's defaults, resumable, winners as YAML."""

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
from murmura.studies.config import DataConfig, checked
from murmura.studies.methods import method
from murmura.studies.search.grid import Axes, Trial, best, grid, search


@settings
class SearchPlan:
    """protocol -> data -> model -> axes, and the metric each protocol is judged by."""

    metric: dict[str, str]
    grids: dict[str, dict[str, dict[str, Axes]]]
    patience: dict[str, Annotated[int, Field(ge=1)]] = field(default_factory=dict)  # of models that stop early


@dataclass(frozen=True)
class SearchWinner:
    """What won on the validation part."""

    protocol: str
    data: str
    model: str
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
            for model, axes in models.items():
                for candidate in grid(axes):
                    method(model, candidate)
    return plan


def run_plan(
    plan: SearchPlan, history: Path | None, data_dir: Path | None, workers: int = 1, progress: Progress = SILENT
) -> Iterator[SearchWinner]:
    """Search after search; what the history holds is not tried again."""
    for rules, by_data in plan.grids.items():
        metric = plan.metric[rules]
        for name, models in by_data.items():
            selection = DataConfig(name=name).prepare(rules, data_dir).selection()
            for model, axes in models.items():
                candidates = grid(axes)
                trials = list(
                    search(
                        selection,
                        model,
                        candidates,
                        history,
                        metric=metric,
                        workers=workers,
                        patience=plan.patience.get(model),
                        progress=progress,
                    )
                )
                yield SearchWinner(rules, name, model, metric, len(trials), best(trials, metric))


def as_defaults(choices: list[SearchWinner]) -> str:
    """The winners in the form of `studies/defaults.yaml`."""
    found: dict[str, Any] = {}
    for choice in choices:
        found.setdefault(choice.protocol, {}).setdefault(choice.data, {})[choice.model] = choice.winner.settings
    return yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=110)
