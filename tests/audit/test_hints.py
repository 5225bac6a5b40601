"""Guessed ratings: what is known, what is scored, and that an update adds to it."""

import math

import numpy as np
import pytest

from murmura.core.arrays import Floats
from murmura.core.contract import History
from murmura.core.rng import Rng, server_secret
from murmura.lab.audits.attack import (
    AdversaryKnowledge,
    ObservedUpdates,
    RatingAttack,
    RatingQuestion,
)
from murmura.lab.audits.fedsplit_updates import ATTACKS, HINTS_ALONE, fedsplit_ratings
from murmura.lab.audits.judge import KINDS, GuessScores, guess, scores
from tests.audit.worlds import World, world

SHARES = (0.0, 0.3, 0.7, 1.0)


FEDSPLIT_RATINGS = next(one for one in ATTACKS if isinstance(one, RatingAttack))


class Watching:
    """Writes down what it is told, and guesses 3."""

    def __init__(self) -> None:
        self.told: list[tuple[int, History]] = []

    def estimates(self, observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
        self.told.append((asked.client, asked.hints))
        return np.full(len(asked.item), 3.0)


@pytest.fixture(scope="module")
def letters() -> World:
    return world(users=60, items=200, rows=4000)


def guessed(updates: World, *attacks: RatingAttack) -> list[GuessScores]:
    draws = Rng(server_secret(3)).stream(1024)
    return guess(attacks, updates.observed, updates.known, updates.people, draws, SHARES)


def test_the_scores_are_equation_4_over_all_and_over_the_unknown() -> None:
    values, estimates = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 3.0, 4.4, 2.0])
    told, scale = np.array([True, False, False, True]), np.arange(1.0, 6.0)
    found = scores(values, estimates, told, scale)
    assert found == pytest.approx([(1 + 0.16 + 9) / 46, (1 + 0.16) / 20, 0.5])
    every = scores(values, estimates, np.ones(4, np.bool_), scale)
    assert every[0] == pytest.approx(found[0])
    assert math.isnan(every[1])
    assert math.isnan(every[2])


def test_hints_grow_and_are_whole_people_whole_items_or_single_ratings(letters: World) -> None:
    watching = Watching()
    guessed(letters, RatingAttack("watching", "", watching.estimates))
    clients = letters.people.clients
    assert len(watching.told) == len(KINDS) * len(SHARES) * clients
    for place, (client, hints) in enumerate(watching.told):
        kind, step = KINDS[place // (len(SHARES) * clients)], place // clients % len(SHARES)
        every = letters.people.history(client, 0)
        rows = set(zip(hints.owners.tolist(), hints.item.tolist()))
        column = {"people": 0, "items": 1}.get(kind)
        if column is not None:  # nobody, and nothing, is known in part
            of = {row[column] for row in rows}
            whole = [row for row in zip(every.owners.tolist(), every.item.tolist()) if row[column] in of]
            assert rows == set(whole)
            units = len(set((every.owners, every.item)[column].tolist()))
            assert len(of) == math.floor(SHARES[step] * units + 1e-9)
        else:
            assert len(rows) == math.floor(SHARES[step] * len(every) + 1e-9)
        if step:
            before = watching.told[place - clients][1]
            assert set(zip(before.owners.tolist(), before.item.tolist())) <= rows


def test_a_letter_adds_to_what_is_known(letters: World) -> None:
    """The groups' updates hold their ratings; of made-up ones nothing else tells them from each other."""
    found = {(one.attack, one.kind, one.share): one.per_client for one in guessed(
        letters, FEDSPLIT_RATINGS, HINTS_ALONE
    )}  # fmt: skip
    for share in (0.3, 0.7):
        with_letter = np.nanmean(found["fedsplit-ratings", "ratings", share]["error/unknown"])
        without = np.nanmean(found["hints", "ratings", share]["error/unknown"])
        assert with_letter < 0.9 * without
    ends = [np.nanmean(found["fedsplit-ratings", "ratings", share]["error/all"]) for share in SHARES]
    assert ends[-1] < ends[0]


def test_without_hints_the_letter_is_read_as_mu_plus_bias(letters: World) -> None:
    sent_update = letters.observed.updates[2]
    none = History.private(np.empty(0, np.int32))
    items = sent_update.update.tables["items"].index[:5]
    person = np.array([0, 1, 0, 1, 2], np.int32)
    got = fedsplit_ratings(letters.observed, letters.known, RatingQuestion(2, none, person, items))
    bias = sent_update.update.tables["items"].values[:5, -1]
    np.testing.assert_allclose(got, sent_update.model["mu"][0] + bias, rtol=1e-6)
