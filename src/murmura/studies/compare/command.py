"""`murmura compare`: several models under one protocol, and their table: best first, with intervals and marks.

Digits: as many as show four of a column's largest value, so 0.3412 and 0.03412; under the protocol `fpl` five,
as its papers print them. Counts of items have none after the point. `--json` keeps every digit, and kB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, size, table, tell

if TYPE_CHECKING:
    from murmura.core.catalogue import Dataset
    from murmura.core.progress import Progress
    from murmura.report.summary import ModelSummary, Results
    from murmura.studies.compare.comparison_plan import Comparison, EntryMeans
    from murmura.studies.configuration import CompareConfig, DataConfig

DEMO_DATA, DEMO_MODELS = "ml-latest-small-2016", "mostpop,user-knn,ease"
DEMO_SUMS, DEMO_ROUNDS = "fed-ease", "pfpl+"  # two exact secure sums; an epoch of rounds
SHARES = (1, 0.5, 0.1)
READS = "the server reads"  # the heading of who can read what
INTERVAL = "95 %"
USES = "uses"  # the heading of what a model uses beside the pairs of user and item
BEST = "★"  # the best centralised and the best federated model of those that use the pairs alone
BEST_WITH_MORE = "☆"  # the same of those that use more
FIVE = ("fpl",)  # protocols whose papers print five digits
KILO = "kB "  # the start of a cost in kilobytes


@options.takes("murmura.studies.configuration:CompareConfig", file=True)
def compare(
    config: CompareConfig,
    order: options.OrderNames = "",
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    keep: Annotated[
        Literal["all", "best", "none"],
        typer.Option(
            "--keep", help="Fitted models: of every one, the best centralised and federated, of none."
        ),
    ] = "all",
    log: options.Log = "",
    as_json: options.Json = False,
) -> None:
    """Compare models on one data set. Never searches: without -S it takes documented settings.

    An interrupted comparison goes on with the same flags and --out; finished runs are not repeated. With
    --cluster, rounds that can be cut into shards are carried by its workers; every other model is fitted whole
    by one of them, side by side. The test part and the files stay here.

    A model that fails has a row with its reason; the others go on, and the exit code is 1.
    """
    from murmura.engine.run_folder import Run
    from murmura.studies.compare.comparison_plan import large_costs, with_noisy_rows, with_pooled_rows
    from murmura.studies.compare.comparison_plan import plan as planned
    from murmura.studies.compare.folder import BY_DAYS
    from murmura.studies.compare.run import saved_models
    from murmura.studies.compare.weak_defaults import below_mostpop

    orders, connected, dataset = options.parse_orders(order), options.tracker(log), load_data(config.data)
    seen = config.whole(orders[0] if orders else None)
    plan = planned(dataset, seen.protocol, config.models, **config.rest())
    users = plan.order_users if len(orders) > 1 else []
    by_days = config.only(users).whole("day") if users else None
    days = by_days and planned(dataset, by_days.protocol, by_days.models, **by_days.rest())
    if len(orders) > 1 and days is None:
        say("no model here uses the order of times, so both orders are one; it is run once.")
    plan, drowned = with_noisy_rows(with_pooled_rows(plan))
    for line in (*plan.left_in_place(), *drowned, *large_costs(plan)):
        say(line)
    folder = options.new_folder(out, plan.prepared.data, plan.prepared.protocol.name)
    options.refuse_classifiers(plan, cluster)
    with progress() as listener:
        for line in () if Run(folder).done else below_mostpop(plan, listener):
            say(line)
    where = (config.workers, as_json, cluster, cluster_tls)
    lines = run(replace(plan, keep=keep), folder, *where)
    hidden = run(days, folder / BY_DAYS, *where) if days else []
    if not as_json:
        show(plan, folder, hidden)
    options.tell_tracker(connected, folder)
    count, length = saved_models(folder)
    if count:
        models = "1 fitted model" if count == 1 else f"{count} fitted models"
        say(f"kept {models}, {size(length)} (--keep): murmura recommend {folder} --model LABEL")
    say(f"run folder: {folder}   (murmura report {folder})")
    if any(line.failed for line in (*lines, *hidden)):
        raise typer.Exit(1)


def load_data(source: DataConfig) -> Dataset:
    """The data of a comparison; what there is to say about it is said."""
    dataset = source.load()
    for note in dataset.notes:
        say(note)
    return dataset


def run(
    plan: Comparison,
    folder: Path,
    workers: int,
    as_json: bool = False,
    cluster: str = "",
    tls: Path | None = None,
) -> list[EntryMeans]:
    """Run the plan with the cluster that is named, if any; its shards lie in this folder, under its lock."""
    from murmura.studies.compare.run import compare as compare_all

    rules = plan.prepared.protocol
    said: dict[str, Any] = {} if rules.order == "real" else {"order": rules.order}
    said |= {} if rules.sampled is None else rules.sampled.flat()
    with options.cluster_at(cluster, tls, folder) as carried:
        team = options.team(workers, carried.address if carried else "", tls)
        return collect(
            lambda bar: compare_all(plan, folder, workers=team, progress=bar, runtime=carried), as_json, said
        )


def collect(
    start: Callable[[Progress], Iterable[EntryMeans]], as_json: bool, said: Mapping[str, Any] | None = None
) -> list[EntryMeans]:
    """The lines of a comparison under a progress bar, each told as soon as it is known, with what is `said`."""
    lines = []
    with progress() as bar:
        for line in start(bar):
            lines.append(line)
            outcome = f"failed: {line.reason}" if line.failed else "done"
            tell({**line.flat(), **(said or {})}, f"{line.label}: {outcome}", as_json)
    return lines


def demo(out: options.Out = None, workers: options.Workers = 2) -> None:
    """Compare recommenders, centralised and federated, on MovieLens latest-small (2016); needs no network.

    The newest 20 % of each person's ratings are held out. Federated methods run with three choices of pi, the
    share of their ratings that people contribute: one from two secure sums, one from an epoch of rounds.
    """
    from murmura.data.sources.registry import load
    from murmura.report import build
    from murmura.studies.compare.comparison_plan import plan, with_noisy_rows, with_pooled_rows

    folder = options.new_folder(out, "demo")
    planned = plan(load(DEMO_DATA), "default", demo_models(), source={"name": DEMO_DATA})
    chosen, _ = with_noisy_rows(with_pooled_rows(planned))
    run(chosen, folder, workers)
    show(chosen, folder)
    page = build(folder)
    say(f"report: {page}")


def demo_models() -> dict[str, dict[str, Any]]:
    """Some baselines, and two federated methods at three choices of pi."""
    from murmura.core.flag_text import parse_models
    from murmura.studies.methods import defaults

    found, own = parse_models(DEMO_MODELS), defaults("default", DEMO_DATA, DEMO_SUMS)
    for pi in SHARES:
        found[f"{DEMO_SUMS} pi={pi:g} (2 sums)"] = {"name": DEMO_SUMS, **own, "pi": pi}
    for pi in SHARES:
        found[f"{DEMO_ROUNDS} pi={pi:g} (1 epoch)"] = {"name": DEMO_ROUNDS, "pi": pi, "epochs": 1}
    return found


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

    found = read_runs(folder)
    results, failed = summarise(found), {model.label: model.failure for model in found.models if model.failure}
    keys = [key for key in (*results.metrics, *results.costs) if is_summary(key)]
    digits = {key: _decimals(plan, results, key) for key in keys}
    reads = {printable(e.label): method(e.model, e.settings).server_reads for e in plan.entries}
    uses = {model.label: ", ".join(model.uses) for model in found.models}
    words = {USES: uses, READS: reads}
    texts = [key for key, plain in ((USES, ""), (READS, EVERYTHING)) if {*words[key].values()} != {plain}]
    columns, rows = _columns(results, keys), []
    best = best_of_each_kind(results)
    ranked = results.ranked(first_metric(results))
    for line in [*ranked, *(line for line in results.lines if line not in ranked)]:  # without a value last
        cells = {key: _cell(results, line, key, digits[key]) for key in keys}
        one, decimals = line.values.get(results.primary or ""), digits.get(results.primary or "")
        if one is not None and one.low < one.high:
            cells[INTERVAL] = f"{one.low:.{decimals}f}–{one.high:.{decimals}f}"
        label = f"{line.label} {best[line.label]}" if line.label in best else line.label
        said = (words[key][line.label] for key in texts)
        rows.append([label, *(cells.get(key, "") for key in columns), *said])
    seeds = "one seed" if plan.seeds == 1 else f"means of {plan.seeds} seeds"
    without = failed.keys() - {line.label for line in results.lines}
    rows += [
        [label, "failed", *[""] * (len(columns) - 1), *(words[key][label] for key in texts)]
        for label in failed
        if label in without
    ]
    title = f"{plan.prepared.data}, protocol {plan.prepared.protocol.name}, {seeds}\n{plan.prepared.values}"
    heads = ["model", *(key.removeprefix(KILO) for key in columns), *texts]
    costs = {line.label: {key: one.mean for key, one in line.values.items()} for line in results.lines}
    reasons = (f"{label} failed: {why}" for label, why in failed.items())
    notes = (_marks(results, {*best.values()}), plan.cautions(costs), *reasons)
    table(title, heads, rows, texts, "\n".join(filter(None, notes)))
    if hidden:
        _show_orders(results, hidden, [key for key in keys if "@" in key], digits)


def first_metric(results: Results) -> str:
    """What the table is sorted by: the first metric that was asked for, at the main cut-off."""
    return next(iter(results.at(results.cutoffs[0])), results.primary or "") if results.metrics else ""


def best_of_each_kind(results: Results) -> dict[str, str]:
    """The first line of each kind by the metric that sorts, and its mark; none where one is alone."""
    found = results.best_of_kinds(first_metric(results)) if len(results.lines) > 1 else {}
    return {line.label: BEST_WITH_MORE if more else BEST for (more, _), line in found.items()}


def _columns(results: Results, keys: Sequence[str]) -> list[str]:
    """The metrics and costs, and after the one that sorts its interval, where it has any."""
    primary = results.primary or ""
    known = any((one := line.values.get(primary)) and one.low < one.high for line in results.lines)
    return [name for key in keys for name in ([key, INTERVAL] if key == primary and known else [key])]


def _decimals(plan: Comparison, results: Results, key: str) -> int:
    from murmura.report.summary import decimals_for

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


def _marks(results: Results, best: set[str]) -> str:
    """What the marks of the table mean, each only where it occurs; one line."""
    from murmura.evaluation.significance import ALPHA
    from murmura.studies.compare.folder import BELOW_MOSTPOP

    marks = []
    if BEST in best:
        marks.append(f"{BEST} best of its kind in {first_metric(results)}")
    if BEST_WITH_MORE in best:
        marks.append(f"{BEST_WITH_MORE} using more")
    if results.below_mostpop:
        marks.append(f"{BELOW_MOSTPOP} below MostPop")
    tests = []
    if any(test.sure for test in results.against_best):
        tests.append("† worse than the best")
    if any(test.sure for test in results.against_baseline):
        tests.append("↑ ↓ than the best centralised")
    chance = f" (paired t-test, Holm, p < {ALPHA:g})" if tests else ""
    return ", ".join([*marks, *tests]) + chance


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
