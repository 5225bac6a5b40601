"""Sums that no honest devices can have added: found, cut to what is possible, and honest ones left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel import rounded_chain as chain_module
from murmura.channel.noise import simulated_noise
from murmura.channel.rounded_chain import RoundedChain, rounded_chain
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Rng, Words, client_secrets
from murmura.core.update import SparseRows, Update
from tests.hypothesis_profiles import examples

ITEMS, ROUND, COHORT = 30, 1, 50
INFO = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), COHORT, 2000)
BOTH = MessageSpec(
    (TableSpec("exact", "item", ITEMS, 1, "uint32", exact=RowBounds(2)), TableSpec("real", "item", ITEMS, 2))
)
REAL = MessageSpec((TableSpec("real", "item", ITEMS, 2, bound=1.0),))


def through(sends: MessageSpec = BOTH, noise: float = 0.0, **way: Any) -> RoundedChain:
    settings = ChannelSettings(channel="secure-sum", minimum_cohort=1, **way)
    return rounded_chain(
        settings, Phase("sums", sends, repeat=1, longest=1.0), INFO, COHORT, noise, simulated_noise(3)
    )


def honest(way: RoundedChain, devices: int, seed: int = 0) -> Words:
    """Everybody sends the most there is, in one direction."""
    made = []
    for secret in client_secrets(seed, devices):
        tables = {"real": SparseRows(INFO.listed, np.full((ITEMS, 2), 1.0, np.float32))}
        if len(way.layout.sends.tables) > 1:
            tables["exact"] = SparseRows(INFO.listed, np.full((ITEMS, 1), 2, np.uint32))
        made.append(way.device(Update(tables), Rng(secret, ROUND), ROUND))
    return way.ring.add_up(made)


@pytest.mark.slow
@given(st.integers(1, COHORT), st.integers(0, 2**32 - 1), st.sampled_from([24, 32]))
@examples(20)
def test_whatever_is_added_what_is_left_is_possible(devices: int, seed: int, ring: Any) -> None:
    way = through(ring=ring, bits=12)
    fair = honest(way, devices)
    lie = np.random.default_rng(seed).integers(0, 2**ring, way.words).astype(np.uint32)
    received, breach = way.possible(way.ring.add_up([fair, lie]), ROUND, devices)
    assert breach
    assert received.count == devices
    assert received.update.tables["exact"].values.max(initial=0) <= 2 * devices
    length = np.sqrt((received.update.tables["real"].values.astype(np.float64) ** 2).sum())
    assert length <= way.longest(devices) * (1 + 1e-6)
    with pytest.raises(FederationError, match="discard the round"):
        way.server(way.ring.add_up([fair, lie]), ROUND)


@pytest.mark.parametrize(("lie", "left"), [(1, 100), (2**31 - 200, 100), (-1, 0), (-100, 0), (2**31, 0)])
def test_a_number_is_cut_to_the_nearest_possible_one(lie: int, left: int) -> None:
    """Fifty devices of two each at most; above half of the ring a number was negative."""
    way = through(ring=32)
    words = honest(way, COHORT)
    at = way.vector_slice("exact", ROUND).place[4]
    words[at] = np.uint32(((100 if lie > 0 else 0) + lie) % 2**32)
    received, breach = way.possible(words, ROUND, COHORT)
    assert "row 4 of 'exact' must be at most 100 in a sum of 50 devices" in breach
    expected = np.full(ITEMS, 100)
    expected[4] = left
    found = received.update.tables["exact"]
    assert found.values[:, 0].tolist() == expected[found.index].tolist()


def test_a_sum_that_is_possible_is_the_same_to_the_bit() -> None:
    way = through()
    words = honest(way, 20)
    received, breach = way.possible(words, ROUND, 20)
    assert breach == ""
    expected = way.server(words, ROUND)
    for name, rows in expected.update.tables.items():
        np.testing.assert_array_equal(received.update.tables[name].values, rows.values, strict=True)


def accused(way: RoundedChain) -> int:
    """How many of two hundred honest sums at the very edge are called a breach, each with noise of its own."""
    fair, sums = way.ring.server(honest(way, COHORT)), 0
    for round in range(200):
        assert way.source is not None
        noise = sum(way.noise(way.source(role, way.phase, round)) for role in ("seed", "vector"))
        sums += bool(way.possible(way.ring.wrap(fair + noise), ROUND, COHORT)[1])
    return sums


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.3, 3.0, 30.0])
def test_noise_is_never_called_a_breach(noise: float) -> None:
    assert accused(through(REAL, noise)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("taken_out", ["numbers", "length"])
def test_without_the_tolerance_of_the_noise_honest_devices_are_accused(
    monkeypatch: pytest.MonkeyPatch, taken_out: str
) -> None:
    if taken_out == "numbers":
        monkeypatch.setattr(chain_module, "FARTHEST", 0)
    else:
        monkeypatch.setattr(RoundedChain, "noise_length", 0.0)
    assert accused(through(REAL, 30.0)) > 100
