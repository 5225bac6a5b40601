"""The numbers of a reproduction: printed, ours, difference and verdict; what was chosen, what it cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from murmura.engine.part_files import ordered
from murmura.evaluation.registry import better
from murmura.evaluation.significance import ALPHA, Interval, PairedDifference
from murmura.lab.analyses.item_exposure import MEAN_DISPARITY, Bias, bias, frequencies
from murmura.lab.analyses.preservation import PRESERVATION
from murmura.lab.classification.classified_samples import AGREEMENT, baseline_of, printed_like, read_learning
from murmura.lab.papers.data_facts import GROUPS, SIZES, TRAINING
from murmura.lab.papers.experiments import AS_COMPARE, Experiment, Row
from murmura.lab.papers.reproduce import ExperimentPlace
from murmura.lab.papers.reproduction_folder import RowChoice
from murmura.lab.sweep.folder import entry_points
from murmura.report.sections.differences import pair_table, paired_table
from murmura.report.summary import ModelSummary, Results, decimals_for, named_tests, summarise, tests_against
from murmura.report.table import (
    MISSING,
    NONE,
    ReportTable,
    TableCell,
    interval_cell,
    number,
    number_cell,
    plain_table,
)
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.search.folder import Trial, best

Word = Literal["reproduced", "above print", "not reached", "printed number doubtful", "", "not run"]
Better = Literal["higher", "lower", "zero", "same"]  # same: a fact, neither better nor worse

DOUBTFUL: Final = "printed number doubtful"
NEAR = 0.03  # the print may be so far from ours, as a fraction of ours
NARROW = 0.05  # an interval over few seeds can be so wide that it holds any print: half of it may be so much
FEWEST = 3  # seeds of an interval that may hold the print
FACTS = ("T", "clients per round", "freshness", "normalised freshness", "CCE", *SIZES, GROUPS)  # of the data
Values = dict[str, dict[str, Interval]]  # row -> metric -> mean and interval over seeds


def verdict(printed: float | None, ours: Interval, seeds: int, better: Better, doubted: bool = False) -> Word:
    """Reproduced: the print is within NEAR of ours, or inside a NARROW interval over at least FEWEST seeds.

    Otherwise ours is above print, which says nothing about why, or does not reach it; a doubted print is
    neither. Without a print there is no word.
    """
    mean = ours.mean
    if printed is None:
        return ""
    if math.isnan(mean):
        return "not run"
    if doubted:
        return DOUBTFUL
    size = abs(mean) * (1 + 1e-9)
    inside = seeds >= FEWEST and ours.low <= printed <= ours.high
    narrow = (ours.high - ours.low) / 2 <= NARROW * size
    if abs(mean - printed) <= NEAR * size or (inside and narrow):
        return "reproduced"
    ahead = {"higher": mean > printed, "lower": mean < printed, "zero": abs(mean) < abs(printed)}
    return "above print" if ahead.get(better) else "not reached"


def difference(printed: float | None, ours: float | None) -> float | None:
    """How far ours is from the print, as a fraction of the print."""
    if printed is None or ours is None or not printed or math.isnan(ours):
        return None
    return (ours - printed) / abs(printed)


@dataclass(frozen=True)
class ReproducedNumber:
    """One cell of a paper's table, and ours."""

    data: str
    row: str
    metric: str
    printed: float | None
    ours: Interval
    difference: float | None  # as a fraction of the printed value
    test: PairedDifference | None  # against the best centralised row; None for that row and without a test
    reference: bool  # whether it is the best centralised row
    word: Word
    doubt: str  # why the print is doubted; "" where it is not


