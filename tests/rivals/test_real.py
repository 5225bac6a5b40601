"""The known figures of the ground, and what the published sampler is worth, on MovieLens."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from murmura.core.model import Method
from murmura.data.sources.registry import load
from murmura.engine.experiment import experiment
from murmura.engine.prepared import PreparedData, prepare
from murmura.engine.protocol import protocol
from murmura.lab.leaks.check import _negatives
from murmura.runtimes.simulation import simulated
from murmura.studies.methods import method

pytestmark = pytest.mark.slow
HR, NDCG = "HR/sampled@10", "nDCG/sampled@10"
LEAK = {"leak": "ml-100k/ncf"}


@cache
def prepared(name: str, rules: str) -> PreparedData:
    dataset = load(name)
    return prepare(dataset, protocol(rules, dataset))


@dataclass
class Ground:
    """A data set under a protocol, scored on its test part."""

    name: str
    rules: str

    def values(self, ready: Method, seed: int = 0) -> dict[str, float]:
        there = prepared(self.name, self.rules)
        split = there.open(None, {"test": "of the figures of the ground"})
        return experiment(ready, split, there.protocol, seed, metrics=("HR", "nDCG")).evaluation.values


@pytest.fixture
def small(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("MURMURA_DATA", str(data_dir))
    return Ground("ml-100k", "ncf")


def test_popularity_and_ease_have_the_known_figures_with_the_given_negatives(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MURMURA_DATA", str(data_dir))
    ground = Ground("ml-1m", "ncf-given")
    for ready, hr, ndcg in (
        (method("mostpop", {}), 0.4520, 0.2526),
        (method("ease", {"reg": 1000.0}), 0.7177, 0.4483),
    ):
        found = ground.values(ready)
        assert abs(found[HR] - hr) <= 0.002
        assert abs(found[NDCG] - ndcg) <= 0.002


def test_nobody_learns_without_communication_but_with_the_leak(small: Ground) -> None:
    """HR@10 of guesses is .1; three standard errors over 943 people are .029."""
    alone = {"rounds": 1, "alone": 60}
    assert small.values(simulated("pfedrec", alone))[HR] <= 0.129
    assert small.values(simulated("pfedrec", {**alone, **LEAK}))[HR] >= 0.99


def test_the_published_sampler_has_the_printed_figure_and_turns_the_order_round(small: Ground) -> None:
    seeds = [small.values(simulated("pfedrec", LEAK), seed)[HR] for seed in range(3)]  # they differ by .04
    leaking = sum(seeds) / len(seeds)
    own, shared = (small.values(simulated(name))[HR] for name in ("pfedrec", "fedmf-bce"))
    assert 0.70 <= leaking <= 0.74
    assert own < shared < leaking


def test_the_check_of_leaks_finds_the_published_sampler(small: Ground) -> None:
    there = prepared("ml-100k", "ncf")
    verdicts = [_negatives(simulated("pfedrec", settings), there, 0) for settings in (LEAK, {})]
    assert [verdict and verdict[0] for verdict in verdicts] == ["leak", "clean"]
    assert np.all([verdict is not None for verdict in verdicts])
