"""The terms of a score as bars: why the first item of a few people is the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from murmura.core.errors import RunError
from murmura.engine.experiment import REASONS
from murmura.engine.run import Run
from murmura.report.plots.drawing import (
    CENTRAL,
    FEDERATED,
    INK,
    MUTED,
    ROW,
    WIDTH,
    Picture,
    draw,
    legend,
    name_rows,
    panel_grid,
    short,
)
from murmura.report.tables.table import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 8  # bars of one person; what is left is one more


@dataclass(frozen=True)
class Bar:
    """One term of a score."""

    name: str
    term: float
    because: bool


@dataclass(frozen=True)
class ExplainedItem:
    """Someone's first item and what its score is the sum of, the most informative feature first."""

    user: str
    item: str
    bars: tuple[Bar, ...]

    @property
    def score(self) -> float:
        """The sum."""
        return sum(bar.term for bar in self.bars)

    def shown(self) -> list[Bar]:
        """The first bars, and all others added up in one."""
        first, rest = list(self.bars[:MOST]), self.bars[MOST:]
        if not rest:
            return first
        return [*first, Bar(f"{len(rest)} others", sum(bar.term for bar in rest), False)]


def read_reasons(run: Run) -> list[ExplainedItem]:
    """What a run folder keeps of reasons; nothing where its scores are no sums."""
    if not run.has(REASONS):
        return []
    header, rows = run.read_table(REASONS)
    found: dict[tuple[str, str], list[Bar]] = {}
    try:
        at = {name: header.index(name) for name in ("user", "item", "name", "term", "because")}
        for row in rows:
            bar = Bar(row[at["name"]], float(row[at["term"]]), row[at["because"]] == "1")
            found.setdefault((row[at["user"]], row[at["item"]]), []).append(bar)
    except (ValueError, IndexError):
        raise RunError(f"{run.path / REASONS} is damaged: run it again.") from None
    return [ExplainedItem(user, item, tuple(bars)) for (user, item), bars in found.items()]


def reasons_picture(place: int, label: str, found: Sequence[ExplainedItem]) -> Picture | None:
    """A panel for each person; nothing where nobody's item is explained."""
    if not found:
        return None
    most = max(len(one.shown()) for one in found)
    height = 0.8 + ROW * most

    def paint(figure: Figure) -> None:
        from matplotlib.patches import Patch

        side = 1.95 / WIDTH  # of the names left of every panel
        figure.subplots_adjust(side, 0.3 / height, 0.985, 1 - 0.5 / height, wspace=0.95)
        for axes, one in zip(panel_grid(figure, len(found), 1, max(2, len(found))), found):
            _panel(axes, one, most)
        patches = [Patch(color=colour) for colour in (FEDERATED, CENTRAL)]
        legend(figure, patches, ["because", "adds to it"], height)

    name = f"reasons-{place}"
    return Picture(
        name,
        f"Why these items: {label}",
        "What the score of the first item of a few people is the sum of, the most informative feature first. "
        "Because: without it the item would not be among their first ten.",
        " ".join(_said(one) for one in found),
        draw(name, height, paint),
    )


def _panel(axes: Axes, one: ExplainedItem, rows: int) -> None:
    bars = one.shown()
    name_rows(axes, [bar.name for bar in bars])
    axes.set_ylim(rows - 0.5, -0.5)  # bars of one width in all panels
    colours = [FEDERATED if bar.because else CENTRAL for bar in bars]
    axes.barh(range(len(bars)), [bar.term for bar in bars], 0.62, color=colours)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for row, bar in enumerate(bars):
        far = max(bar.term, 0)
        axes.annotate(
            number(bar.term, 3),
            (far, row),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=INK,
        )
    axes.margins(x=0.18)
    axes.set_title(f"{short(one.item)}, for {short(one.user)}: {number(one.score, 3)}", x=-0.75)


def _said(one: ExplainedItem) -> str:
    terms = ", ".join(f"{bar.name} {number(bar.term, 3)}" for bar in one.shown())
    return f"{one.item} for {one.user}, {number(one.score, 3)}: {terms}."
