"""The tables of a reproduction: printed beside ours, what was chosen, what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from murmura.engine.run import Run
from murmura.report.reproduced_numbers import ReproducedNumber
from murmura.report.summary import ALPHA
from murmura.report.tables.table import (
    NONE,
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    interval_cell,
    name_columns,
    number,
    number_cell,
    text_cell,
)
from murmura.studies.papers.experiments import Experiment
from murmura.studies.papers.reproduce import CHOICES, SPENT, TRIALS, ExperimentPlace
from murmura.studies.papers.trial_result import TrialResult
from murmura.studies.papers.verdict import WIDER
from murmura.studies.search.trials import best_place


def metric_tables(shown: Experiment, data: str, found: Sequence[ReproducedNumber]) -> list[ReportTable]:
    """One table per metric: row, printed, ours, difference, test, verdict."""
    made = []
    for metric in dict.fromkeys(one.metric for one in found):
        here = [one for one in found if one.metric == metric]
        made.append(_metric_table(shown, data, metric, here))
    return made


def _metric_table(shown: Experiment, data: str, metric: str, found: Sequence[ReproducedNumber]) -> ReportTable:
    reasons = list(dict.fromkeys(one.verdict.reason for one in found if one.verdict.reason))
    decimals = decimals_for([value for one in found for value in (one.printed, one.ours.mean)])
    rows = tuple(
        (
            text_cell(one.row),
            number_cell(one.printed, decimals),
            interval_cell(one.ours, decimals),
            _percent(one.difference),
            _test(one),
            text_cell(_word(one, reasons)),
        )
        for one in found
    )
    columns = (
        Column("row", numeric=False),
        Column("printed"),
        Column("ours", "mean over seeds, with its 95 % interval over seeds"),
        Column("difference", "ours - printed, in per cent of the printed value"),
        Column("p", "against the best centralised row: paired t-test over users, Holm-corrected"),
        Column("verdict", numeric=False),
    )
    notes = _notes(shown, found, reasons)
    return ReportTable(slug(f"{data}-{metric}"), f"{metric} on {data}", columns, rows, notes)


def _word(one: ReproducedNumber, reasons: list[str]) -> str:
    word = one.verdict.word or NONE
    return f"{word} ({reasons.index(one.verdict.reason) + 1})" if one.verdict.reason else word


def _notes(shown: Experiment, found: Sequence[ReproducedNumber], reasons: list[str]) -> tuple[str, ...]:
    notes = [
        f"reproduced: within {shown.tolerance:.0%} of the print, or within {WIDER * shown.tolerance:.0%} when "
        "the print lies in our interval. Intervals are over seeds (t, 95 %); none where no seed matters."
    ]
    best = next((one.row for one in found if one.reference), "")
    if best:
        notes.append(
            f"p: each row against the best centralised one, {best}, user by user (paired t-test, Holm). "
            f"↑ and ↓: above and below it with p < {ALPHA}."
        )
    notes += [f"({place}) {reason} See {shown.docs}." for place, reason in enumerate(reasons, start=1)]
    return tuple(notes)


def _percent(value: float | None) -> TableCell:
    return TableCell(None, NONE) if value is None else TableCell(value, f"{number(100 * value, 1)} %")


def _test(one: ReproducedNumber) -> TableCell:
    if one.reference:
        return TableCell(None, "best")
    if one.test is None or math.isnan(one.test.p_t):
        return TableCell(None, NONE)
    mark = ("↑" if one.test.difference.mean > 0 else "↓") if one.test.sure else ""
    p = one.test.p_t
    return TableCell(p, "< .001" if p < 0.001 else f"{p:.3f}", mark=mark)


def read_trials(place: ExperimentPlace) -> list[TrialResult]:
    """Every trial of a folder, in the order of rows, stages and settings."""
    folder = Run(place.folder / TRIALS)
    names = sorted(file.name for file in folder.path.glob("*.json")) if folder.path.is_dir() else []
    order = {label: number for number, label in enumerate(place.experiment.rows)}
    tried = [TrialResult.of(folder.read(name)) for name in names]
    return sorted(tried, key=lambda one: (order.get(one.row, -1), one.stage, _natural(one.asked)))


def _natural(settings: dict[str, Any]) -> list[tuple[str, float, str]]:
    """An order in which 20 comes before 100."""
    return [
        (key, float(value) if isinstance(value, int | float) else 0.0, str(value))
        for key, value in sorted(settings.items())
    ]


def choice_table(place: ExperimentPlace, tried: Sequence[TrialResult]) -> ReportTable:
    """What was chosen for every row on the validation part, out of how many trials."""
    experiment = place.experiment
    chosen = Run(place.folder).read(CHOICES)
    rows = []
    for label, row in experiment.rows.items():
        mine = [one for one in tried if one.row == label]
        left_out = str(chosen.get(label, {}).get("left out", ""))
        settings, value = settings_text(row.settings), None
        if mine and not left_out:
            won = mine[best_place([one.value for one in mine], experiment.better)]
            settings, value = settings_text(won.settings), won.value
        if row.sweep:
            (key, values), *_ = row.sweep.items()
            settings = f"{key} = {', '.join(map(str, values))}; the best of them: {settings}"
        cpu = sum(one.cpu for one in mine) / 60
        rows.append(
            (
                text_cell(label),
                text_cell(f"left out: {left_out}" if left_out else settings),
                number_cell(value, 5),
                number_cell(len(mine)),
                number_cell(cpu, 1),
            )
        )
    columns = (
        *name_columns("row", "chosen"),
        Column(f"{experiment.metric} on validation"),
        Column("trials"),
        Column("CPU minutes"),
    )
    note = (
        "Chosen on the validation part with one seed, the best epoch included; then fitted on the whole "
        "training part and scored on the test part once."
    )
    return ReportTable(
        f"chosen-{place.data}", f"What was chosen on {place.data}", columns, tuple(rows), (note,)
    )


def trial_table(place: ExperimentPlace, tried: Sequence[TrialResult]) -> ReportTable:
    """Every trial: the search that reached a value, or did not."""
    rows = tuple(
        (
            text_cell(one.row),
            number_cell(one.stage + 1),
            text_cell(settings_text(one.asked)),
            number_cell(one.settings.get("epochs") if one.curve else None),
            number_cell(one.value, 5),
            number_cell(one.cpu, 1),
            text_cell(one.failed),
        )
        for one in tried
    )
    columns = (
        Column("row", numeric=False),
        Column("grid"),
        Column("settings", numeric=False),
        Column("best epoch"),
        Column(f"{place.experiment.metric} on validation"),
        Column("CPU seconds"),
        Column("failed", numeric=False),
    )
    return ReportTable(f"trials-{place.data}", f"Trials on {place.data}", columns, rows)


def time_table(places: Sequence[ExperimentPlace]) -> ReportTable:
    """What a reproduction cost: fits, CPU and wall minutes, over all sessions."""
    rows = []
    for place in places:
        folder = Run(place.folder)
        sessions = folder.read(SPENT)["sessions"] if folder.has(SPENT) else []
        total = {key: sum(one[key] for one in sessions) for key in ("fits", "cpu", "wall")}
        rows.append(
            (
                text_cell(place.data),
                number_cell(total["fits"]),
                number_cell(total["cpu"] / 60, 1),
                number_cell(total["wall"] / 60, 1),
                number_cell(len(sessions)),
            )
        )
    titles = ("fits", "CPU minutes", "wall minutes", "sessions")
    columns = (*name_columns("data"), *map(Column, titles))
    return ReportTable("time", "What it cost", columns, tuple(rows))


def slug(text: str) -> str:
    """Text as an id of a page."""
    return "".join(one if one.isalnum() else "-" for one in text).lower()


def settings_text(settings: dict[str, Any]) -> str:
    """Settings as a person reads them."""
    return ", ".join(f"{key} {value}" for key, value in sorted(settings.items())) or "its defaults"
