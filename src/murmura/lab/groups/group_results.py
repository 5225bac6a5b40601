"""What the groups of several runs say together: tables 2 and 3 and the rows of figure 3 of FedSPLIT.

Read from a comparison's folder: its runs of `cnmf-groups` are set beside those of other methods with the same
groups. Errors are mean squared errors, the measure the paper prints under the name RMSE, with RMSE beside them.
A method is what the user labelled; runs `<label>-<n>` that differ in their grouping `n` alone are one method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.core.arrays import Floats
from murmura.core.catalogue import Dataset, Split
from murmura.core.errors import RunError
from murmura.core.model import Model
from murmura.core.schedule import Schedule
from murmura.data.splits.random_holdout import CoveredRandomHoldout
from murmura.engine.experiment import Tables
from murmura.engine.run_folder import Run
from murmura.evaluation.significance import seed_interval
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.folder import ComparisonFolder, ModelRuns
from murmura.studies.compare.run import compare
from murmura.studies.methods import defaults

FILE = "per_group.csv"
HEADER = ("group", "members", "ratings", "held out", "RMSE", "MSE", "left out because")
ALONE, CENTRAL = "cnmf-groups", "cnmf"
GROUPING = ("groups", "smallest", "largest", "group_column", "user_column")
CUTOFFS = (0.84, 0.96)  # of section 4.3: its best rival's error, and where its own groups have that on average
COLUMNS = ("members", "ratings", "alone", "after")


@dataclass(frozen=True, eq=False)
class GroupingPair:
    """The groups of one grouping with and without an exchange."""

    model: str
    grouping: tuple[Any, ...]  # what it is known by
    members: Floats  # (groups,)
    ratings: Floats  # (groups,) for training
    alone: Floats  # (groups,) MSE of the group's own model
    after: Floats  # (groups,) MSE after the exchange


@dataclass(frozen=True)
class GroupSummary:
    """A line of table 2, and of table 3 beside it."""

    model: str
    groupings: int
    groups: int
    improved: int
    gain: float  # mean change of the MSE of the groups that improved
    loss: float  # of those that did not; 0 without any
    gain_reach: float | None  # half of its 95 % interval over groups (t); None for fewer than two
    loss_reach: float | None
    members_pearson: float
    ratings_pearson: float
    alone: float  # MSE, mean over the groups of all groupings
    after: float
    within: dict[float, GroupsWithin]  # by cut-off


@dataclass(frozen=True)
class GroupsWithin:
    """The groups whose MSE after the exchange is at or below a cut-off."""

    share: float
    mean: float | None  # their MSE; None without any


@dataclass(frozen=True, eq=False)
class GroupRun:
    """One run of the folder: what it was asked for, and what it found."""

    part: Run
    entry: ModelRuns

    @property
    def grouping(self) -> tuple[Any, ...]:
        """What its groups are known by: the seed they were drawn with, and how."""
        own = self.entry.settings
        seed = own.get("grouping_seed")
        return (self.part.seed if seed is None else seed, *(own.get(name) for name in GROUPING))

    @property
    def stem(self) -> str:
        """The label without the number of the grouping, where it ends with that."""
        seed = self.entry.settings.get("grouping_seed")
        return self.entry.label if seed is None else self.entry.label.removesuffix(f"-{seed}")

    @property
    def method(self) -> dict[str, Any]:
        """Its settings but for the grouping, and for what was tuned for that."""
        tuned = ("tuned", "patterns") if self.entry.settings.get("tuned") else ()
        kept = {k: v for k, v in self.entry.settings.items() if k not in ("grouping_seed", *tuned)}
        return {"name": self.entry.name, **kept}

    def groups(self) -> Floats:
        """Of every group members, training ratings and MSE."""
        return np.array(self.part.read_columns(FILE, members=float, ratings=float, MSE=float))


@dataclass(frozen=True, eq=False)
class GroupMethod:
    """The runs of a method: a line of table 3."""

    model: str  # what it is shown as
    runs: tuple[GroupRun, ...]

    @property
    def name(self) -> str:
        """That of its method, whatever it is shown as."""
        return self.runs[0].entry.name

    def mean(self, key: str) -> float | None:
        """Of a metric over the runs; None where they do not have it."""
        metrics = [run.part.metrics for run in self.runs]
        return float(np.mean([one[key] for one in metrics])) if key in metrics[0] else None

    @property
    def rounds(self) -> str:
        """A centralised model has none; the exchange of means does not count, blocks make one exchange."""
        written = self.runs[0].part.rounds
        if written is None:
            return "–"
        done = len(written.values) - 1
        if self.name == ALONE:
            return "means only"
        if Schedule in algorithm(self.name).parts:
            return f"{done}"
        return f"1 (in {done} blocks)" if done > 1 else "1"

    @property
    def kilobytes_a_round(self) -> float | None:
        """What a client sends in each round; None where there is one exchange or none."""
        sent, rounds = self.mean("kB up/client"), self.rounds
        return sent / int(rounds) if sent is not None and rounds.isdecimal() and int(rounds) > 1 else None


@dataclass(frozen=True, eq=False)
class GroupTable:
    """All pairs of a folder, and what they add up to."""

    pairs: tuple[GroupingPair, ...]
    methods: tuple[GroupMethod, ...]  # centralised ones included

    @property
    def central(self) -> dict[str, float]:
        """The metrics of the centralised model, where there is one."""
        return next((one.runs[0].part.metrics for one in self.methods if one.name == CENTRAL), {})

    def summaries(self) -> list[GroupSummary]:
        """One line for every method."""
        models = dict.fromkeys(pair.model for pair in self.pairs)
        return [_summary(model, [pair for pair in self.pairs if pair.model == model]) for model in models]


def read_groups(folder: Path) -> GroupTable:
    """Every run beside that of its groups alone; refuses a folder without both."""
    found = find_groups(ComparisonFolder.open(folder)) if any(folder.glob(f"*/{FILE}")) else None
    if found is None:
        raise RunError(
            f"{folder} must hold runs of {ALONE} and of another method with the same groups, but does not; "
            f"make them with murmura compare --protocol fedsplit --models {ALONE},fedsplit."
        )
    return found


def find_groups(comparison: ComparisonFolder) -> GroupTable | None:
    """Every run beside that of its groups alone; None where the folder does not hold both.

    Where several entries are groups alone, the first label of them is set beside the others.
    """
    methods = _methods([GroupRun(part, model) for model in comparison.models for part in model.done])
    grouped = [(one.model, run) for one in methods for run in one.runs if run.part.has(FILE)]
    alone: dict[tuple[Any, ...], Floats] = {}
    for _, run in grouped:
        if run.entry.name == ALONE:
            alone.setdefault((run.part.seed, run.grouping), run.groups()[:, 2])
    pairs = []
    for label, run in grouped:
        mine = alone.get((run.part.seed, run.grouping))
        if run.entry.name != ALONE and mine is not None:
            members, ratings, mse = run.groups().T
            pairs.append(GroupingPair(label, run.grouping, members, ratings, mine, mse))
    return GroupTable(tuple(pairs), methods) if pairs else None


def _methods(runs: list[GroupRun]) -> tuple[GroupMethod, ...]:
    """The runs of every method; those of one stem are one only if nothing but their grouping differs."""
    stems: dict[str, list[GroupRun]] = {}
    for run in runs:
        stems.setdefault(run.stem, []).append(run)
    methods: dict[str, list[GroupRun]] = {}
    for stem, same in stems.items():
        one = all(run.method == same[0].method for run in same)
        for run in same:
            methods.setdefault(stem if one else run.entry.label, []).append(run)
    return tuple(GroupMethod(label, tuple(same)) for label, same in methods.items())


def group_table(model: str, pairs: list[GroupingPair]) -> GroupingPair:
    """The groups of all groupings together, those without a held-out rating left out."""
    columns = [np.concatenate([getattr(pair, name) for pair in pairs]) for name in COLUMNS]
    known = np.isfinite(columns[-1])
    return GroupingPair(model, (), *(column[known] for column in columns))


def _summary(model: str, pairs: list[GroupingPair]) -> GroupSummary:
    groups = group_table(model, pairs)
    change = groups.after - groups.alone
    better = change < 0
    return GroupSummary(
        model,
        len({pair.grouping for pair in pairs}),
        len(change),
        int(better.sum()),
        float(change[better].mean()) if better.any() else 0.0,
        float(change[~better].mean()) if (~better).any() else 0.0,
        _reach(change[better]),
        _reach(change[~better]),
        _pearson(groups.members, change),
        _pearson(groups.ratings, change),
        float(groups.alone.mean()),
        float(groups.after.mean()),
        {cut: _within(groups.after, cut) for cut in CUTOFFS},
    )


def _reach(change: Floats) -> float | None:
    """mean ± this is the 95 % interval (t) over groups, as the paper's table 2 has it."""
    found = seed_interval(change.tolist())
    return found.high - found.mean if len(change) > 1 else None


