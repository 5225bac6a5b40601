"""The chain: exact sums in any order, bounds that hold, lengths that tell nothing."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.chain import Chain
from murmura.channel.phase_chains import chain
from murmura.channel.shares import expand, split
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng, Words, client_secrets
from murmura.core.update import SparseRows, Update, add_up
from tests.hypothesis_profiles import examples

ITEMS = 60
PUBLIC = FederationInfo(ITEMS, np.arange(0, ITEMS, 2, dtype=np.int32), 500, 5000, counts=np.arange(ITEMS))
PHASE = Phase("train", MessageSpec((TableSpec("items", "item", ITEMS, 4, "float64"),), ("hits",)))
WAYS: list[dict[str, Any]] = [
    {},
    {"ring": 24, "bits": 14},
    {"block": "half"},
    {"block": "core", "core": 20},
    {"coordinate": 0.5},
    {"clip": 1.0, "channel": "readable"},
]


def make(cohort: int = 500, **changes: Any) -> Chain:
    return chain(ChannelSettings(**{"channel": "secure-sum", **changes}), PHASE, PUBLIC, cohort)


def update(seed: int, rows: int = 9, scale: float = 1.0) -> Update:
    rng = np.random.default_rng(seed)
    index = np.sort(rng.choice(PUBLIC.listed, rows, replace=False)).astype(np.int32)
    return Update(
        {"items": SparseRows(index, scale * rng.normal(size=(rows, 4)))}, {"hits": float(rng.random())}
    )


def vectors(through: Chain, n: int, round: int = 3) -> list[Words]:
    secrets = client_secrets(1, n)
    return [through.device(update(k), Rng(secrets[k], round), round) for k in range(n)]


@pytest.mark.parametrize("way", WAYS)
def test_the_secure_sum_is_the_fixed_point_sum_bit_for_bit(way: dict[str, Any]) -> None:
    through = make(**way)
    sent = vectors(through, 40)
    shares = [split(vector, through.ring) for vector in sent]
    first = through.ring.add_up(expand(seed, through.ring) for seed, _ in shares)
    second = through.ring.add_up(other for _, other in shares)
    together = through.ring.add_up([second, first])
    assert (together == through.ring.add_up(reversed(sent))).all()
    assert through.server(together, 3).count == 40


@pytest.mark.parametrize("way", WAYS)
def test_the_sum_is_that_of_the_clipped_updates_within_the_rounding(way: dict[str, Any]) -> None:
    through, n = make(**way), 40
    total = through.server(through.ring.add_up(vectors(through, n)), 3)
    block = through.layout.block(3)
    dense, hits = np.zeros((ITEMS, 4)), 0.0
    for k in range(n):
        one = update(k)
        rows = one.tables["items"]
        inside = np.isin(rows.index, block)
        values, hit = rows.values[inside], one.scalars["hits"]
        shrink = min(1.0, through.settings.clip / np.sqrt((values**2).sum() + hit**2))
        most = through.settings.coordinate or through.settings.clip
        dense[rows.index[inside]] += np.clip(values * shrink, -most, most)
        hits += hit * shrink
    step = through.settings.clip / 2.0 ** (through.settings.bits - 1)
    got = np.zeros((ITEMS, 4))
    got[total.update.tables["items"].index] = total.update.tables["items"].values
    assert np.abs(got - dense).max() <= n * step  # no rounding is off by more than one step
    assert np.abs(got - dense).max() > 0  # it did round
    assert abs(total.update.scalars["hits"] - hits) <= n * step
    assert not got[~np.isin(np.arange(ITEMS), block)].any()


def test_rounding_is_right_on_average() -> None:
    """The mean of n roundings of x is within 4 sd, and a rounding that always goes down is not."""
    through, n = make(bits=8), 1500
    x = 0.3 * through.settings.clip / 2**7
    one = Update({"items": SparseRows(np.array([2], np.int32), np.full((1, 4), x))}, {"hits": 0.0})
    secrets = client_secrets(4, n)
    words = np.zeros(through.words, np.int64)
    for secret in secrets:
        words += through.device(one, Rng(secret, 1), 1)
    means = words[words > 0][1:] / n
    allowed = 4 * np.sqrt(0.3 * 0.7 / n)
    assert (np.abs(means - 0.3) < allowed).all()
    assert abs(np.floor(0.3) - 0.3) > allowed


@given(
    st.integers(2, 24), st.sampled_from([24, 32]), st.integers(1, 100_000), st.floats(1e-3, 1e6), st.booleans()
)
@examples(2)
def test_overflow_is_refused_at_the_start_or_impossible(
    bits: int, ring: int, cohort: int, clip: float, negative: bool
) -> None:
    try:
        through = make(cohort, bits=bits, ring=ring, clip=clip)
    except SettingError:
        assert cohort * 2 ** (bits - 1) >= 2 ** (ring - 1)
        return
    huge = np.full((1, 4), -1e150 if negative else 1e150) * np.array([1, 0, 0, 0])
    worst = Update({"items": SparseRows(np.array([4], np.int32), huge)}, {"hits": 0.0})
    one = through.ring.server(through.device(worst, Rng(client_secrets(0, 1)[0], 1), 1))
    exact = one * cohort  # in whole numbers without a modulus
    assert (through.ring.server(through.ring.wrap(exact)) == exact).all()
    assert np.abs(one[1:]).max() == 2 ** (bits - 1)


def test_every_vector_has_the_same_length() -> None:
    for way in WAYS:
        through = make(**way)
        rng = Rng(client_secrets(0, 1)[0], 1)
        empty = Update({"items": SparseRows.empty(4, np.float64)}, {"hits": 0.0})
        sizes = {
            len(through.ring.pack(through.device(one, rng, r)))
            for one in (empty, update(1, 30))
            for r in (1, 2)
        }
        assert sizes == {through.ring.message_bytes}


def test_an_opening_phase_travels_whole_and_counts_give_way_to_a_large_cohort() -> None:
    counts = TableSpec("counts", "item", ITEMS, 1, bound=1.0)
    opening = Phase("prior", MessageSpec((counts,)), repeat=1, asks="statistics")
    small = ChannelSettings(channel="secure-sum", ring=24, bits=14, block="half")
    through = chain(small, opening, PUBLIC, 6000)
    assert through.layout.rows(counts) == len(PUBLIC.listed)
    ones = Update({"counts": SparseRows(np.array([2, 8], np.int32), np.ones((2, 1), np.float32))})
    total = through.ring.add_up(through.device(ones, Rng(s, 0), 0) for s in client_secrets(0, 500))
    assert through.server(total, 0).update.tables["counts"].values.ravel().tolist() == [500.0, 500.0]


def test_what_no_device_can_have_sent_is_refused() -> None:
    through = make(10)
    total = through.ring.add_up(vectors(through, 2))
    beyond, nobody, many = total.copy(), total.copy(), total.copy()
    beyond[5], nobody[0], many[0] = 3 * 2**15, 0, 11
    wrong: list[Any] = [beyond, nobody, many, total[1:], total.astype(np.int64)]
    for one in wrong:
        with pytest.raises(FederationError):
            through.server(one, 3)


def test_a_phase_that_needs_each_update_and_a_channel_that_is_off_are_refused() -> None:
    on = ChannelSettings(channel="secure-sum")
    with pytest.raises(SettingError, match="the server can read each update"):
        chain(on, Phase("factors", PHASE.sends, combine="each"), PUBLIC, 5)
    with pytest.raises(SettingError, match="none"):
        chain(ChannelSettings(), PHASE, PUBLIC, 5)
    with pytest.raises(SettingError, match="at least the minimum cohort of 100"):
        on.check_cohort(1)
    assert on.label is None
    assert ChannelSettings(channel="readable").label == "the server can read each update"


def test_any_order_gives_the_same_sum() -> None:
    through = make()
    sent = vectors(through, 12)
    order = np.random.default_rng(0).permutation(12)
    assert (through.ring.add_up(sent) == through.ring.add_up(sent[k] for k in order)).all()


def test_the_stages_agree_with_floats_where_nothing_is_clipped() -> None:
    through = make(bits=24, cohort=100)
    whole = add_up(update(k) for k in range(20))
    got = through.server(through.ring.add_up(vectors(through, 20)), 3).update
    assert (got.tables["items"].index == whole.tables["items"].index).all()
    assert np.allclose(got.tables["items"].values, whole.tables["items"].values, atol=20 * 30 / 2**23)
