"""The tables of the analyses: a sweep value by value (thesis, table 4.4), frequencies, bias, freshness."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.report.plots.sweep import cost, front_points
from murmura.report.summary import Results, title
from murmura.report.tables.comparison import NAME, estimate_cell
from murmura.report.tables.table import Column, ReportTable, TableCell, decimals_for, number_cell, text_cell
from murmura.runs.sweep import Sweep, value_text
from murmura.runs.sweep_points import FRESHNESS, NORMALISED, SweepPoint
from murmura.studies.analyses.exposure import HEAD, MEAN_DISPARITY, Bias, Frequencies
from murmura.studies.analyses.fidelity import LENGTH, REASONS, Fidelity
from murmura.studies.analyses.preservation import OVERALL, Preservation

Row = tuple[TableCell, ...]


def sweep_table(what: Sweep, found: Sequence[SweepPoint], k: int) -> ReportTable | None:
    """Every value of every model: accuracy, coverage, evenness, the papers' costs and the measured ones."""
    keys = (f"F1@{k}", f"P@{k}", f"IC@{k}", f"G@{k}", MEAN_DISPARITY)
    shown = [key for key in keys if any(key in point.found for point in found)]
    prices = [
        ("TCC", "TCC", "vectors exchanged in all epochs, as the papers count them (table 4.4)"),
        ("both", "MB/client", "measured bytes, up and down, per client"),
        ("kB up/client", "kB up/client", "measured bytes up per client"),
        ("disclosed", "disclosed", "measured: the mean fraction of a user's positives that left her device"),
        ("CCE", "CCE", "vectors exchanged in an epoch (FPL, long version, table 3)"),
    ]
    prices = [one for one in prices if any(cost(point, one[0]) is not None for point in found)]
    ordered = [point for curve in what.curves for point in found if point.curve == curve]
    ordered += [point for point in found if point.label in what.beside]
    marked = [one for one in prices if one[0] in ("CCE", prices[0][0])] if f"P@{k}" in shown else []
    fronts = {  # of the first cost, and of an epoch's
        "front" if place == 0 else f"front, {name}": (name, front_points(ordered, key, f"P@{k}"))
        for place, (key, name, _) in enumerate(marked)
    }
    rows: list[tuple[TableCell, ...]] = []
    for point in ordered:
        cells = [_estimate(point, key, ordered) for key in shown]
        cells += [_cell(cost(point, key), [cost(p, key) for p in ordered]) for key, _, _ in prices]
        value = "" if point.value is None else value_text(point.value)
        marks = (text_cell("●" if point in front else "") for _, front in fronts.values())
        rows.append((text_cell(point.curve), text_cell(value), *cells, *marks))
    if not rows:
        return None
    columns = (
        NAME,
        Column(what.key),
        *(Column(key, title(key)) for key in shown),
        *(Column(name, meaning) for _, name, meaning in prices),
        *(
            Column(head, f"on the Pareto front of P@{k} and {name}", numeric=False)
            for head, (name, _) in fronts.items()
        ),
    )
    notes = tuple(
        f"● in {head}: on the Pareto front of P@{k} and {name}." for head, (name, _) in fronts.items()
    )
    if any(point.seeds > 1 for point in ordered):
        notes += ("In brackets: the 95 % interval over seeds.",)
    if MEAN_DISPARITY in shown:
        notes += ("mean |BD|: bias disparity towards categories without its sign, mean over categories.",)
    return ReportTable("sweep", f"The sweep over {what.key}, value by value", columns, tuple(rows), notes)


def order_table(real: Results, days: Results) -> ReportTable | None:
    """Each metric of the models that use the order: with real times, and with the order inside days hidden."""
    known = {line.label: line.values for line in real.lines}
    pairs = [(line.label, known[line.label], line.values) for line in days.lines if line.label in known]
    keys = [key for key in real.at(real.cutoffs[0]) if all(key in one for _, *both in pairs for one in both)]
    if not pairs or not keys:
        return None
    digits = {key: decimals_for([one[key].mean for _, *both in pairs for one in both]) for key in keys}
    rows = tuple(
        (text_cell(label), *(estimate_cell(one[key], digits[key]) for key in keys for one in both))
        for label, *both in pairs
    )
    heads = (Column(f"{key}, {order}", title(key)) for key in keys for order in ("real", "day"))
    note = "In small type the 95 % interval, as in the table of results."
    return ReportTable("order", "Real times, and whole days", (NAME, *heads), rows, (note,))


