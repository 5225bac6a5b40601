"""What a person sees of a fit that goes on: epochs or rounds, the time left, the rate of bytes."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from murmura.cli.console import ProgressBars, drawn_bars, size
from murmura.core.progress import NamedProgress, SilentProgress
from murmura.runtimes.simulation import simulated
from tests.baselines.kit import checkerboard
from tests.cli.processes import MURMURA, environment, ratings


class Listener(SilentProgress):
    """Remembers what it hears."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self.done = self.bytes = self.ended = 0

    def begin(self, task: str, total: int) -> None:
        self.begun.append((task, total))

    def advance(self, steps: int = 1) -> None:
        self.done += steps

    def carried(self, length: int) -> None:
        self.bytes += length

    def end(self) -> None:
        self.ended += 1


def screen(width: int = 80) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, no_color=True)


def drawn(bars: ProgressBars, on: Console) -> list[str]:
    with on.capture() as text:
        on.print(bars.bars.get_renderable())
    return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in text.get().splitlines()]


def test_a_task_inside_another_has_a_line_of_its_own_on_80_columns() -> None:
    on = screen()
    bars = ProgressBars(drawn_bars(on))
    bars.begin("comparison", 8)
    bars.advance(2)
    told = NamedProgress(bars, "a-federated-method-with-a-long-name")
    told.begin("rounds (plain loop)", 400)
    told.advance(100)
    told.carried(250_000_000)
    outer, inner = drawn(bars, on)
    assert outer.startswith("comparison")
    assert "2/8" in outer
    assert inner.startswith("a-federated")
    assert "100/400" in inner
    assert "2.5 MB each" in inner
    assert re.search(r"\d [kMG]?B/s$", inner), inner
    assert max(map(len, (outer, inner))) <= 80
    told.end()
    assert len(drawn(bars, on)) == 1
    bars.end()
    assert not drawn(bars, on)


@pytest.mark.parametrize(
    ("length", "said"),
    [
        *(
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (99_949, "99.9 kB"),
            (99_950, "100 kB"),
            (999_499, "999 kB"),
        ),
        *((999_500, "1.0 MB"), (34_400_000, "34.4 MB"), (1_200_000_000, "1.2 GB"), (5e12, "5,000 GB")),
    ],
)
def test_bytes_are_said_in_the_unit_a_person_reads(length: float, said: str) -> None:
    assert size(length) == said


FITTED: dict[str, dict[str, int]] = {
    "sfpl+": {"epochs": 2},
    "cfpl": {"rounds": 4},
    "fcf": {"rounds": 3},
    "fed-ease": {"minimum_cohort": 2},
}


@pytest.mark.parametrize("name", FITTED)
def test_a_federated_fit_tells_its_rounds_and_every_byte_of_its_ledger(name: str) -> None:
    listener, (train, _) = Listener(), checkerboard()
    model = simulated(name, FITTED[name]).fit(train, progress=listener)
    assert listener.begun == [("rounds", model.rounds)]
    assert (listener.done, listener.ended) == (model.rounds, 1)
    assert listener.bytes == model.ledger.totals["bytes_up"] + model.ledger.totals["bytes_down"] > 0


@pytest.mark.process
def test_a_terminal_shows_the_model_at_work(tmp_path: Path) -> None:
    ratings(tmp_path)
    mine, theirs = pty.openpty()
    words = ("--data", "ratings.csv", "--models", "mostpop,bpr-mf", "-S", "bpr-mf.epochs=3")
    seen, env = b"", environment()
    with subprocess.Popen(
        [*MURMURA, "compare", *words], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=theirs
    ) as run:
        os.close(theirs)
        with suppress(OSError):  # the other side is closed
            while piece := os.read(mine, 4096):
                seen += piece
        assert run.wait() == 0
    os.close(mine)
    assert b"comparison" in seen
