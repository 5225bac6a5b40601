"""Every metric of the table equals its plain Python twin, on data full of odd cases."""

import math

import numpy as np
import pytest
from hypothesis import given

from murmura.evaluation import METRICS, evaluate
from murmura.evaluation.registry import ALL_METRICS
from tests.evaluation import plain
from tests.evaluation.worlds import World, worlds
from tests.hypothesis_profiles import examples


def same(value: float, twin: float) -> bool:
    return (math.isnan(value) and math.isnan(twin)) or value == pytest.approx(twin, rel=1e-12, abs=1e-12)


def test_every_metric_has_a_twin() -> None:
    assert set(METRICS) == {*plain.PER_USER, *plain.SYSTEM, *plain.LABELLED}


@examples(2)
@given(world=worlds())
def test_averages_equal_the_twins(world: World) -> None:
    found = evaluate(
        world.lists,
        world.split,
        cutoffs=(world.k,),
        relevant_from=world.relevant_from,
        metrics=tuple(METRICS),
        categories=world.categories,
    ).values
    twins = {key: twin(world) for key, twin in plain.SYSTEM.items()}
    twins |= {key: plain.mean(world, key) for key in plain.PER_USER}
    for key, labelled in plain.LABELLED.items():
        twins |= {f"{key}/{label}": value for label, value in labelled(world).items()}
    assert set(found) == {f"{key}@{world.k}" for key in twins}
    for key, twin in twins.items():
        assert same(found[f"{key}@{world.k}"], twin), (key, found[f"{key}@{world.k}"], twin)


@examples()
@given(world=worlds())
def test_per_user_values_equal_the_twins_and_are_nan_where_undefined(world: World) -> None:
    found = evaluate(
        world.lists, world.split, cutoffs=(world.k,), relevant_from=world.relevant_from, metrics=ALL_METRICS
    )
    assert found.users.tolist() == plain.users(world)
    accurate = plain.accurate_users(world)
    for key, twin in plain.PER_USER.items():
        column = found.per_user[f"{key}@{world.k}"]
        for user, value in zip(found.users.tolist(), column.tolist()):
            defined = key == "ACLT" or user in accurate
            assert same(value, twin(world, user) if defined else math.nan), (key, user)


@examples()
@given(world=worlds())
def test_gini_over_training_items_equals_its_twin(world: World) -> None:
    found = evaluate(
        world.lists, world.split, cutoffs=(world.k,), gini_catalogue="train", metrics=("Gini", "G")
    )
    twin = plain.gini(world, "train")
    assert same(found.values[f"Gini@{world.k}"], twin)
    assert same(found.values[f"G@{world.k}"], 1 - twin)


@examples()
@given(world=worlds())
def test_several_cutoffs_at_once_equal_each_alone(world: World) -> None:
    together = evaluate(world.lists, world.split, cutoffs=tuple(range(1, world.k + 1)), metrics=ALL_METRICS)
    for k in range(1, world.k + 1):
        alone = evaluate(world.lists.top(k), world.split, cutoffs=(k,), metrics=ALL_METRICS)
        for key, value in alone.values.items():
            assert np.array_equal(value, together.values[key], equal_nan=True)
