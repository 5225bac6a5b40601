"""One run from its configuration to its folder: fit first, open the test part only when asked to evaluate.

Then what it recommends: the list of one person, from the model the folder keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.errors import RunError
from murmura.core.locks import locked
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress
from murmura.core.ranked_lists import RankedLists
from murmura.core.settings import as_dict
from murmura.engine.checkpoint import NAME as CHECKPOINT
from murmura.engine.experiment import record_lists, record_outcome, record_training, score
from murmura.engine.protocol import PreparedData
from murmura.engine.reasons import Reason, item_vectors, reasons
from murmura.engine.run import Run, environment
from murmura.studies.config import FitConfig, check_config, refuse_other_data
from murmura.studies.methods import defaults, method, name_and_settings

MODEL = "model.npz"
LISTED = 100  # items kept per user, enough for every usual cut-off


def fit_run(
    config: FitConfig, folder: Path, progress: Progress = SILENT, checkpoint_every: int | None = None
) -> Run:
    """Fit, keep the model and the lists. A finished fit in the same folder is not repeated.

    A federated training saves itself every `checkpoint_every` rounds (by default after every epoch), goes on
    from there when the same call is made again, and ends with the same bytes.
    """
    prepared, settings = prepare_run(config)
    name = str(config.model["name"])
    ready = method(name, settings, config.workers)
    ready.check(prepared.split.train, config.seed)
    with locked(folder):
        run = Run.create(folder, {**as_dict(config), "model": {"name": name, **settings}})
        if run.has(MODEL):
            return run
        with run.at_work():
            run.write_json("environment.json", environment())
            run.write_json("data.json", prepared.describe())
            model = ready.fit_resumably(prepared.split.train, config.seed, progress, run.path, checkpoint_every)
            users = np.flatnonzero(prepared.split.train.user_counts).astype(np.int32)
            record_lists(run, model.recommend(users, LISTED, config.workers), prepared.split)
            record_training(run, model)
            ready.save(run.path / MODEL, model)
        (run.path / CHECKPOINT).unlink(missing_ok=True)
        run.mark("fitted")
    return run


def evaluate_run(
    folder: Path, cutoffs: tuple[int, ...] | None = None, data_dir: Path | None = None
) -> dict[str, Any]:
    """Score a fitted run on the test part and keep the result."""
    run, config = Run.open(folder), read_config(folder)
    prepared, model = open_run(folder, data_dir)
    with locked(folder):
        split = prepared.open(run, {"model": config.model})
        outcome = score(model, split, prepared.protocol, config.workers, cutoffs or config.cutoffs)
        record_outcome(run, outcome, split)
        run.mark("done")
    values: dict[str, Any] = run.read("metrics.json")
    return values


def open_run(folder: Path, data_dir: Path | None = None) -> tuple[PreparedData, Model]:
    """The model a run keeps, with the data it was fitted on; refuses data of another fingerprint."""
    run, config = Run.open(folder), read_config(folder)
    if not run.has(MODEL):
        raise RunError(
            f"{folder} must hold a fitted model, but has none; run `murmura fit --out {folder}` to its end."
        )
    prepared, settings = prepare_run(config, data_dir)
    refuse_other_data(prepared, run)
    ready = method(str(config.model["name"]), settings)
    return prepared, ready.load(run.path / MODEL, prepared.split.train)


def read_config(folder: Path) -> FitConfig:
    """The configuration of a run of one model."""
    read = check_config(Run.open(folder).config, str(folder / "config.yaml"))
    if not isinstance(read, FitConfig):
        raise RunError(
            f"{folder} must be the run of one model, but is a comparison; give a folder `murmura fit` wrote."
        )
    return read


def prepare_run(config: FitConfig, data_dir: Path | None = None) -> tuple[PreparedData, dict[str, Any]]:
    """The data of a run made ready, and its model's settings made whole."""
    prepared, (name, own) = config.data.prepare(config.protocol, data_dir), name_and_settings(config.model)
    return prepared, {**defaults(prepared.protocol.name, prepared.data, name), **own}


@dataclass(frozen=True)
class Recommendation:
    """One line of a list."""

    rank: int
    item: Any  # own id
    name: str
    score: float
    similar: str  # the name of the nearest own item; "" where none was asked for or there is none
    cosine: float

    def reason(self) -> str:
        """The reason as a person reads it."""
        return f"similar to {self.similar} ({self.cosine:.2f})" if self.similar else ""

    def flat(self, why: bool) -> dict[str, Any]:
        """One flat object, as --json prints it."""
        line = {"rank": self.rank, "item": self.item, "name": self.name, "score": self.score}
        return {**line, "similar to": self.similar, "cosine": self.cosine} if why else line


def recommend_one(
    folder: Path, user: str, likes: list[str], k: int, why: bool, data_dir: Path | None = None
) -> list[Recommendation]:
    """The k best items of a known user, or of someone unknown who likes some items."""
    prepared, model = open_run(folder, data_dir)
    train = prepared.split.train
    if user:
        code = train.users.index([user], "user")
        own = train.by_user.of(int(code[0]))
        lists = model.recommend(code, k)
    else:
        own = np.unique(train.items.index(likes, "item"))
        lists = model.recommend_history(own, k)
    found = reasons(item_vectors(model), own, _items(lists)) if why else []
    return _shown(prepared, lists, found)


def _items(lists: RankedLists) -> Ints:
    row = lists.item[0]
    kept: Ints = row[row >= 0]
    return kept


def _shown(prepared: PreparedData, lists: RankedLists, found: list[Reason]) -> list[Recommendation]:
    catalogue, labels = prepared.catalogue, prepared.split.data.items.labels.tolist()
    lines = []
    for place, item in enumerate(_items(lists).tolist()):
        reason = found[place] if found else Reason(item, -1, 0.0)
        similar = catalogue.name(reason.nearest) if reason.nearest >= 0 else ""
        score = float(lists.score[0, place])
        lines.append(
            Recommendation(place + 1, labels[item], catalogue.name(item), score, similar, reason.cosine)
        )
    return lines
