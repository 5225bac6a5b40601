"""What noise would leave, over the number of people: a line for each epsilon."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from murmura.lab.privacy_plan.run import PlannedRelease, PublicFigures
from murmura.report.drawing import FILE_GRID, FILE_MUTED, page_style, require_report

LINES = ("#882255", "#d55e00", "#e69f00", "#009e73", "#0072b2", "#332288")


def privacy_plan_picture(figures: PublicFigures, planned: Sequence[PlannedRelease]) -> str:
    """SVG: the share of the gain over popularity that is left, people on a logarithmic axis."""
    require_report()
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(page_style("privacy-plan", "file"), after_reset=True):
        figure = Figure(figsize=(7.5, 4.6), dpi=72, layout="constrained")
        axes = figure.add_subplot()
        for place, epsilon in enumerate(sorted({one.epsilon for one in planned}, reverse=True)):
            line = sorted((one.people, one.gain) for one in planned if one.epsilon == epsilon)
            shown = [(people, max(-0.1, gain)) for people, gain in line]
            look: dict[str, Any] = {"color": LINES[place % len(LINES)], "marker": "o"}
            axes.plot(*zip(*shown), label=f"epsilon {epsilon:g}", **look)
        axes.axhspan(-0.1, 0, color=FILE_GRID, alpha=0.6, linewidth=0)
        axes.annotate("hopeless: the most popular items do better", (0.99, 0.02), fontsize=8, color=FILE_MUTED,
                      xycoords="axes fraction", ha="right", va="bottom")  # fmt: skip
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_ylim(-0.1, 1.0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_xlabel("people")
        axes.set_ylabel("of what is gained over popularity without noise")
        axes.set_title(
            f"{figures.items:,} items ({figures.effective_items:,.0f} effective), {figures.per_person:.0f} for "
            "each person",
            fontsize=10,
        )
        axes.legend(frameon=False, fontsize=8)
        axes.grid(True)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
