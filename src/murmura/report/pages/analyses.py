"""The analyses of a comparison for its page: sweep, freshness, popularity, categories, where they apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from murmura.report.audits import (
    audited_entries_picture,
    audited_entries_table,
    findings_table,
    hints_picture,
    hints_table,
    poisoning_table,
    presence_table,
    roc_picture,
)
from murmura.report.groups import error_table, gain_picture, improvement_table, within_table
from murmura.report.plots.comparison import entropy_plot
from murmura.report.plots.convergence import convergence_picture
from murmura.report.plots.drawing import Picture
from murmura.report.plots.exposure import (
    disparity_picture,
    panels,
    recommendation_picture,
    training_picture,
    update_picture,
)
from murmura.report.plots.learning import accuracy_curves, difference_curves
from murmura.report.plots.preservation import preservation_picture
from murmura.report.plots.reasons import read_reasons, reasons_picture
from murmura.report.plots.sweep import (
    accuracy_picture,
    cost_picture,
    coverage_picture,
    evenness_picture,
    freshness_picture,
    reciprocal_picture,
)
from murmura.report.summary import summarise
from murmura.report.tables.analyses import (
    bias_table,
    fidelity_table,
    frequency_table,
    freshness_table,
    order_table,
    preservation_table,
    sweep_table,
)
from murmura.report.tables.convergence import convergence_table
from murmura.report.tables.learning import NAMES, learning_tables
from murmura.report.tables.table import ReportTable
from murmura.runs.comparison import ComparisonFolder, read_runs
from murmura.runs.sweep import Sweep
from murmura.runs.sweep_points import SweepPoint, freshness, points
from murmura.runs.trials import Trial
from murmura.studies.analyses.convergence import convergence
from murmura.studies.analyses.exposure import Bias, Frequencies, bias, frequencies, with_disparity
from murmura.studies.analyses.fidelity import read_fidelity
from murmura.studies.analyses.learning import baseline_of, read_learning
from murmura.studies.analyses.preservation import read_preservation
from murmura.studies.audits.audit import Audit, read_audits
from murmura.studies.groups.group_results import GroupTable, find_groups

EXPLAINED = 3  # entries whose reasons are drawn
TABLES = (
    "sweep",
    "freshness",
    "frequency",
    "bias",
    "audit",
    "audit-ratings",
    "audit-poisoning",
    "groups",
    "group-errors",
    "features",
    "fidelity",
    "order",
    *NAMES,
)


@dataclass(frozen=True)
class Analysis:
    """One section of a page."""

    name: str
    title: str
    pictures: tuple[Picture, ...]
    tables: tuple[ReportTable, ...]

    @property
    def first(self) -> bool:
        """Whether it stands before the general plots: what the runs were made for."""
        return self.name in {"order", "sweep", "fresh", "groups", "learning"}


def analyses(folder: Path, against: str = "", rows: Sequence[str] = ()) -> list[Analysis]:
    """What the folder of a comparison has to say beyond its results, and what an audit found.

    Classifiers are held against the entry `against`; by default that with FedAvg's weights, or the first. With
    `rows`, the sections about entries are about these alone.
    """
    comparison = read_runs(folder, rows)
    run, audited = comparison.run, read_audits(comparison.run)
    attacked = [audit_section(folder, audited)] if audited else []
    if comparison.kind == "run":
        return [*_explanations(comparison), *attacked]
    what, found = comparison.sweep, points(comparison)
    times = frequencies(comparison) if run.has("items.csv") else []
    shown = bias(comparison, times) if times else None
    found = with_disparity(found, shown)
    if groups := find_groups(folder):
        attacked = [_groups(groups), *attacked]
    made = [_orders(comparison)]
    made += [_sweep(what, found, comparison.cutoff) if what else None, _freshness(found, comparison.cutoff)]
    made += [_entropy(comparison, found), _learning(comparison, against)]
    made += [_popularity(times, what), _categories(shown)]
    made += _explanations(comparison)
    return [*(one for one in made if one is not None and (one.pictures or one.tables)), *attacked]


def convergence_section(tried: Sequence[Trial], metric: str) -> Analysis:
    """How fast the rows of an experiment come near their best, from the curves of its trials."""
    found = convergence(tried)
    pictures, tables = [convergence_picture(found, metric)], [convergence_table(found, metric)]
    return _of("convergence", "Rounds to come near the best", pictures, tables)


def _sweep(what: Sweep, found: list[SweepPoint], k: int) -> Analysis:
    drawn = (accuracy_picture, coverage_picture, evenness_picture, cost_picture, reciprocal_picture)
    pictures = [picture(what, found, k) for picture in drawn]
    return _of("sweep", f"Sweep over {what.key}", pictures, [sweep_table(what, found, k)])


def audit_section(folder: Path, found: dict[str, Audit]) -> Analysis:
    """One audit with all it says, or several side by side."""
    title = "What the letters give away"
    if len(found) > 1:
        results = summarise(read_runs(folder))
        return _of(
            "audit", title, [audited_entries_picture(found, results)], [audited_entries_table(found, results)]
        )
    ((label, one),) = found.items()
    title = title if label == one.method else f"{title}: {label}"
    tables = [findings_table(one), presence_table(one), hints_table(one), poisoning_table(one)]
    return _of("audit", title, [roc_picture(one), hints_picture(one)], tables)


def _groups(found: GroupTable) -> Analysis:
    tables: list[ReportTable | None] = [error_table(found), improvement_table(found), within_table(found)]
    return _of("groups", "Groups", [gain_picture(found)], tables)


def _orders(comparison: ComparisonFolder) -> Analysis | None:
    """Real times and whole days side by side, where both were run."""
    if comparison.beside is None:
        return None
    real, days = summarise(comparison), summarise(comparison.beside)
    return _of("order", "The order inside a day", [], [order_table(real, days)])


def _freshness(found: list[SweepPoint], k: int) -> Analysis | None:
    fresh = freshness(found)
    picture = freshness_picture(fresh, k)
    return _of("fresh", "Freshness", [picture], [freshness_table(fresh, k)]) if picture else None


def _learning(comparison: ComparisonFolder, against: str) -> Analysis | None:
    if not (entries := read_learning(comparison)):
        return None
    baseline = baseline_of(entries, comparison, against)
    tables: list[ReportTable | None] = [*learning_tables(entries, baseline)]
    pictures = [accuracy_curves(entries), difference_curves(entries, baseline)]
    return _of("learning", "Learning to classify", pictures, tables)


def _entropy(comparison: ComparisonFolder, found: list[SweepPoint]) -> Analysis | None:
    k = comparison.cutoff
    if not any({f"HR@{k}", f"SE@{k}"} <= point.found.keys() for point in found):
        return None
    return _of("entropy", "Accuracy and evenness", [entropy_plot(summarise(comparison))], [])


def _popularity(found: list[Frequencies], what: Sweep | None) -> Analysis | None:
    drawn = panels(found, what)
    if not drawn:
        return None
    pictures = [update_picture(drawn, what), recommendation_picture(drawn, what)]
    return _of("popularity", "Popularity", pictures, [frequency_table(found)])


def _explanations(comparison: ComparisonFolder) -> list[Analysis]:
    """Reasons and how often they decide; features before and after, where they were analysed."""
    made = [_reasons(comparison)]
    if kept := read_preservation(comparison.run):
        title = "Features before and after"
        made.append(_of("features", title, [preservation_picture(kept[0])], [preservation_table(kept)]))
    return [one for one in made if one.pictures or one.tables]


def _reasons(comparison: ComparisonFolder) -> Analysis:
    """The reasons of the first seed of the first entries that give any, and what removal says of them."""
    firsts = [(model.label, model.parts[0].run) for model in comparison.models if model.parts]
    known = [(label, found) for label, run in firsts if (found := read_reasons(run))]
    pictures = [reasons_picture(place, *one) for place, one in enumerate(known[:EXPLAINED])]
    measured = read_fidelity(comparison.run)
    return _of("reasons", "Reasons", list(pictures), [fidelity_table(measured)] if measured else [])


def _categories(found: Bias | None) -> Analysis | None:
    if found is None or not found.shown:
        return None
    pictures = [training_picture(found), disparity_picture(found)]
    return _of("bias", "Bias towards categories", pictures, [bias_table(found)])


def _of(name: str, title: str, pictures: list[Picture | None], tables: list[ReportTable | None]) -> Analysis:
    return Analysis(name, title, tuple(filter(None, pictures)), tuple(filter(None, tables)))
