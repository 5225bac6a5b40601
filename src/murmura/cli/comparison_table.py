"""The table of a comparison on the console: best first, with intervals, marks and sizes a person reads.

Digits: as many as show four of a column's largest value, so 0.3412 and 0.03412; under the protocol `fpl` five,
as its papers print them. Counts of items have none after the point. `--json` keeps every digit, and kB.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from murmura.cli.console import say, size, table

if TYPE_CHECKING:
    from murmura.report.summary import ModelSummary, Results
    from murmura.studies.compare.comparison_plan import Comparison, EntryMeans

READS = "the server reads"  # the heading of who can read what
INTERVAL = "95 %"
BEST = "★"  # the best centralised and the best federated model
FIVE = ("fpl",)  # protocols whose papers print five digits
KILO = "kB "  # the start of a cost in kilobytes


def show(plan: Comparison, folder: Path, hidden: Sequence[EntryMeans] = ()) -> None:
    """What a finished comparison found, from its folder; below it what a reader must know.

    `hidden` are the means of the models that use the order, where it was hidden inside days.
    """
    from murmura.core.model import EVERYTHING
    from murmura.engine.part_files import printable
    from murmura.evaluation.registry import is_summary
    from murmura.report.summary import summarise
    from murmura.studies.compare.folder import read_runs
    from murmura.studies.methods import method

    results = summarise(read_runs(folder))
    keys = [key for key in (*results.metrics, *results.costs) if is_summary(key)]
    digits = {key: _decimals(plan, results, key) for key in keys}
    reads = {printable(e.label): method(e.model, e.settings).server_reads for e in plan.entries}
    told = [READS] if any(what != EVERYTHING for what in reads.values()) else []
    columns, rows = _columns(results, keys), []
    best = best_of_each_kind(results)
    for line in _sorted(results):
        cells = {key: _cell(results, line, key, digits[key]) for key in keys}
        if INTERVAL in columns:
            cells[INTERVAL] = _interval(line, str(results.primary), digits[str(results.primary)])
        label = f"{line.label} {BEST}" if line in best else line.label
        rows.append([label, *(cells[key] for key in columns), *(reads[line.label] for _ in told)])
    seeds = "one seed" if plan.seeds == 1 else f"means of {plan.seeds} seeds"
    title = f"{plan.prepared.data}, protocol {plan.prepared.protocol.name}, {seeds}\n{plan.prepared.values}"
    heads = ["model", *(key.removeprefix(KILO) for key in columns), *told]
    table(title, heads, rows, [READS], "\n".join(_notes(results, bool(best))))
    if hidden:
        _show_orders(results, hidden, [key for key in keys if "@" in key], digits)
    for sentence in _sentences(plan, results, bool(hidden)):
        say(sentence)


def first_metric(results: Results) -> str:
    """What the table is sorted by: the first metric that was asked for, at the main cut-off."""
    return next(iter(results.at(results.cutoffs[0])), results.primary or "") if results.metrics else ""


def best_of_each_kind(results: Results) -> list[ModelSummary]:
    """The first centralised and the first federated line by the metric that sorts; none where one is alone."""
    ranked = results.ranked(first_metric(results))
    first = [next((one for one in ranked if one.model.federated is kind), None) for kind in (False, True)]
    return [line for line in first if line is not None] if len(results.lines) > 1 else []


def _sorted(results: Results) -> list[ModelSummary]:
    """Best first by the first metric; what has no value of it last."""
    ranked = results.ranked(first_metric(results))
    return [*ranked, *(line for line in results.lines if line not in ranked)]


def _columns(results: Results, keys: Sequence[str]) -> list[str]:
    """The metrics and costs, and after the one that sorts its interval, where it has any."""
    primary = results.primary or ""
    known = any((one := line.values.get(primary)) and one.low < one.high for line in results.lines)
    return [name for key in keys for name in ([key, INTERVAL] if key == primary and known else [key])]


def _decimals(plan: Comparison, results: Results, key: str) -> int:
    from murmura.report.table import decimals_for

    if key.startswith("IC@"):
        return 0
    digits = 5 if plan.prepared.protocol.name.partition(":")[0] in FIVE else 4
    return decimals_for([one.mean for line in results.lines if (one := line.values.get(key))], digits, most=5)


def _cell(results: Results, line: ModelSummary, key: str, decimals: int) -> str:
    from murmura.evaluation.registry import badness, is_cost
    from murmura.report.summary import is_number, marks

    found = line.values.get(key)
    if found is None or not is_number(found):
        return ""
    if key.startswith(KILO):
        return size(found.mean * 1000)
    text = f"{found.mean:,.{decimals}f}"
    if is_cost(key):
        return text
    best = results.best(key)
    if best is not None and badness(key, found.mean) == badness(key, best) and len(results.lines) > 1:
        text = f"[bold]{text}[/bold]"
    signs = marks(results, line, key)
    return f"{signs} {text}" if signs else text


def _interval(line: ModelSummary, key: str, decimals: int) -> str:
    found = line.values.get(key)
    if found is None or not found.low < found.high:
        return ""
    return f"{found.low:.{decimals}f}–{found.high:.{decimals}f}"


def _notes(results: Results, best: bool) -> list[str]:
    """What the marks of the table mean, each only where it occurs."""
    from murmura.evaluation.significance import ALPHA
    from murmura.studies.compare.folder import BELOW_MOSTPOP

    key, notes = results.primary, []
    if best:
        sorts = first_metric(results)
        notes.append(f"{BEST} best of its kind (centralised, federated) in {sorts}, which sorts the table")
    if results.below_mostpop:
        names = ", ".join(line.label for line in results.below_mostpop)
        notes.append(f"{BELOW_MOSTPOP} below MostPop in {key}: {names}")
    chance = f"paired t-test over users, Holm, p < {ALPHA:g}"
    if any(test.sure for test in results.against_best):
        notes.append(f"† worse than the best by more than chance ({chance})")
    if any(test.sure for test in results.against_baseline):
        notes.append("↑ ↓ federated, better or worse than the best centralised one by the same test")
    return notes


def _sentences(plan: Comparison, results: Results, both: bool) -> list[str]:
    """What a reader must know of the order of times, of settings, and of releases that leak."""
    from murmura.studies.compare.notes import (
        exposure_sentence,
        kept_on_edges,
        order_sentence,
        order_users,
        rule_sentence,
    )

    used = {"used by": order_users(plan.entries), "order": plan.prepared.protocol.order}
    costs = {line.label: {key: one.mean for key, one in line.values.items()} for line in results.lines}
    settings = (rule_sentence(plan.settings_source), kept_on_edges(plan))
    drawn = plan.prepared.protocol.sampled
    sampled = "" if drawn is None else drawn.sentence()
    found = (sampled, order_sentence(used, both=both), *settings, exposure_sentence(costs))
    return [sentence for sentence in found if sentence]


def _show_orders(
    results: Results, hidden: Sequence[EntryMeans], keys: Sequence[str], digits: dict[str, int]
) -> None:
    """Each metric with real times and beside it with whole days."""
    real = {line.label: {key: one.mean for key, one in line.values.items()} for line in results.lines}
    rows = [
        [
            day.label,
            *(
                "" if (value := found.get(key)) is None else f"{value:,.{digits[key]}f}"
                for key in keys
                for found in (real.get(day.label, {}), day.values)
            ),
        ]
        for day in hidden
    ]
    heads = [f"{key} {order}" for key in keys for order in ("real", "day")]
    table("real times, and whole days", ["model", *heads], rows)
