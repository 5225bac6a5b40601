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
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.flag_text import parse_settings, parse_value
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Flag, as_dict, changed, settings
from murmura.engine.prepared import Selection, refuse_opened
from murmura.engine.run_folder import Run, environment
from murmura.studies.configuration import ProtocolConfig
from murmura.studies.methods import below_minimum_cohort
from murmura.studies.search.folder import CHOICE, TRIALS, Choice, Trial, side
from murmura.studies.search.grid import check_candidates, search
from murmura.studies.search.space import Axes
from murmura.studies.search.tpe import Candidates, candidates
from murmura.studies.worker_pool import Workers

STUDY = "study.db"


def parse_space(given: list[str], flag: str = "--space") -> Axes:
    """`KEY=LOW:HIGH`: the range of each setting; after --grid `KEY=V,V`, its values."""
    found: Axes = {}
    for one in given:
        key, equals, text = one.partition("=")
        if not equals or not text or not key:
            example = "k=50,100" if flag == "--grid" else "alpha=0.01:0.3:log"
            raise SettingError(f"{flag} must be KEY=…, but it is '{one}'; write for example {flag} {example}.")
        found[key] = [parse_value(one) for one in text.split(",")] if flag == "--grid" else text
    return found


@settings
class SearchConfig(ProtocolConfig):
    """A search: what `murmura search` takes, and what its folder keeps."""

    # Which model.
    search: Annotated[str, Flag("--model")]
    fixed: dict[str, Any] = field(default_factory=dict)
    # Every combination, or Optuna's TPE.
    sampler: Annotated[Literal["grid", "tpe"], Flag()] = "grid"
    # A range, for tpe; repeatable.
    space: Annotated[
        dict[str, list[Any] | str], Flag(metavar="KEY=LOW:HIGH[:log][:int]", read=parse_space, several=True)
    ]
    # What decides; of errors the lowest wins.
    metric: Annotated[str, Flag()] = "P@10"
    # Stop a fit after so many epochs without a better one.
    patience: Annotated[Annotated[int, Field(ge=1)] | None, Flag()] = None
    # The first seed.
    seed: Annotated[int, Field(ge=0), Flag()] = 0

    @classmethod
    def default(cls, **own: Any) -> Self:
        """What is meant where nothing is said."""
        return super().default(search="", space={}, **own)

    def with_settings(self, given: list[str]) -> Self:
        """With what -S says."""
        return changed(self, fixed=parse_settings(given, [self.search])[self.search])

    def with_grid(self, given: list[str]) -> Self:
        """With what --grid says before the ranges of --space."""
        return changed(self, space=parse_space(given, "--grid") | self.space)

    def written(self) -> dict[str, Any]:
        """As a run folder keeps it."""
        whole = as_dict(self.whole())
        return {"data": whole.pop("data"), **whole}

    def tried(self, trials: int, study: Path | None = None) -> Candidates:
        """What is tried: by tpe so many settings of the space, or every combination; a grid has no ranges."""
        no_range = "a grid must have lists of values, but --space gives a range; use --sampler tpe."
        return candidates(self.space, trials if self.sampler == "tpe" else None, self.fixed, no_range, study)


def search_run(
    config: SearchConfig,
    folder: Path,
    *,
    trials: int = 20,
    history: Path | None = None,
    workers: int | Workers = 1,
    progress: Progress = SILENT,
    on_message: Callable[[str], None] | None = None,
) -> Iterator[Trial]:
    """Search, and keep the choice; the same call goes on where a killed one stopped.

    `trials` is how many settings tpe tries in all; a later call with more goes on. A folder whose test part has
    been opened searches no more. `on_message` is told what there is to say about the data.
    """
    refuse_opened(Run(folder))
    side(config.metric)
    check_candidates(config.search, config.tried(trials), config.patience)
    selection, about = _load_selection(config, on_message)
    fewer = below_minimum_cohort(config.search, config.fixed, selection.split.train)
    config = changed(config, fixed={**fewer, **config.fixed})
    with locked(folder):
        refuse_opened(Run(folder))  # somebody may have opened it while the data was read
        run = Run.create(folder, config.written())  # nothing is written before everything has been checked
        run.write_data(about)
        run.write_json("environment.json", environment())
        found: list[Trial] = []
        with run.running(then="chosen"):
            asked, log = config.tried(trials, run.path / STUDY), history or run.path / TRIALS
            for trial in search(
                selection, config.search, asked, log, metric=config.metric, seed=config.seed,
                workers=workers, patience=config.patience, progress=progress,
            ):  # fmt: skip
                found.append(trial)
                yield trial
            choice = Choice.of(found, selection, config.search, config.metric, history)
            run.write_json(CHOICE, asdict(choice))


def _load_selection(
    config: SearchConfig, on_message: Callable[[str], None] | None
) -> tuple[Selection, dict[str, Any]]:
    """What is chosen on, and counts of all parts. When it returns, no test row is left in this process."""
    prepared = config.data.prepare(config.protocol)
    prepared.tell(on_message)
    return prepared.selection(), prepared.describe()
