"""Full ranking against sorting everything in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from murmura.core.interactions import Interactions
from murmura.core.model import NO_ITEM
from murmura.kernels import ranking
from tests.hypothesis_profiles import examples


def plain_top(scores: list[float], seen: set[int], allowed: list[bool], k: int) -> list[int]:
    rest = [i for i in range(len(scores)) if allowed[i] and i not in seen and scores[i] > -np.inf]
    best = sorted(rest, key=lambda i: (-scores[i], i))[:k]
    return best + [NO_ITEM] * (k - len(best))


def history(rng: np.random.Generator, users: int, items: int) -> Interactions:
    seen = rng.random((users, items)) < 0.3
    seen[:, 0] |= ~seen.any(axis=1)
    user, item = np.nonzero(seen)
    data = Interactions.of(np.concatenate((user, [users] * items)), np.concatenate((item, np.arange(items))))
    return data.rows(data.user < users)


@examples(0.4)
@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 30), st.integers(1, 12), st.booleans())
def test_rank_equals_sorting_everything(seed: int, users: int, items: int, k: int, double: bool) -> None:
    rng = np.random.default_rng(seed)
    kind = np.float64 if double else np.float32
    scores = rng.integers(0, 5, (users, items)).astype(kind)  # few values: many ties
    scores[rng.random((users, items)) < 0.1] = -np.inf
    allowed = rng.random(items) < 0.8
    data = history(rng, users, items)
    who = rng.permutation(users).astype(np.int32)
    lists = ranking.rank(lambda u: scores[u], who, k, data.by_user, allowed)
    for row, user in enumerate(who):
        own = set(data.by_user.of(user).tolist())
        assert lists.item[row].tolist() == plain_top(scores[user].tolist(), own, allowed.tolist(), k)
        listed = lists.item[row] != NO_ITEM
        assert lists.score[row, listed].tolist() == scores[user, lists.item[row, listed]].tolist()
        assert (lists.score[row, ~listed] == -np.inf).all()


def test_scores_that_differ_only_in_double_precision_are_no_ties() -> None:
    data = history(np.random.default_rng(0), 1, 4)
    scores = np.array([[0.0, 1.0, 1.0 + 1e-12, 1.0 + 1e-12]])
    nothing = data.rows(np.zeros(len(data), np.bool_))
    lists = ranking.rank(lambda u: scores[u], np.zeros(1, np.int32), 2, nothing.by_user, np.ones(4, np.bool_))
    assert lists.item.tolist() == [[2, 3]]


def test_scores_of_the_caller_are_left_alone_and_nan_is_never_listed() -> None:
    data = history(np.random.default_rng(1), 1, 3).rows(np.zeros(0, np.int64))
    scores = np.array([[np.nan, 2.0, 1.0]])
    scores.flags.writeable = False
    lists = ranking.rank(lambda _: scores, np.zeros(1, np.int32), 3, data.by_user, np.ones(3, np.bool_))
    assert lists.item.tolist() == [[1, 2, NO_ITEM]]
    assert np.isnan(scores[0, 0])


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_blocks_and_workers_change_nothing(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    data = history(rng, 50, 40)
    P, Q = rng.normal(size=(50, 8)).astype(np.float32), rng.normal(size=(40, 8)).astype(np.float32)

    def score(users: NDArray[np.int32]) -> NDArray[np.float32]:
        return P[users] @ Q.T

    users, allowed = np.arange(50, dtype=np.int32), np.ones(40, np.bool_)
    whole = ranking.rank(score, users, 5, data.by_user, allowed)
    monkeypatch.setattr(ranking, "BLOCK", 8)
    lists = ranking.rank(score, users, 5, data.by_user, allowed, workers)
    assert np.array_equal(whole.item, lists.item)
