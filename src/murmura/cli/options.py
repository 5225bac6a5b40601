"""The flags several commands share, and how their text becomes values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.studies.worker_pool import Workers as WorkerTeam

Data = Annotated[str, typer.Option("--data", help="A source's name (see `murmura data list`) or a file.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The folder that holds the data sets.", envvar="MURMURA_DATA")
]
Reading = dict[str, Any]  # what the flags about reading data say, as arguments of `load`
# the flags of `takes_reading`, named as the arguments of `load` and the keys under `data:` in YAML
READING_FLAGS: dict[str, Any] = {
    "columns": Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="PART=NAME[,..]",
            help="For a file: user=a,item=b,value=c,time=d; or places from 1.",
        ),
    ],
    "separator": Annotated[
        str | None,
        typer.Option("--separator", help="For a text file: what separates fields; default: found out."),
    ],
    "header": Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="For a text file: its first line names columns, or not."),
    ],
    "repeats": Annotated[
        str | None,
        typer.Option(
            "--repeats",
            metavar="keep|latest|sum|refuse",
            help="For a file: rows of a pair met again; default keep, for the protocol's rule.",
        ),
    ],
    "positive_from": Annotated[
        float | None,
        typer.Option("--positive-from", metavar="VALUE", help="Rows of at least this value are likes."),
    ],
    "item_names": Annotated[
        str | None, typer.Option("--item-names", metavar="FILE", help="A table of items and their names.")
    ],
    "skip_bad": Annotated[
        bool | None, typer.Option("--skip-bad", help="Keep the good rows of a file, report the others.")
    ],
    "features": Annotated[
        str | None,
        typer.Option("--features", metavar="FILE", help="Features of items: a table, or a graph (or folder)."),
    ],
    "mapping": Annotated[
        str | None, typer.Option("--mapping", metavar="FILE", help="Where items stand in the graph.")
    ],
    "labels": Annotated[
        str | None, typer.Option("--labels", metavar="FILE", help="Names of entities and predicates.")
    ],
    "hops": Annotated[int | None, typer.Option("--hops", min=1, help="How far into the graph; default 2.")],
    "feature_items": Annotated[
        int | None,
        typer.Option("--feature-items", min=1, help="Items that share a feature; default 11."),
    ],
    "exclude": Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="P[,P]", help="Predicates not to follow; once per hop."),
    ],
    "attributes": Annotated[
        str | None,
        typer.Option("--attributes", metavar="FILE", help="What users say of themselves, from 0 to 1."),
    ],
}
ProtocolName = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="default, fpl, kgflex, ncf, cold, fedsplit, ratings, mnist-iid, mnist-shards, mnist-dirichlet, "
        "celeba, or split:PATH of a split; NAME:KEY=VALUE,.. changes its split.",
    ),
]
SplitName = Annotated[
    str,
    typer.Option(
        "--split",
        metavar="NAME",
        help="Another split than the protocol's: leave-one-out, fixed-time, random or temporal.",
    ),
]
CandidateCount = Annotated[
    int | None,
    typer.Option(
        "--candidates",
        metavar="N",
        min=1,
        help="Beside the full ranking, rank relevant items among N drawn ones: columns named sampled.",
    ),
]
Metrics = Annotated[
    str, typer.Option("--metrics", metavar="M[,M]", help="Metrics by name; default P,R,nDCG,IC,G for lists.")
]
OrderNames = Annotated[
    str,
    typer.Option(
        "--order", metavar="real|day", help="What methods see: real times, or days; real,day compares both."
    ),
]
OneOrder = Annotated[str, typer.Option("--order", metavar="real|day", help="Real times, or whole days.")]
Set = Annotated[
    list[str], typer.Option("-S", "--set", metavar="KEY=VALUE", help="A setting, e.g. -S user-knn.k=100.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The first seed.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Threads; results do not depend on it.")]
Processes = Annotated[int, typer.Option("--workers", min=1, help="Processes; results do not depend on it.")]
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="On Dask workers: local:2, or a scheduler's address (tcp://host:8786).",
    ),
]
ClusterTls = Annotated[
    Path | None,
    typer.Option("--cluster-tls", metavar="FOLDER", help="ca.pem, cert.pem and key.pem for a tls:// cluster."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per line on stdout.")]
Log = Annotated[
    str, typer.Option("--log", metavar="mlflow:URI", help="Tell an MLflow server or database, too.")
]
Csv = Annotated[bool, typer.Option("--csv", help="The table as CSV on stdout.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder; default runs/<time>-<what>.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A YAML file; flags given here come on top.")]
Models = Annotated[str, typer.Option("--models", help="Comma-separated; label=model names one twice.")]
Cutoffs = Annotated[
    str, typer.Option("--at", metavar="K[,K]", help="Cut-offs of the metrics; default the protocol's.")
]


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags about reading data, which it gets as its one argument `reading`."""
    flags = [flag(name, kind, None) for name, kind in READING_FLAGS.items()]
    return with_flags(command, "reading", flags, _given)


