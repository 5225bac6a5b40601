"""A Dask cluster of real processes: the bytes of one process, whoever is killed -9 on the way.

Most kills are in `make test-cluster`, which sets MURMURA_CLUSTER_KILLS.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

pytest.importorskip("distributed")

from murmura.core.errors import FederationError, SettingError
from murmura.runtimes.cluster import Cluster
from murmura.runtimes.dask import DaskTasks, dask_client
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.sharded_training import TaskEngine
from murmura.studies.worker_pool import Workers, processes
from tests.ports import free_ports
from tests.runtimes.kills import Killing, Twice, digest, training
from tests.runtimes.test_shards import FLOATS, RING, assert_same, fitted

pytestmark = [pytest.mark.process, pytest.mark.slow]
ALL = bool(os.environ.get("MURMURA_CLUSTER_KILLS"))
POINTS = [
    ("load", 2),
    ("step", 3),
    ("step", 9),
    ("add", 1),
    ("read", 2),
    ("save", 2),
    ("report", 3),
]
PATIENCE = 600.0  # seconds of a busy machine


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one process leaves."""
    return finished(TaskEngine(), tmp_path_factory.mktemp("inline"))


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    with dask_client("local:2") as made:
        yield made


def finished(tasks: TaskEngine, folder: Path) -> str:
    done = training(tasks, folder)
    done.run(done.plan.itinerary.rounds)
    return digest(done)


def _allocator() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("MALLOC_")}


def test_workers_give_memory_back_as_this_process_does(client: Any) -> None:
    assert list(client.run(_allocator).values()) == 2 * [_allocator()]


@pytest.mark.smoke
def test_every_task_run_twice_changes_no_byte(expected: str, tmp_path: Path) -> None:
    assert finished(Twice(), tmp_path) == expected


@pytest.mark.parametrize("shard", [64, 333])
def test_workers_change_no_byte(client: object, shard: int, expected: str, tmp_path: Path) -> None:
    case = RING["pfpl+"]
    assert_same(fitted(case, InProcess(workers=2)), fitted(case, Cluster(DaskTasks(client), shard)))
    assert finished(DaskTasks(client), tmp_path) == expected


@pytest.mark.skipif(not ALL, reason="in make test-cluster")
@pytest.mark.parametrize("workers", [1, 4])
def test_one_worker_and_four_change_no_byte(workers: int, expected: str, tmp_path: Path) -> None:
    with dask_client(f"local:{workers}") as client:
        assert finished(DaskTasks(client), tmp_path) == expected
        for cases in (RING, FLOATS):
            for case in cases.values():
                assert_same(fitted(case, InProcess()), fitted(case, Cluster(DaskTasks(client), 200)))


@pytest.mark.parametrize(("task", "number"), POINTS if ALL else [("step", 9), ("save", 2)])
def test_a_worker_killed_in_a_task_costs_a_repetition(
    client: object, task: str, number: int, expected: str, tmp_path: Path
) -> None:
    marker = tmp_path / "killed"
    assert finished(Killing(client, task, number, marker), tmp_path) == expected
    assert marker.exists()


@pytest.mark.skipif(not ALL, reason="in make test-cluster")
@pytest.mark.parametrize(("task", "number"), [("step", 3), ("read", 3), ("save", 2)])
def test_all_workers_killed_cost_a_repetition(task: str, number: int, expected: str, tmp_path: Path) -> None:
    with dask_client("local:2") as client:

        def strike() -> None:
            for worker in client.run(os.getpid).values():
                os.kill(worker, signal.SIGKILL)

        assert finished(Killing(client, task, number, None, strike), tmp_path) == expected


DRIVER_POINTS = [
    ("step", 3),
    ("step", 10),
    ("read", 3),  # after the server's step
    ("report", 8),  # after the last exchange of a round that is to be written
    ("step", 20),
]


@pytest.mark.parametrize(("task", "number"), DRIVER_POINTS if ALL else DRIVER_POINTS[-1:])
def test_a_killed_driver_goes_on_from_its_files(task: str, number: int, expected: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.runtimes.kills", "local:2", str(tmp_path), task]
    killed = subprocess.run([*words, str(number)], capture_output=True, text=True, timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert finished(TaskEngine(), tmp_path) == expected


@pytest.mark.skipif(not ALL, reason="in make test-cluster")
@pytest.mark.parametrize("number", [3, 20])
def test_after_a_killed_scheduler_the_next_one_goes_on(number: int, expected: str, tmp_path: Path) -> None:
    [port] = free_ports(1)
    machines = started(port)
    try:
        with (
            pytest.raises(FederationError, match="goes on from its last files"),
            dask_client(f"tcp://127.0.0.1:{port}") as client,
        ):
            finished(Killing(client, "step", number, None, machines[0].kill), tmp_path)
    finally:
        ended(machines)
    machines = started(port)
    try:
        with dask_client(f"tcp://127.0.0.1:{port}") as client:
            assert finished(DaskTasks(client), tmp_path) == expected
    finally:
        ended(machines)


@pytest.mark.skipif(not ALL, reason="in make test-cluster")
def test_refuses_workers_that_compile_otherwise(tmp_path: Path) -> None:
    [port] = free_ports(1)
    machines = started(port, {}, {"NUMBA_CPU_NAME": "generic"})
    try:
        with dask_client(f"tcp://127.0.0.1:{port}") as client:
            client.wait_for_workers(2)
            with pytest.raises(SettingError, match="one kind of CPU"):
                finished(DaskTasks(client), tmp_path)
        mixed = Workers(cluster=f"tcp://127.0.0.1:{port}")
        with pytest.raises(SettingError, match="one kind of CPU"), processes(mixed):
            pass
    finally:
        ended(machines)


def started(port: int, *environments: dict[str, str], tls: Sequence[str] = ()) -> list[subprocess.Popen[bytes]]:
    """A scheduler, and a worker for each environment."""
    dask, silent = [sys.executable, "-m", "dask"], {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{port}"
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", *tls]
    machines = [subprocess.Popen(scheduler, **silent)]  # type: ignore[call-overload]
    for own in environments or ({}, {}):
        worker = [*dask, "worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", *tls]
        machines.append(subprocess.Popen(worker, env=os.environ | own, **silent))  # type: ignore[call-overload]
    return machines


def ended(machines: list[subprocess.Popen[bytes]]) -> None:
    for machine in machines:
        machine.kill()
        machine.wait()


@pytest.mark.skipif(not ALL, reason="in make test-cluster")
def test_a_cluster_behind_tls_needs_the_certificates(expected: str, tmp_path: Path) -> None:
    certificates(tmp_path / "tls")
    [port] = free_ports(1)
    files = ("--tls-ca-file", "ca.pem"), ("--tls-cert", "cert.pem"), ("--tls-key", "key.pem")
    machines = started(
        port, tls=[word for flag, name in files for word in (flag, str(tmp_path / "tls" / name))]
    )
    try:
        with dask_client(f"tls://127.0.0.1:{port}", tmp_path / "tls") as client:
            assert finished(DaskTasks(client), tmp_path) == expected
    finally:
        ended(machines)


def certificates(folder: Path) -> None:
    """One certificate that is its own authority, and its key."""
    folder.mkdir()
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")]),
    )
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    for file in ("ca.pem", "cert.pem"):
        (folder / file).write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(pem)
