"""Rounds until a federation comes near its best: one row for each configuration."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.report.tables.table import Column, Field, ReportTable, number_cell, table_of, text_cell
from murmura.studies.analyses.convergence import NEAR, ConvergenceCurve


def convergence_table(found: Sequence[ConvergenceCurve], metric: str) -> ReportTable | None:
    """The rounds to 95 % of a row's own best value, and to 95 % of the best of all rows."""
    if not found:
        return None
    highest, near = max(one.best for one in found), f"{100 * NEAR:.0f} %"
    own, common = f"rounds to {near} of its best", f"rounds to {near} of the best row"
    fields: list[Field[ConvergenceCurve]] = [
        (Column("row", numeric=False), lambda one: text_cell(one.label)),
        (Column("clients", "in a round, as they were set"), lambda one: text_cell(one.clients)),
        (Column("T"), lambda one: text_cell(one.triples)),
        (Column(f"best {metric}"), lambda one: number_cell(one.best, 4)),
        (Column("rounds made"), lambda one: number_cell(int(one.rounds[-1]))),
        (Column(own), lambda one: number_cell(one.rounds_to(NEAR * one.best))),
        (Column(common), lambda one: number_cell(one.rounds_to(NEAR * highest))),
    ]
    note = f"{metric} on the validation part, one seed, scored after every epoch; a dash: not reached."
    return table_of("convergence", "Rounds to come near the best", found, fields, note)
