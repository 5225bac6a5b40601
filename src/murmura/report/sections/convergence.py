"""Rounds of communication until a federation comes near its best: one line per configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence

from murmura.report.drawing import Figure, Picture, curve_legend, curve_styles, draw, logarithmic
from murmura.report.page import Section
from murmura.report.table import Column, ReportTable, plain_table
from murmura.runs.trials import Trial
from murmura.studies.analyses.convergence import NEAR, ConvergenceCurve, convergence

IN_A_ROW = 8  # names in a row of the legend


def convergence_section(tried: Sequence[Trial], metric: str) -> Section | None:
    """How fast the rows of an experiment come near their best, where its trials have curves."""
    found = convergence(tried)
    parts = convergence_picture(found, metric), convergence_table(found, metric)
    return Section.of("convergence", "Rounds to come near the best", *parts)


def convergence_picture(found: Sequence[ConvergenceCurve], metric: str) -> Picture | None:
    """The value after so many rounds, which count logarithmically."""
    if not found:
        return None
    legend_rows = math.ceil(len(found) / IN_A_ROW)
    height, styles = 3.7 + 0.2 * legend_rows, curve_styles([one.label for one in found])

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for one in found:
            axes.plot(one.rounds, one.value, zorder=3, **styles[one.label].line(markevery=0.1))
        logarithmic(axes, "x")
        axes.set_xlabel("rounds", labelpad=2)
        axes.set_ylabel(metric)
        axes.set_ylim(bottom=0)
        curve_legend(figure, styles)

    ends = "; ".join(f"{one.label} {one.best:.4f}" for one in found)
    return Picture(
        "convergence",
        f"{metric} over rounds",
        f"{metric} on the validation part after so many rounds, one seed.",
        f"Best {metric}: {ends}.",
        draw("convergence", height, paint),
    )


def convergence_table(found: Sequence[ConvergenceCurve], metric: str) -> ReportTable | None:
    """The rounds to 95 % of a row's own best value, and to 95 % of the best of all rows."""
    if not found:
        return None
    highest, near = max(one.best for one in found), f"{100 * NEAR:.0f} %"
    own, common = f"rounds to {near} of its best", f"rounds to {near} of the best row"
    clients = Column("clients", "in a round, as they were set")
    heads: list[str | Column] = ["row", clients, Column("T"), f"best {metric}", "rounds made", own, common]
    rows = []
    for one in found:
        rounds = (one.rounds_to(NEAR * value) for value in (one.best, highest))
        rows.append((one.label, one.clients, one.triples, (one.best, 4), int(one.rounds[-1]), *rounds))
    note = f"{metric} on the validation part, one seed, scored after every epoch; a dash: not reached."
    return plain_table("convergence", "Rounds to come near the best", heads, rows, note)
