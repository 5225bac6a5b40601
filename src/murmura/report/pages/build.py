"""The page of a folder, whatever command wrote it."""

from __future__ import annotations

from pathlib import Path

from murmura.report.pages.comparison import build_runs
from murmura.report.pages.search import build_search
from murmura.report.plots.drawing import require_matplotlib
from murmura.runs.folders import open_folder
from murmura.runs.reproduction import ReproductionFolder
from murmura.runs.search import SearchFolder


def build(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a comparison, a run or a search; reads the folder and nothing else.

    Args:
        folder: What `murmura compare`, `fit`, `sweep`, `search` or `reproduce` wrote, finished or not.
        out: The page, or a folder for it; by default `report.html` in the folder itself.

    Returns:
        The page. The tables are in `<its name>-tables/` beside it, as CSV, Markdown, LaTeX and JSON.
    """
    require_matplotlib()
    found = open_folder(folder)
    if isinstance(found, SearchFolder):
        return build_search(found, out)
    return build_runs(found.comparison if isinstance(found, ReproductionFolder) else found, out)
