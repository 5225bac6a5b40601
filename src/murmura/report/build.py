"""The page of a folder, whatever command wrote it: which sections it may have, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from murmura.report.drawing import require_report
from murmura.report.page import Compared, Section, SectionOf, document, write_page
from murmura.report.sections import (
    audits,
    categories,
    differences,
    facts,
    features,
    freshness,
    groups,
    learning,
    metrics,
    order,
    planes,
    popularity,
    reasons,
    results,
    search,
    sweep,
    traffic,
    training,
)
from murmura.runs.comparison import ComparisonFolder, read_runs
from murmura.runs.folders import open_folder
from murmura.runs.parts import printable
from murmura.runs.reproduction import ReproductionFolder
from murmura.runs.search import SearchFolder

# what the runs may have been made for, what describes them all, and what else they say
PURPOSES: tuple[SectionOf, ...] = (
    order.section,
    sweep.section,
    freshness.section,
    groups.section,
    learning.section,
)
PLOTS: tuple[SectionOf, ...] = (metrics.section, traffic.section, training.section)
MORE: tuple[SectionOf, ...] = (
    planes.section,
    popularity.section,
    categories.section,
    reasons.section,
    features.section,
    audits.section,
)
FACTS: tuple[SectionOf, ...] = (
    differences.section,
    facts.data_section,
    facts.configuration_section,
    facts.environment_section,
    facts.rerun_section,
)


def build(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a comparison, a run, a search or a reproduction; reads the folder and nothing else.

    Args:
        folder: What `murmura compare`, `fit`, `sweep`, `search` or `reproduce` wrote, finished or not.
        out: The page, or a folder for it; by default `report.html` in the folder itself.

    Returns:
        The page. The tables are in `<its name>-tables/` beside it, as CSV, Markdown, LaTeX and JSON.
    """
    require_report()
    found = open_folder(folder)
    if isinstance(found, SearchFolder):
        title, sub, sections = search.heading(found), search.subline(found), search.sections(found)
    else:
        comparison = found.comparison if isinstance(found, ReproductionFolder) else found
        compared = Compared(comparison)
        title, sub = headline(comparison), subline(comparison)
        every = (results.section, *PURPOSES, *PLOTS, *MORE, *FACTS)
        sections = [section(compared) for section in every]
    return write_page(folder, out, document(title, sub, sections), sections)


def analyses(folder: Path, against: str = "", rows: Sequence[str] = ()) -> list[Section]:
    """What the folder of a comparison, or some rows of it, has to say beyond its results.

    Classifiers are held against the entry `against`; by default that with FedAvg's weights, or the first.
    """
    compared = Compared(read_runs(folder, rows), against)
    found = [section(compared) for section in (*PURPOSES, *MORE)]
    return [section for section in found if section is not None]


def headline(folder: ComparisonFolder) -> str:
    """What was compared on what."""
    name = printable(folder.source.get("name", "data"))
    if folder.kind == "run":
        return f"{folder.models[0].label} on {name}"
    return f"{len(folder.models)} models on {name}" if len(folder.models) > 1 else f"One model on {name}"


def subline(folder: ComparisonFolder) -> str:
    """Protocol, seeds, version and date, as far as the folder has them."""
    seeds = max((len(model.parts) for model in folder.models), default=1)
    version = folder.environment.get("murmura")
    parts = [
        f"protocol {folder.protocol}",
        "one seed" if seeds == 1 else f"{seeds} seeds",
        f"Murmura {version}" if version else "",
        f"{folder.status} {folder.at.replace('T', ' ').replace('+00:00', ' UTC')}".strip(),
    ]
    return " · ".join(filter(None, parts))
