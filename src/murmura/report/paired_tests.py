"""Each model against a reference, user by user: is the difference more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats
from murmura.evaluation.intervals import bootstrap_intervals
from murmura.evaluation.significance import compare_all
from murmura.report.model_summary import LEVEL, Estimate, ModelSummary

ALPHA = 0.05  # a difference is marked below this corrected p


@dataclass(frozen=True)
class PairedDifference:
    """One model against a reference on one metric."""

    metric: str
    label: str
    reference: str
    users: int
    difference: Estimate  # label - reference
    p_t: float  # paired t-test, Holm-corrected
    p_wilcoxon: float  # Wilcoxon signed-rank test, Holm-corrected
    ahead: int  # users with a higher value than under the reference
    level: int
    behind: int

    @property
    def sure(self) -> bool:
        """Whether the difference is more than chance, by the t-test."""
        return self.p_t < ALPHA


def tests_against(
    key: str, reference: Sequence[ModelSummary], others: Sequence[ModelSummary]
) -> list[PairedDifference]:
    """Each of the others against the reference, corrected for their number; nothing where nobody is common."""
    if not reference:
        return []
    first = reference[0]
    pairs = {line.label: (line, *_paired(line, first, key)) for line in others}
    pairs = {label: pair for label, pair in pairs.items() if len(pair[1])}
    rivals = {label: pair[0].people for label, pair in pairs.items()}
    by_t = compare_all(first.people, rivals, key, "t", "holm")
    by_rank = compare_all(first.people, rivals, key, "wilcoxon", "holm")
    differences = {  # rounded as the tests round: 0.3 - 0.2 and 0.2 - 0.1 are equal
        label: np.round(here - there, 12) for label, (_, here, there) in pairs.items()
    }
    intervals = bootstrap_intervals(differences, level=LEVEL)
    tests = []
    for label, difference in differences.items():
        interval = intervals[label]
        tests.append(
            PairedDifference(
                key,
                label,
                first.label,
                len(difference),
                Estimate(interval.mean, interval.low, interval.high),
                by_t[label].adjusted,
                by_rank[label].adjusted,
                int((difference > 0).sum()),
                int((difference == 0).sum()),
                int((difference < 0).sum()),
            )
        )
    return tests


def _paired(one: ModelSummary, other: ModelSummary, key: str) -> tuple[Floats, Floats]:
    """The values of the users who have one under both."""
    _, here, there = np.intersect1d(
        one.people.users, other.people.users, assume_unique=True, return_indices=True
    )
    first, second = one.people.per_user[key][here], other.people.per_user[key][there]
    known = ~np.isnan(first) & ~np.isnan(second)
    return first[known], second[known]
