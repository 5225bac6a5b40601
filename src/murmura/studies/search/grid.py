"""Choosing settings on the validation part: a grid, resumable, in parallel, the test part out of reach."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from murmura.core.errors import SettingError
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import Selection
from murmura.studies.methods import method
from murmura.studies.search.trial_jobs import Team, TrialJob, is_over, learns_in_epochs, most_epochs, trial_team
from murmura.studies.search.trials import Trial, TrialHistory, best, name_of, side

__all__ = ["Trial", "best", "grid", "name_of", "search"]


def grid(axes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last axis fastest."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def search(
    selection: Selection,
    model: str,
    candidates: list[dict[str, Any]],
    history: Path | None = None,
    *,
    metric: str = "P@10",
    seed: int = 0,
    workers: int = 1,
    patience: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[Trial]:
    """Try every candidate on what `prepared.selection()` gives; those in `history` are not tried again.

    With `patience` a candidate is scored after every epoch, up to its own number of them, and its trial is that
    of the best epoch: `epochs` of the trial's settings. `workers` are processes; they change no result.
    """
    side(metric)
    for one in candidates:
        method(model, one)  # refuse a bad setting before any work
    if not candidates:
        raise SettingError("a search needs at least one candidate; give --grid key=value,value.")
    log = TrialHistory(history, (selection.data, selection.protocol.name, model), metric)
    with trial_team(selection, workers, progress) as work:
        for _, trial in run_trials(work, log, candidates, seed, patience):
            yield trial


def run_trials(
    work: Team, log: TrialHistory, candidates: list[dict[str, Any]], seed: int, patience: int | None
) -> Iterator[tuple[dict[str, Any], Trial]]:
    """Every candidate once, with its trial, as soon as it is known; what the log knows is not tried again."""
    each = list({name_of(one): one for one in candidates}.values())
    if patience is not None:
        yield from _early_stopped(work, log, each, seed, patience)
        return
    families = _families(each) if learns_in_epochs(log.model) else [[one] for one in each]
    new = [any(log.find(one) is None for one in family) for family in families]
    answers = work([_job(log, family, seed) for family, untried in zip(families, new) if untried])
    for family, untried in zip(families, new):
        for trial in next(answers) if untried else ():
            log.add(trial)
        yield from ((one, log.known[name_of(one)]) for one in family)


def _early_stopped(
    work: Team, log: TrialHistory, candidates: list[dict[str, Any]], seed: int, patience: int
) -> Iterator[tuple[dict[str, Any], Trial]]:
    """Each candidate at its best epoch; one whose every epoch is known is not tried again."""
    if patience < 1:
        raise SettingError(f"--patience must be at least 1 epoch, but it is {patience}.")
    new = [curve_of(log, one, patience) is None for one in candidates]
    jobs = [
        TrialJob(log.model, one, log.metric, seed, (), patience)
        for one, untried in zip(candidates, new)
        if untried
    ]
    answers = work(jobs)
    for one, untried in zip(candidates, new):
        for trial in next(answers) if untried else ():
            if log.find(trial.settings) is None:
                log.add(trial)
        yield one, best(curve_of(log, one, patience) or [], log.metric)


def curve_of(log: TrialHistory, settings: dict[str, Any], patience: int) -> list[Trial] | None:
    """The trials of a setting epoch by epoch, to where patience or the epochs end; None where they do not."""
    most = most_epochs(log.model, settings)
    curve: list[Trial] = []
    for epoch in range(1, most + 1):
        found = log.find({**settings, "epochs": epoch})
        if found is None:
            return None
        curve.append(found)
        if is_over([trial.value for trial in curve], patience, side(log.metric)):
            break
    return curve


def _families(candidates: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Candidates that differ only in their number of epochs are stops on the way of one fit."""
    families: dict[str, list[dict[str, Any]]] = {}
    for one in candidates:
        families.setdefault(name_of({k: v for k, v in one.items() if k != "epochs"}), []).append(one)
    return list(families.values())


def _job(log: TrialHistory, family: list[dict[str, Any]], seed: int) -> TrialJob:
    if len(family) == 1:
        return TrialJob(log.model, family[0], log.metric, seed)
    stops = tuple(sorted(int(one["epochs"]) for one in family))
    return TrialJob(log.model, {**family[0], "epochs": stops[-1]}, log.metric, seed, stops)
