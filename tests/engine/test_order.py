"""Order inside a day can be hidden: from training and ranking alike, with the split as it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.catalogue import Catalogue, Dataset, Split
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import as_dict
from murmura.data.filters import LatestPerPair
from murmura.data.splits.random_holdout import RandomHoldout
from murmura.data.splits.split_files import save_split
from murmura.data.splits.temporal import ElliotTemporalHoldout, FixedTime, TemporalHoldout, cut_to_days
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import Protocol, protocol, with_order
from murmura.runtimes.simulation import simulate
from murmura.studies import methods
from murmura.studies.configuration import DataConfig
from tests.engine.last_seen import LastSeen
from tests.hypothesis_profiles import examples

DAY = 86_400
SPLITS: list[Any] = [
    TemporalHoldout(test=0.3, validation=0.3),
    ElliotTemporalHoldout(test=0.3, validation=0.3),
    FixedTime(test=0.3),
    RandomHoldout(test=0.3, validation=0.3),
]


def people(seed: int, users: int = 8, items: int = 15, each: int = 9) -> Interactions:
    """A few sittings each, of seconds that nobody has twice; rows in no order."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), each)
    item = np.concatenate([rng.choice(items, each, replace=False) for _ in range(users)])
    second = rng.choice(DAY, len(user), replace=False)
    time = 1_000_000_080 - 1_000_000_080 % DAY + DAY * rng.integers(-2, 2, len(user)) + second
    return Interactions.of(user, item, np.ones(len(user)), time).rows(rng.permutation(len(user)))


def dataset(data: Interactions) -> Dataset:
    return Dataset("ours", data, Catalogue(data.items))


def cut(data: Interactions, how: Any, order: Any, filters: Any = ()) -> Split:
    return whole_split(dataset(data), Protocol(name="ours", filters=filters, split=how, order=order))


def rows(split: Split) -> list[tuple[int, ...]]:
    columns = split.data.user, split.data.item, split.data.value, split.part
    return sorted(zip(*(column.tolist() for column in columns)))


@examples(0.5)
@given(st.integers(0, 10_000), st.sampled_from(SPLITS), st.booleans())
def test_the_parts_stay_and_times_are_those_of_days(seed: int, how: Any, latest: bool) -> None:
    data, filters = people(seed), (LatestPerPair(),) if latest else ()
    real, days = (cut(data, how, order, filters) for order in ("real", "day"))
    assert rows(real) == rows(days)
    for ours, other in ((real.train, days.train), (real.test, days.test)):
        assert ours.time is not None
        assert other.time is not None
        seconds = dict(zip(zip(ours.user.tolist(), ours.item.tolist()), ours.time.tolist()))
        kept = [seconds[pair] for pair in zip(other.user.tolist(), other.item.tolist())]
        assert (other.time % DAY == 0).all()
        assert ((np.array(kept) - other.time >= 0) & (np.array(kept) - other.time < DAY)).all()


