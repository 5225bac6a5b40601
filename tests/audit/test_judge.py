"""The judge: known answers, plain twins, and a popularity attacker who finds nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.errors import DataError
from murmura.core.rng import Rng, server_secret
from murmura.evaluation.significance import bootstrap_intervals
from murmura.lab.audits.attack import (
    AdversaryKnowledge,
    ItemClaims,
    ObservedUpdates,
    chance_reference,
    popularity_reference,
)
from murmura.lab.audits.judge import MEASURES, auc, judge, matched_auc, tpr
from tests.audit.worlds import population

CASES = st.integers(2, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
    )
)


def plain_matched(scores: Floats, has: Bools, popularity: Longs) -> tuple[float, int]:
    """The definition, word by word."""
    order = sorted(range(len(scores)), key=lambda item: (-popularity[item], item))
    wins = []
    for place, item in enumerate(order):
        if not has[item]:
            continue
        more = [other for other in order[:place] if not has[other]]
        less = [other for other in order[place + 1 :] if not has[other]]
        near = more[-1:] + less[:1]
        even = [other for other in near if popularity[other] == popularity[item]]
        if even or (more and less):
            for rival in (even * 2)[:2] if len(even) == 1 else even or near:
                wins.append((scores[item] > scores[rival]) + 0.5 * (scores[item] == scores[rival]))
    return (sum(wins) / len(wins) if wins else math.nan), len(wins) // 2


def test_a_known_answer() -> None:
    popularity = np.array([9, 8, 7, 6, 5, 4])
    has = np.array([False, True, False, True, True, False])
    # item 1 meets 0 and 2, items 3 and 4 both meet 2 and 5
    scores = np.array([3.0, 2.0, 2.0, 1.0, 5.0, 0.0])
    found, fair = matched_auc(scores, has, popularity)
    assert found == pytest.approx((0 + 0.5 + 0 + 1 + 1 + 1) / 6)
    assert fair == 3


@given(CASES)
def test_matched_pairs_agree_with_the_definition(case: tuple[list[bool], list[int], list[int]]) -> None:
    has, scores, popularity = np.array(case[0]), np.array(case[1], float), np.array(case[2])
    found, fair = matched_auc(scores, has, popularity)
    value, count = plain_matched(scores, has, popularity)
    assert fair == count
    assert found == pytest.approx(value, nan_ok=True)


@given(CASES)
def test_popularity_alone_wins_half_of_the_pairs(case: tuple[list[bool], list[int], list[int]]) -> None:
    has, popularity = np.array(case[0]), np.array(case[2])
    found, fair = matched_auc(popularity.astype(float), has, popularity)
    assert found == 0.5 if fair else math.isnan(found)


@given(CASES)
def test_auc_and_tpr_agree_with_their_definitions(case: tuple[list[bool], list[int], list[int]]) -> None:
    has, scores = np.array(case[0]), np.array(case[1], float)
    if has.all() or not has.any():
        return
    own, others = scores[has], scores[~has]
    pairs = [(a > b) + 0.5 * (a == b) for a in own for b in others]
    assert auc(scores, has) == pytest.approx(np.mean(pairs))
    best = max((own > t).mean() for t in [*others, np.inf] if (others > t).sum() <= 0.1 * len(others))
    assert tpr(scores, has, 0.1) == pytest.approx(best)


@pytest.mark.parametrize("of", ["client", "person"])
def test_popularity_and_chance_find_nothing_that_popularity_does_not_explain(of: str) -> None:
    people, info, users = population(users=300, rows=12_000)
    popularity = np.bincount(people.item, minlength=info.items)
    known, stream = AdversaryKnowledge(info, {}, popularity, users), Rng(server_secret(1)).stream(1024)
    for attacker in (popularity_reference(of), chance_reference(of)):  # type: ignore[arg-type]
        claims = attacker.claims(ObservedUpdates(()), known, stream)
        verdict = judge(claims, people, popularity, info.listed)
        found = bootstrap_intervals(verdict.per_client)["pm-AUC"]
        assert found.low - 1e-12 <= 0.5 <= found.high + 1e-12, attacker.name
        plain = bootstrap_intervals(verdict.per_client)["AUC"]
        assert (plain.low > 0.55) == (attacker.name == "popularity")  # what the pairs take away


def test_rivals_on_one_side_only_would_flatter_popularity() -> None:
    """The impostor: pairing with the next less popular item alone calls popularity a perfect attack."""
    popularity = np.arange(40)[::-1]
    has = np.arange(40) % 3 == 1
    order = np.argsort(-popularity, kind="stable")
    own, others = np.flatnonzero(has[order]), np.flatnonzero(~has[order])
    rival = others[np.searchsorted(others, own)]
    assert (popularity[own] > popularity[rival]).all()
    assert matched_auc(popularity.astype(float), has, popularity)[0] == 0.5


def test_whoever_knows_everything_scores_one_and_whoever_asserts_nothing_has_no_precision() -> None:
    people, info, _ = population(items=400)
    popularity = np.bincount(people.item, minlength=info.items)
    truth = np.zeros((people.clients, info.items), np.bool_)
    for client in range(people.clients):
        truth[client, people.history(client, 0).item] = True
    verdict = judge(ItemClaims(truth.astype(float), truth), people, popularity, info.listed)
    for name in MEASURES:
        known = verdict.per_client[name][~np.isnan(verdict.per_client[name])]
        assert (known == 1).all(), name
    silent = judge(ItemClaims(truth.astype(float), np.zeros_like(truth)), people, popularity, info.listed)
    assert np.isnan(silent.per_client["certain precision"]).all()
    assert (silent.per_client["certain recall"] == 0).all()
    assert (silent.per_client["exposed people"] == 0).all()


def test_claims_about_too_few_clients_are_refused() -> None:
    people, info, _ = population()
    wrong = ItemClaims(np.zeros((1, info.items)), np.zeros((1, info.items), np.bool_))
    with pytest.raises(DataError, match="each of the"):
        judge(wrong, people, np.ones(info.items, np.int64), info.listed)
