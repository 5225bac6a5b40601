"""The flags several commands share, and how their text becomes values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli.config_flags import SETTINGS_FLAG
from murmura.cli.config_flags import takes as takes
from murmura.cli.config_flags import takes_reading as takes_reading
from murmura.cli.console import say
from murmura.core.errors import MissingExtraError, SettingError
from murmura.studies.flag_text import parse_cutoffs as parse_cutoffs
from murmura.studies.flag_text import parse_metrics as parse_metrics
from murmura.studies.flag_text import parse_settings as parse_settings

if TYPE_CHECKING:
    from murmura.data.splits.temporal import Order
    from murmura.runtimes.cluster import Cluster as OpenCluster
    from murmura.studies.compare.comparison_plan import Comparison
    from murmura.studies.worker_pool import Workers as WorkerTeam
    from murmura.tracking.mlflow_tracker import MlflowTracker

Data = Annotated[str, typer.Option("--data", help="A source's name (see `murmura data list`) or a file.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The folder that holds the data sets.", envvar="MURMURA_DATA")
]
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
Set = SETTINGS_FLAG
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
Cutoffs = Annotated[
    str, typer.Option("--at", metavar="K[,K]", help="Cut-offs of the metrics; default the protocol's.")
]
# nobody else is told, and an address where nobody is fails in seconds instead of minutes
QUIETLY = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
Reading = dict[str, Any]  # what the flags about reading data say, as arguments of `load`


def changed_protocol(protocol: str, split: str = "", candidates: int | None = None) -> str:
    """The protocol with the split of --split and the candidates of --candidates, where they are given."""
    from murmura.engine.protocol_text import with_changes

    given = {"split": split or None, "candidates": candidates}
    return with_changes(protocol, {key: value for key, value in given.items() if value is not None})


def one_order(order: str) -> Order | None:
    """The order that --order says; None where nothing is said."""
    from murmura.studies.compare.notes import parse_orders

    chosen = parse_orders(order)
    if len(chosen) > 1:
        raise SettingError(
            f"--order must be real or day here, but it is '{order}'; `murmura compare` takes both."
        )
    return chosen[0] if chosen else None


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


@contextmanager
def cluster_at(where: str, tls: Path | None, folder: Path) -> Iterator[OpenCluster | None]:
    """The cluster that the flags name, as a runtime; None without one.

    What its workers share is in `folder`, beside the results; what a killed driver left there goes first.
    """
    refuse_tls_alone(where, tls)
    if not where:
        yield None
        return
    from murmura.core.locks import locked
    from murmura.runtimes.cluster import Cluster as OpenCluster
    from murmura.runtimes.cluster import remove_left_behind
    from murmura.runtimes.dask import DaskTasks, dask_client

    with locked(folder):
        remove_left_behind(folder)
    with dask_client(where, tls) as client:
        made = OpenCluster(DaskTasks(client), folder=folder, address=client.scheduler.address)
        try:
            yield made
        finally:
            made.let_go()


def refuse_tls_alone(where: str, tls: Path | None) -> None:
    """Certificates are for a cluster."""
    if tls is not None and not where:
        raise SettingError("--cluster-tls needs a cluster, but none is named; give --cluster too.")


def refuse_classifiers(plan: Comparison, cluster: str) -> None:
    """Samples are classified after every round, which only the process with the test part can do."""
    if cluster and plan.prepared.protocol.classifies:
        raise SettingError(
            f"--cluster must be left out under protocol '{plan.prepared.protocol.name}': its models are scored "
            "on the test part after every round, which only this process has; --workers are its threads."
        )


def team(workers: int, cluster: str = "", tls: Path | None = None) -> WorkerTeam:
    """Who does independent fits; that a worker was lost is said in a line."""
    from murmura.studies.worker_pool import Workers

    refuse_tls_alone(cluster, tls)
    return Workers(workers, cluster, tls, say)


def tracker(target: str) -> MlflowTracker | None:
    """Who is told, by what --log says; None: nobody. Refuses before any work what cannot be told later."""
    if not target:
        return None
    kind, colon, uri = target.partition(":")
    if kind != "mlflow" or not colon or not uri:
        raise SettingError(
            f"--log must be mlflow:URI, but it is '{target}'; write for example --log mlflow:sqlite:///runs.db "
            "or --log mlflow:http://localhost:5000."
        )
    for key, value in QUIETLY.items():
        os.environ.setdefault(key, value)
    try:
        from murmura.tracking.mlflow_tracker import MlflowTracker
    except ImportError:
        raise MissingExtraError("--log mlflow", "mlflow") from None
    return MlflowTracker.connect(uri)


def tell_tracker(told: MlflowTracker | None, folder: Path) -> None:
    """What --log asks for at the end: what the folder holds, and its report where that can be drawn."""
    if told is None:
        return
    from murmura.report import build

    page: Path | None = None
    try:
        page = build(folder)
    except MissingExtraError as error:
        say(f"no report: {error}")
    told.tell(folder, page)
    say(f"told mlflow:{told.uri}")
