"""What an exchange gained groups: a picture and tables beside the printed ones (FedSPLIT)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from murmura.lab.groups.group_results import GroupTable, find_groups, group_table
from murmura.report.drawing import CENTRAL, CURVES, FEDERATED, MUTED, Look, Picture, canvas
from murmura.report.page import Compared, Section, words
from murmura.report.table import Column, ReportTable, plain_table

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
    dots: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 3.5}
    looks: dict[str, Look] = {
        "the group alone": {"color": CENTRAL, **dots},
        label: {"color": FEDERATED, **dots},
    }
    with canvas("groups", HEIGHT, looks) as made:
        panels = made.panels(4, 1, sharex=True, height_ratios=(3, 2, 1.3, 1.3))
        x = np.arange(len(order))
        shown = [(0, groups.alone, CENTRAL), (0, groups.after, FEDERATED), (1, change, CURVES[0])]
        shown += [(2, groups.members, MUTED), (3, groups.ratings, MUTED)]
        for place, column, colour in shown:
            panels[place].plot(x, column[order], color=colour, **dots)
        panels[1].axhline(0, color=MUTED, linewidth=0.8)
        for axes, name in zip(panels, ("MSE", "change of MSE", "members", "ratings")):
            axes.set_ylabel(name)
            if axes is not panels[1]:
                axes.set_ylim(bottom=0)
        panels[3].set_xlabel("groups of all groupings, the largest gain first")
    better = int((change < 0).sum())
    gain = -float(change[change < 0].mean()) if better else 0.0
    return made.picture(
        f"What {label} gains every group",
        "One dot is a group of people. The measure is the mean squared error on its held-out ratings, which "
        "the paper prints as RMSE.",
        f"{better} of {len(change)} groups improved, by {gain:.3f} on average.",
    )


def improvement_table(found: GroupTable) -> ReportTable:
    """Table 2."""
    heads = words("groups")["improvement"]
    digits, printed = (0, 0, 3, 3, 3, 3, 2, 2), (0, 0, 2, 3, 2, 3, 2, 2)
    rows: list[Sequence[Any]] = []
    for one in found.summaries():
        changes = (one.gain, one.gain_reach, one.loss, one.loss_reach)
        values = (one.groups, one.improved, *changes, one.members_pearson, one.ratings_pearson)
        rows.append((one.model, *zip(values, digits)))
    for data, values in PRINTED["improved"].items():
        rows.append((f"FedSPLIT on {data}, printed", *zip(values, printed)))
    title = "Groups that gain (the paper's table 2)"
    return plain_table("groups", title, {"model": "", **heads}, rows)


def within_table(found: GroupTable) -> ReportTable:
    """How many groups are at or below the cut-offs of section 4.3."""
    rows: list[Sequence[Any]] = [
        (one.model, (cut, 2), (held.share, 4), (held.mean, 3))
        for one in found.summaries()
        for cut, held in one.within.items()
    ]
    for cut, (share, mean) in PRINTED["within"].items():
        rows.append(("FedSPLIT on ml-1m, printed", (cut, 2), (share, 4), (mean, 2)))
    heads = {"model": "", "MSE at most": "", "share": "of all groups", "their MSE": "mean over these groups"}
    return plain_table("groups-within", "Groups at or below a cut-off", heads, rows)


def error_table(found: GroupTable) -> ReportTable:
    """Table 3: what was measured here, then what the paper prints of others."""
    rows: list[Sequence[Any]] = []
    for one in found.methods:
        errors = (one.mean(key) or 0.0 for key in ("MSE", "RMSE", "RMSE/ratings"))
        values = (one.mean("kB up/client"), one.kilobytes_a_round, *errors)
        rows.append((one.model, one.rounds, *zip(values, (1, 1, 3, 3, 3))))
    for name, rounds, *errors in PRINTED["rivals"]:
        shown = " / ".join("–" if value is None else f"{value:.2f}" for value in errors)
        rows.append((f"{name}, printed", rounds, None, None, None, None, shown))
    meanings = words("groups")["errors"]
    heads = [Column("model", numeric=False), *(Column(key, meaning) for key, meaning in meanings.items())]
    note = "Rivals' numbers are as printed, on ml-100k / ml-1m and splits of their own, their bytes unknown."
    return plain_table("group-errors", "Errors, rounds and bytes (the paper's table 3)", heads, rows, note)