def _within(after: Floats, cut: float) -> GroupsWithin:
    inside = after <= cut
    return GroupsWithin(float(inside.mean()), float(after[inside].mean()) if inside.any() else None)


def _pearson(one: Floats, other: Floats) -> float:
    """The correlation; 0 where one of them does not vary."""
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


PROTOCOL = "fedsplit"


def central_splits(
    dataset: Dataset, model: str, splits: int, folder: Path, source: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The errors of a fit on every split, each in a folder of its own; what is there already is only read."""
    first = CoveredRandomHoldout().seed
    settings = defaults(PROTOCOL, dataset.name, model)
    for number in range(splits):
        split_seed = first + number
        each = plan(dataset, f"{PROTOCOL}:seed={split_seed}", {model: settings}, seed=number, source=source)
        for line in compare(each, folder / f"split-{split_seed}"):
            yield {"split_seed": split_seed, "mse": line.values["MSE"], "rmse": line.values["RMSE"]}


def group_errors(model: Model, split: Split, predicted: Floats) -> tuple[dict[str, float], Tables]:
    """RMSE and MSE as means over groups, and a line per group; people in none are passed over."""
    clients = model.clients
    assert clients is not None
    of, n, trained = clients.of, len(clients.names), clients.of[split.train.user]
    owner = of[split.test.user]
    inside = owner >= 0
    held_out = np.bincount(owner[inside], minlength=n)
    squares = np.bincount(owner[inside], ((predicted - split.test.value) ** 2)[inside], minlength=n)
    mse = np.divide(squares, held_out, out=np.full(n, np.nan), where=held_out > 0)
    counts = np.bincount(of[of >= 0], minlength=n), np.bincount(trained[trained >= 0], minlength=n), held_out
    columns = [column.tolist() for column in (*counts, np.sqrt(mse), mse)]
    whys = [clients.refused.get(group, "") for group in range(n)]
    known = mse[held_out > 0]
    values = {"RMSE": float(np.sqrt(known).mean()), "MSE": float(known.mean())}
    return values, {FILE: (HEADER, list(zip(clients.names, *columns, whys)))}
