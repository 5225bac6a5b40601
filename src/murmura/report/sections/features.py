"""Features before and after recommendation (thesis, table 6.2; figure 6.4 as bars in place of word clouds)."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import Column, ReportTable, number, plain_table
from murmura.studies.analyses.preservation import OVERALL, PRESERVATION, Preservation

SHOWN = 20  # features of each panel
Named = Sequence[tuple[str, float]]


def section(compared: Compared) -> Section | None:
    """Where `murmura analyse features` measured them."""
    kept = PRESERVATION.read(compared.folder.run)
    if not kept:
        return None
    title = "Features before and after"
    return Section.of("features", title, preservation_picture(kept[0]), preservation_table(kept))


def preservation_picture(found: Preservation) -> drawing.Picture:
    """The most informative features of everyone, of own items on the left and of lists on the right."""
    before, after = found.before[:SHOWN], found.after[:SHOWN]
    height = 0.85 + drawing.ROW * max(len(before), len(after))

    def paint(figure: drawing.Figure) -> None:
        panels = figure.subplots(1, 2)
        for axes, title, bars, other in zip(
            panels, ("own items", "recommended items"), (before, after), (after, before)
        ):
            _panel(axes, title, bars, {name for name, _ in other})
        drawing.colour_legend(figure, {"in both": drawing.CENTRAL, "here alone": drawing.MUTED})

    lost = [name for name, _ in before if name not in {name for name, _ in found.after}]
    said = (
        f"lost of the first {len(before)}: {', '.join(lost)}"
        if lost
        else f"the first {len(before)} are all kept"
    )
    return drawing.Picture(
        "features",
        f"What people decide by, before and after: {found.label}",
        "The information gain of features, summed over people: of their own items against others, and of the "
        "items of their lists against others.",
        f"{number(100 * found.overall, 0)} % of the {OVERALL} most informative features are so after; {said}.",
        drawing.draw("features", height, paint),
    )


def _panel(axes: drawing.Axes, title: str, bars: Named, other: set[str]) -> None:
    drawing.name_rows(axes, [name for name, _ in bars])
    colours = [drawing.CENTRAL if name in other else drawing.MUTED for name, _ in bars]
    axes.barh(range(len(bars)), [gain for _, gain in bars], 0.62, color=colours)
    axes.set_title(title)


def preservation_table(found: Sequence[Preservation]) -> ReportTable:
    """Table 6.2: quartiles of the share of a person's features that are informative in her list, too."""
    rows = (
        (one.label, most, *((value, 3) for value in (*three, one.overall)))
        for one in found
        for most, three in one.kept.items()
    )
    note = (
        "Of a person's most informative features the share that is informative in her list of recommendations, "
        f"too: quartiles over people. overlap@{OVERALL}: of everyone's {OVERALL} most informative features the "
        "share that is among those of all lists together."
    )
    heads: list[str | Column] = ["model", Column("features"), "Q1", "Q2", "Q3", f"overlap@{OVERALL}"]
    return plain_table("features", "Features before and after recommendation", heads, rows, note)
