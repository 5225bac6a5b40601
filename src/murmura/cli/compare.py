"""`murmura compare`: several models under one protocol, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.clusters import cluster_at
from murmura.cli.console import progress, say, table, tell

if TYPE_CHECKING:
    from murmura.core.catalogue import Dataset
    from murmura.core.progress import Progress
    from murmura.engine.federation import Runtime
    from murmura.studies.compare import Comparison, EntryMeans

Models = dict[str, dict[str, Any]]  # label -> name and settings
DEFAULT_MODELS = "random,mostpop,user-knn,item-knn,bpr-mf,mf,ials,ease"


@options.takes_reading
def compare(
    data: options.Data = "",
    protocol: options.ProtocolName = "default",
    split: options.SplitName = "",
    candidates: options.CandidateCount = None,
    order: options.OrderNames = "",
    models: options.Models = "",
    settings: options.Set = [],  # noqa: B006
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds; the table shows means.")] = 1,
    seed: options.Seed = 0,
    at: options.Cutoffs = "",
    metrics: options.Metrics = "",
    config: options.ConfigFile = None,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    workers: options.Workers = 1,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Compare models on one data set. Never searches: without -S it takes documented settings.

    An interrupted comparison goes on with the same flags and --out; finished runs are not repeated.
    """
    from murmura.engine.protocol_text import with_order
    from murmura.runs.comparison import BESIDE
    from murmura.studies.compare import plan as planned
    from murmura.studies.order import order_users, parse_orders

    orders = parse_orders(order)
    if config is not None:
        plan_of, protocol, chosen, workers = _from_file(config, settings, reading)
    else:
        chosen = options.parse_models(models or DEFAULT_MODELS)
        for label, own in options.parse_settings(settings, list(chosen)).items():
            chosen[label] |= own
        source: dict[str, Any] = {"name": data or "ml-latest-small-2016", "skip_bad": False, **reading}
        more: dict[str, Any] = {"metrics": named} if (named := options.parse_metrics(metrics)) else {}
        plan_of = partial(
            planned, load_data(source, data_dir),
            seeds=seeds, seed=seed, cutoffs=options.parse_cutoffs(at), source=source, **more,
        )  # fmt: skip
    protocol = options.changed_protocol(protocol, split, candidates)
    plan = plan_of(with_order(protocol, orders[0]) if orders else protocol, chosen)
    users = order_users(plan.entries) if len(orders) > 1 else []
    days = plan_of(with_order(protocol, "day"), {label: chosen[label] for label in users}) if users else None
    if len(orders) > 1 and days is None:
        say("no model here uses the order of times, so both orders are one; it is run once.")
    folder = options.new_folder(out, plan.prepared.data, plan.prepared.protocol.name)
    with cluster_at(cluster, cluster_tls, folder) as carried:
        lines = run(plan, folder, workers, as_json, carried)
        hidden = run(days, folder / BESIDE, workers, as_json, carried) if days else []
    if not as_json:
        show(plan, lines, hidden)
    say(f"run folder: {folder}   (murmura report {folder})")


def load_data(source: dict[str, Any], data_dir: Path | None) -> Dataset:
    """The data of a comparison; what there is to say about it is said."""
    from murmura.studies.config import named_data

    dataset = named_data({"data": source}).load(data_dir)
    for note in dataset.notes:
        say(note)
    return dataset


def _from_file(
    path: Path, settings: list[str], reading: options.Reading
) -> tuple[Callable[[str, Models], Comparison], str, Models, int]:
    """How a file's comparison is planned of a protocol and models, and both of them; its workers."""
    from murmura.core.errors import SettingError
    from murmura.core.settings import as_dict
    from murmura.studies.compare import plan
    from murmura.studies.config import CompareConfig, load_config

    read = load_config(path)
    if not isinstance(read, CompareConfig):
        raise SettingError(
            f"{path} must list its models under 'models:', but has one 'model:'; use `murmura fit`."
        )
    models = {label: dict(own) for label, own in read.models.items()}
    for label, own in options.parse_settings(settings, list(models)).items():
        models[label] |= own
    source = as_dict(read.data) | reading
    made = partial(
        plan, load_data(source, read.data.place()),
        seeds=read.seeds, seed=read.seed, cutoffs=read.cutoffs, metrics=read.metrics, source=source,
    )  # fmt: skip
    return made, read.whole_protocol, models, read.workers


def run(
    plan: Comparison, folder: Path, workers: int, as_json: bool = False, runtime: Runtime | None = None
) -> list[EntryMeans]:
    """Run the plan; with --json each line is printed as soon as it is known."""
    from murmura.studies.compare import compare as compare_all

    rules = plan.prepared.protocol
    said: dict[str, Any] = {} if rules.order == "real" else {"order": rules.order}
    said |= {} if rules.sampled is None else rules.sampled.flat()
    return collect(
        lambda bar: compare_all(plan, folder, workers=workers, progress=bar, runtime=runtime), as_json, said
    )


