"""The tables of a comparison: results with intervals and marks, differences and their tests, spread over seeds.

Then those of facts: what is unfinished, what left the devices, data, settings, times, environment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from murmura.core.channel import READABLE
from murmura.core.method import EVERYTHING
from murmura.evaluation.intervals import Interval
from murmura.evaluation.registry import is_of_labels
from murmura.report.summary import ALPHA, ModelSummary, PairedDifference, Results, badness, better, title
from murmura.report.tables.table import (
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    interval_cell,
    name_columns,
    number_cell,
    text_cell,
)
from murmura.runs.comparison import ComparisonFolder, ModelRuns
from murmura.runs.parts import ordered
from murmura.runs.run import is_cost
from murmura.studies.compare import BELOW_MOSTPOP

NAME = Column("model", numeric=False)
MISSING = Interval(math.nan)


def result_tables(folder: ComparisonFolder, results: Results) -> list[ReportTable]:
    """The headline: one table per cut-off, costs beside the main one."""
    several = max((len(model.parts) for model in folder.models), default=1) > 1
    tables = []
    for place, k in enumerate(results.cutoffs):
        keys = (*results.at(k), *(results.costs if place == 0 else ()))
        told = place == 0 and any(model.federated for model in folder.models)
        columns = [NAME, *([Column("seeds", "finished seeds")] if several else [])]
        columns += [_metric_column(key) for key in keys]
        columns += [Column("the server reads", "of what people have or send", numeric=False)] * told
        rows = []
        for model in folder.models:
            line = next((line for line in results.lines if line.model is model), None)
            count = [number_cell(len(model.done))] if several else []
            cells = [*count, *(_result(results, line, key) for key in keys)]
            rows.append((text_cell(model.label), *cells, *([text_cell(server_reads(model))] * told)))
        name = "results" if place == 0 else f"results-at-{k}"
        heading = f"Results at {k}: means over users" if k else _without_lists(results)
        heading += (" and seeds" if k else ", means over seeds") if several else ""
        tables.append(
            ReportTable(name, heading, tuple(columns), tuple(rows), _result_notes(results, keys, several))
        )
    return tables


def server_reads(model: ModelRuns) -> str:
    """What the server gets to read, by the ledgers of a model's runs; nothing is said of one without."""
    told = [str(part.ledger["channel"]) for part in model.done if part.ledger and "channel" in part.ledger]
    if not model.federated:
        return EVERYTHING if model.done else ""
    if not told:
        return ""
    return "each update" if READABLE in told[0] else "noisy sums" if _privacy(model) else "sums alone"


def _privacy(model: ModelRuns) -> dict[str, Any]:
    """What noise bounds, by the ledger of a model's first run; {}: nothing does."""
    ledgers = (part.ledger for part in model.done if part.ledger)
    return next((dict(ledger["privacy"]) for ledger in ledgers if "privacy" in ledger), {})


def _privacy_notes(results: Results) -> list[str]:
    notes = []
    for line in results.lines:
        if told := _privacy(line.model):
            people = f", as if among {told['as if people']:,} people" if "as if people" in told else ""
            notes.append(
                f"{line.label}: epsilon {told['epsilon']:.3g} at delta {told['delta']:.2g}{people}, for "
                f"{told['unit']}; against {told['against']}."
            )
    return notes


def _without_lists(results: Results) -> str:
    classified = any(is_of_labels(key) for key in results.metrics)
    return "Results: classified samples" if classified else "Results: errors of predicted ratings"


def _metric_column(key: str) -> Column:
    direction = {"higher": "higher is better", "lower": "lower is better", "zero": "nearer to 0 is better"}
    return Column(key, f"{title(key)}; {direction[better(key)]}")


