"""Every split against a twin in plain Python, and what all splits have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import floor
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from murmura.core.catalogue import TEST, TRAIN, VALIDATION
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import as_dict
from murmura.data.splits.random_holdout import KFold, LegacyRandomHoldout, RandomHoldout
from murmura.data.splits.registry import SPLITS, AnySplit, split_named
from murmura.data.splits.temporal import ElliotTemporalHoldout, FixedTime, LeaveOneOut, TemporalHoldout
from tests.data.histories import Row, histories, interactions
from tests.hypothesis_profiles import examples

PROPERTY = examples(0.8)
SHARES = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 0.9])
Places = Iterable[int]  # positions of rows


def by_user(rows: list[Row], places: Places) -> dict[int, list[int]]:
    own: dict[int, list[int]] = defaultdict(list)
    for place in places:
        own[rows[place][0]].append(place)
    return dict(sorted(own.items()))


def twin(
    rows: list[Row], rule: Callable[[list[int], float], list[int]], shares: tuple[float, float]
) -> list[int]:
    """The parts of the rows, when `rule` names the rows it holds out of some."""
    part = [TRAIN] * len(rows)
    for stage, share in zip((TEST, VALIDATION), shares):
        if stage == TEST or share:
            for place in rule([place for place in range(len(rows)) if part[place] == TRAIN], share):
                part[place] = stage
    return part


@PROPERTY
@given(rows=histories(), test=SHARES, validation=SHARES, pick=st.sampled_from(["newest", "oldest"]))
def test_temporal(rows: list[Row], test: float, validation: float, pick: Literal["newest", "oldest"]) -> None:
    sign = -1 if pick == "newest" else 1

    def first(places: list[int], share: float) -> list[int]:
        held = []
        for own in by_user(rows, places).values():
            ordered = sorted(own, key=lambda place: (sign * rows[place][3], rows[place][1]))
            held += ordered[: floor(share * len(own) + 1e-9)]
        return held

    split = TemporalHoldout(test=test, validation=validation, pick=pick).apply(interactions(rows))
    assert split.part.tolist() == twin(rows, first, (test, validation))


def test_the_newest_or_the_oldest_rows_are_held_out() -> None:
    """Ten rows, times 0 1 1 2 3 4 5 6 6 7; of equal times the lower item id is held out first."""
    times = [0, 1, 1, 2, 3, 4, 5, 6, 6, 7]
    data = interactions([(1, item, 1.0, time) for item, time in enumerate(times)])
    newest, oldest = (TemporalHoldout(validation=0.25, pick=pick).apply(data) for pick in ("newest", "oldest"))
    assert np.flatnonzero(newest.part == TEST).tolist() == [7, 9]  # not 8, which is as new as 7
    assert np.flatnonzero(newest.part == VALIDATION).tolist() == [6, 8]
    assert np.flatnonzero(oldest.part == TEST).tolist() == [0, 1]  # not 2, which is as old as 1
    assert np.flatnonzero(oldest.part == VALIDATION).tolist() == [2, 3]


def test_the_usual_end_is_not_written_down() -> None:
    """Folders of runs and the names of splits are those of a split that knew no other end."""
    usual, other = TemporalHoldout(validation=0.2), TemporalHoldout(validation=0.2, pick="oldest")
    assert as_dict(usual) == {"kind": "temporal", "test": 0.2, "validation": 0.2}
    assert as_dict(other) == {**as_dict(usual), "pick": "oldest"}
    assert usual.apply(history()).name == "temporal(test=0.2, validation=0.2)"
    assert other.apply(history()).name == "temporal(test=0.2, validation=0.2, pick=oldest)"


@PROPERTY
@given(rows=histories(), test=SHARES, validation=SHARES)
def test_temporal_as_elliot_cuts(rows: list[Row], test: float, validation: float) -> None:
    def newest(places: list[int], share: float) -> list[int]:
        held = []
        for own in by_user(rows, places).values():
            ordered = sorted(own, key=lambda place: rows[place][3])  # stable: the earlier row is the older one
            held += ordered[floor((1 - share) * len(own) + 1e-9) :]
        return held

    split = ElliotTemporalHoldout(test=test, validation=validation).apply(interactions(rows))
    assert split.part.tolist() == twin(rows, newest, (test, validation))


@PROPERTY
@given(rows=histories(), test=SHARES, validation=SHARES, seed=st.integers(0, 2**32 - 1))
def test_random_as_the_published_tables_drew(
    rows: list[Row], test: float, validation: float, seed: int
) -> None:
    stream = np.random.RandomState(seed)

    def drawn(places: list[int], share: float) -> list[int]:
        held = []
        for own in by_user(rows, places).values():
            kept = floor(len(own) * (1 - share))
            flags = [0] * kept + [1] * (len(own) - kept)
            stream.shuffle(flags)
            held += [place for place, flag in zip(own, flags) if flag]
        return held

    split = LegacyRandomHoldout(test=test, validation=validation, seed=seed).apply(interactions(rows))
    assert split.part.tolist() == twin(rows, drawn, (test, validation))


@PROPERTY
@given(rows=histories(), test=SHARES, validation=SHARES, seed=st.integers(0, 1000))
def test_random(rows: list[Row], test: float, validation: float, seed: int) -> None:
    def drawn(places: list[int], share: float) -> list[int]:
        stage = 0 if len(places) == len(rows) and not drawn_before else 1
        drawn_before.append(True)
        order = np.random.default_rng([seed, stage]).permutation(len(places)).tolist()
        rank = dict(zip(places, order))
        held = []
        for own in by_user(rows, places).values():
            held += sorted(own, key=lambda place: rank[place])[: floor(share * len(own) + 1e-9)]
        return held

    drawn_before: list[bool] = []
    split = RandomHoldout(test=test, validation=validation, seed=seed).apply(interactions(rows))
    assert split.part.tolist() == twin(rows, drawn, (test, validation))


@PROPERTY
@given(rows=histories(), validation=st.booleans())
def test_leave_the_newest_out(rows: list[Row], validation: bool) -> None:
    def newest(places: list[int], share: float) -> list[int]:
        own_rows = by_user(rows, places).values()
        return [min(own, key=lambda p: (-rows[p][3], rows[p][1])) for own in own_rows if len(own) > 1]

    split = LeaveOneOut(validation=validation).apply(interactions(rows))
    assert split.part.tolist() == twin(rows, newest, (1, float(validation)))


@PROPERTY
@given(rows=histories(), validation=st.booleans(), seed=st.integers(0, 1000))
def test_leave_one_out_at_random(rows: list[Row], validation: bool, seed: int) -> None:
    data = interactions(rows)
    split = LeaveOneOut(pick="random", validation=validation, seed=seed).apply(data)
    for own in by_user(rows, range(len(rows))).values():
        parts = [int(split.part[place]) for place in own]
        assert parts.count(TEST) == (len(own) > 1)
        assert parts.count(VALIDATION) == (validation and len(own) > 2)


@PROPERTY
@given(rows=histories(), test=SHARES, validation=SHARES)
def test_fixed_share_of_time(rows: list[Row], test: float, validation: float) -> None:
    def newest(places: list[int], share: float) -> list[int]:
        most = floor(share * len(places) + 1e-9)
        moments = sorted({rows[place][3] for place in places})
        for moment in moments:  # the earliest that leaves few enough
            held = [place for place in places if rows[place][3] >= moment]
            if len(held) <= most:
                return held
        return []

    split = FixedTime(test=test, validation=validation).apply(interactions(rows))
    assert split.part.tolist() == twin(rows, newest, (test, validation))


@PROPERTY
@given(rows=histories(), at=st.integers(0, 8))
def test_fixed_moment(rows: list[Row], at: int) -> None:
    split = FixedTime(at=at).apply(interactions(rows))
    assert split.part.tolist() == [TEST if row[3] >= at else TRAIN for row in rows]


@PROPERTY
@given(rows=histories(), k=st.integers(3, 6), validation=st.booleans(), seed=st.integers(0, 1000))
def test_k_fold(rows: list[Row], k: int, validation: bool, seed: int) -> None:
    data = interactions(rows)
    splits = [KFold(k=k, fold=fold, validation=validation, seed=seed).apply(data) for fold in range(k)]
    tested = np.stack([split.part == TEST for split in splits])
    assert (tested.sum(axis=0) == 1).all()  # every row is tested once
    for own in by_user(rows, range(len(rows))).values():
        sizes = tested[:, own].sum(axis=1)
        assert sizes.max() - sizes.min() <= 1  # dealt in turn
    for fold, split in enumerate(splits):
        held = tested[(fold + 1) % k] if validation else np.zeros(len(rows), bool)
        assert ((split.part == VALIDATION) == held).all()


def every() -> list[Any]:
    """Every split of interactions; those that deal samples are in test_partition."""
    cutting = {kind: cls for kind, cls in SPLITS.items() if not kind.startswith("partition-")}
    return [cls() for cls in cutting.values()] + [
        cls(validation=0.2 if kind not in ("leave-one-out", "k-fold") else True)
        for kind, cls in cutting.items()
    ]


def history(seed: int = 7, times: bool = True) -> Interactions:
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, 40 * 60, 900))
    rng.shuffle(pairs)
    time = rng.integers(0, 50, len(pairs)) if times else None
    return Interactions.of(pairs // 60, pairs % 60, np.ones(len(pairs)), time)


@pytest.mark.parametrize("rule", every(), ids=lambda rule: f"{rule.kind}-{rule.validation}")
def test_what_all_splits_have_in_common(rule: Any) -> None:
    data = history()
    split = rule.apply(data)
    again = rule.apply(history())
    assert split.name == again.name
    assert split.name.startswith(rule.kind)
    assert (split.part == again.part).all()  # deterministic
    assert 0 < len(split.test) < len(data)
    assert len(split.train) + len(split.test) == len(data)
    assert (split.part == VALIDATION).any() == bool(rule.validation)
    # the validation part comes out of training only: without it the test part is the same
    plain = type(rule)(**{**as_dict(rule), "validation": type(rule.validation)(0)})
    assert ((plain.apply(data).part == TEST) == (split.part == TEST)).all()
    # round trip as configuration
    assert TypeAdapter(AnySplit).validate_python(as_dict(rule)) == rule


@pytest.mark.parametrize("kind", ["random", "random-legacy", "k-fold", "leave-one-out"])
def test_another_seed_is_another_split(kind: str) -> None:
    pick = {"pick": "random"} if kind == "leave-one-out" else {}
    data = history(times=False)  # none of these needs times
    one, other = (split_named(kind, {"seed": seed, **pick}).apply(data).part for seed in (1, 2))
    assert (one != other).any()


@pytest.mark.parametrize("kind", ["temporal", "temporal-elliot", "leave-one-out", "fixed-time"])
def test_splits_by_time_need_times(kind: str) -> None:
    with pytest.raises(DataError, match=f"the split '{kind}' needs a time for every row"):
        split_named(kind).apply(history(times=False))


def test_random_holdout_holds_every_row_out_equally_often() -> None:
    """Of 2,000 draws of 1 in 5 rows each row is held out 400 times, give or take 4 standard deviations."""
    data = interactions([(1, item, 1.0, 0) for item in range(5)])
    held = sum((RandomHoldout(seed=seed).apply(data).part == TEST).astype(int) for seed in range(2_000))
    assert np.abs(held - 400).max() < 4 * np.sqrt(2_000 * 0.2 * 0.8)


def test_wrong_settings_are_one_sentence() -> None:
    with pytest.raises(SettingError, match="there is no split 'loo': it is one of temporal"):
        split_named("loo")
    with pytest.raises(SettingError, match=r"Did you mean 'validation'\?"):
        split_named("temporal", {"validaton": 0.1})
    with pytest.raises(SettingError, match="less than 1"):
        TemporalHoldout(test=1.0)
    with pytest.raises(SettingError, match="fold must be below k"):
        KFold(k=3, fold=3)
    with pytest.raises(SettingError, match="validation needs k >= 3"):
        KFold(k=2, validation=True)


def test_selection_cannot_reach_the_test_rows() -> None:
    split = TemporalHoldout(validation=0.2).apply(history())
    inner = split.selection()
    assert len(inner.data) == len(split.train)
    assert len(inner.test) == int((split.part == VALIDATION).sum())
