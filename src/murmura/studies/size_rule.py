"""Settings for a data set that has no kept ones, from its sizes alone; and what is said of whose they are.

The numbers are what did best on the data sets whose trials are kept (docs/results/searches.csv); a test fits
them again. docs/results/rule.csv has what the rule is worth on each data set when it was fitted without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import yaml

from murmura.core.channel import ChannelSettings
from murmura.core.interactions import Interactions

if TYPE_CHECKING:
    from murmura.studies.compare.run import Comparison

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


_KEPT = resources.files("murmura.studies").joinpath("size_rules.yaml").read_text(encoding="utf-8")
RULES = {model: SizeRule(**told) for model, told in yaml.safe_load(_KEPT).items()}


def by_rule(model: str, sizes: Sizes) -> dict[str, Any]:
    """The settings of a model for data of these sizes; {} where there is no rule for it."""
    return RULES[model].settings(sizes) if model in RULES else {}


def source_of_settings(ruled: Sequence[str], few: Sequence[str], sizes: Sizes) -> dict[str, Any]:
    """Whose settings are the rule's, and whose sums are of few people; {} where nobody's are."""
    told = {key: list(labels) for key, labels in (("by rule", ruled), ("few", few)) if labels}
    return {**told, "sizes": asdict(sizes)} if told else {}


def rule_sentence(found: dict[str, Any]) -> str:
    """What a reader must know of such settings, from what a folder keeps; "" of nothing."""
    sizes = found.get("sizes") or {}
    ruled, few = (", ".join(map(str, found.get(key) or ())) for key in ("by rule", "few"))
    told = []
    if ruled:
        known = {key: sizes.get(key) for key in ("users", "items", "rows")}
        counts = ", ".join(f"{count:,} {key}" for key, count in known.items() if isinstance(count, int))
        told.append(
            f"Settings by rule from sizes ({counts}): {ruled}. None are kept for this data; "
            "they were not chosen on it, and murmura search may find better ones."
        )
    if few:
        told.append(
            f"Simulated among {sizes.get('users')} people: {few}. A federation of devices releases no sum of "
            f"fewer than {ChannelSettings().minimum_cohort} by default (minimum_cohort)."
        )
    return " ".join(told)


def left_in_place(plan: Comparison) -> list[str]:
    """A line for each model of which some settings were given: which tuned ones stay beside them."""
    told = []
    for entry in plan.entries:
        if entry.own and entry.usual:
            given, stay = (", ".join(f"{key}={some[key]}" for key in some) for some in (entry.own, entry.usual))
            source = "given by the rule from sizes" if entry.by_rule else "tuned for this data"
            told.append(f"{entry.label}: {given} is yours; {stay} stay as {source}. -S changes them too.")
    return told