def _result(results: Results, line: ModelSummary | None, key: str) -> TableCell:
    found = [one.values[key] for one in results.lines if key in one.values]
    decimals = decimals_for([one.mean for one in found])
    estimate = line.values.get(key) if line else None
    if line is None or estimate is None or not math.isfinite(estimate.mean) or is_cost(key):
        return number_cell(estimate.mean if estimate else None, decimals)
    best = results.best(key)
    is_best = best is not None and badness(key, estimate.mean) == badness(key, best)
    return estimate_cell(estimate, decimals, _mark(results, line, key), is_best and len(results.lines) > 1)


def estimate_cell(estimate: Interval, decimals: int, mark: str = "", best: bool = False) -> TableCell:
    """A mean with its interval, where it has one."""
    if not estimate.low < estimate.high:  # none, or of no width
        estimate = Interval(estimate.mean)
    return interval_cell(estimate, decimals, mark, best, "–" if estimate.low >= 0 else " to ")


def _mark(results: Results, line: ModelSummary, key: str) -> str:
    def sure(tests: Iterable[PairedDifference]) -> PairedDifference | None:
        return next((t for t in tests if (t.label, t.metric) == (line.label, key) and t.sure), None)

    mark = BELOW_MOSTPOP if key == results.primary and line in results.below_mostpop else ""
    mark += "†" if sure(results.against_best) else ""
    base = sure(results.against_baseline)
    if base is not None:
        mark += "↑" if (base.difference.mean > 0) == (better(key) == "higher") else "↓"
    return mark


def _result_notes(results: Results, keys: tuple[str, ...], several: bool) -> tuple[str, ...]:
    metrics = [key for key in keys if not is_cost(key)]
    tested = [key for key in metrics if any(key in line.people.per_user for line in results.lines)]
    untested = [key for key in metrics if key not in tested]
    notes = ["A method that no seed changes is run once."] if several and _some_once(results) else []
    if tested:
        notes.append(
            f"In small type the 95 % interval: bootstrap over users (2,000 resamples) for {', '.join(tested)}"
            + (f"; Student's t over seeds for {', '.join(untested)}." if several and untested else ".")
        )
    if any(test.metric in keys for test in results.against_best):
        apart = f" Without values per user, so not tested: {', '.join(untested)}." if untested else ""
        notes.append(
            "Bold: the best value. † worse than the best model by more than chance: paired t-test on the "
            f"users' values{' (means over seeds)' if several else ''}, two-sided, Holm-corrected over the "
            f"comparisons of a metric, p < {ALPHA:g}; a value without † cannot be told from the best.{apart}"
        )
    if results.primary in keys and results.below_mostpop:
        notes.append(f"{BELOW_MOSTPOP} below MostPop in {results.primary}.")
    if any(test.metric in keys for test in results.against_baseline):
        notes.append("↑ ↓ a federated model better or worse than the best centralised one, by the same test.")
    return (*notes, *(_privacy_notes(results) if any(key == "epsilon" for key in keys) else ()))


def _some_once(results: Results) -> bool:
    return any(len(line.model.parts) == 1 for line in results.lines)


def category_table(results: Results) -> ReportTable | None:
    """Metrics with one value per item category: one column each."""
    keys = [key for key in results.metrics if "/" in key and not is_of_labels(key)]
    if not keys:
        return None
    decimals = decimals_for(
        [line.values[key].mean for line in results.lines for key in keys if key in line.values]
    )
    rows = [
        (text_cell(line.label), *(estimate_cell(line.values.get(key, MISSING), decimals) for key in keys))
        for line in results.lines
    ]
    return ReportTable("categories", "By item category", (NAME, *map(_metric_column, keys)), tuple(rows))


def difference_table(results: Results) -> ReportTable | None:
    """Every test behind a mark: the difference, its interval, both tests, and who is better off."""
    tests = (*results.against_best, *results.against_baseline)
    about = "the best model; for federated models also the best centralised one"
    return paired_table(tests, "Differences from the best", about) if tests else None


