"""Many searches from one file: what is behind the package's defaults, resumable, winners as YAML.

From the same file it is seen whether the rule from sizes is worth having: fitted without a data set, then tried
on it. Every number comes from trials on validation parts that a history keeps; no test part is touched. What a
setting is worth on a data set is its share: its value over that of the best trial there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from murmura.core.errors import SettingError
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Count, settings
from murmura.engine.prepared import Selection
from murmura.engine.run_folder import Run
from murmura.studies.configuration import DataConfig, checked
from murmura.studies.methods import RULES, SizeRule, Sizes, model_and_pi, resolved_settings
from murmura.studies.search.folder import Choice, Trial, name_of, read_history
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


MOVIELENS = "ml-"  # what the names of its data sets begin with
DIVISORS = (100.0, 200.0, 300.0, 400.0, 500.0, 700.0, 1000.0)  # rows per unit of reg that are considered
COLUMNS = (
    "protocol", "data", "users", "items", "rows", "times", "features", "model", "metric", "settings",
    "rule", "class defaults", "best", "share of rule", "share of class defaults",
)  # fmt: skip


@dataclass(frozen=True)
class KnownTrials:
    """What was tried of one model on one data set: setting, by its name, -> value on validation."""

    protocol: str
    data: str
    sizes: Sizes
    values: Mapping[str, float]

    @property
    def family(self) -> str:
        """What is left out together: all of MovieLens was collected by one site in one way."""
        return MOVIELENS if self.data.startswith(MOVIELENS) else self.data

    @property
    def best(self) -> float:
        """The value of the best trial."""
        return max(self.values.values())


def setting_name(model: str, settings: Mapping[str, Any]) -> str:
    """A setting as one text: written out or left at its default, whole number or not, it is the same."""
    whole = resolved_settings(model, dict(settings))
    return name_of({key: float(value) if type(value) is int else value for key, value in whole.items()})


def known_trials(model: str, protocol: str, data: str, sizes: Sizes, trials: Iterable[Trial]) -> KnownTrials:
    """The trials of a history; those without a value left out."""
    values = {setting_name(model, one.settings): one.value for one in trials if not math.isnan(one.value)}
    return KnownTrials(protocol, data, sizes, values)


def fitted(model: str, learned: Sequence[KnownTrials], everywhere: Sequence[KnownTrials]) -> SizeRule:
    """The rule in the package's form with the largest mean share where it learns, of equal ones the first.

    Whether something was tried says nothing about how it did, so the one left out may be asked that.
    """
    form = RULES[model]
    if form.rows_per_reg is not None:
        divided = [replace(form, rows_per_reg=divisor) for divisor in DIVISORS]
        return max(divided, key=lambda rule: _worth(model, rule, learned))
    found: dict[str, SizeRule] = {}
    for name in sorted(everywhere[0].values):
        whole = json.loads(name)
        chosen = {key: _plain(whole[key]) for key in form.fitted}
        rule = replace(form, fitted=chosen)
        if all(setting_name(model, rule.settings(one.sizes)) in one.values for one in everywhere):
            found.setdefault(name_of(chosen), rule)
    if not found:
        raise SettingError(
            f"the rule for {model} needs one setting of {', '.join((*form.fitted, *form.also))} that was tried "
            f"on each of {', '.join(one.data for one in everywhere)}, but none was; give them a grid in common."
        )
    return max(found.values(), key=lambda rule: _worth(model, rule, learned))


def _plain(value: Any) -> Any:
    """A number as people write it: 500, not 500.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _worth(model: str, rule: SizeRule, learned: Sequence[KnownTrials]) -> float:
    """The mean share of a rule's settings, every family counted once."""
    families: dict[str, list[float]] = {}
    for one in learned:
        value = one.values.get(setting_name(model, rule.settings(one.sizes)), 0.0)
        families.setdefault(one.family, []).append(value / one.best)
    return math.fsum(math.fsum(shares) / len(shares) for shares in families.values()) / max(len(families), 1)


def left_out(model: str, everywhere: Sequence[KnownTrials]) -> Iterator[dict[str, Any]]:
    """One row for each data set: the rule fitted without it and its like, beside the class's own settings."""
    for one in everywhere:
        rule = fitted(model, [other for other in everywhere if other.family != one.family], everywhere)
        settings = rule.settings(one.sizes)
        by_rule = one.values.get(setting_name(model, settings))
        default = one.values.get(setting_name(model, {}))
        yield {
            "protocol": one.protocol, "data": one.data, **asdict(one.sizes), "model": model,
            "settings": json.dumps(settings), "rule": by_rule, "class defaults": default, "best": one.best,
            "share of rule": _ratio(by_rule, one.best), "share of class defaults": _ratio(default, one.best),
        }  # fmt: skip


def _ratio(value: float | None, best: float) -> float | None:
    return None if value is None else round(value / best, 3)


def check_rule(
    plan: SearchPlan, history: Path | None, data_dir: Path | None, file: Path
) -> list[dict[str, Any]]:
    """The rows of every model of a plan that the rule is for, over its data sets; also written as CSV."""
    found: dict[str, list[KnownTrials]] = {}
    for protocol, data, selection in plan.selections(data_dir):
        sizes = Sizes.of(selection.split.train, selection.protocol.split)
        name = selection.data  # a file is known by its name alone
        for model in (one for one in plan.grids[protocol][data] if one in RULES):
            wanted = {"data": name, "protocol": protocol, "model": model, "metric": plan.metric[protocol]}
            one = known_trials(model, protocol, name, sizes, read_history(history, **wanted))
            found.setdefault(model, []).append(one)
    rows = [
        {**row, "metric": plan.metric[row["protocol"]]}
        for model, everywhere in found.items()
        for row in left_out(model, everywhere)
    ]
    Run(file.parent).write_table(file.name, COLUMNS, [[row[key] for key in COLUMNS] for row in rows])
    return rows
