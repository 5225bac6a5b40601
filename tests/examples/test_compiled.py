"""The example package with a compiled path: its loop is the one of the page, and the kit proves it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import ratings
from tests.examples.wheels import install

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "murmura-compiled"
CODE = (EXAMPLE / "murmura_compiled.py").read_text(encoding="utf-8")
COMPARED = """
import sys
import numpy as np
from murmura.runtimes.inprocess import InProcess
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.federated import Schedule
from murmura.testing import crowd
from murmura_compiled import Pull

for channel in (None, "secure-sum"):
    plan = Plan(Pull(), crowd(400, 40), Schedule(clients=300, rounds=3))
    paths = ("plain", "kernel", "batched" if channel is None else "plain")
    made = [fit(plan, runtime=InProcess(path=path, workers=2)) for path in paths]
    assert [one.path for one in made] == [*paths]
    assert made[0].ledger.totals == made[1].ledger.totals
    for one in made[1:]:
        assert np.allclose(made[0].model["Q"], one.model["Q"], rtol=0, atol=1e-12)
"""


def run(site: Path, cwd: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_batched_step_is_the_one_of_the_page() -> None:
    page = (ROOT / "docs" / "new-algorithm.md").read_text(encoding="utf-8")
    plain, batched = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "mf." in block)
    for step in (plain, batched):
        assert re.sub(r"^(?=.)", "    ", step, flags=re.MULTILINE) in CODE
    assert len(batched.splitlines()) <= 30


def test_it_is_the_loop_of_the_page_in_ninety_five_lines() -> None:
    page = (ROOT / "docs" / "compiled.md").read_text(encoding="utf-8")
    (loop,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert loop == CODE[CODE.index("class PullKernel") :]
    files = [EXAMPLE / "murmura_compiled.py", EXAMPLE / "tests" / "test_kit.py"]
    assert sorted(files) == sorted(EXAMPLE.rglob("*.py"))
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 95
    assert set(re.findall(r"(?:from|import) (murmura\S*|numba\S*)", CODE)) == {"murmura.federated"}


@pytest.mark.slow
def test_its_kit_is_green_and_both_paths_agree(tmp_path: Path) -> None:
    site = install(EXAMPLE, tmp_path)
    alone = ("-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull)
    said = run(site, tmp_path, "-m", "pytest", "-v", *alone, str(EXAMPLE / "tests"))
    batched = ("many_clients_at_once_equal_the_plain_loop", "many_clients_at_once_send_what_each_sends_alone")
    for name in (*batched, "compiled_path_equals_the_plain_loop", "channel_gives_the_same_bits_on_every_path"):
        assert re.search(f"{name} PASSED", said), said
    run(site, tmp_path, "-c", COMPARED)
    flags = ("--data", str(ratings(tmp_path)), "--models", "pull", "--json")
    command = ("-c", "from murmura.cli.app import main; main()", "compare")
    assert '"model": "pull"' in run(site, tmp_path, *command, *flags)