def measured(
    place: ExperimentPlace, analyses: tuple[str, ...], rows: Sequence[str] = ()
) -> tuple[Values, Results]:
    """Every value of the comparison in a folder, or of some rows of it, and its summary for the tests."""
    comparison = ComparisonFolder.open(place.runs, rows)
    results = summarise(comparison)
    found: Values = {line.label: dict(line.over_seeds) for line in results.lines}
    for point in entry_points(comparison):
        own = found.setdefault(point.label, {})
        costs = {key: Interval(value) for key, value in point.found.items() if key not in own}
        own |= {key: point.over_seeds(key) if key.startswith("F1@") else one for key, one in costs.items()}
    if {"bias", "sweep"} & {*analyses} and comparison.run.has("categories.csv"):
        _add_bias(found, bias(comparison, frequencies(comparison)))
    for kept in PRESERVATION.read(comparison.run) if "features" in analyses else ():
        found.setdefault(kept.label, {}).update({key: Interval(v) for key, v in kept.values().items()})
    if "learning" in analyses and (entries := read_learning(comparison)):
        baseline = baseline_of(entries, comparison, place.experiment.against)
        for label, own in printed_like(entries, baseline).items():
            found.setdefault(label, {}).update(own)
    return found, results


def _add_bias(found: Values, shown: Bias | None) -> None:
    """Add B_T of the training part and BD of every row, category by category and as one mean."""
    if shown is None:
        return
    train = zip(shown.categories, shown.train.tolist())
    found.setdefault(TRAINING, {}).update({f"B_T {name}": Interval(value) for name, value in train})
    for label in shown.shown:
        own = {f"BD {name}": one for name, one in zip(shown.categories, shown.disparities(label))}
        found.setdefault(label, {}).update({**own, MEAN_DISPARITY: shown.mean_disparity(label)})


def _metrics(shown: Experiment, found: Values) -> list[str]:
    """The metrics of a table; `BD` stands for that of every category there is."""
    every = ordered([list(own) for own in found.values()])
    bias = [key for key in every if key.startswith("BD ")]
    return [key for metric in shown.shown for key in (bias if metric == "BD" else [metric])]


def numbers(
    shown: Experiment, data: str, found: Values, results: Results | None = None
) -> list[ReproducedNumber]:
    """The numbers an experiment shows on one data set, metric by metric, in the order of its rows."""
    printed = shown.printed.get(data, {})
    seeds = {line.label: len(line.model.done) for line in results.lines} if results else {}
    made = []
    for metric in _metrics(shown, found):
        tests, reference = _tests(metric, results)
        rows = [row for row in found if metric in found[row]]
        rows += [row for row in printed if metric in printed[row] and row not in rows]
        for row in rows:
            ours = found.get(row, {}).get(metric, MISSING)
            print_ = printed.get(row, {}).get(metric)
            doubt = shown.doubt(data, row, metric)
            word = verdict(print_, ours, seeds.get(row, 0), _better(metric), bool(doubt))
            found_out = difference(print_, ours.mean), tests.get(row), row == reference, word, doubt
            made.append(ReproducedNumber(data, row, metric, print_, ours, *found_out))
    return made


def _better(metric: str) -> Better:
    """Bias disparities are best at 0; sizes, costs per epoch and biases of the data are facts."""
    if metric.startswith("BD ") or metric == MEAN_DISPARITY:
        return "zero"
    return "same" if is_of_the_data(metric) or metric in AGREEMENT else better(metric)


def is_of_the_data(metric: str) -> bool:
    """Whether it follows from the data and the settings: nothing that a model learned changes it."""
    return metric.startswith("B_T ") or metric in FACTS


def _tests(metric: str, results: Results | None) -> tuple[dict[str, PairedDifference], str]:
    """Every other row against the best centralised one, user by user, corrected for their number."""
    if results is None:
        return {}, ""
    having = [line for line in results.ranked(metric) if metric in line.people.per_user]
    central: list[ModelSummary] = [line for line in having if not line.model.federated][:1]
    others = [line for line in having if line not in central]
    found = tests_against(metric, central, others)
    return {test.label: test for test in found}, central[0].label if central else ""


def row_tests(shown: Experiment, results: Results) -> list[ReportTable]:
    """The pairs of rows an experiment names, by t and Wilcoxon, metric by metric."""
    others = [line.label for line in results.lines if line.label != shown.against]
    pairs = [*((row, shown.against) for row in others if shown.against), *shown.tests]
    tests = named_tests(results, list(dict.fromkeys(pairs)), shown.shown)
    if not tests:
        return []
    if shown.tests:
        return [pair_table(tests)]
    return [paired_table(tests, f"Differences from {shown.against}", "the row this experiment is about")]


