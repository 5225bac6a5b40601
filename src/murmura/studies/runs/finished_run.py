"""One run, as its folder keeps it: every part is read once, when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from murmura.core.arrays import Floats, Ids
from murmura.core.errors import RunError
from murmura.engine.run_folder import Run
from murmura.evaluation.registry import is_cost
from murmura.studies.runs.parts import (
    object_part,
    printable,
    read_columns,
    read_grid,
    read_numbers,
    read_object,
)

LISTS, ITEM_ROWS = "recommendations.tsv", "item_rows.csv"


@dataclass(frozen=True, eq=False)
class RoundTable:
    """`rounds.csv`: one line per epoch or round; a field that is not a number is NaN."""

    columns: tuple[str, ...]
    values: Floats  # (lines, columns)


@dataclass(frozen=True, eq=False)
class RunFolder:
    """One model with one seed. Only a `done` one has metrics."""

    run: Run
    seed: int

    _told = object_part("status.json")

    @property
    def status(self) -> str:
        """As the run marked it; "missing" before its folder exists."""
        usual = "new" if self.run.has("config.yaml") else "missing"
        return printable(self._told.get("status", usual))

    @property
    def error(self) -> str:
        """Why it failed or was interrupted."""
        return printable(self._told.get("error", ""))

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        return self.status == "done"

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric and cost that is defined."""
        if self.done and not self.run.has("metrics.json"):
            raise RunError(f"{self.run.path} has no metrics.json, but says that it is done; run it again.")
        return read_numbers(self.run, "metrics.json") if self.done else {}

    @cached_property
    def _people(self) -> tuple[Ids, dict[str, Floats]]:
        if not self.done or not self.run.has("per_user.csv"):
            return np.empty(0, np.str_), {}
        header, values, ids = read_grid(self.run, "per_user.csv", skip=1)
        if len(set(ids)) != len(ids):
            raise RunError(
                f"{self.run.path / 'per_user.csv'} must name every user once, but repeats one; run it again."
            )
        return np.array(ids, np.str_), {key: values[:, place] for place, key in enumerate(header)}

    @property
    def users(self) -> Ids:
        """(users,) their own ids as text."""
        return self._people[0]

    @property
    def per_user(self) -> dict[str, Floats]:
        """ "P@10" -> (users,)."""
        return self._people[1]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """How long its parts took."""
        return read_numbers(self.run, "seconds.json") if self.done else {}

    @cached_property
    def rounds(self) -> RoundTable | None:
        """What it wrote in training, finished or not."""
        if not self.run.has("rounds.csv"):
            return None
        header, values, _ = read_grid(self.run, "rounds.csv")
        return RoundTable(tuple(header), values) if len(values) else None

    @cached_property
    def ledger(self) -> dict[str, Any] | None:
        """What left the devices; None of a centralised method."""
        return read_object(self.run, "ledger.json") if self.done and self.run.has("ledger.json") else None

    @property
    def federated(self) -> bool:
        """Whether something left the devices: a ledger, or a cost beside the metrics."""
        return self.ledger is not None or any(map(is_cost, self.metrics))

    @property
    def has_lists(self) -> bool:
        """Whether it kept its lists."""
        return self.run.has(LISTS)

    def read_lists(self) -> list[tuple[str, int, str, str]]:
        """User, rank, item and score of every line, own ids: too long to keep for every run of a comparison."""
        return read_columns(self.run, LISTS, "\t", user=str, rank=int, item=str, score=str)

    @cached_property
    def item_rows(self) -> dict[str, int] | None:
        """How often a row of each item left a device; None of a centralised method."""
        if not self.run.has(ITEM_ROWS):
            return None
        return dict(read_columns(self.run, ITEM_ROWS, item=str, sent=int))
