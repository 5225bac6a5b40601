"""A training process that is really killed, at a moment nobody chose."""

import subprocess
import sys
import time
from pathlib import Path

from murmura.engine.checkpoint import NAME

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

folder = Path(sys.argv[1])
fitted = fit(
    Plan(FPL(triples=3), crowd(40, 30), Schedule(clients=6, rounds_per_epoch=20, epochs=4), Consent(pi=0.5), 9),
    runtime=InProcess(path="plain"), folder=folder, checkpoint_every=1,
)
fitted.save(folder / "fitted.npz")
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)])


def test_a_killed_process_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole).wait(120) == 0
    for _ in range(2):
        process = start(killed)
        here = time.monotonic()
        while not (killed / NAME).exists() and time.monotonic() - here < 60:
            time.sleep(0.01)
        time.sleep(0.05)
        process.kill()
        process.wait(60)
    assert not (killed / "fitted.npz").exists()
    assert start(killed).wait(120) == 0
    assert (killed / "fitted.npz").read_bytes() == (whole / "fitted.npz").read_bytes()
