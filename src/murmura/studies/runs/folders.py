"""What a folder is, by its configuration: a run or comparison, a search, or a reproduction."""

from __future__ import annotations

from pathlib import Path

from murmura.engine.part_files import wrong_folder
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import ComparisonFolder, read_runs
from murmura.studies.runs.reproduction import ReproductionFolder
from murmura.studies.search.folder import SearchFolder

Folder = ComparisonFolder | SearchFolder | ReproductionFolder


def open_folder(path: Path) -> Folder:
    """Whatever a command wrote there; refuses a folder of no run."""
    config = Run.open(path).config
    if "experiment" in config:
        return ReproductionFolder.open(path)
    if "search" in config:
        return SearchFolder.open(path)
    if "model" in config or "models" in config:
        return read_runs(path)
    raise wrong_folder(path, "a fit, comparison, sweep, search or reproduction", "is none", "such a command")
