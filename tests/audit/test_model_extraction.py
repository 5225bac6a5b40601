"""Model extraction: a model whose lists follow from single items is copied whole, one that guesses is not."""

import numpy as np
import pytest

from murmura.core.arrays import Ints
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, server_secret
from murmura.lab.audits.audit import audit, fitting_attacks
from murmura.lab.audits.model_extraction import COPIED, POPULAR, copied_scores, extract, listed, overlap
from murmura.runtimes.simulation import simulated
from murmura.testing import crowd

ITEMS, LENGTH = 40, 3
RANDOM = np.random.default_rng(2)
WEIGHTS = np.zeros((ITEMS, ITEMS))
for own in range(ITEMS):  # every item leads to the three after it, a clear order among them
    WEIGHTS[own, (own + np.arange(1, LENGTH + 1)) % ITEMS] = 1 / np.log2(np.arange(LENGTH) + 2)


def of_single_items(items: Ints) -> Ints:
    return listed(WEIGHTS[items].sum(axis=0), items, LENGTH)


def at_random(items: Ints) -> Ints:
    return RANDOM.permutation(ITEMS)[:LENGTH].astype(np.int32)


def copied(answer: object, queries: int = ITEMS) -> float:
    stream = Rng(server_secret(0)).stream(9)
    copy = extract(answer, np.arange(ITEMS, dtype=np.int32), stream, queries)  # type: ignore[arg-type]
    people = [np.unique(RANDOM.choice(ITEMS, 4)).astype(np.int32) for _ in range(200)]
    lists = [listed(copied_scores(copy, own.tolist(), ITEMS), own, LENGTH) for own in people]
    return float(np.mean([overlap(got, answer(own)) for got, own in zip(lists, people)]))  # type: ignore[operator]


def test_a_model_of_single_items_is_copied_whole() -> None:
    assert copied(of_single_items) == 1.0


def test_an_impostor_that_answers_at_random_cannot_be_copied() -> None:
    """Three items of forty, of which a copy names three: LENGTH / ITEMS, four standard deviations."""
    chance = LENGTH / ITEMS
    assert abs(copied(at_random) - chance) < 4 * np.sqrt(chance / 200 / LENGTH)


def test_fewer_queries_copy_less() -> None:
    assert copied(of_single_items, 10) < 0.8


@pytest.fixture(scope="module")
def people() -> Interactions:
    return crowd(60, 20)


def test_it_is_made_on_request_and_says_what_a_list_of_popular_items_has(people: Interactions) -> None:
    ready = simulated("fed-ease", {"minimum_cohort": 10, "least": 1})
    assert "model-extraction" not in {one.name for one in fitting_attacks(ready)}
    findings = {one.attack: one for one in audit(ready, people, 0, ["model-extraction"]).findings}
    found = findings["model-extraction"]
    assert found.victims == int((people.user_counts > 0).sum())
    assert 0 <= found.values[POPULAR].mean <= 1
    assert found.values[COPIED].mean > found.values[POPULAR].mean
