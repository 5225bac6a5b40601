"""Features before and after recommendation (thesis, figure 6.4), as ranked bars in place of word clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from murmura.report.plots.drawing import (
    CENTRAL,
    MUTED,
    ROW,
    Picture,
    draw,
    label_space,
    legend,
    name_rows,
)
from murmura.report.tables.table import number
from murmura.studies.analyses.preservation import OVERALL, Preservation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 20  # features of each panel
Named = Sequence[tuple[str, float]]


def preservation_picture(found: Preservation) -> Picture:
    """The most informative features of everyone, of own items on the left and of lists on the right."""
    before, after = found.before[:SHOWN], found.after[:SHOWN]
    height = 0.85 + ROW * max(len(before), len(after))

    def paint(figure: Figure) -> None:
        from matplotlib.patches import Patch

        side = label_space([name for name, _ in (*before, *after)])
        figure.subplots_adjust(side, 0.3 / height, 0.985, 1 - 0.55 / height, wspace=0.1 + 2.2 * side)
        panels = figure.subplots(1, 2)
        for axes, title, bars, other in zip(
            panels, ("own items", "recommended items"), (before, after), (after, before)
        ):
            _panel(axes, title, bars, {name for name, _ in other})
        patches = [Patch(color=colour) for colour in (CENTRAL, MUTED)]
        legend(figure, patches, ["in both", "here alone"], height)

    lost = [name for name, _ in before if name not in {name for name, _ in found.after}]
    said = (
        f"lost of the first {len(before)}: {', '.join(lost)}"
        if lost
        else f"the first {len(before)} are all kept"
    )
    return Picture(
        "features",
        f"What people decide by, before and after: {found.label}",
        "The information gain of features, summed over people: of their own items against others, and of the "
        "items of their lists against others.",
        f"{number(100 * found.overall, 0)} % of the {OVERALL} most informative features are so after; {said}.",
        draw("features", height, paint),
    )


def _panel(axes: Axes, title: str, bars: Named, other: set[str]) -> None:
    name_rows(axes, [name for name, _ in bars])
    colours = [CENTRAL if name in other else MUTED for name, _ in bars]
    axes.barh(range(len(bars)), [gain for _, gain in bars], 0.62, color=colours)
    axes.set_title(title)
