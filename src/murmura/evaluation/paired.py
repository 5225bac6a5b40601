"""Models against each other on the same users: differences, their intervals, and both tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from murmura.evaluation.intervals import Interval, bootstrap_intervals
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.significance import Test, adjust, compare_values, differences, paired

TESTS: tuple[Test, ...] = ("t", "wilcoxon")
ALPHA = 0.05  # a difference is marked below this corrected p


class Named(Protocol):
    """A model with a value for each user."""

    @property
    def label(self) -> str:
        """What it is called."""

    @property
    def people(self) -> Evaluation:
        """Its values."""


@dataclass(frozen=True)
class PairedDifference:
    """One model against a reference on one metric."""

    metric: str
    label: str
    reference: str
    users: int
    difference: Interval  # label - reference
    p_t: float  # paired t-test, Holm-corrected
    p_wilcoxon: float  # Wilcoxon signed-rank test, Holm-corrected
    ahead: int  # users with a higher value than under the reference
    level: int
    behind: int

    @property
    def sure(self) -> bool:
        """Whether the difference is more than chance, by the t-test."""
        return self.p_t < ALPHA


def pair_tests(key: str, pairs: Sequence[tuple[Named, Named]]) -> list[PairedDifference]:
    """The first of every pair against its second, corrected for their number; none without a user of both."""
    sides = [paired(line.people, other.people, key) for line, other in pairs]
    known = [place for place, both in enumerate(sides) if len(differences(*both))]
    by_t, by_rank = (adjust([compare_values(*sides[place], test).p for place in known]) for test in TESTS)
    apart = {str(place): differences(*sides[place]) for place in known}
    intervals = bootstrap_intervals(apart)
    return [
        PairedDifference(
            key,
            pairs[place][0].label,
            pairs[place][1].label,
            len(difference),
            intervals[str(place)],
            float(p_t),
            float(p_rank),
            int((difference > 0).sum()),
            int((difference == 0).sum()),
            int((difference < 0).sum()),
        )
        for place, p_t, p_rank, difference in zip(known, by_t, by_rank, apart.values())
    ]
