"""Exact tables: to the last unit through every channel and runtime, and nothing above a bound gets through."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.rounded_chain import rounded_chain
from murmura.channel.shares import expand, split
from murmura.core.channel import ChannelSettings
from murmura.core.codec import decode, encode
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import FederationError, SettingError
from murmura.core.message import MessageSpec, RowBounds, TableSpec
from murmura.core.rng import Rng, client_secrets
from murmura.core.schedule import Schedule
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.fixed_point import add_fixed_point_rows
from murmura.runtimes.inprocess import InProcess
from murmura.testing import AlgorithmKit, crowd
from tests.channel.exact_counts import ExactCounts

ITEMS, ROUND = 12, 3
INFO = FederationInfo(ITEMS, np.arange(ITEMS, dtype=np.int32), 500, 5000)
SECRETS = client_secrets(2, 500)


def phase(bounds: RowBounds, width: int = 2, space: Any = "item") -> Phase:
    """An exact table between two of floats."""
    exact = TableSpec("exact", space, ITEMS, width, "uint32", exact=bounds)
    return Phase(
        "p",
        MessageSpec(
            (TableSpec("before", "item", ITEMS, 1), exact, TableSpec("after", "dense", 2, 1, "float64")), ("s",)
        ),
    )


def update(values: Any, scale: float = 1.0) -> Update:
    """The exact values, and floats that `scale` makes longer than any clip."""
    rows = np.arange(ITEMS, dtype=np.int32)
    before = SparseRows(rows, np.full((ITEMS, 1), scale, np.float32))
    after = SparseRows(rows[:2], np.full((2, 1), -scale))
    whole = SparseRows(rows, np.asarray(values, np.uint32).reshape(ITEMS, -1))
    return Update({"before": before, "exact": whole, "after": after}, {"s": 0.5})


class TestExactCounts(AlgorithmKit):
    """Every promise of the kit, the wire included."""

    schedule = Schedule(clients=8, rounds_per_epoch=2, epochs=2)
    training = Schedule(clients="all", rounds=1)

    def make(self) -> ExactCounts:
        return ExactCounts()


@pytest.mark.parametrize("way", [None, {}, {"ring": 24, "bits": 14}, {"channel": "readable", "clip": 0.01}])
def test_every_channel_ends_with_the_counts_of_a_plain_twin(way: dict[str, Any] | None) -> None:
    """Whatever the clip: counts and pairs are those of the data, one by one, of the clients in the part."""
    data = crowd()
    settings = {"channel": "secure-sum", "minimum_cohort": 1, **(way or {})}
    channel = ChannelSettings() if way is None else ChannelSettings(**settings)
    plan = Plan(ExactCounts(), data, Schedule(clients="all", rounds=2), channel=channel, seed=4)
    model = fit(plan, runtime=InProcess()).model
    everyone = np.arange(data.n_users, dtype=np.int32)
    members = plan.itinerary.cohort(plan.itinerary.at(1), everyone, plan.server_secret, everyone)
    assert 0 < len(members) < data.n_users
    counts, pairs = [0] * data.n_items, np.zeros((data.n_items, data.n_items))
    for user in range(data.n_users):
        own = data.item[data.user == user].tolist()
        for i in own:
            counts[i] += 1
            for j in own if user in members else ():
                pairs[i, j] += 1
    assert model["counts"][:, 0].tolist() == counts
    assert model["counts"][:, 1].tolist() == [2 * count for count in counts]
    assert (model["pairs"] == pairs).all()


@given(st.data(), st.sampled_from([24, 32]), st.booleans(), st.integers(1, 9))
def test_exact_rows_sum_up_to_the_unit_beside_floats_of_any_length(
    data: st.DataObject, ring: Any, shared_bound: bool, count: int
) -> None:
    top = (2**ring - 1) // 500
    most = np.array(data.draw(st.lists(st.integers(0, top), min_size=ITEMS, max_size=ITEMS)))
    bounds = RowBounds(int(most.max()) if shared_bound else most)
    through = rounded_chain(
        ChannelSettings(channel="secure-sum", clip=0.5, bits=8, ring=ring), phase(bounds), INFO, 500
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sent = [rng.integers(0, most[:, None], (ITEMS, 2), endpoint=True) for _ in range(count)]
    vectors = [through.device(update(v, 10.0**k), Rng(SECRETS[k], ROUND), ROUND) for k, v in enumerate(sent)]
    parts = [split(vector, through.ring) for vector in vectors]
    sums = through.ring.add_up([*(expand(seed, through.ring) for seed, _ in parts), *(v for _, v in parts)])
    total = through.server(sums, ROUND).update.tables["exact"]
    dense = np.zeros((ITEMS, 2), np.int64)
    dense[total.index] = total.values
    assert total.values.dtype == np.uint32
    assert (dense == sum(sent)).all()


def test_the_floats_beside_an_exact_table_are_those_without_it() -> None:
    """It counts in no length: the clip of the others is the same whatever it holds."""
    with_it = rounded_chain(ChannelSettings(channel="secure-sum", clip=0.5), phase(RowBounds(10**6)), INFO, 500)
    small, large = (
        with_it.device(update(np.full((ITEMS, 2), n)), Rng(SECRETS[0], ROUND), ROUND) for n in (0, 10**6)
    )
    assert (small[~with_it.exact] == large[~with_it.exact]).all()
    assert (large[with_it.exact] == 10**6).all()


def test_words_of_a_bound_of_the_sum_have_the_whole_ring() -> None:
    top = 2**32 - 1
    through = rounded_chain(
        ChannelSettings(channel="secure-sum"), phase(RowBounds(top, of="sum"), 1), INFO, 500
    )
    halves = [np.full(ITEMS, 2**31 - 1), np.full(ITEMS, 2**31)]
    vectors = [through.device(update(v), Rng(SECRETS[k], ROUND), ROUND) for k, v in enumerate(halves)]
    total = through.server(through.ring.add_up(vectors), ROUND)
    assert (total.update.tables["exact"].values == top).all()


@pytest.mark.parametrize("of", ["device", "sum"])
def test_a_sum_above_its_bounds_is_refused(of: Any) -> None:
    most = np.arange(1, ITEMS + 1)
    spec = phase(RowBounds(most, of=of), 1)
    through = rounded_chain(ChannelSettings(channel="secure-sum"), spec, INFO, 500)
    sent = [most, most if of == "device" else 0 * most, most if of == "device" else 0 * most]
    honest = [through.device(update(v), Rng(SECRETS[k], ROUND), ROUND) for k, v in enumerate(sent)]
    assert (through.server(through.ring.add_up(honest), ROUND).update.tables["exact"].values >= 1).all()
    first = through.vector_slice("exact", ROUND).place
    for lie in (1, 2**32 - 10**6):  # one too many; below zero is far above
        vector = honest[2].copy()
        vector[first[7]] += np.uint32(lie)
        bound = 8 * (3 if of == "device" else 1)
        with pytest.raises(FederationError, match=f"row 7 of 'exact' must be at most {bound} in a sum of 3"):
            through.server(through.ring.add_up([*honest[:2], vector]), ROUND)


def test_a_sum_without_a_channel_is_held_to_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose own check is taken out is found in the sum, and trains on where that check is out too."""
    plan = Plan(ExactCounts(), crowd(), Schedule(clients="all", rounds=1))
    step = ExactCounts.client_step

    def lying(self: ExactCounts, *given: Any) -> Any:
        state, made = step(self, *given)
        rows = made.tables.get("counts")
        if rows is None:
            return state, made
        many = SparseRows(rows.index, rows.values * np.uint32(13))
        return state, Update({**made.tables, "counts": many}, made.scalars)

    monkeypatch.setattr(ExactCounts, "client_step", lying)
    with pytest.raises(FederationError, match="of 'counts' must be at most 1, but is 13"):
        fit(plan, runtime=InProcess())
    monkeypatch.setattr(MessageSpec, "check", lambda self, update: None)
    with pytest.raises(FederationError, match="in a sum of 12 devices"):
        fit(plan, runtime=InProcess())
    monkeypatch.setattr(MessageSpec, "check_sum", lambda self, total, count: None)
    assert fit(plan, runtime=InProcess()).model["counts"].max() > 12


