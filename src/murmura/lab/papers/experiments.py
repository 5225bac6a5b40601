"""The papers' tables and figures as files: what is run, what was printed, what is doubted and why.

`experiments/*.yaml` holds one file for each; a wheel carries them inside the package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import Field

from murmura.algorithms import algorithm
from murmura.baselines import BASELINES, baseline
from murmura.channel.ledger import paper_costs
from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.plugins import unknown_name
from murmura.core.settings import Count, changed, settings
from murmura.evaluation.registry import DEFAULT_METRICS
from murmura.lab.sweep.folder import entry_label
from murmura.studies.configuration import Path_, checked, experiment_folder, read_yaml
from murmura.studies.methods import method
from murmura.studies.search.grid import learns_in_epochs
from murmura.studies.search.space import Axes, Values, corners, has_range, space_of

Analysis = Literal[
    "sweep", "fresh", "popularity", "bias", "audit", "groups",
    "features", "entropy", "learning", "convergence", "data",
]  # fmt: skip
RUN_FOR_IT = ("audit", "features")  # analyses that train more
NOT_PAPERS = ("defaults", "rule", "readme")  # plans of searches and of a study beside the papers' files
AS_COMPARE = "as compare takes them"  # of the settings of a row that says `kept`
OWN = ("title", "same_run_as", "doubts")  # what is never taken over from another file
Refusal = Callable[[Path_, str], NoReturn]  # of what stands at a place of a file, and why
NAME = re.compile(r"[a-z0-9][a-z0-9.+_-]*")


@settings
class Row:
    """One line of a table: a method, its settings, and where the rest of them is searched."""

    model: str
    settings: dict[str, Any] = Field(default_factory=dict)
    search: tuple[Axes, ...] = ()  # grids, or spaces where an axis is a range; each starts
    # from the winner so far
    epochs: Count | None = None  # the most epochs of a fit; the best one is kept
    patience: Count = 3  # epochs without a better one before a fit stops
    sweep: dict[str, Values] = Field(default_factory=dict)  # one setting of which every value is kept
    seeds: Count | None = None  # where it is run with fewer than the other rows
    trial: dict[str, Any] = Field(default_factory=dict)  # settings of its trials alone: a shorter training
    tuned_as: str = ""  # another row, whose searched settings it takes over before it searches itself
    renamed: dict[str, str] = Field(default_factory=dict)  # keys of that row -> what this model calls them
    kept: bool = False  # whether it takes the settings that `compare` takes on the data set, below its own


@settings
class Doubt:
    """Printed numbers that a run cannot be held to, and why; an empty list means all."""

    data: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    reason: str

    def about(self, data: str, row: str, metric: str) -> bool:
        """Whether it is about this number."""
        asked = ((self.data, data), (self.rows, row), (self.metrics, metric))
        return all(not some or one in some for some, one in asked)


@settings
class Quick:
    """What `--quick` runs of a data set of the paper, and what it makes smaller on any other."""

    rows: tuple[str, ...] = ()  # of the paper's data; none: those that take seconds by `is_cheap`
    without: tuple[str, ...] = ()  # rows left out on other data, which is too small for their settings
    data: str = "embedded"  # where none of the paper's is here, or no row is cheap
    protocol: str = ""  # "": the experiment's own
    epochs: Count = 2
    values: Count = 2  # of each axis
    seeds: Count = 2


@settings
class Counts:
    """The size of a data set as the paper prints it: enough for what no training is needed for."""

    users: Count
    items: Count
    rows: Count


@settings
class Experiment:
    """One table or figure of a paper."""

    name: str = ""  # of the file
    like: str = ""  # another file, of which every key is taken over that this one does not give, but for OWN
    title: str
    paper: str
    docs: str  # the page that says what was found
    says: str = ""  # what the paper concludes from it, where it prints no numbers
    data: Annotated[tuple[str, ...], Field(min_length=1)]  # the paper's data sets
    also: tuple[str, ...] = ()  # others it can be run on, where the paper's are not public
    protocol: str = "fpl"
    metric: str = "P@10"  # what settings are chosen by, on the validation part
    trials: Count | None = None  # of a search with a range: so many settings by tpe
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = (
        DEFAULT_METRICS  # what is measured on the test part
    )
    cutoffs: tuple[Count, ...] = ()  # of the lists; none: those of the protocol
    shown: Annotated[tuple[str, ...], Field(min_length=1)]  # the metrics of the table
    seeds: Count = 3
    rows: dict[str, Row] = Field(default_factory=dict)
    same_run_as: dict[str, str] = Field(default_factory=dict)  # data -> the experiment whose run this one shows
    shown_rows: tuple[str, ...] = ()  # of a run it shares; none: all of them
    analyses: tuple[Analysis, ...] = ()
    against: str = ""  # the row whose difference from every other is tested, by t and Wilcoxon
    tests: tuple[tuple[str, str], ...] = ()  # pairs of rows that are tested against each other, likewise
    counts: dict[str, Counts] = Field(default_factory=dict)
    printed: dict[str, dict[str, dict[str, float]]] = Field(default_factory=dict)  # data -> row -> metric
    printed_as: dict[str, str] = Field(
        default_factory=dict
    )  # metric -> another name that the paper prints it under
    doubts: tuple[Doubt, ...] = ()
    quick: Quick = Field(default_factory=Quick)

    @property
    def of_data(self) -> bool:
        """Whether it is a table of data sets: counted, nothing is trained."""
        return "data" in self.analyses

    def doubt(self, data: str, row: str, metric: str) -> str:
        """Why a printed number is doubted; "" where it is not."""
        return next((one.reason for one in self.doubts if one.about(data, row, metric)), "")

    def shows(self, ran: Experiment) -> Experiment:
        """An experiment whose run this one shows, with no more than the rows it shows of it."""
        if not self.shown_rows:
            return ran
        return changed(ran, rows={label: row for label, row in ran.rows.items() if label in self.shown_rows})

    def cheap(self) -> Experiment | None:
        """The rows that take seconds, with their settings and fewer values to choose from; None without any."""
        quick = self.quick
        rows = {
            label: changed(row, search=tuple(_shorter(axes, quick.values) for axes in row.search))
            for label, row in self.rows.items()
            if (label in quick.rows if quick.rows else is_cheap(row))
        }
        if not rows:
            return None
        kept = tuple(one for one in self.analyses if one not in RUN_FOR_IT)
        return changed(self, rows=rows, seeds=1, analyses=kept, tests=(), against="")

    def smaller(self, data: str = "") -> Experiment:
        """The same experiment as `--quick` runs it on other data: fewer epochs, values and seeds, most rows.

        A leaking sampler leaks of that data. Left out are the rows whose settings fit the paper's data alone.
        """
        quick = self.quick
        rules = quick.protocol or self.protocol
        leaks = {"leak": f"{data or quick.data}/{rules}"}
        rows = {
            label: changed(
                row,
                search=tuple(_shorter(_fewer_epochs(axes, quick.epochs), quick.values) for axes in row.search),
                sweep=_shorter(row.sweep, quick.values),
                epochs=row.epochs and min(row.epochs, quick.epochs),
                settings=_fewer_epochs(row.settings, quick.epochs) | (leaks if "leak" in row.settings else {}),
                trial=_fewer_epochs(row.trial, quick.epochs),
            )
            for label, row in self.rows.items()
            if label not in quick.without
        }
        trials = self.trials and min(self.trials, quick.values)
        return changed(self, rows=rows, seeds=min(self.seeds, quick.seeds), trials=trials, protocol=rules)


def is_cheap(row: Row) -> bool:
    """Whether a row takes seconds: a centralised method that is solved, not learned in epochs."""
    solved = row.model in BASELINES and not learns_in_epochs(row.model) and baseline(row.model).extra is None
    return solved and not (row.sweep or row.tuned_as or any(map(has_range, row.search)))


def _fewer_epochs(values: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Settings, or axes of them, in which a fit ends after so many epochs."""
    epochs = values.get("epochs")
    if isinstance(epochs, list):
        return {**values, "epochs": list(dict.fromkeys(min(one, most) for one in epochs))}
    return {**values, "epochs": min(epochs, most)} if isinstance(epochs, int) else dict(values)


