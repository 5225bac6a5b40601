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


@dataclass(frozen=True, eq=False)
class GroupTable:
    """All pairs of a folder, and what they add up to."""

    pairs: tuple[Pair, ...]
    central: dict[str, float]  # the metrics of the centralised model, where there is one

    def summaries(self) -> list[Summary]:
        """One line for every method."""
        models = dict.fromkeys(pair.model for pair in self.pairs)
        return [_summary(model, [pair for pair in self.pairs if pair.model == model]) for model in models]


def read_groups(folder: Path) -> GroupTable:
    """Every run beside that of its groups alone; refuses a folder without both."""
    runs = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    read = {path: _read(path) for path in runs}
    alone = {found[1]: found for found in read.values() if found[0] == ALONE}
    pairs = []
    for path, (model, key, table) in read.items():
        if model == ALONE or key not in alone:
            continue
        members, ratings, mse = table.T
        pairs.append(Pair(path.name, model, members, ratings, alone[key][2][:, 2], mse))
    if not pairs:
        raise RunError(
            f"{folder} must hold runs of {ALONE} and of another method with the same groups, but does not; "
            f"make them with murmura compare --protocol fedsplit --models {ALONE},fedsplit."
        )
    central = [Run(path.parent) for path in folder.glob("cnmf-seed*/metrics.json")]
    return GroupTable(tuple(pairs), dict(central[0].read("metrics.json")) if central else {})


def _read(path: Path) -> tuple[str, tuple[Any, ...], Floats]:
    """A run's label without its grouping's number, what its grouping is known by, and its groups.

    Of every group: members, training ratings and MSE.
    """
    run = Run.open(path)
    ((label, settings),) = run.config["models"].items()
    header, rows = run.read_table(FILE)
    places = [header.index(name) for name in ("members", "ratings", "MSE")]
    table = np.array([[float(row[place]) for place in places] for row in rows])
    seed = settings.get("grouping_seed")
    chosen = ("groups", "smallest", "largest", "group_column", "user_column")
    key = (run.config["seed"] if seed is None else seed, *(settings[name] for name in chosen))
    return ALONE if settings["name"] == ALONE else re.sub(r"-\d+$", "", label), key, table


def _summary(model: str, pairs: list[Pair]) -> Summary:
    columns = [np.concatenate([getattr(pair, name) for pair in pairs]) for name in ("alone", "after")]
    known = np.isfinite(columns[1])
    alone, after = (column[known] for column in columns)
    members = np.concatenate([pair.members for pair in pairs])[known]
    ratings = np.concatenate([pair.ratings for pair in pairs])[known]
    change = after - alone
    better = change < 0
    return Summary(
        model,
        len(pairs),
        len(change),
        int(better.sum()),
        float(change[better].mean()) if better.any() else 0.0,
        float(change[~better].mean()) if (~better).any() else 0.0,
        _pearson(members, change),
        _pearson(ratings, change),
        float(alone.mean()),
        float(after.mean()),
    )


def _pearson(one: Floats, other: Floats) -> float:
    """The correlation; 0 where one of them does not vary."""
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
