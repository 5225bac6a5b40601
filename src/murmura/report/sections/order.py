"""Real times and whole days side by side, where both were run."""

from __future__ import annotations

from murmura.evaluation.registry import title
from murmura.report.page import Compared, Section
from murmura.report.summary import Results, summarise
from murmura.report.table import Column, ReportTable, decimals_for, estimate_cell, plain_table


def section(compared: Compared) -> Section | None:
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