def paired_table(
    tests: Sequence[PairedDifference], heading: str, about: str, family: str = "with one reference"
) -> ReportTable:
    """One line for each of some tests; `about` says what each model is held against."""
    columns = (
        *name_columns("metric", "model"),
        Column("against", about, numeric=False),
        Column("difference", "mean over users, model - against"),
        Column("from", "lower end of its 95 % bootstrap interval over users"),
        Column("to", "upper end of it"),
        Column("p (t)", "paired t-test, two-sided, Holm-corrected"),
        Column("p (Wilcoxon)", "signed-rank test, two-sided, Holm-corrected"),
        Column("users above", "users with a higher value under the model"),
        Column("equal", "users with the same value under both"),
        Column("below", "users with a lower value under the model"),
    )
    rows = []
    for test in dict.fromkeys(tests):
        bounds = test.difference.mean, test.difference.low, test.difference.high
        decimals = decimals_for(list(bounds), 3)
        rows.append(
            (
                *map(text_cell, (test.metric, test.label, test.reference)),
                *(number_cell(value, decimals) for value in bounds),
                p_cell(test.p_t),
                p_cell(test.p_wilcoxon),
                *map(number_cell, (test.ahead, test.level, test.behind)),
            )
        )
    note = (
        "Per-user values, means over seeds where there are several; p-values are two-sided and Holm-corrected "
        f"over the comparisons of one metric {family}."
    )
    return ReportTable("tests", heading, columns, tuple(rows), (note,))


def pair_table(tests: Sequence[PairedDifference]) -> ReportTable:
    """Named models against each other."""
    about = "the second of the pair"
    return paired_table(tests, "Differences between named rows", about, "in this table")


def p_cell(p: float) -> TableCell:
    """A p-value: three decimals, and a bound where it is smaller."""
    return TableCell(p, "< 0.001") if p < 0.001 else number_cell(p, 3)


def seed_table(results: Results) -> ReportTable | None:
    """The spread over seeds, where a model has several."""
    lines = [line for line in results.lines if len(line.model.done) > 1]
    if not lines or not results.metrics:
        return None
    keys = (*results.at(results.cutoffs[0]), *results.costs)
    decimals = {key: decimals_for([one.values[key].mean for one in lines if key in one.values]) for key in keys}
    rows = [
        (
            text_cell(line.label),
            number_cell(len(line.model.done)),
            *(estimate_cell(line.over_seeds.get(key, MISSING), decimals[key]) for key in keys),
        )
        for line in lines
    ]
    note = "In small type the 95 % interval over seeds: mean ± t(n - 1) s / sqrt(n). Few seeds, wide intervals."
    columns = (NAME, Column("seeds"), *map(_metric_column, keys))
    return ReportTable("seeds", "Spread over seeds", columns, tuple(rows), (note,))


def status_table(folder: ComparisonFolder) -> ReportTable | None:
    """What is not finished, run by run; nothing where all is."""
    if all(model.finished for model in folder.models):
        return None
    columns = (NAME, Column("seed"), *name_columns("state", "what happened"))
    words = {"missing": "not started", "new": "not started", "running": "unfinished", "fitted": "not evaluated"}
    rows = [
        (
            text_cell(model.label),
            number_cell(part.seed),
            text_cell(words.get(part.status, part.status)),
            text_cell(part.error),
        )
        for model in folder.models
        for part in model.parts
        if not part.done
    ]
    return ReportTable("unfinished", "Runs without a result", columns, tuple(rows))


