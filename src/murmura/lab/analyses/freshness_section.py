"""Accuracy against freshness: what it costs that many clients work on the same model."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.evaluation.registry import title
from murmura.report.drawing import Picture, canvas, curve_styles, logarithmic, note
from murmura.report.page import Compared, Section
from murmura.report.table import NAME, Column, ReportTable, TableCell, decimals_for, plain_table
from murmura.studies.sweep.folder import FRESHNESS, NORMALISED, SweepPoint, freshness
from murmura.studies.sweep.section import number_at, plot_points


def section(compared: Compared) -> Section | None:
    """Where a model was trained with several freshnesses."""
    fresh, k = freshness(compared.points), compared.folder.cutoff
    picture = freshness_picture(fresh, k)
    return Section.of("fresh", "Freshness", picture, freshness_table(fresh, k)) if picture else None


def freshness_picture(found: Sequence[SweepPoint], k: int) -> Picture | None:
    """One line per model, freshest on the left; nothing where no model was trained with several freshnesses."""
    key = f"P@{k}"
    names = dict.fromkeys(one.curve for one in found)
    lines = {name: [one for one in found if one.curve == name and key in one.found] for name in names}
    lines = {name: ones for name, ones in lines.items() if len({one.found[FRESHNESS] for one in ones}) > 1}
    if not lines:
        return None
    styles = curve_styles(list(lines))
    with canvas("freshness", 3.4, styles) as made:
        for name, ones in lines.items():
            plot_points(made.axes, ones, NORMALISED, key, **styles[name].line())
            for one in ones:
                note(made.axes, one.found[NORMALISED], one.found[key], one.clients)
        logarithmic(made.axes, "x")
        made.axes.invert_xaxis()
        made.axes.set(ylabel=f"{key}: {title(key)}", ylim=(0, None))
        made.axes.margins(x=0.05, y=0.15)
        made.axes.set_xlabel("normalised freshness: models delivered in an epoch / training rows", labelpad=3)
    said = "; ".join(
        f"{name}: " + ", ".join(f"{one.clients} clients {number_at(one, key)}" for one in ones)
        for name, ones in lines.items()
    )
    return made.picture(
        f"{key} against freshness",
        "The number at a point is the clients in a round. On the left every client trains on a fresh model, on "
        "the right all of them work on the same one (FPL, long version, eq. 11).",
        f"{key} by clients in a round: {said}.",
    )


def freshness_table(found: Sequence[SweepPoint], k: int) -> ReportTable | None:
    """How fresh the models were, and what they scored."""
    if not found:
        return None
    keys = [key for key in (f"P@{k}", f"R@{k}", f"IC@{k}") if any(key in one.found for one in found)]
    digits = {key: decimals_for([one.found.get(key) for one in found]) for key in keys}
    rows = (
        (
            *(one.label, one.clients, one.found[FRESHNESS]),
            TableCell(one.found[NORMALISED], f"{one.found[NORMALISED]:.3g}"),
            *((one.found.get(key), digits[key]) for key in keys),
        )
        for one in found
    )
    heads = [
        *(NAME, Column("clients", "in a round")),
        Column("freshness", "updated models delivered in an epoch"),
        Column("normalised", "over the models of sequential training"),
        *(Column(key, title(key)) for key in keys),
    ]
    return plain_table("freshness", "Freshness and accuracy", heads, rows)
