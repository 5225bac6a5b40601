"""Every protocol ends in the sum of the two aggregators, to the bit, on the vectors of a real chain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.chain import Chain
from murmura.channel.phase_chains import chain
from murmura.channel.ring import Ring
from murmura.channel.shares import expand, split
from murmura.core.channel import SUM_PROTOCOLS, ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Rng, Words, client_secrets
from murmura.core.update import SparseRows, Update
from murmura.lab.protections.pairwise_masks import PairwiseMasks
from murmura.lab.protections.sum_protocol import (
    PROTOCOLS,
    AbortedSumError,
    AdditiveShares,
    DropOuts,
    SumSession,
    split_among,
    sum_protocol,
)

ITEMS, CLIENTS = 30, 9


def through() -> Chain:
    """Real numbers beside exact ones that use the whole ring."""
    info = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), CLIENTS, 100)
    tables = (
        TableSpec("items", "item", ITEMS, 3),
        TableSpec("counts", "dense", 4, 1, "uint32", exact=RowBounds(2**32 - 1, of="sum")),
    )
    settings = ChannelSettings(channel="secure-sum", minimum_cohort=1)
    return chain(settings, Phase("train", MessageSpec(tables)), info, CLIENTS)


def vectors(channel: Chain) -> dict[int, Words]:
    rng, made = np.random.default_rng(1), {}
    for client in range(CLIENTS):
        index = np.sort(rng.choice(ITEMS, 8, replace=False)).astype(np.int32)
        most = (2**32 - 1) // CLIENTS
        large = np.array([[most], [0], [1], [2**31 if client == 4 else 5]], np.uint32)
        update = Update(
            {
                "items": SparseRows(index, rng.normal(0, 20, (8, 3)).astype(np.float32)),
                "counts": SparseRows(np.arange(4, dtype=np.int32), large),
            }
        )
        made[client] = channel.device(update, Rng(client_secrets(0, CLIENTS)[client], 1), 1)
    return made


def two_aggregators(channel: Chain, sent: dict[int, Words]) -> Words:
    """What a real federation does."""
    halves = [split(vector, channel.ring) for vector in sent.values()]
    return channel.ring.add_up([*(expand(seed, channel.ring) for seed, _ in halves), *(o for _, o in halves)])


def protocol(name: str) -> type[SumSession]:
    if name == "ckks":
        pytest.importorskip("tenseal")
    return sum_protocol(name)


@pytest.mark.parametrize("name", SUM_PROTOCOLS)
def test_the_sum_is_that_of_two_aggregators_to_the_bit(name: str) -> None:
    channel = through()
    sent = vectors(channel)
    session = protocol(name)(sent, channel.ring)
    for client, vector in sent.items():
        session.add(client, vector)
    total = session.finish()
    expected = two_aggregators(channel, sent)
    assert (total == expected).all()
    assert session.counted == list(range(CLIENTS))
    mine, theirs = channel.server(total, 1).update, channel.server(expected, 1).update
    assert all((mine.tables[t].values == theirs.tables[t].values).all() for t in ("items", "counts"))
    assert session.cost.bytes_up >= CLIENTS * channel.ring.message_bytes


@pytest.mark.parametrize("name", SUM_PROTOCOLS)
def test_a_sum_of_nobody_is_none_and_nobody_is_in_it_twice(name: str) -> None:
    channel = through()
    sent = vectors(channel)
    with pytest.raises(AbortedSumError, match="at least one device"):
        protocol(name)(sent, channel.ring).finish()
    session = protocol(name)(sent, channel.ring)
    session.add(0, sent[0])
    with pytest.raises(FederationError, match="once"):
        session.add(0, sent[0])
    with pytest.raises(FederationError, match="words"):
        session.add(1, sent[1][:-1])


def test_every_protocol_has_a_name_among_the_channels_and_says_who_sees_what() -> None:
    assert tuple(PROTOCOLS) == SUM_PROTOCOLS
    for name in SUM_PROTOCOLS:
        made = sum_protocol(name)
        assert made.sees
        assert made.dropouts
        assert made.name


@given(st.sampled_from([24, 32]), st.integers(2, 6), st.integers(0, 2**32))
def test_shares_of_any_number_of_parties_add_up(bits: int, parties: int, seed: int) -> None:
    ring = Ring(bits, 7)
    vector = np.random.default_rng(seed).integers(0, 2**bits, 7).astype(np.uint32)
    seeds, rest = split_among(vector, ring, parties)
    assert len(seeds) == parties - 1
    *most, whole = (ring.add_up([*(expand(seed, ring) for seed in seeds[:n]), rest]) for n in range(parties))
    assert (whole == vector).all()
    assert (most[-1] != vector).any()  # all of them are needed


def test_example_3_3_three_colleagues_and_their_salaries() -> None:
    """Thesis, table 3.1: the columns of the shares add up to -300, 4,800 and 1,500, together to 6,000."""
    ring = Ring(32, 1)
    table = np.array([[500, 300, 200], [-800, 1000, 1800], [0, 3500, -500]])
    assert table.sum(axis=1).tolist() == [1000, 2000, 3000]
    columns = [ring.add_up([ring.wrap(np.array([share])) for share in column]) for column in table.T]
    assert [int(ring.server(column)[0]) for column in columns] == [-300, 4800, 1500]
    assert int(ring.server(ring.add_up(columns))[0]) / 3 == 2000
    session = AdditiveShares(range(3), ring)  # and with shares drawn here
    for colleague, salary in enumerate((1000, 2000, 3000)):
        session.add(colleague, ring.wrap(np.array([salary])))
    assert int(session.finish()[0]) / 3 == 2000


def test_ckks_is_far_from_the_next_whole_number_and_refuses_what_is_not() -> None:
    pytest.importorskip("tenseal")
    from murmura.lab.protections import ckks

    ring = Ring(32, 5000)  # more than one ciphertext
    assert ring.words > ckks.SLOTS
    session = ckks.Ckks(range(20), ring)
    rng, total = np.random.default_rng(0), np.zeros(ring.words, np.int64)
    for client in range(20):
        vector = rng.integers(-(2**26), 2**26, ring.words)
        total += vector
        session.add(client, ring.wrap(vector))
    assert (session.finish() == ring.wrap(total)).all()
    assert session.error < 0.01
    liar = ckks.Ckks(range(2), Ring(32, 8))
    liar.add(0, np.zeros(8, np.uint32))
    liar.sum[0] = liar.sum[0] + [0.5] * 8  # what nobody can send who encrypts a vector of the ring
    with pytest.raises(FederationError, match="whole numbers"):
        liar.finish()


def test_the_ckks_server_has_no_key() -> None:
    pytest.importorskip("tenseal")
    import tenseal

    from murmura.lab.protections import ckks

    session = ckks.Ckks(range(2), Ring(32, 3))
    server = tenseal.context_from(session.public)
    assert not server.has_secret_key()
    with pytest.raises(ValueError, match="secret"):
        tenseal.ckks_vector(server, [1.0]).decrypt()


def test_settings_that_could_not_protect_are_refused() -> None:
    with pytest.raises(SettingError, match="at least 2 parties"):
        AdditiveShares(range(2), Ring(32, 1), parties=1)
    with pytest.raises(SettingError, match="neighbours"):
        PairwiseMasks(range(3), Ring(32, 1), neighbours=1)


def test_drop_outs_are_halved_between_before_and_after() -> None:
    lost = DropOuts.drawn(list(range(100)), 0.1, round=3)
    assert len(lost.before) == len(lost.after) == 5
    assert not lost.before & lost.after
    assert DropOuts.drawn(list(range(100)), 0.0, round=3) == DropOuts()
