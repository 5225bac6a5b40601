"""Pairwise masks with devices that are lost, and the server that lies about it."""

import numpy as np
import pytest

from murmura.channel.ring import Ring
from murmura.channel.shares import expand
from murmura.core.errors import FederationError
from murmura.core.rng import Words
from murmura.lab.protections.pairwise_masks import (
    MaskingDevice,
    PairwiseMasks,
    join,
    neighbourhood,
    pair_mask,
    sign,
)
from murmura.lab.protections.sum_protocol import AbortedSumError, DropOuts

RING, N = Ring(24, 6), 9  # threshold: 7 of 9


def vectors() -> dict[int, Words]:
    rng = np.random.default_rng(5)
    return {client: RING.wrap(rng.integers(-1000, 1000, RING.words)) for client in range(N)}


def begun(before: set[int] | None = None, after: set[int] | None = None, neighbours: int = N) -> PairwiseMasks:
    """A sum in which all have uploaded who do."""
    if after is None:
        after = set()
    if before is None:
        before = set()
    lost = DropOuts(frozenset(before), frozenset(after))
    session = PairwiseMasks(range(N), RING, lost, neighbours)
    for client, vector in vectors().items():
        if client not in before:
            session.add(client, vector)
    return session


@pytest.mark.parametrize(
    ("before", "after"), [(set(), set()), ({3}, set()), ({0, 8}, set()), (set(), {1, 2}), ({4}, {5})]
)
def test_the_sum_is_of_those_who_uploaded_whoever_is_lost(before: set[int], after: set[int]) -> None:
    session = begun(before, after)
    total = session.finish()
    there = [client for client in range(N) if client not in before]
    assert session.counted == there
    assert (total == RING.add_up(vectors()[client] for client in there)).all()


@pytest.mark.parametrize(("before", "after"), [({0, 1, 2}, set()), (set(), {0, 1, 2}), ({0, 1}, {2})])
def test_one_survivor_below_the_threshold_and_there_is_no_sum(before: set[int], after: set[int]) -> None:
    """Seven of nine are needed; with six left the sum stays masked, and no share was asked for in vain."""
    session = begun(before, after)
    with pytest.raises(AbortedSumError, match="67% of them to stay, but 6 are left; the model stays"):
        session.finish()
    individual = {vectors()[client].tobytes() for client in range(N)}
    assert session.sum.tobytes() not in individual
    if len(before) == 3:
        assert not any(device._said for device in session.devices.values())


def test_two_neighbours_of_each_other_and_no_more_masks() -> None:
    devices = {client: MaskingDevice(client, RING) for client in range(12)}
    found = neighbourhood({client: device.advertise() for client, device in devices.items()}, 4)
    assert all(len(peers) == 4 and client not in peers for client, peers in found.items())
    assert all(client in found[peer] for client, peers in found.items() for peer in peers)


def test_a_sum_with_few_neighbours() -> None:
    session = begun({2}, set(), neighbours=6)
    assert (session.finish() == RING.add_up(v for c, v in vectors().items() if c != 2)).all()


def test_what_leaves_is_independent_of_the_vector() -> None:
    """Every bit of the upload of zeros is a coin: 600 words of 24 bits, five standard deviations."""
    ones = 0
    for _ in range(100):
        session = PairwiseMasks(range(3), RING)
        sent = session.devices[0].masked(np.zeros(RING.words, np.uint32))
        ones += int(np.unpackbits(np.frombuffer(RING.pack(sent), np.uint8)).sum())
    bits = 100 * RING.words * 24
    assert abs(ones - bits / 2) < 5 * np.sqrt(bits / 4)


def test_a_device_gives_away_one_secret_of_a_peer_for_ever() -> None:
    device, everyone = begun().devices[0], set(range(N))
    assert device.unmask(everyone - {8}, {8})[8][0] == "key"
    with pytest.raises(FederationError, match="both of 8 are asked for"):
        device.unmask(everyone, set())
    assert device.unmask(everyone - {8}, {8})[8][0] == "key"  # the same again tells nothing new
    with pytest.raises(FederationError, match="said to be both"):
        begun().devices[0].unmask(everyone, {3})
    with pytest.raises(FederationError, match="at least 7 peers, but 6"):
        begun().devices[0].unmask(set(range(6)), {6, 7, 8})
    with pytest.raises(FederationError, match="said to be lost"):
        begun().devices[0].unmask(set(range(1, N)), {0})


def _read(session: PairwiseMasks, victim: int, upload: Words) -> Words | None:
    """A server that tells each device that the victim was lost and that it was not, to read its upload."""
    keys: dict[int, int] = {}
    masks: dict[int, int] = {}
    everyone, needed = set(range(N)), session.needed(victim)
    for holder in sorted(everyone - {victim}):
        for there, lost in ((everyone, set[int]()), (everyone - {victim}, {victim})):
            if len(masks) >= needed and not lost:
                continue
            try:
                kind, share = session.devices[holder].unmask(there, lost)[victim]
            except FederationError:
                continue
            (keys if kind == "key" else masks)[1 + holder] = share
    if len(keys) < needed or len(masks) < needed:
        return None
    private, own = join(keys, needed), join(masks, needed)
    total = upload - expand(own, RING)
    for peer in everyone - {victim}:
        mask = pair_mask(private, session.keys[peer].mask, RING)
        total = total - mask if sign(victim, peer) > 0 else total + mask
    return RING.wrap(total.astype(np.int64))


def test_a_server_with_two_stories_reads_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """And reads its victim where the devices' own check is taken out."""

    def upload_of(session: PairwiseMasks) -> Words:
        return session.devices[0].masked(vectors()[0])

    honest = begun()
    assert _read(honest, 0, upload_of(honest)) is None
    monkeypatch.setattr(MaskingDevice, "_refuse", lambda *_: None)
    careless = begun()
    found = _read(careless, 0, upload_of(careless))
    assert found is not None
    assert (found == vectors()[0]).all()


def test_shares_are_sealed_to_their_peer() -> None:
    one, two, three = (MaskingDevice(client, RING) for client in range(3))
    keys = {client: device.advertise() for client, device in enumerate((one, two, three))}
    sealed = one.share({1: keys[1], 2: keys[2]}, 2)
    two.share({0: keys[0], 2: keys[2]}, 2)
    three.share({0: keys[0], 1: keys[1]}, 2)
    two.receive({0: sealed[1]})
    assert two._held[0].keys() == {"key", "own mask"}
    with pytest.raises(FederationError, match="sealed to device 2"):
        three.receive({0: sealed[1]})