def frequency_table(found: Sequence[Frequencies]) -> ReportTable | None:
    """What the frequency curves say in numbers."""
    summaries = [(one.label, one.summary()) for one in found]
    every = dict.fromkeys(key for _, summary in summaries for key in summary)
    keys = sorted(every, key=lambda key: not key.startswith("updates"))
    if not keys:
        return None
    rows = [
        (text_cell(label), *(number_cell(summary.get(key), 3) for key in keys)) for label, summary in summaries
    ]
    note = (
        f"head: the share that falls on the most popular {100 * HEAD:g} % of the items seen in training. Gini: "
        "0 = all of them equally often, 1 = one only. rho: Spearman's rank correlation with popularity."
    )
    columns = (NAME, *(Column(key) for key in keys))
    return ReportTable(
        "frequency", "Updates and recommendations against popularity", columns, tuple(rows), (note,)
    )


def bias_table(found: Bias) -> ReportTable:
    """B_T, the printed B_T, and the bias disparity of every model, by category (tables 4.5 and 4.6)."""
    deviation = found.deviation()
    columns = [Column("category", numeric=False), Column("items"), Column("B_T", "bias of the training part")]
    measured = [found.items.tolist(), found.train.tolist()]
    decimals = [0, 4]
    if found.printed is not None and deviation is not None:
        columns += [Column("printed", "B_T in table 4.5 of the thesis"), Column("off by", "B_T / printed - 1")]
        measured += [found.printed.tolist(), deviation.tolist()]
        decimals += [4, 3]
    columns += [Column(f"BD {label}", f"bias disparity of the lists of {label}") for label in found.shown]
    facts = [[number_cell(value, places) for value in values] for values, places in zip(measured, decimals)]
    facts += [[estimate_cell(one, 3) for one in found.disparities(label)] for label in found.shown]
    rows = [(text_cell(name), *cells) for name, *cells in zip(found.categories, *facts)]
    notes = (
        "B_T: the share of a category among the training rows over its share among the items. "
        "BD = (B_R - B_T) / B_T, B_R the same of the lists; in brackets its 95 % interval over seeds.",
    )
    return ReportTable("bias", "Bias towards categories", tuple(columns), tuple(rows), notes)


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


def fidelity_table(found: Sequence[Fidelity]) -> ReportTable:
    """How often an item leaves the list, and its place, without a reason."""
    rows = [
        (
            text_cell(one.label),
            number_cell(one.seeds),
            number_cell(one.people),
            number_cell(one.shared, 1),
            *(number_cell(part[reason], 4) for part in (one.leaves, one.falls) for reason in REASONS),
        )
        for one in found
    ]
    columns = (
        NAME,
        Column("seeds"),
        Column("people", "who share a feature with their first item"),
        Column("features", "that they share with it, on average"),
        *(
            Column(f"{reason}, {LENGTH}", f"the item leaves the first {LENGTH} without it")
            for reason in REASONS
        ),
        *(Column(f"{reason}, 1", "the item is no longer the first without it") for reason in REASONS),
    )
    note = (
        f"How often the first item of a person's list leaves it ({LENGTH} items), or the first place (1), when "
        "one feature is taken from the scores of all items: the most informative one that speaks for the item, "
        "the one with the largest term, one of those it shares with her at random."
    )
    return ReportTable("fidelity", "Fidelity of reasons by removal", columns, tuple(rows), (note,))


def preservation_table(found: Sequence[Preservation]) -> ReportTable:
    """Table 6.2: quartiles of the share of a person's features that are informative in her list, too."""
    rows = [
        (text_cell(one.label), text_cell(most), *(number_cell(value, 3) for value in (*three, one.overall)))
        for one in found
        for most, three in one.kept.items()
    ]
    note = (
        "Of a person's most informative features the share that is informative in her list of recommendations, "
        f"too: quartiles over people. overlap@{OVERALL}: of everyone's {OVERALL} most informative features the "
        "share that is among those of all lists together."
    )
    columns = (NAME, *map(Column, ("features", "Q1", "Q2", "Q3", f"overlap@{OVERALL}")))
    return ReportTable("features", "Features before and after recommendation", columns, tuple(rows), (note,))


def _estimate(point: SweepPoint, key: str, among: Sequence[SweepPoint]) -> TableCell:
    """A metric with its interval over seeds, where several were run."""
    return estimate_cell(point.over_seeds(key), decimals_for([one.found.get(key) for one in among]))


def _cell(value: float | None, among: Sequence[float | None]) -> TableCell:
    return number_cell(value, decimals_for(among))
