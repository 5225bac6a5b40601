"""Each model against a reference, user by user: is the difference more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from murmura.evaluation.intervals import Interval, bootstrap_intervals
from murmura.evaluation.significance import compare_all, differences, paired
from murmura.report.model_summary import ModelSummary

ALPHA = 0.05  # a difference is marked below this corrected p


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


def tests_against(
    key: str, reference: Sequence[ModelSummary], others: Sequence[ModelSummary]
) -> list[PairedDifference]:
    """Each of the others against the reference, corrected for their number; nothing where nobody is common."""
    if not reference:
        return []
    first = reference[0]
    apart = {line.label: differences(*paired(line.people, first.people, key)) for line in others}
    apart = {label: column for label, column in apart.items() if len(column)}
    rivals = {line.label: line.people for line in others if line.label in apart}
    by_t = compare_all(first.people, rivals, key, "t", "holm")
    by_rank = compare_all(first.people, rivals, key, "wilcoxon", "holm")
    intervals = bootstrap_intervals(apart)
    return [
        PairedDifference(
            key,
            label,
            first.label,
            len(difference),
            intervals[label],
            by_t[label].adjusted,
            by_rank[label].adjusted,
            int((difference > 0).sum()),
            int((difference == 0).sum()),
            int((difference < 0).sum()),
        )
        for label, difference in apart.items()
    ]
