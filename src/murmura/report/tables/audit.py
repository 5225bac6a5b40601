"""The tables of an audit: what attacks on the updates found, beside attackers who read none."""

from __future__ import annotations

import math

from murmura.report.tables.table import Column, ReportTable, TableCell, interval_cell, text_cell
from murmura.studies.audits.audit import HINTS, Audit

MEANINGS = {
    "pm-AUC": "how often an own item scores above others of like popularity: .5 is nothing beyond popularity",
    "AUC": "how often an own item scores above any other",
    "TPR@0.1%": "share of somebody's items found before one in 1,000 of the others",
    "certain recall": "share of somebody's items among the asserted ones",
    "certain precision": "how often an assertion is right",
    "F1": "of the asserted items",
}
SHOWN = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)  # shares of hints in the table; the plot has all
GUESSES = {
    "error/all": "relative squared error over all ratings, known ones included (equation 4)",
    "error/unknown": "the same over the ratings the attacker did not know",
    "exact/unknown": "share of those guessed exactly",
}
SUMMED = (
    "This run's channel is a secure sum: nobody reads single updates. The figures say what the sum keeps from "
    "being read, not what can be learned from it."
)
VICTIMS = {"client": "groups", "person": "people"}


def findings_table(found: Audit) -> ReportTable | None:
    """Every attack, with intervals over clients."""
    if not found.findings:
        return None
    keys = list(found.findings[0].values)
    rows = tuple(
        (
            text_cell(one.attack),
            text_cell(f"{one.victims:,} {_victims(found, one.of)}"),
            *(interval_cell(one.values[key]) for key in keys),
        )
        for one in found.findings
    )
    columns = (
        Column("attack", numeric=False),
        Column("victims", numeric=False),
        *(Column(key, MEANINGS.get(key, "")) for key in keys),
    )
    matched = min(one.matched for one in found.findings)
    titles = dict.fromkeys(f"{one.attack}: {one.title}." for one in found.findings)
    notes = (
        *titles,
        f"Means over {found.clients:,} clients with 95 % bootstrap intervals over clients; "
        f"{seeds_sentence(found)}. "
        f"pm-AUC leaves out items without a rival of like popularity: at most {100 * (1 - matched):.1f} %.",
    )
    if found.summed:
        notes = (SUMMED, *notes)
    return ReportTable("audit", "What was found, beside attackers who read no letter", columns, rows, notes)


def hints_table(found: Audit) -> ReportTable | None:
    """Errors of guessed ratings at some shares of hints, beside the guesses of who read no update."""
    shown = [one for one in found.points if any(math.isclose(one.share, share) for share in SHOWN)]
    alone = {(one.kind, one.share): one for one in shown if one.attack == HINTS}
    if not shown:
        return None
    rows = tuple(
        (
            text_cell(one.kind),
            TableCell(one.share, f"{100 * one.share:.0f} %"),
            *(interval_cell(one.values[key]) for key in GUESSES),
            *(interval_cell(alone[one.kind, one.share].values[key]) for key in GUESSES if key != "error/all"),
        )
        for one in shown
        if one.attack != HINTS
    )
    columns = (
        Column("known", "what a share is known of", numeric=False),
        Column("share"),
        *(Column(key, meaning) for key, meaning in GUESSES.items()),
        *(
            Column(f"no letter: {key.split('/')[0]}", f"{meaning}, by who read no letter")
            for key, meaning in GUESSES.items()
            if key != "error/all"
        ),
    )
    return ReportTable("audit-ratings", "Guessed ratings, by what was known before", columns, rows)


def seeds_sentence(found: Audit) -> str:
    """Which seeds were trained with."""
    last = found.seed + found.seeds - 1
    return f"seed {found.seed}" if found.seeds == 1 else f"seeds {found.seed} to {last}"


def _victims(found: Audit, of: str) -> str:
    return VICTIMS["client"] if of == "client" and found.grouped else VICTIMS["person"]