def metric_tables(shown: Experiment, data: str, found: Sequence[ReproducedNumber]) -> list[ReportTable]:
    """One table per metric: row, printed, ours, difference, test, verdict."""
    metrics = dict.fromkeys(one.metric for one in found)
    return [_metric_table(shown, data, key, [one for one in found if one.metric == key]) for key in metrics]


def _metric_table(shown: Experiment, data: str, metric: str, found: Sequence[ReproducedNumber]) -> ReportTable:
    decimals = decimals_for([value for one in found for value in (one.printed, one.ours.mean)])
    facts = [(one.row, *_compared_cells(one, decimals), _test(one)) for one in found]
    heads = {
        "row": "",
        "printed": "",
        "ours": "mean over seeds, with its 95 % interval over seeds",
        "difference": "ours - printed, in per cent of the printed value",
        "p": "against the best centralised row: paired t-test over users, Holm-corrected",
    }
    return _judged(shown, slug(f"{data}-{metric}"), f"{metric} on {data}", heads, found, facts)


def data_table(shown: Experiment, data: str, found: Sequence[ReproducedNumber]) -> ReportTable:
    """One line per number of a table of data sets: of which part of the data, printed, ours, verdict."""
    decimals = (decimals_for([one.printed, one.ours.mean]) for one in found)
    facts = [(one.metric, one.row, *_compared_cells(one, digits)) for one, digits in zip(found, decimals)]
    part = "the source, what the protocol's filters leave, or its training part"
    heads = {"what": "", "of": part, "printed": "", "ours": "", "difference": ""}
    return _judged(shown, slug(f"{data}-data"), data, heads, found, facts)


def _compared_cells(one: ReproducedNumber, decimals: int) -> tuple[TableCell, ...]:
    """The print, ours, and how far they are apart."""
    apart = TableCell(None, NONE)
    if one.difference is not None:
        apart = TableCell(one.difference, f"{number(100 * one.difference, 1)} %")
    return number_cell(one.printed, decimals), interval_cell(one.ours, decimals), apart


def _judged(
    shown: Experiment,
    name: str,
    title: str,
    heads: Mapping[str, str],
    found: Sequence[ReproducedNumber],
    facts: Sequence[Sequence[Any]],
) -> ReportTable:
    """A line of facts about each number, and its verdict; below them the reasons of doubts."""
    reasons = list(dict.fromkeys(one.doubt for one in found if one.word == DOUBTFUL))

    def word(one: ReproducedNumber) -> str:
        return f"{one.word} ({reasons.index(one.doubt) + 1})" if one.word == DOUBTFUL else one.word or NONE

    rows = ((*cells, word(one)) for one, cells in zip(found, facts))
    return plain_table(name, title, dict(heads, verdict=""), rows, *_notes(shown, found, reasons))


def _notes(shown: Experiment, found: Sequence[ReproducedNumber], reasons: list[str]) -> tuple[str, ...]:
    notes = [
        f"reproduced: the print is within {100 * NEAR:g} % of ours, or inside an interval over at least "
        f"{FEWEST} seeds no wider than ± {100 * NARROW:g} %. Intervals are over seeds (t, 95 %); none "
        "where no seed matters."
    ]
    if any(one.metric.startswith("rounds/") for one in found):
        notes.append("A seed that does not reach the target counts with its last round, as in the thesis.")
    for metric in dict.fromkeys(one.metric for one in found if one.metric in shown.printed_as):
        notes.append(f"The paper calls the printed numbers {shown.printed_as[metric]}; {shown.docs} says why.")
    best = next((one.row for one in found if one.reference), "")
    if best:
        notes.append(
            f"p: each row against the best centralised one, {best}, user by user (paired t-test, Holm). "
            f"↑ and ↓: above and below it with p < {ALPHA}."
        )
    notes += [f"({place}) {reason} See {shown.docs}." for place, reason in enumerate(reasons, start=1)]
    return tuple(notes)


def _test(one: ReproducedNumber) -> TableCell:
    if one.reference:
        return TableCell(None, "best")
    if one.test is None or math.isnan(one.test.p_t):
        return TableCell(None, NONE)
    mark = ("↑" if one.test.difference.mean > 0 else "↓") if one.test.sure else ""
    p = one.test.p_t
    return TableCell(p, "< .001" if p < 0.001 else f"{p:.3f}", mark=mark)


