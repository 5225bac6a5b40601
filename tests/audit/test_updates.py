"""Updates with sums: what they say about ratings of which nothing was known before."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from murmura.core.arrays import Floats
from murmura.core.contract import History
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.update import SparseRows, Update
from murmura.lab.audits.attack import (
    AdversaryKnowledge,
    ObservedUpdates,
    RatingAttack,
    RatingQuestion,
)
from murmura.lab.audits.attacked_training import AttackedTraining
from murmura.lab.audits.audit import attack
from murmura.lab.audits.fedsplit_updates import ATTACKS, balanced, fedsplit_ratings, known_values
from murmura.lab.audits.judge import AttackScores, GuessScores
from murmura.runtimes.simulation import FederatedMethod
from murmura.studies.methods import method
from tests.audit.worlds import world

pytestmark = pytest.mark.slow

SHORT = {"epochs": 30, "joint_epochs": 30, "patterns": 4}


FEDSPLIT_RATINGS, FEDSPLIT_SVD_RATINGS = (one for one in ATTACKS if isinstance(one, RatingAttack))


def misled(attack: RatingAttack) -> RatingAttack:
    """An impostor: the update of the group after this one."""

    def estimates(observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
        other = replace(asked, client=(asked.client + 1) % known.info.clients)
        return attack.estimates(observed, known, other)

    return replace(attack, name="misled", estimates=estimates)


def stars(people: int = 40, items: int = 60, share: float = 0.5) -> Interactions:
    """Ratings from 1 to 5 without any taste: nothing but an update can tell them."""
    rng = np.random.default_rng(7)
    user, item = (place.astype(np.int32) for place in np.nonzero(rng.random((people, items)) < share))
    values = rng.integers(1, 6, len(user)).astype(np.float64)
    return Interactions(Vocabulary(np.arange(people)), Vocabulary(np.arange(items)), user, item, values)


def exact(found: Sequence[GuessScores], attack: str, share: float, kind: str = "ratings") -> Floats:
    """The share of unknown ratings each group's attacker guessed to the star."""
    return next(
        one.per_client["exact/unknown"]
        for one in found
        if (one.attack, one.kind, one.share) == (attack, kind, share)
    )


def audited(data: Interactions, name: str, *attacks: RatingAttack, **settings: object) -> list[GuessScores]:
    ready = method(name, {"precision": "float64", **settings})
    assert isinstance(ready, FederatedMethod)
    return AttackedTraining.recorded(ready, data, 0, attacks).guesses(attacks)


def test_estimates_are_moved_to_the_sum_of_an_item_but_known_ratings_are_not() -> None:
    person, item = np.array([0, 1, 2, 0, 1, 0], np.int32), np.array([0, 0, 0, 1, 1, 2], np.int32)
    hints = History(np.array([0], np.int32), np.array([5.0]), np.ones(1), np.array([2], np.int32))
    estimates = np.array([3.0, 4.0, 1.0, 2.0, 2.0, 3.0])
    totals, counts = np.array([10.0, 7.0, 9.0]), np.array([3.0, 2.0, 2.0])
    # 5 is known of item 0: the others share 10 - 5 - 7. Of item 2 the update counts a rating nobody asked for.
    assert balanced(estimates, person, item, hints, totals, counts).tolist() == [2, 3, 1, 3.5, 3.5, 3]


@pytest.mark.parametrize("mask_scale", [1.0, 0.4])
def test_singular_vectors_of_a_small_group_are_its_ratings(mask_scale: float) -> None:
    attacks = (FEDSPLIT_SVD_RATINGS, misled(FEDSPLIT_SVD_RATINGS))
    found = audited(stars(), "fedsplit-svd", *attacks, largest=6, factors=6, mask_scale=mask_scale)
    assert exact(found, "fedsplit-svd-ratings", 0.0).min() == 1
    assert np.mean(exact(found, "misled", 0.0)) < 0.4


def test_singular_vectors_of_a_large_group_still_tell_many_of_its_ratings() -> None:
    data = stars(people=60)
    found = audited(
        data,
        "fedsplit-svd",
        FEDSPLIT_SVD_RATINGS,
        misled(FEDSPLIT_SVD_RATINGS),
        smallest=20,
        largest=20,
        factors=6,
    )
    for share, least in ((0.0, 0.25), (0.5, 0.4)):
        told = float(np.mean(exact(found, "fedsplit-svd-ratings", share)))
        assert least < told < 0.9
        assert told > 1.1 * float(np.mean(exact(found, "hints", share)))
        assert told > 1.1 * float(np.mean(exact(found, "misled", share)))


def test_who_knows_all_members_but_one_reads_the_last_one_off_singular_vectors_too() -> None:
    """The items' sums leave one unknown, her bias, and what X_u adds up to says it: whatever k is."""
    data, attacks = stars(people=60), (FEDSPLIT_SVD_RATINGS, misled(FEDSPLIT_SVD_RATINGS))
    found = audited(data, "fedsplit-svd", *attacks, smallest=12, largest=12, factors=2)
    assert exact(found, "fedsplit-svd-ratings", 0.95, "people").min() == 1
    assert np.mean(exact(found, "misled", 0.95, "people")) < 0.4


