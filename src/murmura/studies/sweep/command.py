"""`murmura sweep`: one setting takes one value after the other, for several models."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.console import say
from murmura.cli.report import show_table, tell_tracker, write_report
from murmura.core.errors import SettingError
from murmura.studies.compare.command import collect, load_data

if TYPE_CHECKING:
    from murmura.studies.compare.comparison_plan import Comparison
    from murmura.studies.compare.folder import Sweep
    from murmura.studies.worker_pool import Workers

DEFAULT_MODELS = "sfpl,sfpl+,pfpl,pfpl+,cfpl"
DEFAULT_VALUES = "0,0.1,...,1"


@options.takes_reading
def sweep(
    data: options.Data = "ml-latest-small-2016",
    protocol: options.ProtocolName = "fpl",
    split: options.SplitName = "",
    candidates: options.CandidateCount = None,
    models: options.Models = DEFAULT_MODELS,
    key: Annotated[str, typer.Option("--key", help="The setting that is varied.")] = "pi",
    values: Annotated[
        str, typer.Option("--values", metavar="V,V", help="Its values; 0,0.1,...,1 counts on by itself.")
    ] = "",
    beside: Annotated[
        str, typer.Option("--beside", help="Models run once beside the sweep, e.g. mostpop,bpr-mf.")
    ] = "",
    settings: options.Set = [],  # noqa: B006
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds; the curves are means.")] = 1,
    seed: options.Seed = 0,
    at: options.Cutoffs = "",
    metrics: options.Metrics = "",
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    workers: options.Processes = 1,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    log: options.Log = "",
    as_json: options.Json = False,
) -> None:
    """Sweep a setting: a comparison of every model with every value, and its report with the curves.

    An interrupted sweep goes on with the same flags and --out; finished runs are not repeated. -S without a
    model's name sets it for every swept model. The workers of --cluster fit whole models; the test part and the
    files stay here.
    """
    from murmura.studies.sweep.run import plan_sweep
    from murmura.tracking import tracker

    told, team = tracker(log), options.team(workers, cluster, cluster_tls)
    swept = options.parse_models(models)
    others = options.parse_models(beside) if beside.strip() else {}
    for label, own in options.parse_settings(for_all(settings, list(swept)), [*swept, *others]).items():
        (swept if label in swept else others)[label] |= own
    found = parse_values(values or (DEFAULT_VALUES if key == "pi" else ""))
    source = {"name": data, "skip_bad": False, **reading}
    plan, what = plan_sweep(
        load_data(source, data_dir), options.changed_protocol(protocol, split, candidates),
        swept, key, found, beside=others, seeds=seeds, seed=seed, cutoffs=options.parse_cutoffs(at),
        metrics=options.parse_metrics(metrics), source=source,
    )  # fmt: skip
    options.refuse_classifiers(plan, cluster)
    folder = options.new_folder(out, plan.prepared.data, "sweep", key)
    _run(plan, what, folder, team, as_json)
    say(f"run folder: {folder}")
    write_report(folder)
    tell_tracker(told, folder)


def _run(plan: Comparison, what: Sweep, folder: Path, workers: Workers, as_json: bool) -> None:
    from murmura.studies.sweep.run import sweep as run
    from murmura.studies.sweep.section import swept

    collect(lambda bar: run(plan, what, folder, workers=workers, progress=bar), as_json)
    table = swept(folder)
    if table is not None and not as_json:
        show_table(table)


def for_all(given: list[str], labels: list[str]) -> list[str]:
    """`key=value` without a model's name becomes one setting for each of the labels."""
    made = []
    for one in given:
        path, equals, text = one.partition("=")
        named = "." in path or not equals or not path
        made += [one] if named else [f"{label}.{path}={text}" for label in labels]
    return made


def parse_values(text: str) -> list[Any]:
    """`0,0.1,...,1` or `1,10,all`: values in their order; `...` goes on in the step of the two before it."""
    parts = [part.strip() for part in text.split(",")]
    if not text.strip() or "" in parts:
        raise SettingError(
            f"--values must be values with commas between them, but it is '{text}'; "
            "write for example --values 0,0.1,...,1."
        )
    found: list[Any] = []
    for place, part in enumerate(parts):
        if part in {"...", "…"}:
            found += _between(parts, place)
        else:
            found.append(options.parse_value(part))
    return found


def _between(parts: list[str], place: int) -> list[float | int]:
    """What `...` stands for: from the two numbers before it to the one after it, both ends left out."""
    try:
        first, second, last = (Decimal(parts[p]) for p in (place - 2, place - 1, place + 1) if p >= 0)
        step = second - first
        count = (last - second) / step
        if count != int(count) or count < 1:
            raise ValueError
    except (ValueError, IndexError, InvalidOperation, ArithmeticError):
        raise SettingError(
            "'...' in --values must stand between two numbers and a last one they lead to, but it is "
            f"'{','.join(parts)}'; write for example 0,0.1,...,1."
        ) from None
    made = [second + step * n for n in range(1, int(count))]
    return [int(one) if one == int(one) else float(one) for one in made]
