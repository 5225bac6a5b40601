"""What a folder is, by its configuration: a run or comparison, a search, or a reproduction."""

from __future__ import annotations

from pathlib import Path

from murmura.core.errors import RunError
from murmura.engine.run import Run
from murmura.runs.comparison import ComparisonFolder, read_runs
from murmura.runs.reproduction import ReproductionFolder
from murmura.runs.search import SearchFolder

Folder = ComparisonFolder | SearchFolder | ReproductionFolder


def open_folder(path: Path) -> Folder:
    """Whatever a command wrote there; refuses a folder of no run."""
    config = Run.open(path).config
    if not {"model", "models", "search", "experiment"} & config.keys():
        raise RunError(
            f"{path} must be the folder of a fit, comparison, sweep, search or reproduction, but is none; "
            "give a folder such a command printed."
        )
    if "experiment" in config:
        return ReproductionFolder.open(path)
    return SearchFolder.open(path) if "search" in config else read_runs(path)
