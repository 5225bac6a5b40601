"""The analyses of a comparison for its page: sweep, freshness, popularity, categories, where they apply."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from murmura.engine.run import Run
from murmura.report.analysis_tables import bias_table, frequency_table, freshness_table, sweep_table
from murmura.report.audit_plot import hints_picture
from murmura.report.audit_tables import findings_table, hints_table
from murmura.report.bias_plots import disparity_picture, training_picture
from murmura.report.drawing import Picture
from murmura.report.frequency_plots import panels, recommendation_picture, update_picture
from murmura.report.freshness_plot import freshness_picture
from murmura.report.group_plot import gain_picture
from murmura.report.group_tables import error_table, improvement_table
from murmura.report.leaks import leaks_picture, leaks_table
from murmura.report.read import read_folder
from murmura.report.summary import summarise
from murmura.report.sweep_costs import cost_picture
from murmura.report.sweep_plots import accuracy_picture, coverage_picture
from murmura.report.table import Table
from murmura.studies.audit import Audit, read_audits
from murmura.studies.bias import Bias, bias
from murmura.studies.frequency import Frequencies, frequencies
from murmura.studies.freshness import freshness
from murmura.studies.group_results import GroupTable, find_groups
from murmura.studies.kept import Kept
from murmura.studies.sweep import Point, Sweep, points, read_sweep

TABLES = ("sweep", "freshness", "frequency", "bias", "audit", "audit-ratings", "groups", "group-errors")


@dataclass(frozen=True)
class Analysis:
    """One section of a page."""

    name: str
    title: str
    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...]

    @property
    def first(self) -> bool:
        """Whether it stands before the general plots: what the runs were made for."""
        return self.name in {"sweep", "fresh", "groups"}


def analyses(folder: Path) -> list[Analysis]:
    """What the folder of a comparison has to say beyond its results, and what an audit found."""
    run = Run.open(folder)
    audited = read_audits(run)
    attacked = [audit_section(folder, audited)] if audited else []
    if run.has("metrics.json") or not isinstance((config := run.config).get("models"), dict):
        return attacked
    kept = Kept(run, config)
    what, found = read_sweep(kept), points(kept)
    if groups := find_groups(folder):
        attacked = [_groups(groups), *attacked]
    made = [_sweep(what, found, kept.cutoff) if what else None, _freshness(found, kept.cutoff)]
    if run.has("items.csv"):
        times = frequencies(kept)
        made += [_popularity(times, what), _categories(bias(kept, times))]
    return [*(one for one in made if one is not None and (one.pictures or one.tables)), *attacked]


def _sweep(what: Sweep, found: list[Point], k: int) -> Analysis:
    pictures = [picture(what, found, k) for picture in (accuracy_picture, coverage_picture, cost_picture)]
    return _of("sweep", f"Sweep over {what.key}", pictures, [sweep_table(what, found, k)])


def audit_section(folder: Path, found: dict[str, Audit]) -> Analysis:
    """One audit with all it says, or several side by side."""
    title = "What the letters give away"
    if len(found) > 1:
        results = summarise(read_folder(folder))
        return _of("audit", title, [leaks_picture(found, results)], [leaks_table(found, results)])
    ((label, one),) = found.items()
    title = title if label == one.method else f"{title}: {label}"
    return _of("audit", title, [hints_picture(one)], [findings_table(one), hints_table(one)])


def _groups(found: GroupTable) -> Analysis:
    tables: list[Table | None] = [error_table(found), improvement_table(found)]
    return _of("groups", "Groups", [gain_picture(found)], tables)


def _freshness(found: list[Point], k: int) -> Analysis | None:
    fresh = freshness(found)
    picture = freshness_picture(fresh, k)
    return _of("fresh", "Freshness", [picture], [freshness_table(fresh, k)]) if picture else None


def _popularity(found: list[Frequencies], what: Sweep | None) -> Analysis | None:
    drawn = panels(found, what)
    if not drawn:
        return None
    pictures = [update_picture(drawn, what), recommendation_picture(drawn, what)]
    return _of("popularity", "Popularity", pictures, [frequency_table(found)])


def _categories(found: Bias | None) -> Analysis | None:
    if found is None or not found.shown:
        return None
    pictures = [training_picture(found), disparity_picture(found)]
    return _of("bias", "Bias towards categories", pictures, [bias_table(found)])


def _of(name: str, title: str, pictures: list[Picture | None], tables: list[Table | None]) -> Analysis:
    return Analysis(name, title, tuple(filter(None, pictures)), tuple(filter(None, tables)))
