"""AdaGrad's rows are bounded by public numbers: known answers, and honest rounds that are never cut."""

import numpy as np
import pytest

from murmura.algorithms import optimisers
from murmura.algorithms.fpl.fpl import FPL
from murmura.core.arrays import Floats
from murmura.core.contract import FederationInfo, Total
from murmura.core.rng import Rng, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

INFO = FederationInfo(5, np.array([0, 1, 2, 4], np.int32), 50, 500)


def longest(mine: FPL, monkeypatch: pytest.MonkeyPatch, prior: bool) -> list[float]:
    """What rows 0 and 2 of a sum of 10 clients may be long."""
    asked: list[Floats] = []
    real = optimisers.shorten_rows

    def spy(sent: SparseRows, most: Floats, width: int) -> SparseRows:
        asked.append(most)
        return real(sent, most, width)

    monkeypatch.setattr(optimisers, "shorten_rows", spy)
    server = mine.server_init(INFO, Rng(server_secret(0)))
    if prior:
        counts = SparseRows(np.array([0], np.int32), np.array([[15.0]]))
        server = mine.server_step("prior", server, Total(Update({"counts": counts}), 40))[0]
    rows = SparseRows(np.array([0, 2], np.int32), np.ones((2, mine.factors + 1)))
    mine.server_step("train", server, Total(Update({"items": rows}), 10))
    values: list[float] = asked[-1].tolist()
    return values


def bound(n: float) -> float:
    return n + 4 * float(n**0.5) + 16


def test_bounds_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten clients, T / |I| = 10 / 4 negatives of a row; a positive once if held, by all or by the counted."""
    own = FPL(factors=2, precision="float64", optimiser="adagrad", triples="own", prior=True)
    assert longest(own, monkeypatch, prior=False) == pytest.approx([bound(10 * (1 + 2.5))] * 2)
    held = [bound(10 * ((15 + 5) / 40 + 2.5)), bound(10 * (5 / 40 + 2.5))]
    assert longest(own, monkeypatch, prior=True) == pytest.approx(held)
    seven = FPL(factors=2, precision="float64", optimiser="adagrad", triples=7)
    assert longest(seven, monkeypatch, prior=False) == pytest.approx([bound(10 * (7 + 7 / 4))] * 2)


@pytest.mark.parametrize("prior", [False, True])
def test_honest_rounds_are_never_cut(monkeypatch: pytest.MonkeyPatch, prior: bool) -> None:
    mine = FPL(factors=4, optimiser="adagrad", triples="own", warm=2, prior=prior, server_alpha=0.1)
    plan = Plan(mine, crowd(60, 30), Schedule(clients=20, rounds_per_epoch=5, epochs=6), seed=2)
    guarded = fit(plan, runtime=InProcess()).model
    monkeypatch.setattr(optimisers, "shorten_rows", lambda sent, most, width: sent)
    for name, array in fit(plan, runtime=InProcess()).model.items():
        assert array.tobytes() == guarded[name].tobytes()
