"""One trial of an experiment: a setting fitted on the selection split, and what came of it."""

from __future__ import annotations

import math
import time

from murmura.core.errors import DataError, FederationError, MissingExtraError
from murmura.engine.protocol import Selection
from murmura.runs.trials import Trial, best_place, side
from murmura.studies.search.grid import TrialJob, run_job


def attempt(selection: Selection, job: TrialJob, epochs: int | None = None) -> Trial:
    """Fit once; with `epochs` as the most, until the job's patience ends.

    A training that diverges, or needs what is not installed or not in the data, is a result too: it has no
    value.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    asked, failed, missing = dict(job.settings), "", False
    value, curve, found = math.nan, list[float](), dict(job.settings)
    try:
        trials = run_job(selection, _whole(job, epochs))
        values = [trial.value for trial in trials]
        best = best_place(values, side(job.metric))
        value, curve = values[best], values if epochs else []
        found |= {"epochs": best + 1} if epochs else {}
    except MissingExtraError as error:
        failed, missing = str(error), True
    except (FederationError, DataError) as error:
        failed = str(error)
    seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Trial(found, value, seconds, job.model, tuple(curve), cpu, failed, missing, asked=asked)


def _whole(job: TrialJob, epochs: int | None) -> TrialJob:
    """The job with its number of epochs, or without patience where the method has none."""
    settings = {**job.settings, "epochs": epochs} if epochs else job.settings
    return TrialJob(job.model, settings, job.metric, job.seed, (), job.patience if epochs else None)
