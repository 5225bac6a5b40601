"""The tables of numbers: results with intervals and marks, differences and their tests, spread over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from murmura.evaluation.intervals import Interval
from murmura.report.result_folder import ResultFolder, is_cost
from murmura.report.summary import ALPHA, ModelSummary, PairedDifference, Results, badness, better, title
from murmura.report.tables.table import (
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    interval_cell,
    name_columns,
    number_cell,
    text_cell,
)

NAME = Column("model", numeric=False)
MISSING = Interval(math.nan)


def result_tables(folder: ResultFolder, results: Results) -> list[ReportTable]:
    """The headline: one table per cut-off, costs beside the main one."""
    several = max((len(model.parts) for model in folder.models), default=1) > 1
    tables = []
    for place, k in enumerate(results.cutoffs):
        keys = (*results.at(k), *(results.costs if place == 0 else ()))
        columns = [NAME, *([Column("seeds", "finished seeds")] if several else [])]
        columns += [_metric_column(key) for key in keys]
        rows = []
        for model in folder.models:
            line = next((line for line in results.lines if line.model is model), None)
            count = [number_cell(len(model.done))] if several else []
            rows.append((text_cell(model.label), *count, *(_result(results, line, key) for key in keys)))
        name = "results" if place == 0 else f"results-at-{k}"
        heading = f"Results at {k}: means over users" if k else "Results: errors of predicted ratings"
        heading += (" and seeds" if k else ", means over seeds") if several else ""
        tables.append(
            ReportTable(name, heading, tuple(columns), tuple(rows), _result_notes(results, keys, several))
        )
    return tables


def _metric_column(key: str) -> Column:
    direction = {"higher": "higher is better", "lower": "lower is better", "zero": "nearer to 0 is better"}
    return Column(key, f"{title(key)}; {direction[better(key)]}")


def _result(results: Results, line: ModelSummary | None, key: str) -> TableCell:
    found = [one.values[key] for one in results.lines if key in one.values]
    decimals = decimals_for([one.mean for one in found])
    estimate = line.values.get(key) if line else None
    if line is None or estimate is None or not math.isfinite(estimate.mean) or is_cost(key):
        return number_cell(estimate.mean if estimate else None, decimals)
    best = results.best(key)
    is_best = best is not None and badness(key, estimate.mean) == badness(key, best)
    return estimate_cell(estimate, decimals, _mark(results, line, key), is_best and len(results.lines) > 1)


def estimate_cell(estimate: Interval, decimals: int, mark: str = "", best: bool = False) -> TableCell:
    """A mean with its interval, where it has one."""
    if not estimate.low < estimate.high:  # none, or of no width
        estimate = Interval(estimate.mean)
    return interval_cell(estimate, decimals, mark, best, "–" if estimate.low >= 0 else " to ")


def _mark(results: Results, line: ModelSummary, key: str) -> str:
    def sure(tests: Iterable[PairedDifference]) -> PairedDifference | None:
        return next((t for t in tests if (t.label, t.metric) == (line.label, key) and t.sure), None)

    mark = "†" if sure(results.against_best) else ""
    base = sure(results.against_baseline)
    if base is not None:
        mark += "↑" if (base.difference.mean > 0) == (better(key) == "higher") else "↓"
    return mark


def _result_notes(results: Results, keys: tuple[str, ...], several: bool) -> tuple[str, ...]:
    metrics = [key for key in keys if not is_cost(key)]
    tested = [key for key in metrics if any(key in line.people.per_user for line in results.lines)]
    untested = [key for key in metrics if key not in tested]
    notes = ["A method that no seed changes is run once."] if several and _some_once(results) else []
    if tested:
        notes.append(
            f"In small type the 95 % interval: bootstrap over users (2,000 resamples) for {', '.join(tested)}"
            + (f"; Student's t over seeds for {', '.join(untested)}." if several and untested else ".")
        )
    if any(test.metric in keys for test in results.against_best):
        apart = f" Without values per user, so not tested: {', '.join(untested)}." if untested else ""
        notes.append(
            "Bold: the best value. † worse than the best model by more than chance: paired t-test on the "
            f"users' values{' (means over seeds)' if several else ''}, two-sided, Holm-corrected over the "
            f"comparisons of a metric, p < {ALPHA:g}; a value without † cannot be told from the best.{apart}"
        )
    if any(test.metric in keys for test in results.against_baseline):
        notes.append("↑ ↓ a federated model better or worse than the best centralised one, by the same test.")
    return tuple(notes)


def _some_once(results: Results) -> bool:
    return any(len(line.model.parts) == 1 for line in results.lines)


def category_table(results: Results) -> ReportTable | None:
    """Metrics with one value per item category: one column each."""
    keys = [key for key in results.metrics if "/" in key]
    if not keys:
        return None
    decimals = decimals_for(
        [line.values[key].mean for line in results.lines for key in keys if key in line.values]
    )
    rows = [
        (text_cell(line.label), *(estimate_cell(line.values.get(key, MISSING), decimals) for key in keys))
        for line in results.lines
    ]
    return ReportTable("categories", "By item category", (NAME, *map(_metric_column, keys)), tuple(rows))


def difference_table(results: Results) -> ReportTable | None:
    """Every test behind a mark: the difference, its interval, both tests, and who is better off."""
    tests = (*results.against_best, *results.against_baseline)
    if not tests:
        return None
    columns = (
        *name_columns("metric", "model"),
        Column("against", "the best model; for federated models also the best centralised one", numeric=False),
        Column("difference", "mean over users, model - against, with the 95 % bootstrap interval"),
        Column("p (t)", "paired t-test, two-sided, Holm-corrected"),
        Column("p (Wilcoxon)", "signed-rank test, two-sided, Holm-corrected"),
        Column("users above", "users with a higher value under the model"),
        Column("equal", "users with the same value under both"),
        Column("below", "users with a lower value under the model"),
    )
    rows = []
    for test in dict.fromkeys(tests):
        decimals = decimals_for([test.difference.mean, test.difference.low, test.difference.high], 3)
        rows.append(
            (
                *map(text_cell, (test.metric, test.label, test.reference)),
                estimate_cell(test.difference, decimals),
                p_cell(test.p_t),
                p_cell(test.p_wilcoxon),
                *map(number_cell, (test.ahead, test.level, test.behind)),
            )
        )
    note = (
        "Per-user values, means over seeds where there are several; p-values are two-sided and Holm-corrected "
        "over the comparisons of one metric with one reference."
    )
    return ReportTable("tests", "Differences from the best", columns, tuple(rows), (note,))


def p_cell(p: float) -> TableCell:
    """A p-value: three decimals, and a bound where it is smaller."""
    return TableCell(p, "< 0.001") if p < 0.001 else number_cell(p, 3)


def seed_table(results: Results) -> ReportTable | None:
    """The spread over seeds, where a model has several."""
    lines = [line for line in results.lines if len(line.model.done) > 1]
    if not lines or not results.metrics:
        return None
    keys = (*results.at(results.cutoffs[0]), *results.costs)
    decimals = {key: decimals_for([one.values[key].mean for one in lines if key in one.values]) for key in keys}
    rows = [
        (
            text_cell(line.label),
            number_cell(len(line.model.done)),
            *(estimate_cell(line.over_seeds.get(key, MISSING), decimals[key]) for key in keys),
        )
        for line in lines
    ]
    note = "In small type the 95 % interval over seeds: mean ± t(n - 1) s / sqrt(n). Few seeds, wide intervals."
    columns = (NAME, Column("seeds"), *map(_metric_column, keys))
    return ReportTable("seeds", "Spread over seeds", columns, tuple(rows), (note,))
