"""The tables of a study: one line per method over all data sets, and one per data set and method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from murmura.baselines import BASELINES
from murmura.engine.part_files import printable
from murmura.engine.run_folder import Run
from murmura.evaluation.registry import badness
from murmura.evaluation.significance import ALPHA, Interval, PairedDifference
from murmura.lab.study.folder import EFFORT, StudyFolder
from murmura.lab.study.study_plan import StudyPlan
from murmura.report.summary import Results, decimals_for, is_number, named_tests, summarise
from murmura.report.table import (
    MISSING,
    Column,
    ReportTable,
    TableCell,
    estimate_cell,
    number_cell,
    plain_table,
)
from murmura.studies.compare.folder import BELOW_MOSTPOP, ModelRuns
from murmura.studies.methods import method
from murmura.studies.search.folder import Trial

WORSE = "†"
UP, DOWN = "kB up/client", "kB down/client"
METHOD = Column("method", numeric=False)
READS = Column("the server reads", numeric=False)
USES = Column("uses", "beside the pairs of user and item", numeric=False)


@dataclass(frozen=True)
class StudyRow:
    """One method on one data set: what it reached and what it took, or why it failed."""

    data: str
    method: str
    value: Interval = MISSING
    mark: str = ""
    best: bool = False  # of those that use the pairs alone, or of those that use more
    uses: str = ""  # beside the pairs of user and item
    p: float = math.nan  # against the best, Holm-corrected
    rank: float = math.nan
    trials: int = 0
    like: str = ""  # the method whose trials decided; "": its own
    fewer: bool = False  # than the plan asks for: its whole grid
    without_value: int = 0  # of the trials
    cpu: float = 0.0  # seconds of all trials and of the fits of what was chosen
    up: float = math.nan
    down: float = math.nan
    reads: str = ""
    failed: str = ""

    @property
    def effort(self) -> str:
        """How many trials, and whether there were no more to make; or whose."""
        if self.like or not self.trials:
            return f"as {self.like}" if self.like else ""
        return f"{self.trials}, whole grid" if self.fewer else str(self.trials)


@dataclass(frozen=True, eq=False)
class DataSetRows:
    """What a study found on one data set."""

    folder: StudyFolder
    name: str

    @cached_property
    def metric(self) -> str:
        """What the methods are ranked by."""
        return self.folder.plan.metric_on(self.name)

    @cached_property
    def results(self) -> Results | None:
        """Means, intervals and tests of what was scored."""
        found = self.folder.comparison(self.name)
        return None if found is None else summarise(found)

    @cached_property
    def values(self) -> dict[str, Interval]:
        """The value of every method that has one."""
        lines = () if self.results is None else self.results.ranked(self.metric)
        return {line.label: line.values[self.metric] for line in lines}

    @cached_property
    def runs(self) -> dict[str, ModelRuns]:
        """The fits of every method that could be chosen for, finished or not."""
        found = self.folder.comparison(self.name)
        return {} if found is None else {model.label: model for model in found.models}

    def rank(self, label: str) -> float:
        """The place among all methods, 1 for the best: equal ones share a mean place, failed ones the last.

        NaN until something is scored.
        """
        if not self.values:
            return math.nan
        found = {label: badness(self.metric, one.mean) for label, one in self.values.items()}
        here = [found.get(printable(one), math.inf) for one in self.folder.plan.methods]
        own = found.get(label, math.inf)
        return sum(one < own for one in here) + (here.count(own) + 1) / 2

    def test(self, label: str) -> PairedDifference | None:
        """The paired test of a method against the best."""
        tests = () if self.results is None else self.results.against_best
        return next((one for one in tests if (one.label, one.metric) == (label, self.metric)), None)

    def uses(self, label: str) -> tuple[str, ...]:
        """What a method uses beside the pairs of user and item, as it was chosen."""
        model = self.runs.get(label)
        return method(model.name, model.settings).uses if model else ()

    def best_with(self, more: bool) -> float:
        """The best value of those that use more than the pairs, or of the others; values come best first."""
        alike = (one.mean for label, one in self.values.items() if bool(self.uses(label)) is more)
        return next(alike, math.nan)

    def effects(self) -> list[tuple[str, PairedDifference]]:
        """What federation or noise costs, and what more information gains: paired, Holm-corrected together.

        A row that takes the settings of another one is that one in other circumstances; two searched rows of
        one centralised model differ by what they use.
        """
        plan, pairs = self.folder.plan, dict[tuple[str, str], str]()
        for label in plan.methods:
            source = printable(plan.searched(label))
            if source != printable(label):
                pairs[source, printable(label)] = "federation"
        own = [one for one in plan.methods if plan.searched(one) == one and plan.model(one) in BASELINES]
        for plain in own:
            for other in own:
                more, less = (self.uses(printable(one)) for one in (other, plain))
                if plan.model(plain) == plan.model(other) and more and not less:
                    pairs[printable(other), printable(plain)] = "information"
        if self.results is None:
            return []
        found = named_tests(self.results, list(pairs), [self.metric])
        return [(pairs[one.label, one.reference], one) for one in found]

    def below_mostpop(self, label: str) -> bool:
        """Whether it is worse than the most popular items, where these take part."""
        level = [self.values[one].mean for one in self.values if self.runs[one].name == "mostpop"]
        worst = badness(self.metric, self.values[label].mean)
        return bool(level) and worst > badness(self.metric, level[0])

    def rows(self) -> list[StudyRow]:
        """One for each method of the plan, in its order."""
        tried = self.folder.trials(self.name)
        plan = self.folder.plan
        return [self._row(label, tried.get(plan.searched(label), [])) for label in plan.methods]

    def _row(self, place: str, trials: Sequence[Trial]) -> StudyRow:
        plan, label = self.folder.plan, printable(place)
        value, test, model = self.values.get(label, MISSING), self.test(label), self.runs.get(label)
        parts, done = (model.parts, model.done) if model else ((), ())
        fits = [one.read_numbers(EFFORT).get("cpu", 0.0) for one in parts]
        below, uses = is_number(value) and self.below_mostpop(label), self.uses(label)
        worse = test is not None and test.sure
        return StudyRow(
            data=self.name,
            method=label,
            value=value,
            mark=BELOW_MOSTPOP * below + WORSE * worse,
            best=is_number(value) and value.mean == self.best_with(bool(uses)),
            uses=", ".join(uses),
            p=math.nan if test is None else test.p_t,
            rank=self.rank(label),
            trials=len(trials),
            like="" if plan.searched(place) == place else printable(plan.searched(place)),
            fewer=len(trials) < plan.trials,
            without_value=sum(bool(one.failed) for one in trials),
            cpu=math.fsum([*(one.cpu for one in trials if plan.searched(place) == place), *fits]),
            up=_mean([one.metrics.get(UP, math.nan) for one in done]),
            down=_mean([one.metrics.get(DOWN, math.nan) for one in done]),
            reads=server_reads(plan, place),
            failed=self._failed(parts, trials),
        )

    @staticmethod
    def _failed(parts: Sequence[Run], trials: Sequence[Trial]) -> str:
        """Why it has no value here: a fit of what was chosen failed, or every trial; "" where it has one."""
        reasons = [one.error for one in parts] if parts else [one.failed for one in trials]
        unfinished = not reasons or not all(one.done for one in parts)
        return next(filter(None, reasons), "not finished" if unfinished else "")


def server_reads(plan: StudyPlan, label: str) -> str:
    """What of people's data a server reads in training a method."""
    return method(plan.model(label), plan.candidates(label)[0]).server_reads


