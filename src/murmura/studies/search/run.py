"""A search and its folder: the trials, the choice, and at the end the test part, opened once for that choice.

runs/<id>/
  config.yaml      data, protocol, model, what is searched and how
  data.json        counts and fingerprints of the parts
  trials.csv       every trial (or the file named by --history)
  study.db         the study of --sampler tpe
  choice.json      what won on the validation part
  opened.json      when the test part was opened, for which choice; from then on the search is over
  metrics.json, per_user.csv, recommendations.tsv, …   what the choice reached on the test part
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import as_dict, changed, settings
from murmura.engine.protocol import Selection
from murmura.engine.run_folder import Run, environment
from murmura.engine.sealed import refuse_opened
from murmura.studies.configuration import DataConfig
from murmura.studies.methods import few_people
from murmura.studies.search.folder import CHOICE, TRIALS, Trial, best, side
from murmura.studies.search.grid import Candidates, check_candidates, search
from murmura.studies.search.space import grid, has_range, space_of
from murmura.studies.search.tpe import Tpe
from murmura.studies.worker_pool import Workers

STUDY = "study.db"


@settings
class SearchConfig:
    """A search as its folder keeps it."""

    data: DataConfig
    protocol: str = "default"
    search: str  # the model
    fixed: dict[str, Any] = field(default_factory=dict)
    sampler: Literal["grid", "tpe"] = "grid"
    space: dict[str, list[Any] | str]  # key -> values, or a range LOW:HIGH[:log][:int]
    metric: str = "P@10"
    patience: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0

    def candidates(self, trials: int, study: Path | None = None) -> Candidates:
        """What is tried: by tpe so many settings of the space, or every combination; a grid has no ranges."""
        space = space_of(self.space)
        if self.sampler == "tpe":
            return Tpe(space, trials, self.fixed, study)
        if has_range(self.space):
            raise SettingError(
                "a grid must have lists of values, but --space gives a range; use --sampler tpe."
            )
        return [{**self.fixed, **one} for one in grid(self.space)]


def search_run(
    config: SearchConfig,
    folder: Path,
    *,
    trials: int = 20,
    history: Path | None = None,
    workers: int | Workers = 1,
    progress: Progress = SILENT,
    heard: Callable[[str], None] | None = None,
) -> Iterator[Trial]:
    """Search, and keep the choice; the same call goes on where a killed one stopped.

    `trials` is how many settings tpe tries in all; a later call with more goes on. A folder whose test part has
    been opened searches no more. `heard` is told what there is to say about the data.
    """
    refuse_opened(Run(folder))
    side(config.metric)
    check_candidates(config.search, config.candidates(trials), config.patience)
    selection, about = _load_selection(config, heard)
    fewer = few_people(config.search, config.fixed, selection.split.train)
    config = changed(config, fixed={**fewer, **config.fixed})
    with locked(folder):
        refuse_opened(Run(folder))  # somebody may have opened it while the data was read
        run = Run.create(folder, as_dict(config))  # nothing is written before everything has been checked
        run.write_data(about)
        run.write_json("environment.json", environment())
        found: list[Trial] = []
        with run.running(then="chosen"):
            asked, log = config.candidates(trials, run.path / STUDY), history or run.path / TRIALS
            for trial in search(
                selection, config.search, asked, log, metric=config.metric, seed=config.seed,
                workers=workers, patience=config.patience, progress=progress,
            ):  # fmt: skip
                found.append(trial)
                yield trial
            run.write_json(CHOICE, _choice(config, selection, found, history))


def _choice(
    config: SearchConfig, selection: Selection, found: list[Trial], history: Path | None
) -> dict[str, Any]:
    winner = best(found, config.metric)
    return {
        "model": config.search,
        "settings": winner.settings,
        "metric": config.metric,
        "value": winner.value,
        "trials": len(found),
        "seconds": round(sum(trial.seconds for trial in found), 2),
        "history": None if history is None else str(history),
        "data": selection.data,
        "protocol": selection.protocol.name,
    }


def _load_selection(
    config: SearchConfig, heard: Callable[[str], None] | None
) -> tuple[Selection, dict[str, Any]]:
    """What is chosen on, and counts of all parts. When it returns, no test row is left in this process."""
    prepared = config.data.prepare(config.protocol)
    prepared.tell(heard)
    return prepared.selection(), prepared.describe()