def test_ratings_that_were_not_shared_do_not_mislead_who_knows_some() -> None:
    """What is in the update is exact without a hint, what is not is a guess; hints change neither."""
    settings = {"smallest": 6, "largest": 6, "pi": 0.8}
    found = audited(stars(people=60), "fedsplit-svd", FEDSPLIT_SVD_RATINGS, **settings)
    none, *more = (np.mean(exact(found, "fedsplit-svd-ratings", share)) for share in (0.0, 0.05, 0.25, 0.75))
    assert 0.4 < none < 0.7
    assert more == pytest.approx([none] * 3, abs=0.03)


@pytest.mark.smoke
def test_known_values_are_found_wherever_they_stand() -> None:
    rng = np.random.default_rng(3)
    keys = rng.permutation(60)[:40]
    person, item = (keys // 10).astype(np.int32), (keys % 10).astype(np.int32)
    value, told = rng.random(40), rng.random(40) < 0.3
    order = rng.permutation(np.flatnonzero(told))
    hints = History(item[order], value[order], np.ones(len(order)), person[order])
    np.testing.assert_array_equal(known_values(hints, person, item), np.where(told, value, np.nan))
    nothing = History(item[:0], value[:0], np.ones(0), person[:0])
    assert np.isnan(known_values(nothing, person, item)).all()


@pytest.mark.smoke
def test_a_mean_that_was_cut_off_is_no_sum() -> None:
    """Of items at the bound the update says no sum: they are guessed as without one, the others add up."""
    updates, bound = world(users=60, items=200, rows=4000), 0.25
    ratings = updates.people.history(0, 0)
    rated, counts = np.unique(ratings.item, return_counts=True)
    sent = updates.observed.updates[0]
    H, mu = sent.update.tables["items"].values[:, :-1], float(sent.model["mu"][0])
    means = np.bincount(ratings.item, ratings.value)[rated] / counts - mu
    values = np.column_stack([H, np.clip(means, -bound, bound), counts])
    update = Update({"items": SparseRows(rated.astype(np.int32), values)})
    observed = ObservedUpdates((replace(sent, update=update),))

    def guessed(**settings: object) -> Floats:
        known = replace(updates.known, settings={**updates.known.settings, **settings})
        asked = RatingQuestion(0, ratings.rows(nobody), ratings.owners, ratings.item)
        return fedsplit_ratings(observed, known, asked)

    nobody = np.zeros(len(ratings), np.bool_)
    plain, summed = guessed(bias="all"), guessed(bias="means", clip=bound)
    cut = np.isin(ratings.item, rated[np.abs(means) >= bound])
    assert 0 < cut.sum() < len(cut)
    np.testing.assert_array_equal(summed[cut], plain[cut])
    totals = np.bincount(ratings.item[~cut], (summed - ratings.value)[~cut])
    np.testing.assert_allclose(totals, 0, atol=1e-9)


def test_who_knows_all_members_but_one_reads_the_last_one_off_the_sums() -> None:
    data = stars()
    settings = {**SHORT, "smallest": 5, "largest": 5, "bias": "means"}
    found = audited(data, "fedsplit", FEDSPLIT_RATINGS, misled(FEDSPLIT_RATINGS), **settings)
    assert exact(found, "fedsplit-ratings", 0.95, "people").min() == 1
    assert np.mean(exact(found, "misled", 0.95, "people")) < 0.4
    plain = audited(data, "fedsplit", FEDSPLIT_RATINGS, **{**settings, "bias": "all"})
    assert np.mean(exact(plain, "fedsplit-ratings", 0.95, "people")) < 0.8


def test_an_item_that_one_member_rated_is_exact_with_nothing_known() -> None:
    """Nobody shares an item with anybody: every mean is one rating."""
    data = stars(people=9)
    apart = Interactions(
        data.users, Vocabulary(np.arange(540)), data.user, data.user * 60 + data.item, data.value
    )
    settings = {**SHORT, "smallest": 3, "largest": 3}
    found = audited(apart, "fedsplit", FEDSPLIT_RATINGS, **settings, bias="means")
    assert exact(found, "fedsplit-ratings", 0.0).min() == 1


@pytest.mark.smoke
def test_counts_rank_the_items_of_a_member() -> None:
    ready = method("fedsplit-svd", {"smallest": 8, "largest": 8})
    assert isinstance(ready, FederatedMethod)
    attacks = [attack("fedsplit-members")]
    found = AttackedTraining.recorded(ready, stars(people=80), 0, attacks).results(attacks)
    verdicts = [one.verdict for one in found[:2] if isinstance(one.verdict, AttackScores)]
    members, popular = (one.per_client["pm-AUC"] for one in verdicts)
    assert found[1].attack.name == "popularity"
    assert np.nanmean(members) > np.nanmean(popular) + 0.1