EFFECTS = (
    "federation: a method less the row that takes its settings, such as its centralised equivalent.",
    "information: a centralised method with times or features less the same method of pairs alone.",
    "In brackets the 95 % interval of the difference over users; paired t-test, Holm-corrected by data set.",
)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def study_tables(folder: StudyFolder) -> tuple[ReportTable, ReportTable, ReportTable]:
    """The table of all methods, its rows by data set with every number, and what differences are due to."""
    sets = [DataSetRows(folder, name) for name in folder.plan.data]
    rows = [one.rows() for one in sets]
    return _overview(folder, sets, rows), _details(folder, sets, rows), _effects(sets)


def _effects(sets: Sequence[DataSetRows]) -> ReportTable:
    lines = []
    for one in sets:
        for cause, test in one.effects():
            shown = estimate_cell(test.difference, decimals_for([v.mean for v in one.values.values()]))
            base = one.values[test.reference].mean
            share = number_cell(test.difference.mean / base if base else math.nan, 3)
            lines.append((one.name, one.metric, cause, test.label, test.reference, shown, share, (test.p_t, 4)))
    texts = ("data", "metric", "due to", "method", "less")
    heads = [Column(text, numeric=False) for text in texts]
    heads += [Column("difference"), Column("relative"), Column("p (Holm)")]
    return plain_table("effects", "What differences are due to", heads, lines, *EFFECTS)


