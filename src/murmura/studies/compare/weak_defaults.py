"""Settings that nobody chose for the data, beside MostPop on its validation part, before a table is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from murmura.core.errors import MurmuraError
from murmura.core.progress import SILENT, NamedProgress, Progress
from murmura.engine.experiment import experiment
from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry
from murmura.studies.methods import EQUIVALENTS, method

MOST_ROWS = 1_000_000  # above it the fits on the validation part would take too long


def below_mostpop(plan: Comparison, progress: Progress = SILENT) -> Iterator[str]:
    """A line for each method whose default settings rank worse than MostPop where nothing is held out yet.

    Kept and given settings are not tried, nor what adds noise, nor an equivalent of another row.
    """
    rules, entries = plan.prepared.protocol, [entry for entry in plan.entries if _by_default(entry)]
    split = plan.prepared.split
    if not entries or rules.scores != "lists" or len(split.train) > MOST_ROWS or not split.has_validation:
        return
    selection, cutoffs = plan.prepared.selection(), (rules.cutoffs[0],)
    metric = f"nDCG@{cutoffs[0]}"

    def value(model: str, settings: dict[str, Any], label: str) -> float:
        listener, made = NamedProgress(progress, f"{label} on validation"), method(model, settings)
        found = experiment(made, selection.split, rules, plan.seed, 1, listener, cutoffs, ("nDCG",))
        return found.evaluation.values[metric]

    level = value("mostpop", {}, "mostpop")
    for entry in entries:
        try:
            reached = value(entry.model, dict(entry.settings), entry.label)
        except (MurmuraError, MemoryError):  # the comparison has it as a row with its reason
            continue
        if reached < level:
            yield (
                f"{entry.label}: below MostPop on the validation part with settings nobody chose for this data "
                f"({metric} {reached:.4f}, MostPop {level:.4f}); search them with murmura search."
            )


def _by_default(entry: ComparisonEntry) -> bool:
    learned = bool(entry.settings) and entry.model not in EQUIVALENTS
    chosen = bool(entry.given) or (bool(entry.default) and not entry.from_size_rule)
    return learned and not chosen and entry.settings.get("epsilon") is None
