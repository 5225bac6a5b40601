"""`--cluster` and `--cluster-tls`: the rounds of federated methods, and whole fits, on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.runtimes.cluster import Cluster
    from murmura.studies.compare.run import Comparison


@contextmanager
def cluster_at(where: str, tls: Path | None, folder: Path) -> Iterator[Cluster | None]:
    """The cluster that the flags name, as a runtime; None without one.

    What its workers share is in `folder`, beside the results; what a killed driver left there goes first.
    """
    refuse_tls_alone(where, tls)
    if not where:
        yield None
        return
    from murmura.core.locks import locked
    from murmura.runtimes.cluster import Cluster, remove_left_behind
    from murmura.runtimes.dask import DaskTasks, dask_client

    with locked(folder):
        remove_left_behind(folder)
    with dask_client(where, tls) as client:
        made = Cluster(DaskTasks(client), folder=folder, address=client.scheduler.address)
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
