"""What must hold for any lists: bounds, what may not matter, what can only help."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.model import RankedLists
from murmura.evaluation import ALL_METRICS, Evaluation, evaluate
from tests.evaluation import plain
from tests.evaluation.worlds import World, worlds
from tests.hypothesis_profiles import examples

IN_UNIT = ("P", "R", "F1", "F1u", "HR", "nDCG", "nDCGg", "MRR", "MAP", "G", "Gini", "PopREO", "PopRSP")
ACCURACY = ("P", "R", "F1u", "HR", "nDCG", "nDCGg", "nDCGt", "MRR", "MAP")
many = examples()


def scored(world: World, lists: RankedLists | None = None) -> Evaluation:
    return evaluate(
        world.lists if lists is None else lists,
        world.split,
        cutoffs=(world.k,),
        relevant_from=world.relevant_from,
        metrics=ALL_METRICS,
    )


@many
@given(world=worlds())
def test_bounds(world: World) -> None:
    found = {key.split("@")[0]: value for key, value in scored(world).values.items()}
    for key in IN_UNIT:
        assert np.isnan(found[key]) or -1e-12 <= found[key] <= 1 + 1e-12, (key, found[key])
    assert 0 <= found["IC"] <= world.n_items
    assert 0 <= found["ACLT"] <= world.k
    assert np.isnan(found["SE"]) or -1e-12 <= found["SE"] <= np.log2(max(found["IC"], 1)) + 1e-12
    assert 0 <= found["EPC"] <= found["nDCGt"]  # novelty is at most 1, and the discounts of k places at least 1
    assert -1e-12 <= found["EFD"] <= found["nDCGt"] * np.log2(max(1, len(world.split.train))) + 1e-12
    assert found["nDCGt"] <= (1 / np.log2(np.arange(2, world.k + 2))).sum() + 1e-12


@many
@given(world=worlds(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_lists_does_not_matter(world: World, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(world.shown))
    lists = world.lists
    shuffled = RankedLists(lists.user[order], lists.item[order], lists.score[order])
    assert scored(world).values == pytest.approx(scored(world, shuffled).values, nan_ok=True, abs=0, rel=0)


@many
@given(world=worlds(), data=st.data())
def test_the_order_inside_a_list_matters_only_to_ranked_metrics(world: World, data: st.DataObject) -> None:
    shown = {user: data.draw(st.permutations(items)) for user, items in world.shown.items()}
    before, after = scored(world).values, scored(replace(world, shown=shown)).values
    for key in ("P", "R", "F1", "F1u", "HR", "IC", "G", "SE", "ACLT", "PopREO", "PopRSP"):
        assert before[f"{key}@{world.k}"] == pytest.approx(after[f"{key}@{world.k}"], nan_ok=True)


@many
@given(world=worlds(), data=st.data())
def test_moving_a_hit_up_never_hurts(world: World, data: st.DataObject) -> None:
    user = data.draw(st.sampled_from(plain.accurate_users(world)))
    items = plain.shown(world, user)
    places = [n for n, item in enumerate(items) if n and item in plain.relevant(world, user)]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    if items[place - 1] in plain.relevant(world, user):
        return
    better = [*items]
    better[place - 1 : place + 1] = items[place], items[place - 1]
    before, after = scored(world).values, scored(replace(world, shown={**world.shown, user: better})).values
    for key in ACCURACY:
        assert after[f"{key}@{world.k}"] >= before[f"{key}@{world.k}"] - 1e-12
    assert after[f"nDCG@{world.k}"] > before[f"nDCG@{world.k}"]


@many
@given(world=worlds())
def test_a_longer_list_finds_no_less(world: World) -> None:
    cutoffs = tuple(range(1, world.k + 1))
    found = evaluate(
        world.lists, world.split, cutoffs=cutoffs, metrics=("R", "HR", "MRR", "nDCGt", "IC", "ACLT")
    )
    for key in ("R", "HR", "MRR", "nDCGt", "IC", "ACLT"):
        steps = np.diff([found.values[f"{key}@{k}"] for k in cutoffs])
        assert (steps >= -1e-12).all()


@many
@given(world=worlds())
def test_showing_the_relevant_items_best_first_is_perfect(world: World) -> None:
    shown = {
        user: sorted(plain.relevant(world, user), key=lambda i: -plain.relevant(world, user)[i])[: world.k]
        for user in plain.accurate_users(world)
    }
    found = scored(replace(world, shown=shown)).values
    for key in ("HR", "nDCG", "nDCGg", "MRR", "MAP"):
        assert found[f"{key}@{world.k}"] == pytest.approx(1.0)


@many
@given(world=worlds())
def test_average_over_users_is_the_mean_of_the_defined(world: World) -> None:
    found = scored(world)
    for key, column in found.per_user.items():
        assert found.values[key] == pytest.approx(np.nanmean(column), abs=1e-15)
