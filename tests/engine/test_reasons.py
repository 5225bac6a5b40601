"""Reasons: terms that add up, the most informative first, and "because" only of what passes the removal."""

import re

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.model import ScoreTerms
from murmura.engine.reasons import TermReason, sentence, term_reasons


def world(seed: int = 0, features: int = 12, items: int = 30) -> ScoreTerms:
    """Random features with random terms, one term that every item has, and some ties."""
    rng = np.random.default_rng(seed)
    has = rng.random((features, items)) < 0.3
    values = np.where(has, rng.integers(-2, 5, (features, 1)) / 4, 0.0)
    everyone = rng.integers(-4, 3, items) / 4
    names = (*(f"feature: {f}" for f in range(features)), "people like you")
    return ScoreTerms(names, rng.permutation(features) / features, np.vstack([values, everyone]))


def listed(scores: np.ndarray, offered: Ints, k: int) -> list[int]:
    """The first k by sorting: higher scores first, of equal ones the lower number."""
    return sorted(offered.tolist(), key=lambda item: (-scores[item], item))[:k]


def test_because_is_what_a_new_list_without_the_term_says() -> None:
    said: set[bool] = set()
    for seed in range(20):
        terms = world(seed)
        offered = np.setdiff1d(np.arange(30), [3, 4, 17]).astype(np.int32)
        k = 5
        shown = listed(terms.scores, offered, k)
        for item, parts in zip(shown, term_reasons(terms, offered, np.array(shown), k), strict=True):
            for part in parts:
                term = terms.names.index(part.name)
                removed = terms.values.copy()
                removed[term] = 0
                drops = item not in listed(removed.sum(axis=0), offered, k)
                assert part.because == (part.term > 0 and drops), (seed, item, part)
                said.add(part.because)
    assert said == {True, False}


def test_every_term_is_there_once_most_informative_first() -> None:
    terms = world()
    shown = np.arange(30, dtype=np.int32)
    for item, parts in zip(shown.tolist(), term_reasons(terms, shown, shown, 5)):
        assert sum(part.term for part in parts) == terms.scores[item]  # quarters: exact
        gains = [part.gain for part in parts if part.gain is not None]
        assert gains == sorted(gains, reverse=True)
        assert len(gains) == int((terms.values[:-1, item] != 0).sum())
        assert [part.name for part in parts[len(gains) :]] in ([], ["people like you"])


def test_a_longer_list_keeps_more_without_a_term() -> None:
    terms, offered = world(), np.arange(30, dtype=np.int32)
    assert not any(terms.drops(item, term, offered, 30) for item in range(30) for term in range(13))


def test_what_is_written_adds_up_and_says_because_of_nothing_else() -> None:
    rng = np.random.default_rng(1)
    for several in (1, 5, 6, 9):
        values = rng.normal(size=several)
        parts = [TermReason(f"colour: {n}", float(v), 0.1, n == 1) for n, v in enumerate(values)]
        text = sentence(float(values.sum()), parts)
        total, terms = text.split(" = ")
        numbers = [float(found) for found in re.findall(r"-?\d+\.\d{3}", terms)]
        assert abs(sum(numbers) - float(total)) < (0.0005 if several > 5 else 0.0006 * several)
        assert ("because colour: 1" in text) == (several > 1)
        assert text.count("because") <= 1
        assert "shares colour: 0" in text
    assert "2 others" in sentence(1.0, [TermReason("colour: red", 0.1, 0.1, False)] * 7)
    assert "1 other (1 decisive)" in sentence(1.0, [TermReason("colour: red", 0.1, 0.1, True)] * 6)
    assert sentence(0.0, []) == "shares nothing with what you like"
    assert TermReason("people like you", 1.0, None, False).words() == "people like you"


def test_what_speaks_against_an_item_is_never_its_because() -> None:
    """Without the discount, which is small for item 0 and large for its rivals, these would pass it."""
    values = np.array([[1.0, 0, 0], [0, 1.5, 1.5], [-0.1, -1.0, -1.0]])
    terms = ScoreTerms(("colour: red", "colour: blue", "popularity"), np.array([0.5, 0.4]), values)
    offered = np.arange(3, dtype=np.int32)
    assert terms.drops(0, 2, offered, 1)
    (parts,) = term_reasons(terms, offered, np.array([0]), 1)
    assert [(part.name, part.because) for part in parts] == [("colour: red", True), ("popularity", False)]
