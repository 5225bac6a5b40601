"""The page of a folder, whatever command wrote it: which sections it may have, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from murmura.core.plugins import Registry
from murmura.engine.part_files import printable
from murmura.report.drawing import require_report
from murmura.report.page import Compared, Section, document, write_page
from murmura.report.sections import facts
from murmura.studies.compare.folder import ComparisonFolder, read_runs
from murmura.studies.scorer import open_folder
from murmura.studies.search import section as search
from murmura.studies.search.folder import SearchFolder

SectionOf = Callable[[Compared], Section | None]
# What a page of runs may have, in its order; a package registers more of them in this group.
SECTIONS: Registry[SectionOf] = Registry(
    "report section",
    "murmura.sections",
    {
        "results": "murmura.studies.compare.section:section",
        "order": "murmura.report.sections.differences:order_section",
        "sweep": "murmura.lab.sweep.section:section",
        "freshness": "murmura.lab.analyses.training_sections:freshness_section",
        "groups": "murmura.lab.groups.section:section",
        "learning": "murmura.lab.classification.learning_section:section",
        "metrics": "murmura.report.sections.metrics:section",
        "traffic": "murmura.report.sections.traffic:section",
        "training": "murmura.report.sections.traffic:training_section",
        "planes": "murmura.report.sections.metrics:entropy_section",
        "popularity": "murmura.lab.analyses.exposure_sections:popularity_section",
        "categories": "murmura.lab.analyses.exposure_sections:bias_section",
        "reasons": "murmura.lab.analyses.fidelity:section",
        "features": "murmura.lab.analyses.preservation:section",
        "audits": "murmura.lab.audits.section:section",
        "differences": "murmura.report.sections.differences:section",
    },
    "a function that makes a section of what was compared, or None",
    lambda name, found: found if callable(found) else None,
)
RESULTS = ("results", "metrics", "traffic", "training", "differences")  # what every comparison shows


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
        (title, sub), sections = search.headline(found), search.sections(found)
    else:
        comparison = found if isinstance(found, ComparisonFolder) else found.comparison
        title, sub = headline(comparison)
        sections = every_section(Compared(comparison))
    return write_page(folder, out, document(title, sub, sections), sections)


def every_section(compared: Compared) -> list[Section | None]:
    """What a page of runs may have, in its order; None where a section does not apply."""
    return [*(SECTIONS.get(name)(compared) for name in SECTIONS), *facts.sections(compared)]


def analyses(folder: Path, against: str = "", rows: Sequence[str] = ()) -> list[Section]:
    """What the folder of a comparison, or some rows of it, has to say beyond its results.

    Classifiers are held against the entry `against`; by default that with FedAvg's weights, or the first.
    """
    compared = Compared(read_runs(folder, rows), against)
    found = (SECTIONS.get(name)(compared) for name in SECTIONS if name not in RESULTS)
    return [section for section in found if section is not None]


def headline(folder: ComparisonFolder) -> tuple[str, str]:
    """What was compared on what; protocol, seeds, version and date, as far as the folder has them."""
    models, name = folder.models, printable(folder.source.get("name", "data"))
    several = f"{len(models)} models" if len(models) > 1 else "One model"
    seeds = max((len(model.parts) for model in models), default=1)
    version = folder.environment.get("murmura")
    parts = [
        f"protocol {folder.protocol}",
        "one seed" if seeds == 1 else f"{seeds} seeds",
        f"Murmura {version}" if version else "",
        f"{folder.run.status} {folder.run.at.replace('T', ' ').replace('+00:00', ' UTC')}".strip(),
    ]
    title = f"{models[0].label if folder.kind == 'run' else several} on {name}"
    return title, " · ".join(filter(None, parts))
