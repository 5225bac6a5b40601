"""No device bends a noisy sum: one weight for each person, and what is longer than the noise allows is refused.

The published model is then bit for bit that of the federation without the liar, under the same noise. The same
lie bends the sum of aggregators that do not check.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.channel.proven_shares import ProvenUpload
from murmura.channel.weighted_chain import WeightedChain
from murmura.wire import wire
from tests.faults import proof_lies as lies
from tests.faults.proof_lies import Lie, LyingUpload, ReplayedUpload, SwappedUpload, UncheckedUpload, lying
from tests.faults.test_trust_proofs import EXCHANGES, PHASES, careless, model, name_of, release
from tests.http.network import World
from tests.http.test_noise import from_seed, noisy

NOISE = 7


def world(folder: Path) -> World:
    return from_seed(noisy(folder), NOISE)


def same(one: World, other: World) -> bool:
    first, second = model(one), model(other)
    assert first.keys() == second.keys() == {"counts", "factors"}
    assert second["factors"].any()
    return all(np.array_equal(values, second[name]) for name, values in first.items())


KINDS: list[tuple[Lie | None, type[ProvenUpload]]] = [
    (lies.much_more, LyingUpload),
    (lies.a_negative, LyingUpload),
    (lies.twice_as_long, LyingUpload),
    (lies.every_item, LyingUpload),
    (None, ReplayedUpload),
    (None, SwappedUpload),
    (None, UncheckedUpload),
]


@EXCHANGES
@pytest.mark.parametrize(("lie", "kind"), KINDS, ids=name_of)
def test_a_lie_is_refused_and_the_model_is_that_of_everybody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, lie: Lie | None, kind: type[ProvenUpload]
) -> None:
    place, without = world(tmp_path / "with"), world(tmp_path / "without")
    with monkeypatch.context() as wicked:
        lying(wicked, phase, lie, kind)
        outcomes = asyncio.run(release(place, liar=phase))[PHASES.index(phase)]
    assert [one.kind for one in outcomes] == ["refused", *["sent"] * 11]
    assert "must be" in outcomes[0].why
    asyncio.run(release(without, silent=phase))
    assert same(place, without)
    said = place.coordinator.history()
    assert [(one["state"], one["reason"]) for one in said] == [("committed", None)] * 2  # nothing was cut


@EXCHANGES
@pytest.mark.parametrize("lie", [lies.much_more, lies.twice_as_long, lies.every_item], ids=name_of)
def test_without_the_check_the_lie_is_in_the_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, lie: Lie
) -> None:
    place, honest = world(tmp_path / "with"), world(tmp_path / "honest")
    asyncio.run(release(honest))
    lying(monkeypatch, phase, lie)
    careless(monkeypatch)
    outcomes = asyncio.run(release(place))
    assert {one.kind for each in outcomes for one in each} == {"sent"}
    assert not same(place, honest)


@EXCHANGES
def test_an_honest_device_never_sends_what_fails_its_own_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    place = world(tmp_path)
    lying(monkeypatch, phase, lies.every_item, ProvenUpload)
    outcomes = asyncio.run(release(place, liar=phase))[PHASES.index(phase)]
    assert (outcomes[0].kind, outcomes[0].phase) == ("declined", phase)
    assert "must pass its own check" in outcomes[0].why


def test_all_uploads_of_an_exchange_are_of_one_length(tmp_path: Path) -> None:
    place = world(tmp_path)
    asyncio.run(release(place))
    terms, info = place.coordinator.rounds.terms, place.info
    bodies = [body for _, url, body in place.network.log if url.endswith("/reports")]
    vectors = [len(body) for body in bodies if body[3] == wire.VECTOR]
    assert len(vectors) == 24
    for phase, sent in zip(PHASES, (vectors[:12], vectors[12:])):
        through = terms.chain(phase, info, info.clients)
        assert isinstance(through, WeightedChain)
        assert len(set(sent)) == 1
        assert through.upload_bytes <= sent[0] <= through.upload_bytes + wire.SHARE_HEADER
