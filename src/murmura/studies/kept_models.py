"""The fitted models of a comparison: which are kept, and the one of any run folder that somebody asks.

Of several seeds the first one's is kept. A model that was not kept is fitted again from its settings and its
seed, which gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from murmura.core.errors import RunError, did_you_mean
from murmura.core.model import EVERYTHING, Model
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import PreparedData
from murmura.engine.run_folder import MODEL, Run
from murmura.evaluation.registry import badness, is_cost
from murmura.studies.compare.folder import run_name
from murmura.studies.configuration import data_of
from murmura.studies.entry_runs import EntryRun, comparison_runs
from murmura.studies.methods import method
from murmura.studies.runs.folders import open_folder
from murmura.studies.runs.reproduction import ReproductionFolder
from murmura.studies.search.folder import SearchFolder

if TYPE_CHECKING:
    from murmura.studies.compare.run import Comparison

Keep = Literal["all", "best", "none"]


def drop_worse(plan: Comparison, folder: Path) -> None:
    """Delete the kept models that are no longer the best of their kind, centralised or federated."""
    kinds: dict[bool, list[Run]] = {}
    for entry in plan.entries:
        part = Run(folder / run_name(entry.label, plan.seed), plan.seed)
        if part.has(MODEL):
            central = method(entry.model, entry.settings).server_reads == EVERYTHING
            kinds.setdefault(central, []).append(part)
    for parts in kinds.values():
        best = max(parts, key=_worth)  # of equal ones the first
        for part in parts:
            if part is not best:
                (part.path / MODEL).unlink()


def _worth(part: Run) -> float:
    """Its first metric, higher for a better one."""
    key = next((key for key in part.metrics if not is_cost(key)), None)
    return 0.0 if key is None else -badness(key, part.metrics[key])


def kept(folder: Path) -> tuple[int, int]:
    """How many models a comparison keeps, and how many bytes they are."""
    sizes = [path.stat().st_size for path in folder.glob(f"*/{MODEL}")]
    return len(sizes), sum(sizes)


def open_model(
    folder: Path, label: str = "", data_dir: Path | None = None, progress: Progress = SILENT
) -> tuple[PreparedData, Model]:
    """A fitted model of any run folder, of the first seed, with its data: a fit, comparison, search or paper.

    `label` says which of several; of a search it is the choice, trained on the whole training part.
    """
    entries = _entries(folder, data_dir)
    known = list(dict.fromkeys(one.label for one in entries))
    if not known:
        raise RunError(f"{folder} must hold a finished model, but has none; run it to its end.")
    if not label and len(known) > 1:
        raise RunError(f"{folder} holds several models; say which with --model: {', '.join(known)}.")
    found = next((one for one in entries if one.label == (label or known[0])), None)
    if found is None:
        hint = did_you_mean(label, known, f"it has {', '.join(known)}.")
        raise RunError(f"{folder} has no finished model '{label}': {hint}")
    return found.prepared, found.model(progress)


def _entries(folder: Path, data_dir: Path | None) -> Sequence[EntryRun]:
    found = open_folder(folder)
    if isinstance(found, SearchFolder):
        if (won := found.choice) is None:
            raise RunError(f"{folder} must hold a finished search, but it is not; run it to its end.")
        return [EntryRun(won.model, won.model, won.settings, found.tested, data_of(found.run, data_dir))]
    if isinstance(found, ReproductionFolder):
        found, data_dir = found.comparison, data_dir or found.run.places.get("data")
    return list(comparison_runs(found, data_of(found.run, data_dir)))