def _shorter(axes: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The last values of the first axis, the very last of the others: the usual ones come last (pi = 1)."""
    return {
        key: values if isinstance(values, str) else values[-(most if place == 0 else 1) :]
        for place, (key, values) in enumerate(axes.items())
    }


def experiment_names(folder: Path | None = None) -> list[str]:
    """The names of all experiments."""
    names = sorted(file.stem for file in (folder or experiment_folder()).glob("*.yaml"))
    return [name for name in names if name not in NOT_PAPERS]


def experiment(name: str, folder: Path | None = None) -> Experiment:
    """The experiment of that name, checked; or that of a file of one's own (`mine.yaml`)."""
    if name.endswith((".yaml", ".yml")):
        return read_experiment(Path(name))
    names = experiment_names(folder)
    if name not in names:
        raise SettingError(unknown_name("experiment", name, tuple(names)))
    return read_experiment((folder or experiment_folder()) / f"{name}.yaml")


def read_experiment(path: Path) -> Experiment:
    """Read and check a file; a mistake is named with its line."""
    values, lines = read_yaml(path, "'title:' and 'rows:'")

    def where(place: Path_) -> str:
        line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), None)
        return f"{path}:{line}: " if line else f"{path}: "

    def refuse(place: Path_, text: str) -> NoReturn:
        raise SettingError(where(place) + text) from None

    if not NAME.fullmatch(path.stem):
        raise SettingError(f"{path} must be named in lower case without spaces; rename it.")
    values = _taken_over(values, path, refuse)
    parts = {"rows": Row, "doubts": Doubt, "quick": Quick, "counts": Counts}
    read = checked(Experiment, {**values, "name": path.stem}, where, parts)
    for label in read.rows:
        _check_row(read, label, refuse)
    for wrong in read.quick.without:
        if wrong not in read.rows:
            refuse(("quick",), f"quick.without must name rows, but '{wrong}' is none; name another.")
    named = {row for pair in read.tests for row in pair} if read.rows else set()
    for wrong in sorted(named - read.rows.keys()):
        refuse(("tests",), f"tests must name rows, but '{wrong}' is none; name another.")
    if not (read.rows or read.same_run_as or read.counts or read.of_data):
        refuse(("rows",), "an experiment must have rows, or say whose run it shows.")
    return read


