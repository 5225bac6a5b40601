"""A real SuperLink and two SuperNodes; `make test-flower` installs flwr in an environment of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.core.files import read_archive
from murmura.core.locks import locked
from murmura.server.organisations.server import model_digest
from tests.flower.federations import CHANNEL, SEED, cut
from tests.ports import free_ports

WHERE = os.environ.get("MURMURA_FLOWER")  # the bin folder of that environment
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.skipif(not WHERE, reason="make test-flower")]


@dataclass
class Flower:
    """Processes of one SuperLink, its SuperNodes and their runs, each with what it starts."""

    folder: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        assert WHERE is not None
        path = f"{Path(WHERE).resolve()}:{os.environ['PATH']}"
        settings = {"FLWR_HOME": str(self.folder), "FLWR_TELEMETRY_ENABLED": "0", "PATH": path}
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [str(Path(WHERE).resolve() / command[0]), *command[1:]],
                env={**os.environ, **settings},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.running[name]

    def superlink(self) -> None:
        (self.folder / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n'
            f'[superlink.here]\naddress = "127.0.0.1:{self.port}"\ninsecure = true\n'
        )
        database = ("--database", str(self.folder / "superlink.db"))
        self.start(
            "superlink", "flower-superlink", "--insecure", "--port", str(self.port), *database,
            "--disable-runtime-dependency-installation",
        )  # fmt: skip
        self.wait(lambda: "Uvicorn running" in self.log("superlink"), "the SuperLink")

    def supernode(self, silo: Path) -> None:
        link = ("--superlink", f"127.0.0.1:{self.port}", "--port", str(free_ports(1)[0]))
        config = ("--node-config", f'silo="{silo}"')
        self.start(silo.name, "flower-supernode", "--insecure", *link, *config)

    def run(self, name: str) -> subprocess.Popen[bytes]:
        own = f'federation="{self.folder}/terms" folder="{self.folder}/server" seed={SEED} patience=300.0'
        return self.start(
            name, "flwr", "run", str(self.folder / "app"), "here", "--stream", "--run-config", own
        )

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def wait(self, there: Callable[[], bool], what: str) -> None:
        """Until it is so; the time is only what a hanging process is given up after."""
        end = time.monotonic() + 400
        while not there():
            assert time.monotonic() < end, f"{what}: {[self.log(name)[-2000:] for name in self.running]}"
            time.sleep(0.05)

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free(folder: Path) -> bool:
    """Whether nobody is at work in a folder."""
    try:
        with locked(folder):
            return True
    except RunError:
        return False


@pytest.fixture
def flower(tmp_path: Path) -> Iterator[Flower]:
    made = Flower(tmp_path)
    yield made
    for name in list(made.running):
        made.kill(name)


def test_a_supernode_without_a_silo_is_told_what_to_give() -> None:
    code = "from types import SimpleNamespace as Given\n"
    code += "from murmura.server.organisations.flower_apps import introduce\n"
    code += "introduce(None, Given(node_config={}))"
    done = subprocess.run([f"{WHERE}/python", "-c", code], capture_output=True, text=True, check=False)
    assert "must be told the folder of its silo" in done.stderr
    assert "start it with --node-config 'silo=\"FOLDER\"'." in done.stderr


def test_superlink_is_killed_and_restarted_and_the_digest_is_the_simulations(flower: Flower) -> None:
    folder = flower.folder
    _, simulated = cut("pfpl+", {**CHANNEL, "rounds": 3, "clients": "all"}, folder)
    assert simulated.rounds == 3
    murmura = Path(str(WHERE)).resolve() / "murmura"
    subprocess.run([murmura, "silos", "app", folder / "app"], check=True, capture_output=True)
    flower.superlink()
    for number in range(2):
        flower.supernode(folder / f"silo-{number}")
    flower.run("first run")
    flower.wait((folder / "server" / "checkpoint.npz").exists, "the first checkpoint")
    flower.kill("superlink")
    flower.kill("first run")
    done = read_archive(folder / "server" / "checkpoint.npz")[1]["rounds"]
    assert done >= 1
    flower.superlink()
    flower.wait(lambda: free(folder / "server"), "the end of the first ServerApp, which loses its SuperLink")
    flower.run("second run")
    flower.wait((folder / "server" / "model.npz").exists, "the model")
    arrays, about = read_archive(folder / "server" / "model.npz")
    assert about["digest"] == model_digest(simulated.model)
    assert about["read"].startswith("the SuperLink can read each organisation's sum")
    assert (
        model_digest({name.removeprefix("model."): array for name, array in arrays.items()}) == about["digest"]
    )
