"""`--cluster` and `--cluster-tls`: the rounds of federated methods on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.runtimes.cluster import Cluster


@contextmanager
def cluster_at(where: str, tls: Path | None, folder: Path) -> Iterator[Cluster | None]:
    """The cluster that the flags name, as a runtime; None without one.

    What its workers share is beside the results in `folder`, or for workers of this machine in its own place
    for temporary files.
    """
    refuse_tls_alone(where, tls)
    if not where:
        yield None
        return
    from murmura.runtimes.cluster import Cluster
    from murmura.runtimes.dask import LOCAL, DaskTasks, dask_client

    with dask_client(where, tls) as client:
        yield Cluster(DaskTasks(client), folder=None if where.startswith(LOCAL) else folder)


def refuse_tls_alone(where: str, tls: Path | None) -> None:
    """Certificates are for a cluster."""
    if tls is not None and not where:
        raise SettingError("--cluster-tls needs a cluster, but none is named; give --cluster too.")