def with_flags(
    command: Callable[..., None],
    argument: str,
    flags: list[inspect.Parameter],
    made: Callable[[dict[str, Any]], object],
) -> Callable[..., None]:
    """A command with more flags in the place of one argument, which it gets as what is `made` of them."""
    own = inspect.signature(command, eval_str=True)

    @wraps(command)
    def called(**given: Any) -> None:
        chosen = {flag.name: given.pop(flag.name, flag.default) for flag in flags}
        command(**given, **{argument: made(chosen)})

    others = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own.parameters.values()]
    place = list(own.parameters).index(argument)
    signature = own.replace(parameters=[*others[:place], *flags, *others[place + 1 :]])
    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def flag(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """A flag as a parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _given(flags: dict[str, Any]) -> Reading:
    found = {name: value for name, value in flags.items() if value is not None and value != []}
    if "exclude" in found:
        found["exclude"] = [list(filter(None, hop.split(","))) for hop in found["exclude"]]
    if "columns" in found:
        found["columns"] = dict(_part_and_name(text) for text in found["columns"].split(",") if text)
    return found


def _part_and_name(text: str) -> tuple[str, str]:
    part, equals, name = text.partition("=")
    if not equals or not name.strip():
        raise SettingError(f"--columns must be PART=NAME, but has '{text}'; write for example user=customer.")
    return part.strip(), name.strip()


def parse_value(text: str) -> Any:
    """A value as YAML reads it (numbers, true, null, text, [lists]), and 1e-3 as the number it is."""
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    try:
        return float(text) if isinstance(value, str) else value
    except ValueError:
        return value  # quotes are taken off; '1e-3' in quotes stays text


def parse_settings(given: list[str], labels: list[str]) -> dict[str, dict[str, Any]]:
    """`-S label.key=value` for each of the labels; with one label, `-S key=value` will do."""
    found: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for one in given:
        path, equals, text = one.partition("=")
        label, dot, key = path.rpartition(".")
        if not equals or not path:
            raise SettingError(
                f"-S must be KEY=VALUE, but it is '{one}'; write for example -S {labels[0]}.k=100."
            )
        if not dot and len(labels) == 1:
            label = labels[0]
        if label not in found:
            raise SettingError(
                f"-S {one} must name one of the models {', '.join(labels)}; "
                f"write for example -S {labels[0]}.{key}={text}."
            )
        found[label][key] = parse_value(text)
    return found


def parse_models(text: str) -> dict[str, dict[str, Any]]:
    """`a,b,label=c`: labels to models."""
    models: dict[str, dict[str, Any]] = {}
    for one in filter(None, (part.strip() for part in text.split(","))):
        label, equals, name = one.partition("=")
        if label in models:
            raise SettingError(
                f"--models names '{label}' twice; give one a label of its own: {label}-2={name or label}."
            )
        models[label] = {"name": name if equals else label}
    if not models:
        raise SettingError("--models must name at least one model, but it is empty; see `murmura config show`.")
    return models


def parse_metrics(text: str) -> tuple[str, ...]:
    """`HR,nDCG`: metrics by name; nothing given: none, which leaves the usual ones."""
    return tuple(filter(None, (one.strip() for one in text.split(","))))


def changed_protocol(protocol: str, split: str = "", candidates: int | None = None) -> str:
    """The protocol with the split of --split and the candidates of --candidates, where they are given."""
    from murmura.engine.protocol_text import with_changes

    given = {"split": split or None, "candidates": candidates}
    return with_changes(protocol, {key: value for key, value in given.items() if value is not None})


def one_order(protocol: str, order: str) -> str:
    """The protocol with the order that --order says; as it is where nothing is said."""
    from murmura.engine.protocol_text import with_order
    from murmura.studies.order_seen import parse_orders

    chosen = parse_orders(order)
    if len(chosen) > 1:
        raise SettingError(
            f"--order must be real or day here, but it is '{order}'; `murmura compare` takes both."
        )
    return with_order(protocol, chosen[0]) if chosen else protocol


def parse_cutoffs(text: str) -> tuple[int, ...] | None:
    """`1,10`; nothing given: the protocol's."""
    if not text:
        return None
    try:
        cutoffs = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        cutoffs = (0,)
    if min(cutoffs) < 1:
        raise SettingError(
            f"--at must be whole numbers from 1, but it is '{text}'; write for example --at 1,10."
        )
    return cutoffs


def new_folder(out: Path | None, *what: str) -> Path:
    """The folder asked for, or a new one under runs/."""
    if out is not None:
        return out
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    base = Path("runs") / "-".join(
        [stamp, *(re.sub(r"[^A-Za-z0-9.+_-]", "_", Path(part).name) for part in what)]
    )
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


def team(workers: int, cluster: str = "", tls: Path | None = None) -> WorkerTeam:
    """Who does independent fits; that a worker was lost is said in a line."""
    from murmura.cli.clusters import refuse_tls_alone
    from murmura.cli.console import say
    from murmura.studies.worker_pool import Workers

    refuse_tls_alone(cluster, tls)
    return Workers(workers, cluster, tls, say)