def _overview(
    folder: StudyFolder, sets: Sequence[DataSetRows], rows: Sequence[Sequence[StudyRow]]
) -> ReportTable:
    columns = [Column(f"{one.name} {one.metric}") for one in sets]
    heads = [METHOD, *columns, *map(Column, ("mean rank", "trials", "CPU s", UP, DOWN)), USES, READS]
    digits = [decimals_for([row.value.mean for row in own]) for own in rows]
    lines, failures = [], []
    for own in zip(*rows):
        efforts = dict.fromkeys(row.effort for row in own if row.effort)
        costs = (_mean([row.up for row in own]), _mean([row.down for row in own]))
        lines.append(
            (
                own[0].method,
                *map(_cell, own, digits),
                number_cell(_mean([row.rank for row in own]), 2),
                "; ".join(efforts),
                number_cell(sum(row.cpu for row in own), 1),
                *(number_cell(cost, 1) for cost in costs),
                _in_words(row.uses for row in own),
                own[0].reads,
            )
        )
        failures += [f"{row.method} failed on {row.data}: {row.failed}" for row in own if row.failed]
    title = f"{len(lines)} methods on {len(sets)} data sets, up to {folder.plan.trials} trials each"
    return plain_table("study", title, heads, lines, *_notes(folder, rows), *failures)


def _in_words(uses: Iterable[str]) -> str:
    """What a method uses on any of the data sets."""
    return ", ".join(dict.fromkeys(part for one in uses for part in one.split(", ") if part))


def _cell(row: StudyRow, digits: int) -> TableCell:
    if not is_number(row.value):
        return TableCell(None, "failed")
    return estimate_cell(row.value, digits, row.mark, row.best)


def _notes(folder: StudyFolder, rows: Sequence[Sequence[StudyRow]]) -> list[str]:
    """What the marks mean, each only where it occurs, and how often test parts were opened."""
    marks = "".join(row.mark for own in rows for row in own)
    opened = ", ".join(f"{name} {folder.openings(name)}" for name in folder.plan.data)
    notes = [
        "Settings: the best trial on the validation part. In brackets the 95 % interval: bootstrap over users "
        "(2,000 resamples). Bold: the best value of those that use the "
        "pairs alone, and of those that use more. A failed method has the last rank.",
        f"Choices for which each test part was opened, in this folder and those beside it: {opened}.",
    ]
    if WORSE in marks:
        notes.append(f"{WORSE} worse than the best: paired t-test on users, Holm-corrected, p < {ALPHA:g}.")
    if BELOW_MOSTPOP in marks:
        notes.append(f"{BELOW_MOSTPOP} below MostPop.")
    return notes


def _details(
    folder: StudyFolder, sets: Sequence[DataSetRows], rows: Sequence[Sequence[StudyRow]]
) -> ReportTable:
    numbers = ("value", "p (Holm)", "rank", "trials", "without value", "CPU s", UP, DOWN, "openings")
    heads = [Column("data", numeric=False), Column("protocol", numeric=False), Column("metric", numeric=False)]
    heads += [METHOD, *map(Column, numbers), USES, READS, Column("failed because", numeric=False)]
    lines = []
    for one, own in zip(sets, rows):
        digits = decimals_for([row.value.mean for row in own])
        for row in own:
            lines.append(
                (
                    one.name,
                    folder.plan.data[one.name].whole_protocol,
                    one.metric,
                    row.method,
                    _cell(row, digits),
                    number_cell(row.p, 4),
                    number_cell(row.rank, 1),
                    row.trials,
                    row.without_value,
                    number_cell(row.cpu, 2),
                    number_cell(row.up, 1),
                    number_cell(row.down, 1),
                    folder.openings(one.name),
                    row.uses,
                    row.reads,
                    row.failed,
                )
            )
    return plain_table("rows", "Every method on every data set", heads, lines, *_notes(folder, rows))


def study_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """What a study has found, a row for each method on each data set: for a frame."""
    found = StudyFolder.open(folder)
    for name in found.plan.data:
        own = DataSetRows(found, name)
        for row in own.rows():
            values = {key: value for key, value in asdict(row).items() if key != "value"}
            interval = {"value": row.value.mean, "low": row.value.low, "high": row.value.high}
            yield {**values, **interval, "metric": own.metric, "openings": found.openings(name)}
