"""Tables 2 and 3 of FedSPLIT: improved groups, and errors beside rounds, bytes and rivals of many rounds."""

from __future__ import annotations

from murmura.report.tables.table import Column, ReportTable, number_cell, text_cell
from murmura.studies.groups.group_results import GroupTable

# Printed in table 3 of the paper, which took them from the methods' own papers: rounds, ml-100k, ml-1m (RMSE).
# What it calls MovieLens 100K is ml-latest-small for FedSPLIT and ml-100k for the others.
RIVALS = (
    ("CLFM-VFL", "175", 1.00, None),
    ("FedRec (SVD++)", "100", 0.92, 0.84),
    ("homomorphic encryption", "100", 1.03, None),
    ("FCMF", "50", 0.95, 0.88),
    ("FedRecon", "500", None, 0.90),
    ("FedGNN", "more than 1", 0.92, 0.84),
    ("two-order FedMMF", "more than 1", 0.92, None),
    ("FedMF", "more than 1", 0.94, 0.87),
    ("FCF", "more than 1", 0.95, 0.87),
)

# Printed in its table 2: groups, improved, gain, loss, both correlations.
PRINTED = {
    "ml-latest-small": (365, 359, -0.22, 0.07, -0.06, -0.11),
    "ml-1m": (1422, 1420, -0.31, 0.07, -0.12, -0.16),
}


def improvement_table(found: GroupTable) -> ReportTable:
    """Table 2."""
    rows = []
    for one in found.summaries():
        counts = (number_cell(one.groups), number_cell(one.improved))
        changes = (number_cell(value, 3) for value in (one.gain, one.loss))
        pearson = (number_cell(value, 2) for value in (one.members_pearson, one.ratings_pearson))
        rows.append((text_cell(one.model), *counts, *changes, *pearson))
    for data, (groups, improved, *values) in PRINTED.items():
        counts = (number_cell(groups), number_cell(improved))
        rows.append(
            (text_cell(f"FedSPLIT on {data}, printed"), *counts, *(number_cell(value, 2) for value in values))
        )
    columns = (
        Column("model", numeric=False),
        Column("groups", "of all groupings"),
        Column("improved", "groups with a smaller error than alone"),
        Column("gain", "mean change of the MSE of those"),
        Column("loss", "mean change of the MSE of the others"),
        Column("r members", "correlation of the change with the members"),
        Column("r ratings", "correlation of the change with the ratings"),
    )
    return ReportTable("groups", "Groups that gain (the paper's table 2)", columns, tuple(rows))


def error_table(found: GroupTable) -> ReportTable:
    """Table 3: what was measured here, then what the paper prints of others."""
    rows = []
    for one in found.errors():
        rows.append(
            (
                text_cell(one.model),
                text_cell(one.rounds),
                number_cell(one.kilobytes, 1),
                number_cell(one.mse, 3),
                number_cell(one.rmse, 3),
                number_cell(one.rmse_ratings, 3),
            )
        )
    empty = number_cell(None)
    for name, rounds, small, large in RIVALS:
        shown = " / ".join("–" if value is None else f"{value:.2f}" for value in (small, large))
        rows.append((text_cell(f"{name}, printed"), text_cell(rounds), empty, empty, empty, text_cell(shown)))
    columns = (
        Column("model", numeric=False),
        Column("rounds", "exchanges of models"),
        Column("kB up", "sent by a client in all"),
        Column("MSE", "mean over groups; all ratings for a centralised model"),
        Column("RMSE", "mean over groups; all ratings for a centralised model"),
        Column("RMSE/ratings", "over all ratings; of rivals ml-100k / ml-1m as printed"),
    )
    notes = (
        "Rivals' numbers are as printed, on ml-100k / ml-1m and splits of their own, their bytes unknown.",
    )
    return ReportTable(
        "group-errors", "Errors, rounds and bytes (the paper's table 3)", columns, tuple(rows), notes
    )
