"""What a server asks of the machine it runs on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from murmura.server.http.serving import keep_freed_memory

BODIES = """
import resource, sys
from murmura.server.http.serving import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
def bodies():
    for _ in range(100):
        held = [bytes(300_000 + n) for n in range(4)]
bodies()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
bodies()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library is another")
def test_memory_of_bodies_is_not_asked_for_again() -> None:
    """100 times four bodies of 74 pages: without being told, glibc gives some of it back each time."""

    def faults(how: str) -> int:
        words = [sys.executable, "-c", BODIES, how]
        usual = {key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")}
        return int(subprocess.run(words, capture_output=True, text=True, check=True, env=usual).stdout)

    if not keep_freed_memory():
        pytest.skip("the C library is another")
    assert faults("kept") < 1000 < faults("by default")