def ledger_table(folder: ComparisonFolder) -> ReportTable | None:
    """What left the devices, model by model, from the ledgers of their first finished seeds."""
    ledgers = [(m, m.done[0].ledger) for m in folder.models if m.done and m.done[0].ledger is not None]
    flat = [(model.label, dict(_flat(ledger))) for model, ledger in ledgers]
    keys = ordered([list(found) for _, found in flat])
    if not keys:
        return None
    columns = (Column("what left the devices", numeric=False), *(Column(label) for label, _ in flat))
    rows = [(text_cell(key), *(_value_cell(found.get(key)) for _, found in flat)) for key in keys]
    return ReportTable("ledger", "The ledger", columns, tuple(rows), ("One run per model: its first seed.",))


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Nested keys joined by a dot; a long list of numbers becomes its count, least, middle and most."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and len(value) > 12 and all(isinstance(one, int | float) for one in value):
        ordered_values = sorted(value)
        least, middle, most = ordered_values[0], ordered_values[len(value) // 2], ordered_values[-1]
        yield path, f"{len(value)} values: {least:g}, median {middle:g}, {most:g}"
    else:
        yield path, value


def data_table(folder: ComparisonFolder) -> ReportTable:
    """What was learned from and what was held out."""
    facts = {"data": folder.source.get("name"), "protocol": folder.protocol, **folder.data}
    users, items, rows = (folder.data.get(key) for key in ("users", "items", "rows"))
    if all(isinstance(one, int) and one > 0 for one in (users, items, rows)):
        facts["rows per user"] = round(rows / users, 1)  # type: ignore[operator]
        facts["density"] = f"{100 * rows / (users * items):.3g} %"  # type: ignore[operator]
    facts["fingerprint"] = facts.pop("fingerprint", None)
    return _pairs(
        "data",
        "What was learned from, and what was held out",
        {key: value for key, value in facts.items() if value is not None},
    )


def settings_table(folder: ComparisonFolder) -> ReportTable:
    """Every setting of every model."""
    columns = name_columns("model", "method", "settings")
    rows = [(text_cell(m.label), text_cell(m.name), text_cell(_settings(m))) for m in folder.models]
    return ReportTable("settings", "Settings of each model", columns, tuple(rows))


def _settings(model: ModelRuns) -> str:
    return ", ".join(f"{key} = {inline(value)}" for key, value in model.settings.items()) or "no settings"


def time_table(folder: ComparisonFolder) -> ReportTable | None:
    """How long the parts of a run took, means over seeds."""
    models = [model for model in folder.models if any(part.seconds for part in model.done)]
    keys = ordered([list(part.seconds) for model in models for part in model.done])
    if not keys:
        return None
    rows = []
    for model in models:
        cells = []
        for key in keys:
            found = [part.seconds[key] for part in model.done if key in part.seconds]
            cells.append(number_cell(math.fsum(found) / len(found) if found else None, 2))
        rows.append((text_cell(model.label), *cells))
    columns = (NAME, *(Column(f"{key} (s)") for key in keys))
    return ReportTable("seconds", "Time per run, in seconds", columns, tuple(rows))


def environment_table(folder: ComparisonFolder) -> ReportTable:
    """What the runs ran on."""
    facts = {key: value for key, value in folder.environment.items() if value is not None}
    if isinstance(facts.get("command"), list):
        facts["command"] = " ".join(map(str, facts["command"]))
    facts |= {"status": folder.status} | ({"at": folder.at} if folder.at else {})
    return _pairs("environment", "What it ran on", facts)


def _pairs(name: str, heading: str, facts: dict[str, Any]) -> ReportTable:
    rows = tuple((text_cell(key), _value_cell(value)) for key, value in facts.items())
    return ReportTable(name, heading, name_columns("what", "value"), rows)


def _value_cell(value: Any) -> TableCell:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        return text_cell(value if isinstance(value, str) else inline(value))
    return number_cell(value, 0 if isinstance(value, int) else decimals_for([value]))


def inline(value: Any) -> str:
    """A plain value on one line, as YAML and `-S` read it; text that looks like a number is quoted."""
    look: dict[str, Any] = {"default_flow_style": True, "width": math.inf, "sort_keys": False}
    look["default_style"] = "'" if isinstance(value, str) and _like_a_number(value) else None
    text = yaml.safe_dump(value, allow_unicode=True, **look).removesuffix("...\n").strip()
    if not text.isprintable():  # PyYAML leaves line breaks of other alphabets as they are, and loses them
        text = yaml.safe_dump(value, allow_unicode=False, **look).removesuffix("...\n").strip()
    return str(text)


def _like_a_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
