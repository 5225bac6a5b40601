"""Settings for a data set that has no kept ones, from its sizes alone.

The numbers are what did best on the data sets whose trials are kept (docs/results/searches.csv); a test fits
them again. docs/results/rule.csv has what the rule is worth on each data set when it was fitted without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Self

import numpy as np
import yaml

from murmura.core.interactions import Interactions

LONG = 60.0  # rows per user from which histories count as long; of the data sets here none has 41 to 67
LADDER = (100.0, 300.0, 1000.0, 3000.0, 10000.0)  # what reg may be: what was tried
MANY = 5000  # clients from which a rule for few of them is none
LITTLE = ("ml-latest-small", "ml-latest-small-2016")  # two states of one data set


@dataclass(frozen=True)
class Sizes:
    """How much data there is: the users, items and rows that a method learns from."""

    users: int
    items: int
    rows: int
    times: bool = False  # whether rows have times

    @classmethod
    def of(cls, train: Interactions) -> Self:
        """Of a training part; users and items that do not occur in it do not count."""
        users, items = (int(np.count_nonzero(counts)) for counts in (train.user_counts, train.item_counts))
        return cls(users, items, len(train), train.time is not None)

    @property
    def long(self) -> bool:
        """Whether histories are long: density times items, that is rows per user."""
        return self.rows >= LONG * max(self.users, 1)


@dataclass(frozen=True)
class SizeRule:
    """What a model takes where histories are short and where they are long, and what grows with the data."""

    short: Mapping[str, Any] = field(default_factory=dict)
    long: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)  # whatever the sizes, and not fitted
    rows_per_reg: float | None = None  # reg is rows over this, as the nearest rung of LADDER
    few: bool = False  # only for fewer clients than MANY

    def settings(self, sizes: Sizes) -> dict[str, Any]:
        """The settings for data of these sizes; {} where those of the class are meant."""
        if self.few and sizes.users >= MANY:
            return {}
        found = {**(self.long if sizes.long else self.short), **self.also}
        if self.rows_per_reg is not None:
            found = {"reg": rung(sizes.rows / self.rows_per_reg), **found}
        if not sizes.times:
            found.pop("recency", None)
        return found


def rung(reg: float) -> float:
    """The rung of LADDER that is nearest by its logarithm."""
    return min(LADDER, key=lambda one: abs(math.log(one / max(reg, 1e-9))))


def _rules() -> dict[str, SizeRule]:
    text = resources.files("murmura.studies").joinpath("size_rules.yaml").read_text(encoding="utf-8")
    return {model: SizeRule(**told) for model, told in yaml.safe_load(text).items()}


RULES = _rules()


def by_rule(model: str, sizes: Sizes) -> dict[str, Any]:
    """The settings of a model for data of these sizes; {} where there is no rule for it."""
    return RULES[model].settings(sizes) if model in RULES else {}
