"""A training process that is really killed between two checkpoints."""

import subprocess
import sys
from pathlib import Path

import pytest

from murmura.engine.fit import CHECKPOINT
from tests.cli.processes import killed_at

SCRIPT = """
import sys
from pathlib import Path
from murmura.algorithms.fpl.fpl import FPL
from murmura.core.consent import Consent
from murmura.core.schedule import Schedule
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
import pytest

folder = Path(sys.argv[1])
fitted = fit(
    Plan(FPL(triples=3), crowd(40, 30), Schedule(clients=6, rounds_per_epoch=20, epochs=4), Consent(pi=0.5), 9),
    runtime=InProcess(path="plain"), folder=folder, checkpoint_every=1,
)
fitted.save(folder / "fitted.npz")
"""


def whole(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], check=True)


@pytest.mark.process
@pytest.mark.smoke
def test_a_killed_process_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    never, killed = tmp_path / "whole", tmp_path / "killed"
    whole(never)
    for times in (2, 7):
        killed_at(CHECKPOINT, times, str(killed), cwd=tmp_path, code=SCRIPT)
        assert (killed / CHECKPOINT).exists()
    assert not (killed / "fitted.npz").exists()
    whole(killed)
    assert (killed / "fitted.npz").read_bytes() == (never / "fitted.npz").read_bytes()
