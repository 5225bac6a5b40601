"""Groups sorted by what an exchange gained them, with their members and ratings (FedSPLIT, figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from murmura.report.plots.drawing import CENTRAL, CURVES, FEDERATED, MUTED, Picture, draw
from murmura.report.plots.palette import legend
from murmura.studies.groups.group_results import GroupTable, group_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 5.6


def gain_picture(found: GroupTable) -> Picture:
    """The first method of the folder: errors before and after, their change, members and ratings."""
    label = found.pairs[0].model
    groups = group_table(label, [pair for pair in found.pairs if pair.model == label])
    change = groups.after - groups.alone
    order = np.argsort(change)

    def paint(figure: Figure) -> None:
        from matplotlib.lines import Line2D

        panels = figure.subplots(4, 1, sharex=True, height_ratios=(3, 2, 1.3, 1.3))
        figure.subplots_adjust(0.07, 0.075, 0.985, 0.92, hspace=0.16)
        x = np.arange(len(order))
        dots: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 3.5}
        panels[0].plot(x, groups.alone[order], color=CENTRAL, **dots)
        panels[0].plot(x, groups.after[order], color=FEDERATED, **dots)
        panels[0].set_ylabel("MSE")
        panels[1].plot(x, change[order], color=CURVES[0], **dots)
        panels[1].axhline(0, color=MUTED, linewidth=0.8)
        panels[1].set_ylabel("change of MSE")
        for axes, column, name in zip(panels[2:], (groups.members, groups.ratings), ("members", "ratings")):
            axes.plot(x, column[order], color=MUTED, **dots)
            axes.set_ylabel(name)
            axes.set_ylim(bottom=0)
        panels[0].set_ylim(bottom=0)
        panels[3].set_xlabel("groups of all groupings, the largest gain first", labelpad=2)
        handles = [Line2D([], [], color=colour, **dots) for colour in (CENTRAL, FEDERATED)]
        legend(figure, handles, ["the group alone", label], HEIGHT)

    better = int((change < 0).sum())
    gain = -float(change[change < 0].mean()) if better else 0.0
    return Picture(
        "groups",
        f"What {label} gains every group",
        "One dot is a group of people. The measure is the mean squared error on its held-out ratings, which "
        "the paper prints as RMSE.",
        f"{better} of {len(change)} groups improved, by {gain:.3f} on average.",
        draw("groups", HEIGHT, paint),
    )