@pytest.mark.parametrize(("value", "row"), [(5, 3), (2**32 - 1, 0)])
def test_nothing_above_its_bound_leaves_a_device_or_is_read(value: int, row: int) -> None:
    sends = phase(RowBounds(4), 1).sends
    wrong = np.zeros(ITEMS)
    wrong[row] = value
    loose = replace(sends.tables[1], exact=RowBounds(2**32 - 1))
    for act in (sends.check, lambda one: encode(one, sends)):
        with pytest.raises(FederationError, match=f"row {row} of 'exact' must be at most 4, but is {value}"):
            act(update(wrong))
    other = MessageSpec((sends.tables[0], loose, sends.tables[2]), sends.scalars)
    message = encode(update(wrong), other)
    with pytest.raises(FederationError, match="the same configuration"):
        decode(message, sends)
    forged = message[:4] + sends.mark.to_bytes(4, "little") + message[8:]
    with pytest.raises(FederationError, match=f"row {row} of 'exact'"):
        decode(forged, sends)


@pytest.mark.parametrize(
    ("bounds", "ring", "fits"),
    [
        (RowBounds((2**32 - 1) // 500), 32, True),
        (RowBounds((2**32 - 1) // 500 + 1), 32, False),
        (RowBounds((2**24 - 1) // 500), 24, True),
        (RowBounds((2**24 - 1) // 500 + 1), 24, False),
        (RowBounds(2**24 - 1, of="sum"), 24, True),
        (RowBounds(2**24, of="sum"), 24, False),
        (RowBounds(2**32 - 1, of="sum"), 32, True),
    ],
)
def test_what_could_overflow_is_refused_before_it_begins(bounds: RowBounds, ring: Any, fits: bool) -> None:
    way = ChannelSettings(channel="secure-sum", bits=8, ring=ring)
    if fits:
        rounded_chain(way, phase(bounds), INFO, 500)
    else:
        with pytest.raises(SettingError, match=f"must fit words of {ring} bits"):
            rounded_chain(way, phase(bounds), INFO, 500)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TableSpec("t", "item", 3, 1, "float32", exact=RowBounds(1)),
        lambda: TableSpec("t", "item", 3, 1, "uint32", 2.0, RowBounds(1)),
        lambda: TableSpec("t", "item", 3, 1, "uint32", exact=RowBounds(np.ones(2, int))),
        lambda: RowBounds(-1),
        lambda: RowBounds(2**32),
        lambda: RowBounds(np.ones(3)),
        lambda: RowBounds(np.ones((3, 1), int)),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(wrong: Any) -> None:
    with pytest.raises(SettingError, match="must"):
        wrong()


def test_a_mark_tells_bounds_apart_and_a_hundred_thousand_cost_no_more_than_their_words() -> None:
    def spec(bounds: RowBounds | None) -> MessageSpec:
        return MessageSpec((TableSpec("t", "dense", 100_000, 1, "uint32", exact=bounds),))

    many = np.arange(100_000)
    one_off = many.copy()
    one_off[77] += 1
    kinds = [None, RowBounds(5), RowBounds(5, of="sum"), RowBounds(many), RowBounds(many, of="sum"),
             RowBounds(one_off)]  # fmt: skip
    assert len({spec(bounds).mark for bounds in kinds}) == len(kinds)
    assert spec(RowBounds(many)) == spec(RowBounds(many.astype(np.uint32)))
    assert hash(spec(RowBounds(many))) == hash(spec(RowBounds(many)))
    assert len(repr(spec(RowBounds(many)))) < 300
    kept = RowBounds(many).most
    assert isinstance(kept, np.ndarray)
    assert kept.nbytes == 400_000
    assert "exact" not in repr(TableSpec("t", "item", 3, 1))  # what was declared before has the mark it had


def test_the_compiled_stages_leave_exact_rows_as_they_are() -> None:
    way = ChannelSettings(channel="secure-sum", clip=0.5)
    through = rounded_chain(way, phase(RowBounds(10**6), 3), INFO, 500)
    values = np.random.default_rng(0).integers(0, 10**6, (ITEMS, 3)).astype(np.uint32)
    total, rows = np.zeros(through.words, np.int64), np.arange(ITEMS, dtype=np.int32)
    place = through.vector_slice("exact", ROUND)
    add_fixed_point_rows(rows.astype(np.int64), rows, values, place, SECRETS[0], np.uint64(ROUND), total)
    plain = through.device(update(values), Rng(SECRETS[0], ROUND), ROUND)
    assert (total[through.exact] == plain[through.exact]).all()
