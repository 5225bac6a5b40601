"""What an exchange gained groups: a picture and tables beside the printed ones (FedSPLIT)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from murmura.report.drawing import CENTRAL, CURVES, FEDERATED, MUTED, Picture, draw, legend
from murmura.report.glossary import words
from murmura.report.page import Compared, Section
from murmura.report.table import Column, ReportTable, number_cell, text_cell
from murmura.studies.groups.group_results import GroupTable, find_groups, group_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HEIGHT = 5.6

PRINTED = words("fedsplit-printed")


def section(compared: Compared) -> Section | None:
    """Where groups were trained alone and with an exchange."""
    found = find_groups(compared.folder)
    if found is None:
        return None
    tables = error_table(found), improvement_table(found), within_table(found)
    return Section.of("groups", "Groups", gain_picture(found), *tables)


def gain_picture(found: GroupTable) -> Picture:
    """The first method of the folder: errors before and after, their change, members and ratings."""
    label = found.pairs[0].model
    groups = group_table(label, [pair for pair in found.pairs if pair.model == label])
    change = groups.after - groups.alone
    order = np.argsort(change)

    def paint(figure: Figure) -> None:
        from matplotlib.lines import Line2D

        panels = figure.subplots(4, 1, sharex=True, height_ratios=(3, 2, 1.3, 1.3))
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
        legend(figure, handles, ["the group alone", label])

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


def improvement_table(found: GroupTable) -> ReportTable:
    """Table 2."""
    rows = []
    for one in found.summaries():
        changes = (one.gain, one.gain_reach, one.loss, one.loss_reach)
        values = (one.groups, one.improved, *changes, one.members_pearson, one.ratings_pearson)
        rows.append((text_cell(one.model), *map(number_cell, values, (0, 0, 3, 3, 3, 3, 2, 2))))
    for data, printed in PRINTED["improved"].items():
        name = text_cell(f"FedSPLIT on {data}, printed")
        rows.append((name, *map(number_cell, printed, (0, 0, 2, 3, 2, 3, 2, 2))))
    columns = (
        Column("model", numeric=False),
        Column("groups", "of all groupings"),
        Column("improved", "groups with a smaller error than alone"),
        Column("gain", "mean change of the MSE of those"),
        Column("± gain", "half of its 95 % interval over groups (t)"),
        Column("loss", "mean change of the MSE of the others"),
        Column("± loss", "half of its 95 % interval over groups (t)"),
        Column("r members", "correlation of the change with the members"),
        Column("r ratings", "correlation of the change with the ratings"),
    )
    return ReportTable("groups", "Groups that gain (the paper's table 2)", columns, tuple(rows))


def within_table(found: GroupTable) -> ReportTable:
    """How many groups are at or below the cut-offs of section 4.3."""
    rows = [
        (text_cell(one.model), number_cell(cut, 2), number_cell(held.share, 4), number_cell(held.mean, 3))
        for one in found.summaries()
        for cut, held in one.within.items()
    ]
    for cut, (share, mean) in PRINTED["within"].items():
        name = text_cell("FedSPLIT on ml-1m, printed")
        rows.append((name, number_cell(cut, 2), number_cell(share, 4), number_cell(mean, 2)))
    columns = (
        Column("model", numeric=False),
        Column("MSE at most"),
        Column("share", "of all groups"),
        Column("their MSE", "mean over these groups"),
    )
    return ReportTable("groups-within", "Groups at or below a cut-off", columns, tuple(rows))


def error_table(found: GroupTable) -> ReportTable:
    """Table 3: what was measured here, then what the paper prints of others."""
    rows = []
    for one in found.errors():
        values = (one.kilobytes, one.kilobytes_a_round, one.mse, one.rmse, one.rmse_ratings)
        rows.append((text_cell(one.model), text_cell(one.rounds), *map(number_cell, values, (1, 1, 3, 3, 3))))
    empty = number_cell(None)
    for name, rounds, small, large in PRINTED["rivals"]:
        shown = " / ".join("–" if value is None else f"{value:.2f}" for value in (small, large))
        blank = (empty, empty, empty, empty)
        rows.append((text_cell(f"{name}, printed"), text_cell(rounds), *blank, text_cell(shown)))
    columns = (
        Column("model", numeric=False),
        Column("rounds", "exchanges of models"),
        Column("kB up", "sent by a client in all"),
        Column("a round", "kB sent by a client in each round, where there are several"),
        Column("MSE", "mean over groups; all ratings for a centralised model"),
        Column("RMSE", "mean over groups; all ratings for a centralised model"),
        Column("RMSE/ratings", "over all ratings; of rivals ml-100k / ml-1m as printed"),
    )
    notes = (
        "Rivals' numbers are as printed, on ml-100k / ml-1m and splits of their own, their bytes unknown.",
    )
    return ReportTable(
        "group-errors", "Errors, rounds and bytes (the paper's table 3)", columns, tuple(rows), notes
    )
