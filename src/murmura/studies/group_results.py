"""What the groups of several runs say together: tables 2 and 3 and the rows of figure 3 of FedSPLIT.

Read from a comparison's folder: its runs of `cnmf-groups` are set beside those of other methods with the same
groups. Errors are mean squared errors, the measure the paper prints under the name RMSE, with RMSE beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.errors import RunError
from murmura.engine.run import Run

FILE = "per_group.csv"
ALONE = "cnmf-groups"
COLUMNS = ("members", "ratings", "alone", "after")


@dataclass(frozen=True, eq=False)
class Pair:
    """The groups of one grouping with and without an exchange."""

    label: str
    model: str
    members: Floats  # (groups,)
    ratings: Floats  # (groups,) for training
    alone: Floats  # (groups,) MSE of the group's own model
    after: Floats  # (groups,) MSE after the exchange


@dataclass(frozen=True)
class Summary:
    """A line of table 2, and of table 3 beside it."""

    model: str
    groupings: int
    groups: int
    improved: int
    gain: float  # mean change of the MSE of the groups that improved
    loss: float  # of those that did not; 0 without any
    members_pearson: float
    ratings_pearson: float
    alone: float  # MSE, mean over the groups of all groupings
    after: float

    def flat(self) -> dict[str, Any]:
        """As --json prints it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Errors:
    """A line of table 3: means over the runs of a method."""

    model: str
    rounds: str
    kilobytes: float | None  # sent by a client; None for a centralised model
    mse: float
    rmse: float
    rmse_ratings: float


@dataclass(frozen=True, eq=False)
class GroupTable:
    """All pairs of a folder, and what they add up to."""

    pairs: tuple[Pair, ...]
    metrics: dict[str, list[dict[str, float]]]  # label -> the metrics of its runs
    exchanges: dict[str, int]  # label -> rounds of the training, the small one before included

    @property
    def central(self) -> dict[str, float]:
        """The metrics of the centralised model, where there is one."""
        return next(iter(self.metrics.get("cnmf", ())), {})

    def summaries(self) -> list[Summary]:
        """One line for every method."""
        models = dict.fromkeys(pair.model for pair in self.pairs)
        return [_summary(model, [pair for pair in self.pairs if pair.model == model]) for model in models]

    def errors(self) -> list[Errors]:
        """One line for every method, centralised ones included."""
        return [
            Errors(
                label,
                _rounds(label, self.exchanges.get(label)),
                _mean(runs, "kB up/client"),
                _mean(runs, "MSE") or 0.0,
                _mean(runs, "RMSE") or 0.0,
                _mean(runs, "RMSE/ratings") or 0.0,
            )
            for label, runs in self.metrics.items()
        ]


def _rounds(label: str, done: int | None) -> str:
    """A centralised model has none; the small exchange of means does not count, blocks make one exchange."""
    if done is None:
        return "–"
    if label == ALONE:
        return "means only"
    return f"1 (in {done - 1} blocks)" if done > 2 else "1"


def _mean(runs: list[dict[str, float]], key: str) -> float | None:
    return float(np.mean([run[key] for run in runs])) if runs and key in runs[0] else None


def read_groups(folder: Path) -> GroupTable:
    """Every run beside that of its groups alone; refuses a folder without both."""
    runs = sorted(path.parent for path in folder.glob("*/metrics.json"))
    metrics: dict[str, list[dict[str, float]]] = {}
    exchanges, read = {}, {}
    for path in runs:
        run = Run.open(path)
        label = _label(run)
        metrics.setdefault(label, []).append(run.read("metrics.json"))
        if run.has("rounds.csv"):
            exchanges[label] = len(run.read_table("rounds.csv")[1])
        if run.has(FILE):
            read[path] = _read(run)
    alone = {key: table for (model, key, table) in read.values() if model == ALONE}
    pairs = []
    for path, (model, key, table) in read.items():
        if model != ALONE and key in alone:
            members, ratings, mse = table.T
            pairs.append(Pair(path.name, model, members, ratings, alone[key][:, 2], mse))
    if not pairs:
        raise RunError(
            f"{folder} must hold runs of {ALONE} and of another method with the same groups, but does not; "
            f"make them with murmura compare --protocol fedsplit --models {ALONE},fedsplit."
        )
    return GroupTable(tuple(pairs), metrics, exchanges)


def has_groups(folder: Path) -> bool:
    """Whether there is anything to read: groups alone, and another method with groups."""
    return len({path.parent for path in folder.glob(f"*/{FILE}")}) > 1 and any(folder.glob(f"{ALONE}*/{FILE}"))


def _label(run: Run) -> str:
    """What a run is shown as: its label without the number of its grouping."""
    ((label, settings),) = run.config["models"].items()
    return ALONE if settings["name"] == ALONE else re.sub(r"-\d+$", "", label)


def _read(run: Run) -> tuple[str, tuple[Any, ...], Floats]:
    """A run's label, what its grouping is known by, and of every group members, training ratings and MSE."""
    ((_, settings),) = run.config["models"].items()
    header, rows = run.read_table(FILE)
    places = [header.index(name) for name in ("members", "ratings", "MSE")]
    table = np.array([[float(row[place]) for place in places] for row in rows])
    seed = settings.get("grouping_seed")
    chosen = ("groups", "smallest", "largest", "group_column", "user_column")
    key = (run.config["seed"] if seed is None else seed, *(settings[name] for name in chosen))
    return _label(run), key, table


def gathered(model: str, pairs: list[Pair]) -> Pair:
    """The groups of all groupings together, those without a held-out rating left out."""
    columns = [np.concatenate([getattr(pair, name) for pair in pairs]) for name in COLUMNS]
    known = np.isfinite(columns[-1])
    return Pair(model, model, *(column[known] for column in columns))


def _summary(model: str, pairs: list[Pair]) -> Summary:
    groups = gathered(model, pairs)
    change = groups.after - groups.alone
    better = change < 0
    return Summary(
        model,
        len(pairs),
        len(change),
        int(better.sum()),
        float(change[better].mean()) if better.any() else 0.0,
        float(change[~better].mean()) if (~better).any() else 0.0,
        _pearson(groups.members, change),
        _pearson(groups.ratings, change),
        float(groups.alone.mean()),
        float(groups.after.mean()),
    )


def _pearson(one: Floats, other: Floats) -> float:
    """The correlation; 0 where one of them does not vary."""
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
