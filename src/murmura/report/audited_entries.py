"""Audited entries of a comparison side by side: how well each predicts, and what its updates give away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from murmura.evaluation.intervals import Interval
from murmura.report.plots.drawing import Picture, draw, panel_grid
from murmura.report.plots.trade_offs import scatter, upwards
from murmura.report.summary import ModelSummary, Results, is_number
from murmura.report.tables.audit import SUMMED, seeds_sentence
from murmura.report.tables.table import Column, ReportTable, interval_cell, number_cell, text_cell
from murmura.studies.audits.audit import HINTS, Audit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCES = ("popularity", "random")
KNOWN = (0.0, 0.05, 0.25)  # shares of the single ratings
SENT = "kB up/client"
HEIGHT = 3.4
PANELS = 4
UNKNOWN = Interval(math.nan)
NOTHING = Interval(0.5)  # the pm-AUC of popularity, by its definition


@dataclass(frozen=True)
class AuditFigure:
    """One figure of an audit: of an attack on items, or of that on ratings with a share of them known."""

    attack: str = ""
    share: float = 0.0

    @property
    def name(self) -> str:
        """As a column is headed."""
        return f"{self.attack} pm-AUC" if self.attack else f"exact, {100 * self.share:.0f} % known"

    @property
    def meaning(self) -> str:
        """In a few words."""
        if self.attack:
            return ".5 is nothing beyond what is popular anyway"
        return "unknown ratings guessed to the star, when so many single ones are known"

    def of(self, audit: Audit) -> Interval:
        """What the attacker has; not a number where the attack does not apply."""
        if self.attack:
            mine = [one.values["pm-AUC"] for one in audit.findings if one.attack == self.attack]
            return mine[0] if mine else UNKNOWN
        return self._exact(audit, read=True)

    def without(self, audit: Audit) -> Interval:
        """What somebody has who reads no update."""
        return NOTHING if self.attack else self._exact(audit, read=False)

    def _exact(self, audit: Audit, read: bool) -> Interval:
        for one in audit.points:
            if one.kind == "ratings" and math.isclose(one.share, self.share) and (one.attack != HINTS) == read:
                return one.values["exact/unknown"]
        return UNKNOWN


def audit_figures(found: Mapping[str, Audit]) -> list[AuditFigure]:
    """Every figure the audits have."""
    attacks = dict.fromkeys(one.attack for audit in found.values() for one in audit.findings)
    items = [AuditFigure(attack) for attack in attacks if attack not in REFERENCES]
    return items + [
        AuditFigure(share=share) for share in KNOWN if any(audit.points for audit in found.values())
    ]


def audited_entries_table(found: Mapping[str, Audit], results: Results) -> ReportTable:
    """A row for each entry: how well it predicts, what it sends, and every figure."""
    keys, figures = [*_accuracy(results), SENT], audit_figures(found)
    lines = {line.label: line.values for line in results.lines}
    rows = [
        (
            text_cell(label),
            *(number_cell(lines.get(label, {}).get(key, UNKNOWN).mean, 3) for key in keys),
            *(interval_cell(figure.of(audit)) for figure in figures),
        )
        for label, audit in found.items()
    ]
    most = max(found.values(), key=lambda audit: len(audit.points))
    blind = [interval_cell(figure.without(most)) for figure in figures]
    rows.append((text_cell("no letter read"), *(number_cell(None) for _ in keys), *blind))
    columns = (
        Column("model", numeric=False),
        *map(Column, keys),
        *(Column(f.name, f.meaning) for f in figures),
    )
    titles = {one.attack: one.title for audit in found.values() for one in audit.findings}
    notes = [f"{figure.attack}: {titles[figure.attack]}." for figure in figures if figure.attack]
    notes.append(f"Means with 95 % bootstrap intervals over clients; {seeds_sentence(most)}.")
    notes += [f"{label}: {SUMMED}" for label, audit in found.items() if audit.summed]
    title = "How well it predicts, and what its letters give away"
    return ReportTable("audit", title, columns, tuple(rows), tuple(notes))


def audited_entries_picture(found: Mapping[str, Audit], results: Results) -> Picture | None:
    """Accuracy against the figures, one panel each."""
    lines = [_with(line, found[line.label]) for line in results.lines if line.label in found]
    shown = [leak.name for leak in audit_figures(found) if leak.attack or leak.share == KNOWN[1]][-PANELS:]
    if not (accuracy := _accuracy(results)) or len(lines) < 2 or not shown:
        return None
    key = accuracy[-1]

    def paint(figure: Figure) -> None:
        figure.subplots_adjust(0.07, 0.14, 0.985, 0.97, wspace=0.08)
        for place, axes in enumerate(panel_grid(figure, len(shown), 1, max(2, len(shown)), sharey=True)):
            name = shown[place]
            having = [line for line in lines if is_number(line.values.get(name))]
            scatter(axes, having, name, key, name_y=place == 0, lift=6)

    return Picture(
        "audit-leaks",
        f"{key} against what the letters give away",
        f"{upwards(key)}, left gives away less. A pm-AUC of .5 is nothing beyond what is popular.",
        "; ".join(_said(line, [key, *shown]) for line in lines) + ".",
        draw("audit-leaks", HEIGHT, paint),
    )


def _accuracy(results: Results) -> list[str]:
    """The errors over groups and over ratings, or the metric the models are ordered by."""
    errors: list[str] = [key for key in ("MSE", "RMSE/ratings") if key in results.metrics]
    return errors or ([results.primary] if results.primary else [])


def _with(line: ModelSummary, audit: Audit) -> ModelSummary:
    """A line with what was found among its values."""
    found = {figure.name: figure.of(audit) for figure in audit_figures({line.label: audit})}
    return replace(line, values=line.values | found)


def _said(line: ModelSummary, keys: Sequence[str]) -> str:
    values = [f"{key} {line.values[key].mean:.3f}" for key in keys if is_number(line.values.get(key))]
    return f"{line.label}: {', '.join(values)}"
