"""Metrics and the tests between them: pure functions of lists and held-out rows.

`evaluate` turns lists and a split into an `Evaluation`; `METRICS` is the table of what it can compute;
`significance` says how sure the numbers are. docs/metrics.md has every formula.
"""

from murmura.evaluation.measure import Evaluation, evaluate
from murmura.evaluation.registry import ALL_METRICS, DEFAULT_METRICS, METRICS, metric_of
from murmura.evaluation.relevance import Relevance

__all__ = [
    "ALL_METRICS",
    "DEFAULT_METRICS",
    "METRICS",
    "Evaluation",
    "Relevance",
    "evaluate",
    "metric_of",
]
