"""Settings that nobody chose for the data, beside MostPop on its validation part, before a table is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from murmura.core.errors import MurmuraError
from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry
from murmura.studies.methods import EQUIVALENTS
from murmura.studies.search.grid import TrialJob, run_job

MOST_ROWS = 1_000_000  # above it the fits on the validation part would take too long


def below_mostpop(plan: Comparison) -> Iterator[str]:
    """A line for each method whose default settings rank worse than MostPop where nothing is held out yet.

    Kept and given settings are not tried, nor what adds noise, nor an equivalent of another row.
    """
    rules, entries = plan.prepared.protocol, [entry for entry in plan.entries if _by_default(entry)]
    split = plan.prepared.split
    if not entries or rules.scores != "lists" or len(split.train) > MOST_ROWS or not split.has_validation:
        return
    selection, metric = plan.prepared.selection(), f"nDCG@{rules.cutoffs[0]}"
    popular = TrialJob("mostpop", {}, metric, plan.seed)
    (level,) = run_job(selection, popular)
    for entry in entries:
        try:
            (found,) = run_job(selection, replace(popular, model=entry.model, settings=dict(entry.settings)))
        except MurmuraError:  # the comparison has it as a row with its reason
            continue
        if found.value < level.value:
            yield (
                f"{entry.label}: below MostPop on the validation part with settings nobody chose for this data "
                f"({metric} {found.value:.4f}, MostPop {level.value:.4f}); search them with murmura search."
            )


def _by_default(entry: ComparisonEntry) -> bool:
    learned = bool(entry.settings) and entry.model not in EQUIVALENTS
    chosen = bool(entry.given) or (bool(entry.default) and not entry.from_size_rule)
    return learned and not chosen and entry.settings.get("epsilon") is None
