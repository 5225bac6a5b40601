"""Accuracy against freshness: what it costs that many clients work on the same model."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.evaluation.metric_names import title
from murmura.report.drawing import MUTED, Figure, Picture, curve_legend, curve_styles, draw, logarithmic, note
from murmura.report.page import Compared, Section
from murmura.report.sections.sweep import Curves, _cell, _number
from murmura.report.table import NAME, Column, ReportTable, TableCell, number_cell, text_cell
from murmura.runs.sweep import FRESHNESS, NORMALISED, SweepPoint, freshness


def section(compared: Compared) -> Section | None:
    """Where a model was trained with several freshnesses."""
    fresh, k = freshness(compared.points), compared.folder.cutoff
    picture = freshness_picture(fresh, k)
    return Section.of("fresh", "Freshness", picture, freshness_table(fresh, k)) if picture else None


def freshness_picture(found: Sequence[SweepPoint], k: int) -> Picture | None:
    """One line per model, freshest on the left; nothing where no model was trained with several freshnesses."""
    key = f"P@{k}"
    lines: Curves = {}
    for one in found:
        if key in one.found:
            lines.setdefault(one.curve, []).append(one)
    lines = {name: ones for name, ones in lines.items() if len({one.found[FRESHNESS] for one in ones}) > 1}
    if not lines:
        return None

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        styles = curve_styles(list(lines))
        for name, ones in lines.items():
            x, y = [one.found[NORMALISED] for one in ones], [one.found[key] for one in ones]
            axes.plot(x, y, **styles[name].line())
            for one, here, there in zip(ones, x, y):
                note(axes, here, there, one.clients, colour=MUTED)
        logarithmic(axes, "x")
        axes.invert_xaxis()
        axes.set_ylim(bottom=0)
        axes.margins(x=0.05, y=0.15)
        axes.set_xlabel("normalised freshness: models delivered in an epoch / training rows", labelpad=3)
        axes.set_ylabel(f"{key}: {title(key)}")
        curve_legend(figure, styles)

    said = "; ".join(
        f"{name}: " + ", ".join(f"{one.clients} clients {_number(one, key)}" for one in ones)
        for name, ones in lines.items()
    )
    return Picture(
        "freshness",
        f"{key} against freshness",
        "The number at a point is the clients in a round. On the left every client trains on a fresh model, on "
        "the right all of them work on the same one (FPL, long version, eq. 11).",
        f"{key} by clients in a round: {said}.",
        draw("freshness", 3.4, paint),
    )


def freshness_table(found: Sequence[SweepPoint], k: int) -> ReportTable | None:
    """How fresh the models were, and what they scored."""
    keys = [key for key in (f"P@{k}", f"R@{k}", f"IC@{k}") if any(key in one.found for one in found)]
    if not found:
        return None
    rows: list[tuple[TableCell, ...]] = []
    for one in found:
        cells = [_cell(one.found.get(key), [o.found.get(key) for o in found]) for key in keys]
        normalised = one.found[NORMALISED]
        fresh = (number_cell(one.found[FRESHNESS]), TableCell(normalised, f"{normalised:.3g}"))
        rows.append((text_cell(one.label), text_cell(one.clients), *fresh, *cells))
    columns = (
        NAME,
        Column("clients", "in a round"),
        Column("freshness", "updated models delivered in an epoch"),
        Column("normalised", "over the models of sequential training"),
        *(Column(key, title(key)) for key in keys),
    )
    return ReportTable("freshness", "Freshness and accuracy", columns, tuple(rows))
