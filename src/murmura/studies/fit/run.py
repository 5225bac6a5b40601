"""One model and its folder: fit first, open the test part only when asked to evaluate, for a stated choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.errors import DataError, RunError, said_of
from murmura.core.locks import locked
from murmura.core.model import Model, RankedLists
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict
from murmura.engine.checkpoint import NAME as CHECKPOINT
from murmura.engine.experiment import record_lists, record_outcome, record_reasons, record_training, score
from murmura.engine.federation import Runtime
from murmura.engine.protocol import PreparedData
from murmura.engine.run_folder import MODEL, Run, environment
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.registry import chosen_metrics
from murmura.studies.configuration import DataConfig, FitConfig, check_config
from murmura.studies.kept_models import open_model
from murmura.studies.methods import few_people, kept_settings, method, name_and_settings
from murmura.studies.order_seen import record_order

LISTED = 100  # items kept per user, enough for every usual cut-off


def fit_run(
    config: FitConfig,
    folder: Path,
    progress: Progress = SILENT,
    checkpoint_every: int | None = None,
    runtime: Runtime | None = None,
    heard: Callable[[str], None] | None = None,
) -> Run:
    """Fit, keep the model and the lists. A finished fit in the same folder is not repeated.

    A federated training saves itself every `checkpoint_every` rounds (by default after every epoch), goes on
    from there when the same call is made again, and ends with the same bytes. `runtime` carries its rounds;
    `heard` is told what there is to say about the data.
    """
    config = config.whole()
    prepared, settings = prepare_run(config)
    prepared.tell(heard)
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
            record_lists(run, _lists(model, prepared, config.workers), prepared.split)
            record_training(run, model)
            record_reasons(run, model, prepared.catalogue)
            ready.save(run.path / MODEL, model)
            (run.path / CHECKPOINT).unlink(missing_ok=True)
    return run


def _lists(model: Model, prepared: PreparedData, workers: int) -> RankedLists | None:
    """The lists of everyone who has training rows; none where samples are classified."""
    users = np.flatnonzero(prepared.split.train.user_counts).astype(np.int32)
    return None if prepared.protocol.classifies else model.recommend(users, LISTED, workers)


def evaluate_run(
    folder: Path,
    cutoffs: tuple[int, ...] | None = None,
    data_dir: Path | None = None,
    metrics: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Score a fitted run on the test part and keep the result."""
    run, config = Run.open(folder), read_config(folder)
    if not run.has(MODEL):
        raise RunError(
            f"{folder} must hold a fitted model, but has none; run `murmura fit --out {folder}` to its end."
        )
    prepared, model = open_model(folder, data_dir=data_dir)
    wanted = chosen_metrics(metrics or config.metrics, prepared.protocol.scores)
    with locked(folder):
        split = prepared.open(run, {"model": config.model})
        at, rules = cutoffs or config.cutoffs, prepared.protocol
        outcome = score(model, split, rules, config.workers, at, metrics=wanted)
        record_outcome(run, outcome, split)
        run.mark("done")
    values: dict[str, Any] = run.read("metrics.json")
    return values


def evaluate(
    model: Model,
    ready: PreparedData,
    *,
    choice: str | dict[str, Any],
    metrics: Sequence[str] = (),
    cutoffs: tuple[int, ...] | None = None,
    folder: Path | None = None,
    workers: int = 1,
) -> Evaluation:
    """Open the test part for a stated choice and score a model on it.

    Args:
        model: Fitted on `ready.split.train`.
        ready: What `prepare` gave; another choice is refused from then on, the same one may score more models.
        choice: What was chosen, and how: "ease, reg 500, by nDCG@10 on validation". Whoever chooses afterwards
            has seen the test part.
        metrics: By name, as `--metrics` takes them; none: the usual ones.
        cutoffs: The lengths of lists; None: the protocol's.
        folder: A run folder that keeps the choice, the metrics and the lists.
        workers: Threads; the values do not depend on it.
    """
    if model.train.fingerprint != ready.split.train.fingerprint:
        raise DataError(
            "the model must be fitted on ready.split.train, but was fitted on other rows; fit it again there."
        )
    rules, stated = ready.protocol, {"choice": choice}
    wanted = chosen_metrics(metrics, rules.scores)
    if folder is None:
        split = ready.open(None, stated)
        return score(model, split, rules, workers, cutoffs or rules.cutoffs, metrics=wanted).evaluation
    with locked(folder):
        run = Run.create(folder, {"data": ready.data, "protocol": rules.name, **stated})
        run.write_json("data.json", ready.describe())
        run.write_json("environment.json", environment())
        split = ready.open(run, stated)
        outcome = score(model, split, rules, workers, cutoffs or rules.cutoffs, metrics=wanted)
        record_lists(run, outcome.lists, split)
        record_outcome(run, outcome, split)
        run.mark("done")
    return outcome.evaluation


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
    settings = {**kept_settings(prepared.protocol.name, prepared.data, name, own), **own}
    return prepared, {**few_people(name, settings, prepared.split.train), **settings}
