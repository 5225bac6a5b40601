"""What a reproduction found, number by number: printed, ours, the difference, and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmura.evaluation.intervals import Interval
from murmura.report.result_folder import read_folder
from murmura.report.summary import ModelSummary, PairedDifference, Results, better, summarise, tests_against
from murmura.studies.analyses.bias import bias
from murmura.studies.analyses.comparison_folder import ComparisonFolder
from murmura.studies.analyses.frequency import frequencies
from murmura.studies.papers.experiments import Experiment
from murmura.studies.papers.reproduce import ExperimentPlace
from murmura.studies.papers.verdict import Better, ReproductionVerdict, difference, verdict
from murmura.studies.sweep import points

TRAINING = "training data"
FACTS = ("T", "clients per round", "freshness", "normalised freshness", "CCE")
Values = dict[str, dict[str, Interval]]  # row -> metric -> mean and interval over seeds


@dataclass(frozen=True)
class ReproducedNumber:
    """One cell of a paper's table, and ours."""

    data: str
    row: str
    metric: str
    printed: float | None
    ours: Interval
    difference: float | None  # as a fraction of the printed value
    test: (
        PairedDifference | None
    )  # against the best centralised row; None for that row and where there is no test
    reference: bool  # whether it is the best centralised row
    verdict: ReproductionVerdict


def measured(place: ExperimentPlace, analyses: tuple[str, ...]) -> tuple[Values, Results]:
    """Every value of the comparison in a folder, and its summary for the tests."""
    results = summarise(read_folder(place.runs))
    found: Values = {line.label: dict(line.over_seeds) for line in results.lines}
    comparison = ComparisonFolder.open(place.runs)
    for point in points(comparison):  # F1 and what the ledger adds up: means alone
        own = found.setdefault(point.label, {})
        own |= {key: Interval(value) for key, value in point.found.items() if key not in own}
    if "bias" in analyses and (shown := bias(comparison, frequencies(comparison))) is not None:
        for place_of, name in enumerate(shown.categories):
            found.setdefault(TRAINING, {})[f"B_T {name}"] = Interval(float(shown.train[place_of]))
            for label in shown.shown:
                value = float(shown.disparity(label)[place_of])
                found.setdefault(label, {})[f"BD {name}"] = Interval(value)
    return found, results


def numbers(
    shown: Experiment, data: str, found: Values, results: Results | None = None
) -> list[ReproducedNumber]:
    """The numbers an experiment shows on one data set, metric by metric, in the order of its rows."""
    printed = shown.printed.get(data, {})
    made = []
    for metric in shown.shown:
        tests, reference = _tests(metric, results)
        rows = [row for row in found if metric in found[row]]
        rows += [row for row in printed if metric in printed[row] and row not in rows]
        for row in rows:
            ours = found.get(row, {}).get(metric, Interval(math.nan))
            print_ = printed.get(row, {}).get(metric)
            word = verdict(
                print_,
                ours.mean,
                (ours.low, ours.high),
                _better(metric),
                shown.tolerance,
                shown.doubt(data, row, metric),
            )
            test = tests.get(row)
            apart = difference(print_, ours.mean)
            made.append(ReproducedNumber(data, row, metric, print_, ours, apart, test, row == reference, word))
    return made


def _better(metric: str) -> Better:
    """Bias disparities are best at 0; sizes, costs per epoch and biases of the data are facts."""
    if metric.startswith("BD "):
        return "zero"
    return "same" if metric.startswith("B_T ") or metric in FACTS else better(metric)


def _tests(metric: str, results: Results | None) -> tuple[dict[str, PairedDifference], str]:
    """Every other row against the best centralised one, user by user, corrected for their number."""
    if results is None:
        return {}, ""
    having = [line for line in results.ranked(metric) if metric in line.people.per_user]
    central: list[ModelSummary] = [line for line in having if not line.model.federated][:1]
    others = [line for line in having if line not in central]
    found = tests_against(metric, central, others)
    return {test.label: test for test in found}, central[0].label if central else ""
