"""Tasks on a Dask cluster: the only file that knows Dask (extra `cluster`).

Futures are pure tasks that Dask runs again when a worker is lost: no actors, whose state would be gone, and
nothing is scattered, so every lineage ends in files. Results stay where they were made; the tasks of shard s of
S ask for worker s W // S of the W that are alive when the round begins.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.errors import FederationError, MissingExtraError, SettingError
from murmura.core.version import __version__
from murmura.kernels.compiled import compile_target
from murmura.runtimes.sharded_training import Handle, Near, TaskEngine

try:
    import dask
    from distributed import Client, LocalCluster, Security, WorkerPlugin
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker
except ImportError:
    raise MissingExtraError("--cluster", "cluster") from None

LOCAL = "local:"
CONFIG: dict[str, Any] = {
    "distributed.scheduler.worker-ttl": "60s",  # a worker that says nothing so long is lost
    "distributed.scheduler.work-stealing": False,  # data stay where they are
    "distributed.scheduler.allowed-failures": 10,
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ.NUMBA_NUM_THREADS": 1,
    "distributed.comm.timeouts.connect": "30s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # set, every large array is mapped anew
}
TLS_FILES = ("ca.pem", "cert.pem", "key.pem")


class DaskTasks(TaskEngine):
    """Tasks on the workers of a cluster; refuses workers that would compile for different machines."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._live: list[str] | None = None
        self._machines: dict[str, str] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any, near: Near | None = None) -> Handle:
        """Have it called by a worker, the one that its shard belongs to if that is alive."""
        with _said():
            place: dict[str, Any] = {}
            if near is not None:
                live = self.workers()
                place = {"workers": [live[near[0] * len(live) // near[1]]], "allow_other_workers": True}
            return self.client.submit(function, *arguments, pure=False, **place)

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """The results, once they are there; after that the living workers are asked for again."""
        with _said():
            results: list[Any] = self.client.gather(list(handles))
        self._live = None
        return results

    def release(self, handles: Sequence[Handle]) -> None:
        """Workers may forget them."""
        for handle in handles:
            handle.release()

    def workers(self) -> list[str]:
        """The addresses of the living workers, all of which compile alike."""
        if self._live is None:
            self.client.wait_for_workers(1)
            live = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
            new = [address for address in live if address not in self._machines]
            if new:
                self._machines |= self.client.run(machine, workers=new)
            kinds = {self._machines[address] for address in live if address in self._machines}
            if len(kinds) > 1:
                raise SettingError(
                    f"all workers must have one kind of CPU and one version of everything, but there are "
                    f"{len(kinds)} ({'; '.join(sorted(kinds))}), which would train different models; take "
                    "alike ones, or set NUMBA_CPU_NAME to one target for all."
                )
            self._live = live
        return self._live


def machine() -> str:
    """What a result could depend on of the machine it is made on."""
    return f"{compile_target()}, numpy {np.__version__}, murmura {__version__}, {platform.machine()}"


@contextmanager
def dask_client(where: str, tls: Path | None = None) -> Iterator[Client]:
    """A client of the cluster at an address (tcp://..., tls://...), or of so many workers here (local:2)."""
    with dask.config.set(CONFIG):
        if where.startswith(LOCAL):
            with _local(where) as cluster, Client(cluster, set_as_default=False) as client:
                yield client
            return
        if not where.startswith(("tcp://", "tls://")):
            raise SettingError(
                f"--cluster must be 'local:' with a number of workers or the address of a Dask scheduler "
                f"(tcp://host:8786), but it is '{where}'."
            )
        try:
            client = Client(where, security=_security(tls), set_as_default=False)
        except OSError as error:
            raise SettingError(
                f"--cluster must name a scheduler that answers, but {where} does not ({error}); start one, or "
                "check the address and --cluster-tls."
            ) from None
        with client:
            yield client


class BeginWorker(WorkerPlugin):  # type: ignore[misc]
    """Calls something once in every worker, also in one that comes later or begins anew, and at the end."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self.begin, self.end = begin, end

    def setup(self, worker: Any) -> None:
        """Before its first task."""
        self.begin()

    def teardown(self, worker: Any) -> None:
        """After the last one."""
        self.end()


@contextmanager
def dask_executor(
    where: str,
    tls: Path | None,
    begin: BeginWorker,
    name: str,
    on_message: Callable[[str], None] = print,
) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """The same cluster as a pool for independent work, such as fits, and how many tasks it does at once.

    `begin` is in every worker under this name, which no other command on the cluster may have. Where a worker
    is lost at work, Dask has others repeat what it was at, and `on_message` is told.
    """

    def on_event(event: tuple[float, Any]) -> None:
        message = event[1]
        if message.get("action") == "remove-worker" and message.get("processing-tasks"):
            on_message(f"worker {message['worker']} was lost; what it was at is repeated")

    with dask_client(where, tls) as client:
        with _said():
            DaskTasks(client).workers()  # refuses mixed ones
            client.register_plugin(begin, name=name)
        client.subscribe_topic("all", on_event)
        try:
            with _said((CancelledError, CommClosedError)):  # the work itself may meet other errors of files
                yield client.get_executor(pure=False), lambda: sum(client.nthreads().values())
        finally:
            with suppress(CancelledError, OSError, TimeoutError):  # of a cluster that is gone
                client.unsubscribe_topic("all")
                client.unregister_worker_plugin(name)


def _local(where: str) -> LocalCluster:
    number = where.removeprefix(LOCAL)
    if not number.isdecimal() or not int(number):
        raise SettingError(f"--cluster local: must have a number of workers, as in local:2, but is '{where}'.")
    return LocalCluster(
        n_workers=int(number),
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # its HTTP server, wherever there is room
        memory_limit=0,
        silence_logs=50,
    )


def _security(tls: Path | None) -> Security | None:
    """Certificates of a folder: who signed, who we are, our key."""
    if tls is None:
        return None
    missing = [name for name in TLS_FILES if not (tls / name).is_file()]
    if missing:
        raise SettingError(
            f"--cluster-tls must be a folder with {', '.join(TLS_FILES)}, but {tls} lacks {', '.join(missing)}."
        )
    ca, cert, key = (os.fspath(tls / name) for name in TLS_FILES)
    return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)


@contextmanager
def _said(
    lost: tuple[type[Exception], ...] = (CancelledError, CommClosedError, OSError, TimeoutError),
) -> Iterator[None]:
    """Say in one sentence that the cluster is gone, as these errors tell."""
    try:
        yield
    except KilledWorker as error:
        raise FederationError(
            f"a task must not end its worker, but one did so {error.allowed_failures + 1} times; give the "
            "workers more memory, or each task less to do (smaller shards or settings)."
        ) from None
    except lost as error:
        raise FederationError(
            f"the cluster must stay until the training is done, but it was lost ({type(error).__name__}); "
            "start the same command again: it goes on from its last files."
        ) from None
