"""Differences behind the marks, with their tests; the spread over seeds; real times beside whole days."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.evaluation.registry import title
from murmura.evaluation.significance import PairedDifference
from murmura.report.page import Compared, Section
from murmura.report.summary import Results, summarise
from murmura.report.table import (
    MISSING,
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    estimate_cell,
    plain_table,
)
from murmura.studies.compare.section import _metric_column, category_table


def section(compared: Compared) -> Section | None:
    """The tests behind the marks, the seeds, the categories."""
    found = compared.results
    tables = difference_table(found), seed_table(found), category_table(found)
    return Section.of("tests", "Differences and seeds", *tables)


def difference_table(results: Results) -> ReportTable | None:
    """Every test behind a mark: the difference, its interval, both tests, and who is better off."""
    tests = (*results.against_best, *results.against_baseline)
    about = "the best model; for federated models also the best centralised one"
    return paired_table(tests, "Differences from the best", about) if tests else None


def paired_table(
    tests: Sequence[PairedDifference], heading: str, about: str, family: str = "with one reference"
) -> ReportTable:
    """One line for each of some tests; `about` says what each model is held against."""
    heads = {
        "metric": "",
        "model": "",
        "against": about,
        "difference": "mean over users, model - against",
        "from": "lower end of its 95 % bootstrap interval over users",
        "to": "upper end of it",
        "p (t)": "paired t-test, two-sided, Holm-corrected",
        "p (Wilcoxon)": "signed-rank test, two-sided, Holm-corrected",
        "users above": "users with a higher value under the model",
        "equal": "users with the same value under both",
        "below": "users with a lower value under the model",
    }
    rows = []
    for test in dict.fromkeys(tests):
        bounds = test.difference.mean, test.difference.low, test.difference.high
        decimals = decimals_for(bounds, 3)
        numbers = (*((value, decimals) for value in bounds), p_cell(test.p_t), p_cell(test.p_wilcoxon))
        rows.append((test.metric, test.label, test.reference, *numbers, test.ahead, test.level, test.behind))
    note = (
        "Per-user values, means over seeds where there are several; p-values are two-sided and Holm-corrected "
        f"over the comparisons of one metric {family}."
    )
    return plain_table("tests", heading, heads, rows, note)


def pair_table(tests: Sequence[PairedDifference]) -> ReportTable:
    """Named models against each other."""
    about = "the second of the pair"
    return paired_table(tests, "Differences between named rows", about, "in this table")


def p_cell(p: float) -> TableCell | tuple[float, int]:
    """A p-value for a plain table: three decimals, and a bound where it is smaller."""
    return TableCell(p, "< 0.001") if p < 0.001 else (p, 3)


def seed_table(results: Results) -> ReportTable | None:
    """The spread over seeds, where a model has several."""
    lines = [line for line in results.lines if len(line.model.done) > 1]
    if not lines or not results.metrics:
        return None
    keys = (*results.at(results.cutoffs[0]), *results.costs)
    decimals = {key: decimals_for([one.values[key].mean for one in lines if key in one.values]) for key in keys}
    rows = (
        (
            *(line.label, len(line.model.done)),
            *(estimate_cell(line.over_seeds.get(key, MISSING), decimals[key]) for key in keys),
        )
        for line in lines
    )
    note = "In small type the 95 % interval over seeds: mean ± t(n - 1) s / sqrt(n). Few seeds, wide intervals."
    columns = map(_metric_column, keys)
    return plain_table("seeds", "Spread over seeds", ["model", "seeds", *columns], rows, note)


def order_section(compared: Compared) -> Section | None:
    """Where both orders were run."""
    hidden = compared.folder.beside
    if hidden is None:
        return None
    return Section.of("order", "The order inside a day", order_table(compared.results, summarise(hidden)))


def order_table(real: Results, days: Results) -> ReportTable | None:
    """Each metric of the models that use the order: with real times, and with the order inside days hidden."""
    known = {line.label: line.values for line in real.lines}
    pairs = [(line.label, known[line.label], line.values) for line in days.lines if line.label in known]
    keys = [key for key in real.at(real.cutoffs[0]) if all(key in one for _, *both in pairs for one in both)]
    if not pairs or not keys:
        return None
    digits = {key: decimals_for([one[key].mean for _, *both in pairs for one in both]) for key in keys}
    rows = (
        (label, *(estimate_cell(one[key], digits[key]) for key in keys for one in both))
        for label, *both in pairs
    )
    heads = (Column(f"{key}, {order}", title(key)) for key in keys for order in ("real", "day"))
    note = "In small type the 95 % interval, as in the table of results."
    return plain_table("order", "Real times, and whole days", ["model", *heads], rows, note)