def read_trials(place: ExperimentPlace) -> list[Trial]:
    """Every trial of a folder, in the order of rows, stages and settings."""
    order = {label: number for number, label in enumerate(place.experiment.rows)}
    tried = [one for one in place.kept.trials if one.row in order]
    return sorted(tried, key=lambda one: (order[one.row], one.stage, _natural(one.asked)))


def _natural(settings: dict[str, Any]) -> list[tuple[str, float, str]]:
    """An order in which 20 comes before 100."""
    return [
        (key, float(value) if isinstance(value, int | float) else 0.0, str(value))
        for key, value in sorted(settings.items())
    ]


def choice_table(place: ExperimentPlace, tried: Sequence[Trial]) -> ReportTable:
    """What was chosen for every row on the validation part, out of how many trials."""
    experiment, chosen = place.experiment, place.kept.choices
    rows = []
    for label, row in experiment.rows.items():
        mine = [one for one in tried if one.row == label]
        left_out = chosen[label].left_out if label in chosen else ""
        default = AS_COMPARE if row.kept and not row.settings else settings_text(row.settings)
        settings, value = default, None
        if mine and not left_out:
            won = best(_agreeing(mine, row, chosen[label]), experiment.metric)
            settings, value = settings_text(won.settings), won.value
        if row.tuned_as:
            settings = f"{settings}; the rest as {row.tuned_as}"
        if row.sweep:
            (key, values), *_ = row.sweep.items()
            settings = f"{key} = {', '.join(map(str, values))}; the best of them: {settings}"
        cpu = sum(one.cpu for one in mine) / 60
        described = f"left out: {left_out}" if left_out else settings
        rows.append((label, described, (value, 5), len(mine), (cpu, 1)))
    heads = ("row", "chosen", f"{experiment.metric} on validation", "trials", "CPU minutes")
    note = (
        "Chosen on the validation part with one seed, the best epoch included; then fitted on the whole "
        "training part and scored on the test part once."
    )
    return plain_table(f"chosen-{place.data}", f"What was chosen on {place.data}", heads, rows, note)


def _agreeing(tried: Sequence[Trial], row: Row, chosen: RowChoice) -> Sequence[Trial]:
    """The trials with what was chosen; of equally good ones the search took the first it was asked for."""
    kept = chosen.entries[0].settings if chosen.entries else {}
    searched = {key for axes in row.search for key in axes}
    return [one for one in tried if all(one.asked.get(key) == kept.get(key) for key in searched)] or tried


def trial_table(place: ExperimentPlace, tried: Sequence[Trial]) -> ReportTable:
    """Every trial: the search that reached a value, or did not."""
    reached = f"{place.experiment.metric} on validation"
    heads = ("row", "grid", "settings", "best epoch", reached, "CPU seconds", "failed")
    rows = []
    for one in tried:
        epoch = one.settings.get("epochs") if one.curve else None
        settings = settings_text(one.asked)
        rows.append((one.row, one.stage + 1, settings, epoch, (one.value, 5), (one.cpu, 1), one.failed))
    return plain_table(f"trials-{place.data}", f"Trials on {place.data}", heads, rows)


def time_table(places: Sequence[ExperimentPlace]) -> ReportTable:
    """What a reproduction cost: fits, CPU and wall minutes, over all sessions."""
    spent = [(place.data, place.kept.spent) for place in places]
    rows = ((data, one.fits, (one.cpu / 60, 1), (one.wall / 60, 1), one.sessions) for data, one in spent)
    heads = ("data", "fits", "CPU minutes", "wall minutes", "sessions")
    return plain_table("time", "What it cost", heads, rows)


def slug(text: str) -> str:
    """Text as an id of a page."""
    return "".join(one if one.isalnum() else "-" for one in text).lower()


def settings_text(settings: dict[str, Any]) -> str:
    """Settings as a person reads them."""
    return ", ".join(f"{key} {value}" for key, value in sorted(settings.items())) or "its defaults"