def _taken_over(values: dict[str, Any], path: Path, refuse: Refusal) -> dict[str, Any]:
    """The values of a file with those of the one it is like, which lies beside it or is one of ours."""
    like = values.get("like", "")
    if not like:
        return values
    beside, ours = (folder / f"{like}.yaml" for folder in (path.parent, experiment_folder()))
    base, _ = read_yaml(beside if beside.is_file() else ours, "'title:' and 'rows:'")
    if "like" in base:
        other = f"{like} is like {base['like']}; name that one."
        refuse(("like",), f"must name a file that has its rows itself, but {other}")
    return {**{key: value for key, value in base.items() if key not in OWN}, **values}


def _check_row(read: Experiment, label: str, refuse: Refusal) -> None:
    """Every setting that could be tried must exist and be allowed, before anything is run.

    So must what a row takes over from another, which has been searched there.
    """
    row, place = read.rows[label], ("rows", label)
    other = read.rows.get(row.tuned_as, Row(model=row.model))
    whole: Axes = {key: [one] for key, one in row.trial.items()}
    whole |= {"epochs": [row.epochs]} if row.epochs else {}
    tried: list[tuple[Path_, Axes]] = [(place, whole)]
    for number, axes in enumerate(row.search):
        tried += [((*place, "search", str(number), key), {key: axis}) for key, axis in axes.items()]
    tried += [((*place, "sweep", key), {key: [*values]}) for key, values in row.sweep.items()]
    for axes in other.search:
        tried += [((*place, "tuned_as"), {row.renamed.get(key, key): axis}) for key, axis in axes.items()]
    for at, axes in tried:
        try:
            for one in corners(space_of(axes)) or [{}]:
                method(row.model, {**row.settings, **one})
        except SettingError as error:
            refuse(at, str(error))
    if len(row.sweep) > 1:
        refuse((*place, "sweep"), "a sweep must vary one setting, but it varies several.")
    if row.tuned_as and (not other.search or other.tuned_as):
        wrong = f"tuned_as must name a row with 'search:', but '{row.tuned_as}' is none; name another."
        refuse((*place, "tuned_as"), wrong)
    if read.trials is None and any(map(has_range, row.search)):
        refuse(place, "a search with a range needs 'trials:'.")


def costs(counts: Counts, model: str, settings: dict[str, Any]) -> dict[str, float]:
    """CCE, freshness and its normalised form, T and clients per round of a configuration on so much data."""
    preset = algorithm(model)(**settings)
    listed = np.arange(counts.items, dtype=np.int32)
    info = FederationInfo(counts.items, listed, counts.users, counts.rows)
    triples = preset.algorithm().visit_examples(info)
    schedule, cohort = preset.schedule(), preset.schedule().cohort(info)
    rounds = schedule.epoch_rounds(info, triples)
    pi = preset.consent().average_pi
    found = paper_costs(rounds, rounds, cohort, counts.items, triples, pi, counts.rows)
    del found["TCC"]  # needs the number of epochs, which a training finds
    return {**found, "T": float(triples), "clients per round": float(cohort)}


def calculated_costs(experiment: Experiment, data: str) -> dict[str, dict[str, float]]:
    """Every entry of an experiment on a data set of which only the size is known: label -> measure -> value."""
    found: dict[str, dict[str, float]] = {}
    for label, row in experiment.rows.items():
        entries = {label: row.settings}
        for key, values in row.sweep.items():
            entries = {entry_label(label, key, value): {**row.settings, key: value} for value in values}
        found |= {name: costs(experiment.counts[data], row.model, own) for name, own in entries.items()}
    return found
