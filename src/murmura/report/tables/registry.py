"""Every table of a report, by name."""

from __future__ import annotations

from murmura.report.result_folder import ResultFolder
from murmura.report.summary import Results
from murmura.report.tables.facts import (
    data_table,
    environment_table,
    ledger_table,
    settings_table,
    status_table,
    time_table,
)
from murmura.report.tables.results import category_table, difference_table, result_tables, seed_table
from murmura.report.tables.table import ReportTable


def every_table(folder: ResultFolder, results: Results) -> dict[str, ReportTable]:
    """All tables that have something to say, by name."""
    tables = [
        *result_tables(folder, results),
        category_table(results),
        difference_table(results),
        seed_table(results),
        ledger_table(folder),
        status_table(folder),
        data_table(folder),
        settings_table(folder),
        time_table(folder),
        environment_table(folder),
    ]
    return {table.name: table for table in tables if table is not None}
