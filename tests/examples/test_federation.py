"""`make federation` does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

EXAMPLE = Path(__file__).parents[2] / "examples" / "federation.py"


def test_ten_devices_get_better_together_and_say_what_left() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "fewer than 100 hide little" in done.stdout
    shares = [int(share) for share in re.findall(r"^ +\d+ +(\d+)%", done.stdout, re.MULTILINE)]
    assert len(shares) == 12
    # of four kept back among thirty films not trained on, ten at random hold a third
    assert shares[-1] >= 70 > 50 > shares[0]
    assert len(re.findall(r"^device-\d +11 uploads, 46,036 bytes", done.stdout, re.MULTILINE)) == 10
