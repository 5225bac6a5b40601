"""On real cohorts of cFPL: what fixed point costs, and that real devices' shares add up to the plain sum."""

from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.channel.chain import Chain
from murmura.channel.phase_chains import chain
from murmura.channel.shares import expand
from murmura.channel.shares import split as shared
from murmura.core.arrays import Floats
from murmura.core.catalogue import Split
from murmura.core.channel import ChannelSettings
from murmura.core.contract import RoundContext
from murmura.core.rng import Words
from murmura.core.update import Update
from murmura.data.sources.registry import load
from murmura.engine.federated_model import FederatedModel
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import protocol
from murmura.evaluation import evaluate
from murmura.runtimes.simulation import simulated

COHORT, ROUND = 500, 21


@pytest.fixture(scope="module")
def split(data_dir: Path) -> Split:
    dataset = load("ml-1m", data_dir)
    return whole_split(dataset, protocol("fpl", dataset))


@pytest.fixture(scope="module")
def halfway(split: Split) -> FederatedModel:
    """cFPL on ml-1m after twenty rounds."""
    return simulated("cfpl", {"rounds": 20}).fit(split.train, seed=1)


@pytest.fixture(scope="module")
def updates(halfway: FederatedModel) -> list[Update]:
    """What a cohort would send next."""
    people, method = halfway.plan.people, algorithm("cfpl")(warm=0).algorithm()
    context = RoundContext(halfway.plan.info, "train", ROUND, halfway.model)
    clients = np.random.default_rng(0).choice(people.clients, COHORT, replace=False)
    return [
        method.client_step(
            context, {"p": halfway.states["p"][c]}, people.history(c, ROUND), people.rng(c, ROUND)
        )[1]
        for c in clients
    ]


def clipped_sum(updates: list[Update], items: int, clip: float) -> Floats:
    """The sum in floating point of the same clipped updates."""
    total = np.zeros((items, 21))
    for update in updates:
        rows = update.tables["items"]
        values = rows.values.astype(np.float64)
        total[rows.index] += values * min(1.0, clip / float(np.linalg.norm(values)))
    return total


def sent(through: Chain, updates: list[Update], halfway: FederatedModel) -> list[Words]:
    return [through.device(u, halfway.plan.people.rng(k, ROUND), ROUND) for k, u in enumerate(updates)]


@pytest.mark.parametrize(("bits", "ring", "most"), [(16, 32, 5e-3), (14, 24, 2e-2)])
def test_fixed_point_is_close_to_the_float_sum(
    halfway: FederatedModel, updates: list[Update], bits: int, ring: int, most: float
) -> None:
    settings = ChannelSettings(channel="secure-sum", bits=bits, ring=ring)  # type: ignore[arg-type]
    phase, info = halfway.plan.itinerary.training[0], halfway.plan.info
    through = chain(settings, phase, info, COHORT)
    vectors = sent(through, updates, halfway)
    plain = through.ring.add_up(vectors)
    got = through.server(plain, ROUND).update.tables["items"]
    exact = clipped_sum(updates, info.items, settings.clip)
    there = np.zeros_like(exact)
    there[got.index] = got.values
    error = np.linalg.norm(there - exact) / np.linalg.norm(exact)
    assert 0 < error <= most
    shares = [shared(vector, through.ring) for vector in vectors]
    halves = [
        through.ring.add_up(expand(seed, through.ring) for seed, _ in shares),
        through.ring.add_up(other for _, other in shares),
    ]
    assert (through.ring.add_up(halves) == plain).all()


def test_an_upload_of_ml_1m_is_as_large_as_documented(halfway: FederatedModel) -> None:
    phase, info = halfway.plan.itinerary.training[0], halfway.plan.info
    dense = chain(ChannelSettings(channel="secure-sum"), phase, info, COHORT)
    listed = len(info.listed)
    assert dense.upload_bytes == 32 + 4 * (1 + 21 * listed)
    half = chain(ChannelSettings(channel="secure-sum", block="half"), phase, info, COHORT)
    assert half.upload_bytes == 32 + 4 * (1 + 21 * ((listed + 1) // 2))


def test_the_clip_touches_few(updates: list[Update]) -> None:
    """C = 30 is beyond what about 95 % of clients send."""
    norms = [np.linalg.norm(update.tables["items"].values) for update in updates]
    assert 0.005 < np.mean(np.array(norms) > ChannelSettings().clip) < 0.1


def test_cfpl_loses_nothing_through_the_secure_sum(split: Split) -> None:
    """75 rounds of 500 clients: P@10 at least .120; everyone sends messages of one length."""
    fitted = simulated("cfpl", {"rounds": 75, "channel": "secure-sum"}).fit(split.train, seed=0)
    assert fitted.path == "kernel"
    lists = fitted.recommend(np.unique(split.test.user), 10)
    assert evaluate(lists, split, cutoffs=(10,)).values["P@10"] >= 0.120
    uploads = {line.bytes_up // line.visits for line in fitted.ledger.lines[1:]}
    assert uploads == {fitted.plan.chains["train"].upload_bytes}