def collect(
    start: Callable[[Progress], Iterable[EntryMeans]], as_json: bool, said: Mapping[str, Any] | None = None
) -> list[EntryMeans]:
    """The lines of a comparison under a progress bar, each told as soon as it is known, with what is `said`."""
    lines = []
    with progress() as bar:
        for line in start(bar):
            lines.append(line)
            tell({**line.flat(), **(said or {})}, f"{line.label}: done", as_json)
    return lines


READS = "the server reads"  # the heading of who can read what


def show(plan: Comparison, lines: list[EntryMeans], hidden: Sequence[EntryMeans] = ()) -> None:
    """The comparison as a table: the best of each metric and who is below MostPop marked, who can read what.

    `hidden` are the means of the models that use the order, where it was hidden inside days.
    """
    from murmura.core.method import EVERYTHING
    from murmura.evaluation.registry import is_of_labels, is_summary
    from murmura.studies.compare import BELOW_MOSTPOP
    from murmura.studies.exposure import exposure_sentence
    from murmura.studies.methods import method
    from murmura.studies.order import order_sentence, order_users
    from murmura.studies.settings_source import rule_sentence

    keys = list(dict.fromkeys(key for line in lines for key in line.values if is_summary(key)))
    best = {
        key: best_value(key, [v for line in lines if (v := line.values.get(key)) is not None])
        for key in keys
        if "@" in key or is_of_labels(key)
    }
    reads = {entry.label: method(entry.model, entry.settings).server_reads for entry in plan.entries}
    federated = any(what != EVERYTHING for what in reads.values())
    below, note = below_mostpop(plan, lines)
    rows = []
    for line in lines:
        cells = {key: _cell(line.values.get(key), best.get(key), key) for key in keys}
        if (marked := below.get(line.label)) is not None:
            cells[marked] = f"{BELOW_MOSTPOP} {cells[marked]}"
        rows.append([line.label, *cells.values(), *([reads[line.label]] if federated else [])])
    seeds = "one seed" if plan.seeds == 1 else f"means of {plan.seeds} seeds"
    title = f"{plan.prepared.data}, protocol {plan.prepared.protocol.name}, {seeds}\n{plan.prepared.values}"
    table(title, ["model", *keys, *([READS] if federated else [])], rows, [READS], note)
    if hidden:
        _show_orders(lines, hidden, [key for key in keys if "@" in key])
    used = {"used by": order_users(plan.entries), "order": plan.prepared.protocol.order}
    leaks = exposure_sentence({line.label: line.values for line in lines})
    drawn = plan.prepared.protocol.sampled
    sampled = "" if drawn is None else drawn.sentence()
    ruled = rule_sentence(plan.settings_source)
    for sentence in (sampled, order_sentence(used, both=bool(hidden)), ruled, leaks):
        if sentence:
            say(sentence)


def below_mostpop(plan: Comparison, lines: list[EntryMeans]) -> tuple[dict[str, str], str]:
    """By label the metric in which a method is below MostPop, the first of lists there is, and what to say."""
    from murmura.evaluation.metric_names import badness
    from murmura.studies.compare import BELOW_MOSTPOP

    named = {entry.label for entry in plan.entries if entry.model == "mostpop"}
    most = next((line.values for line in lines if line.label in named), {})
    key = next((key for key, value in most.items() if "@" in key and value is not None), None)
    if key is None or (level := most[key]) is None:
        return {}, ""
    found = {line.label: line.values.get(key) for line in lines}
    known = {label: value for label, value in found.items() if value is not None}
    below = {label: key for label, value in known.items() if badness(key, value) > badness(key, level)}
    return below, f"{BELOW_MOSTPOP} below MostPop in {key}" if below else ""


def _show_orders(lines: Sequence[EntryMeans], hidden: Sequence[EntryMeans], keys: Sequence[str]) -> None:
    """Each metric with real times and beside it with whole days."""
    real = {line.label: line.values for line in lines}
    rows = [
        [
            day.label,
            *(_cell(found.get(key), None, key) for key in keys for found in (real[day.label], day.values)),
        ]
        for day in hidden
    ]
    table(
        "real times, and whole days",
        ["model", *(f"{key} {order}" for key in keys for order in ("real", "day"))],
        rows,
    )


def best_value(key: str, values: list[float]) -> float | None:
    """The best value of a metric, by the direction that is better; None of nothing."""
    from murmura.evaluation.registry import better

    return (min if better(key) == "lower" else max)(values, default=None)


def _cell(value: float | None, best: float | None, key: str) -> str:
    if value is None:
        return ""
    digits = 0 if key.startswith("IC@") else 1 if key.startswith("kB") else 4
    text = f"{value:,.{digits}f}"
    return f"[bold]{text}[/bold]" if value == best else text