def shuffled_in_days(data: Interactions, split: Split, rng: np.random.Generator) -> Interactions:
    """Who had what on which day, and in which part, is the same; what came first inside a day is not."""
    assert data.time is not None
    part = {(u, i): p for u, i, _, p in rows(split)}
    time = data.time.copy()
    keys = [(u, t // DAY, part[u, i]) for u, i, t in zip(data.user.tolist(), data.item.tolist(), time.tolist())]
    for key in set(keys):
        own = np.array([one == key for one in keys])
        time[own] = rng.permutation(time[own])
    return replace(data, time=time).rows(rng.permutation(len(data)))


@examples(0.3)
@given(st.integers(0, 10_000), st.booleans())
def test_any_permutation_inside_days_is_the_same_to_a_method_that_looks(seed: int, latest: bool) -> None:
    data, how = people(seed), TemporalHoldout(test=0.3, validation=0.3)
    filters = (LatestPerPair(),) if latest else ()
    real = cut(data, how, "real", filters)
    other = shuffled_in_days(data, real, np.random.default_rng(seed))
    assert rows(cut(other, how, "real", filters)) == rows(real)  # the same parts, so that one can compare
    ours, theirs = (cut(one, how, "day", filters).train for one in (data, other))
    for column in ("user", "item", "value", "time"):
        assert (getattr(ours, column) == getattr(theirs, column)).all()
    users = np.arange(data.n_users, dtype=np.int32)
    one, another = (LastSeen().fit(train).recommend(users, 5) for train in (ours, theirs))
    assert (one.item == another.item).all()


def test_with_real_times_that_method_would_tell() -> None:
    """The impostor of the test above: it can see the order inside a day."""
    data, how = people(3), TemporalHoldout(test=0.3)
    real = cut(data, how, "real")
    other = cut(shuffled_in_days(data, real, np.random.default_rng(1)), how, "real")
    users = np.arange(data.n_users, dtype=np.int32)
    one, another = (LastSeen().fit(split.train).recommend(users, 5) for split in (real, other))
    assert (one.item != another.item).any()


@pytest.mark.parametrize("name", ["mostpop", "item-knn", "ease", "cfpl"])
def test_who_uses_no_order_finds_the_same(name: str) -> None:
    data = people(5)
    rules = protocol("default", dataset(data))
    users = np.arange(data.n_users, dtype=np.int32)
    real, days = (
        whole_split(dataset(data), protocol(with_order(rules.name, order), dataset(data))).train
        for order in ("real", "day")
    )
    federated = {"factors": 4, "epochs": 1}
    fit: Any = (lambda train: simulate(name, train, federated)) if name == "cfpl" else None
    one, other = ((fit or (lambda train: methods.fit(name, train)))(train) for train in (real, days))
    assert (one.recommend(users, 5).item == other.recommend(users, 5).item).all()
    assert not methods.method(name, {}).uses_order


def test_data_without_times_is_refused_in_one_sentence() -> None:
    data = replace(people(1), time=None)
    with pytest.raises(DataError, match=r"^order=day needs a time for every row, but this data has none; "):
        whole_split(dataset(data), protocol("default:order=day", dataset(data)))
    assert len(whole_split(dataset(data), protocol("default:order=real", dataset(data))).test)


def test_one_spelling_for_every_protocol(tmp_path: Path) -> None:
    data = dataset(people(2))
    assert with_order("fpl", "day") == "fpl:order=day"
    assert with_order("fpl:test=0.1", "day") == "fpl:test=0.1,order=day"
    assert with_order("fpl:order=day,test=0.1", "day") == "fpl:test=0.1,order=day"
    assert with_order("fpl:order=day", "real") == "fpl"
    assert with_order("fpl:test=0.1,order=day", "real") == "fpl:test=0.1"
    found = protocol("fpl:test=0.1,order=day", data)
    assert (found.order, found.split.test) == ("day", 0.1)  # type: ignore[attr-defined]
    assert as_dict(found)["order"] == "day"
    assert "order" not in as_dict(protocol("fpl", data))  # folders of runs are as they were
    with pytest.raises(SettingError, match="order"):
        protocol("fpl:order=hour", data)
    with pytest.raises(SettingError, match=r"must come KEY=VALUE, but 'order' does"):
        protocol("fpl:order", data)

    latest = (LatestPerPair(),)
    save_split(tmp_path / "ours.npz", cut(data.interactions, TemporalHoldout(test=0.3), "real", latest))
    given_split = f"split:{tmp_path / 'ours.npz'}"
    assert with_order(with_order(given_split, "day"), "real") == given_split
    days = whole_split(data, protocol(with_order(given_split, "day"), data))
    assert rows(days) == rows(whole_split(data, protocol(given_split, data)))
    assert days.data.time is not None
    assert not (days.data.time % DAY).any()


def test_defaults_of_hidden_days_come_before_those_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"fpl": {"d": {"a": {"k": 1}, "b": {"k": 2}}}, "fpl:order=day": {"d": {"a": {"k": 3}}}}
    monkeypatch.setattr(methods, "_all_defaults", lambda: kept)
    assert methods.defaults("fpl", "d", "a") == {"k": 1}
    assert methods.defaults("fpl:order=day", "d", "a") == {"k": 3}
    assert methods.defaults("fpl:test=0.1,order=day", "d", "a") == {"k": 3}
    assert methods.defaults("fpl:order=day", "d", "b") == {"k": 2}
    assert methods.defaults("fpl:test=0.1", "d", "a") == {"k": 1}


def test_a_run_folder_prepares_the_same_again(tmp_path: Path) -> None:
    file, data = tmp_path / "ours.csv", people(6)
    assert data.time is not None
    lines = zip(data.user.tolist(), data.item.tolist(), data.time.tolist())
    file.write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in lines))
    read = DataConfig(name=str(file))
    first = read.prepare("default:order=day")
    again = read.prepare(as_dict(first.protocol))
    assert first.describe() == again.describe()
    assert again.protocol.order == "day"
    assert first.describe()["fingerprint"] != read.prepare("default").describe()["fingerprint"]


def test_a_day_begins_at_midnight_in_utc() -> None:
    time = np.array([0, 86_399, 86_400, 1_700_000_000, -1])
    data = Interactions.of(np.zeros(5, int), np.arange(5), np.ones(5), time)
    days = cut_to_days(Split("ours", data, np.zeros(5, np.uint8))).data.time
    assert days is not None
    assert days.tolist() == [0, 0, 86_400, 1_699_920_000, -86_400]  # 2023-11-14 22:13:20 and its midnight
