"""MLflow: settings as parameters, metrics and what was counted per epoch or round, the report as an artifact.

A comparison is a run with one run inside it per model and seed; a search has one per setting, with the metric
on the validation part at every number of epochs that was tried. What a folder has told once is not told again.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeGuard

from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from murmura.core.errors import RunError
from murmura.core.version import __version__
from murmura.engine.experiment import CURVE
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.scorer import Folder, open_folder
from murmura.studies.search.folder import SearchFolder, name_of

TRACKED = "mlflow.json"  # of a folder: what it is called there, by address
EXPERIMENT = "murmura"  # unless MLFLOW_EXPERIMENT_NAME says otherwise
AT_ONCE = 100  # parameters in a request, and metrics
Steps = Sequence[tuple[int, Mapping[str, float]]]  # after so many epochs or rounds, these numbers


@dataclass(frozen=True, eq=False)
class TrackedRun:
    """What becomes one run there: its name, its settings, and where its numbers are."""

    name: str
    settings: Mapping[str, Any]
    part: Run | None = None  # the folder of its numbers
    steps: Steps = ()  # numbers that no folder has


@dataclass(frozen=True, eq=False)
class MlflowTracker:
    """A tracking server or database."""

    uri: str
    client: MlflowClient
    experiment: str

    @staticmethod
    def connect(uri: str) -> MlflowTracker:
        """Refuses, before any work, an address that does not answer."""
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        try:
            client = MlflowClient(tracking_uri=uri)
            found = client.get_experiment_by_name(name)
            return MlflowTracker(uri, client, found.experiment_id if found else client.create_experiment(name))
        except Exception as error:  # MLflow passes on whatever its stores and requests raise
            raise RunError(
                f"--log must name an MLflow server or database that answers, but mlflow:{uri} does not: "
                f"{_first_line(error)}"
            ) from None

    def tell(self, folder: Path, page: Path | None = None) -> None:
        """Tell what a folder holds, and show its report."""
        found = open_folder(folder)
        try:
            whole = self._tell_once(found.run, _whole(found), "")
            for one in _inside(found):
                self._tell_once(found.run, one, whole)
            if page is not None:
                self.client.log_artifact(whole, str(page))
            self.client.set_terminated(whole)
        except (MlflowException, OSError) as error:
            raise RunError(
                f"mlflow:{self.uri} must take what {folder} holds, but refuses it ({_first_line(error)}); the "
                "folder is complete: give the same command once more."
            ) from None

    def _tell_once(self, folder: Run, one: TrackedRun, parent: str) -> str:
        """Under which name it is known there; one that was told before is left as it is."""
        tracked = folder.read(TRACKED) if folder.has(TRACKED) else {}
        known, key = tracked.setdefault(self.uri, {}), one.name if parent else ""
        if key in known:
            return str(known[key])
        tags = {"murmura": __version__, **({"mlflow.parentRunId": parent} if parent else {})}
        identity: str = self.client.create_run(self.experiment, run_name=one.name, tags=tags).info.run_id
        for some in _pieces([Param(_key(key), str(value)[:5000]) for key, value in one.settings.items()]):
            self.client.log_batch(identity, params=some)
        self._numbers(identity, one)
        if parent:
            self.client.set_terminated(identity)
        known[key] = identity
        folder.write_json(TRACKED, tracked)
        return identity

    def _numbers(self, identity: str, one: TrackedRun) -> None:
        """The metrics of a run, and before them what was written down on the way."""
        now, part = int(time.time() * 1000), one.part
        lines = [*one.steps, *([] if part is None else [*_rounds(part), *_curve(part)])]
        if part is not None and part.done:
            lines.append((max((step for step, _ in lines), default=0), part.metrics))
        found = [
            Metric(_key(key), float(value), now, step)
            for step, values in lines
            for key, value in values.items()
            if math.isfinite(value)
        ]
        for some in _pieces(found):
            self.client.log_batch(identity, metrics=some)


def _whole(folder: Folder) -> TrackedRun:
    """A folder as a whole; that of one model is itself what has the numbers."""
    config = dict(folder.run.config)
    models = config.pop("models", {})
    alone = folder.models[0].parts[0] if _has_one_run(folder) else None
    settings = {**_plain(config), **({"models": ", ".join(models)} if models else {})}
    return TrackedRun(folder.run.path.resolve().name, settings, alone)


def _inside(folder: Folder) -> Iterator[TrackedRun]:
    """What a folder has inside: the finished runs of a comparison, or the settings a search tried."""
    if isinstance(folder, SearchFolder):
        yield from _tried(folder)
    elif isinstance(folder, ComparisonFolder) and not _has_one_run(folder):
        for model in folder.models:
            settings = {"label": model.label, "name": model.name, **_plain(model.settings)}
            for part in model.done:
                yield TrackedRun(part.path.name, {**settings, "seed": part.seed}, part)


def _has_one_run(folder: Folder) -> TypeGuard[ComparisonFolder]:
    return isinstance(folder, ComparisonFolder) and folder.kind == "run"


def _tried(folder: SearchFolder) -> Iterator[TrackedRun]:
    """The settings a search tried, those that differ in their number of epochs as one."""
    families: dict[str, tuple[dict[str, Any], list[tuple[int, dict[str, float]]]]] = {}
    for trial in folder.trials:
        own = {key: value for key, value in trial.settings.items() if key != "epochs"}
        steps = families.setdefault(name_of(own), (own, []))[1]
        steps.append((int(trial.settings.get("epochs") or 0), {f"validation {folder.metric}": trial.value}))
    for own, steps in families.values():
        name = ", ".join(f"{key}={value}" for key, value in own.items()) or folder.model
        yield TrackedRun(name, {"model": folder.model, **_plain(own)}, None, sorted(steps, key=itemgetter(0)))


def _rounds(part: Run) -> Steps:
    """What the ledger counted per round, or per epoch of very many."""
    if (table := part.rounds) is None:
        return ()
    lines = [dict(zip(table.columns, row)) for row in table.values.tolist()]
    return [(int(line.pop("rounds")), line) for line in lines]


def _curve(part: Run) -> Steps:
    """How many of a classifier's samples were right after every round: mean over clients."""
    if not part.has(CURVE):
        return ()
    rows = part.read_grid(CURVE)[1].tolist()
    return [(int(row[0]), {"accuracy/clients": math.fsum(row[1:]) / len(row[1:])}) for row in rows]


def _plain(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A configuration without nesting: data.name, models.ease.reg."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= _plain(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
    return found


def _key(name: str) -> str:
    """A name as MLflow takes it: P@10 is P_at_10 there."""
    return re.sub(r"[^\w\-. /:]", "_", name.replace("@", "_at_"))[:250]


def _pieces(whole: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for first in range(0, len(whole), AT_ONCE):
        yield whole[first : first + AT_ONCE]


def _first_line(error: BaseException) -> str:
    """What it says first, without its way on: such messages are pages long."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{text[:197]}…" if len(text) > 200 else text
