"""The example package: one file, one entry point, installed by pip and named like ours."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from murmura import simulate
from murmura.core.codec import encode_model
from murmura.core.contract import FederationInfo
from murmura.runtimes.simulation import training_rows
from tests.cli.processes import ratings
from tests.examples.wheels import install
from tests.http.network import people
from tests.http.processes import get, served, write_table

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "murmura-pairs"
MURMURA = ("-c", "from murmura.cli.app import main; main()")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(EXAMPLE, tmp_path_factory.mktemp("pairs"))


def run(site: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def test_it_is_the_algorithm_of_the_page_in_sixty_lines() -> None:
    code = (EXAMPLE / "murmura_pairs.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "new-algorithm.md").read_text(encoding="utf-8")
    assert code == re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    assert len(code.splitlines()) <= 60
    assert set(re.findall(r"(?:from|import) (murmura\S*)", code)) == {"murmura.federated"}


@pytest.mark.slow
def test_its_kit_is_green(site: Path, tmp_path: Path) -> None:
    tests = str(EXAMPLE / "tests")
    done = run(
        site, tmp_path, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, tests
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.slow
def test_it_is_compared_beside_ours(site: Path, tmp_path: Path) -> None:
    flags = ("--models", "pairs,ease,half=pairs", "-S", "half.pi=0.5", "-S", "half.damping=2", "--json")
    done = run(site, tmp_path, *MURMURA, "compare", "--data", str(ratings(tmp_path)), *flags)
    assert done.returncode == 0, done.stderr
    lines = {line["model"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert list(lines) == ["pairs", "ease", "half"]
    assert lines["pairs"]["disclosed"] == 1.0
    assert lines["half"]["disclosed"] < 0.6
    assert lines["pairs"]["P@10"] > 0.5 * lines["ease"]["P@10"] > 0


@pytest.mark.slow
def test_a_secure_sum_carries_it(site: Path, tmp_path: Path) -> None:
    flags = ("-S", "channel=secure-sum", "-S", "minimum_cohort=20", "--out", "run")
    done = run(
        site, tmp_path, *MURMURA, "fit", "--data", str(ratings(tmp_path)), "--model", "pairs", *flags
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = run(site, tmp_path, *MURMURA, "recommend", "run", "--user", "u01", "--k", "3", "--json")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"m\d\d", done.stdout)


@pytest.mark.slow
def test_it_is_served_and_joined_over_http_and_ends_in_the_bits_of_a_simulation(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator, two aggregators and two devices, each a process; a fleet holds the other people."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(site)
    table = write_table(people(12, 30), tmp_path / "likes.csv")
    timing = (
        "--round-seconds",
        600,
        "--hold",
        0,
        "--spread",
        0,
        "--wait-for",
        12,
        "--seed",
        11,
        "--start",
        "--exact",
    )
    with served(tmp_path, "--like", table, "--model", "pairs", *timing) as here:
        links = here.invite(2)
        for client in (0, 1):
            where = ("--state", tmp_path / f"device-{client}", "--simulate", f"11:{client}", "--data", table)
            here.processes.start(
                f"device-{client}", "join", links[client], *where, "--user", client, "--minimum", 10, "--exact"
            )
        invited = ("--invitations", here.invite_file(10))
        here.processes.start(
            "fleet", "devices", here.url, "--data", table, "--first", 2, "--seed", 11, *invited, "--exact"
        )
        for name in ("device-0", "device-1", "fleet"):
            here.processes.wait(name)
        told = json.loads(get(f"{here.url}/federation"))
        published = get(f"{here.url}/m/{told['model']}")
    assert (told["state"], told["rounds_done"]) == ("finished", 1)
    data = training_rows(str(table), "")
    fitted = simulate("pairs", data, {"channel": "secure-sum", "minimum_cohort": 10}, seed=11)
    info = FederationInfo.of(data)
    assert published == encode_model(fitted.model, fitted.plan.algorithm.publishes(info), info.listed)
