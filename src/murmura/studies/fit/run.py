"""One model and its folder: fit first, open the test part only when asked to evaluate, for a stated choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.errors import RunError, said_of
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict
from murmura.engine.experiment import record_lists, record_reasons, record_training
from murmura.engine.federation import Runtime
from murmura.engine.fit import CHECKPOINT
from murmura.engine.prepared import PreparedData
from murmura.engine.run_folder import MODEL, Run, environment
from murmura.studies.compare.folder import record_order
from murmura.studies.configuration import DataConfig, FitConfig, check_config
from murmura.studies.methods import below_minimum_cohort, method, name_and_settings, published_settings

LISTED = 100  # items kept per user, enough for every usual cut-off


def fit_run(
    config: FitConfig,
    folder: Path,
    progress: Progress = SILENT,
    checkpoint_every: int | None = None,
    runtime: Runtime | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Run:
    """Fit, keep the model and the lists. A finished fit in the same folder is not repeated.

    A federated training saves itself every `checkpoint_every` rounds (by default after every epoch), goes on
    from there when the same call is made again, and ends with the same bytes. `runtime` carries its rounds;
    `on_message` is told what there is to say about the data.
    """
    config = config.whole()
    prepared, settings = prepare_run(config)
    prepared.tell(on_message)
    name = str(config.model["name"])
    with said_of(name):
        ready = method(name, settings, config.workers, runtime)
        ready.check(prepared.split.train, config.seed)
    with locked(folder):
        run = Run.create(folder, {**as_dict(config), "model": {"name": name, **settings}})
        if run.has(MODEL):
            return run
        with run.running(then="fitted"):
            run.write_json("environment.json", environment())
            run.write_data(prepared.describe())
            record_order(run, [name] if ready.uses_order else [], prepared.protocol.order)
            model = ready.fit_resumably(prepared.split.train, config.seed, progress, run.path, checkpoint_every)
            if not prepared.protocol.classifies:
                users = np.flatnonzero(prepared.split.train.user_counts).astype(np.int32)
                record_lists(run, model.recommend(users, LISTED, config.workers), prepared.split)
            record_training(run, model)
            record_reasons(run, model, prepared.catalogue)
            ready.save(run.path / MODEL, model)
            (run.path / CHECKPOINT).unlink(missing_ok=True)
    return run


def read_config(folder: Path) -> FitConfig:
    """The configuration of a run of one model."""
    read = check_config(Run.open(folder).config, str(folder / "config.yaml"))
    if not isinstance(read, FitConfig):
        raise RunError(
            f"{folder} must be the run of one model, but is a comparison; give a folder `murmura fit` wrote."
        )
    return read


def prepare_run(config: FitConfig, data: DataConfig | None = None) -> tuple[PreparedData, dict[str, Any]]:
    """The data of a run made ready, and its model's settings made whole; `data` where they are found again."""
    prepared = (data or config.data).prepare(config.whole_protocol)
    name, own = name_and_settings(config.model)
    settings = {**published_settings(prepared.protocol.name, prepared.data, name, own), **own}
    return prepared, {**below_minimum_cohort(name, settings, prepared.split.train), **settings}
