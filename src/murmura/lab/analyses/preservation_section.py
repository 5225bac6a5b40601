"""Features before and after recommendation (thesis, table 6.2; figure 6.4 as bars in place of word clouds)."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.lab.analyses.preservation import OVERALL, PRESERVATION, Preservation
from murmura.report import drawing
from murmura.report.page import Compared, Section
from murmura.report.table import Column, ReportTable, number, plain_table

SHOWN = 20  # features of each panel


def section(compared: Compared) -> Section | None:
    """Where `murmura analyse features` measured them."""
    kept = PRESERVATION.read(compared.folder.run)
    if not kept:
        return None
    title = "Features before and after"
    return Section.of("features", title, preservation_picture(kept[0]), preservation_table(kept))


def preservation_picture(found: Preservation) -> drawing.Picture:
    """The most informative features of everyone, of own items on the left and of lists on the right."""
    before, after = dict(found.before[:SHOWN]), dict(found.after[:SHOWN])
    height = 0.85 + drawing.ROW * max(len(before), len(after))
    looks = {"in both": drawing.CENTRAL, "here alone": drawing.MUTED}
    with drawing.canvas("features", height, looks) as made:
        sides = ("own items", before, after), ("recommended items", after, before)
        for axes, (title, gains, other) in zip(made.panels(2, 2), sides):
            colours = [drawing.CENTRAL if name in other else drawing.MUTED for name in gains]
            drawing.name_rows(axes, list(gains))
            axes.barh(range(len(gains)), list(gains.values()), 0.62, color=colours)
            axes.set_title(title)
    lost = ", ".join(name for name in before if name not in dict(found.after))
    said = f"lost of the first {len(before)}: {lost}" if lost else f"the first {len(before)} are all kept"
    return made.picture(
        f"What people decide by, before and after: {found.label}",
        "The information gain of features, summed over people: of their own items against others, and of the "
        "items of their lists against others.",
        f"{number(100 * found.overall, 0)} % of the {OVERALL} most informative features are so after; {said}.",
    )


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
