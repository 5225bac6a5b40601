"""Both networks as baselines: the board whose answer is known, determinism, strangers, saving, watching."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.baselines import baseline
from murmura.baselines.base import Baseline, Model
from murmura.core.arrays import Ints
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions

USERS, ITEMS = 40, 20
QUICK: dict[str, dict[str, Any]] = {
    "multvae": {"topology": "20-10-20", "epochs": 60, "learning_rate": 0.01},
    "neumf": {"factors": 8, "layers": "16-8", "epochs": 60, "batch": 90, "learning_rate": 0.01},
}
EVERYONE = np.arange(USERS, dtype=np.int32)


def board() -> tuple[Interactions, Ints]:
    """Everyone likes the items of her own colour and has all of them but one: that one is the answer."""
    user, item = np.meshgrid(np.arange(USERS), np.arange(ITEMS), indexing="ij")
    withheld = 2 * ((np.arange(USERS) // 2) % (ITEMS // 2)) + np.arange(USERS) % 2
    kept = ((user + item) % 2 == 0) & (item != withheld[:, None])
    return Interactions.of(user[kept], item[kept]), withheld.astype(np.int32)


def made(name: str, **changes: Any) -> Baseline:
    return baseline(name)(**{**QUICK[name], **changes})


@pytest.fixture(scope="module", params=sorted(QUICK))
def fitted(request: pytest.FixtureRequest) -> tuple[str, Model]:
    return request.param, made(request.param).fit(board()[0], seed=1)


def test_the_withheld_item_comes_first(fitted: tuple[str, Model]) -> None:
    assert fitted[1].recommend(EVERYONE, 1).item[:, 0].tolist() == board()[1].tolist()


def test_multvae_knows_the_board_with_its_defaults() -> None:
    train, withheld = board()
    assert baseline("multvae")().fit(train).recommend(EVERYONE, 1).item[:, 0].tolist() == withheld.tolist()


def test_a_stranger_is_recommended_her_colour(fitted: tuple[str, Model]) -> None:
    _, model = fitted
    for colour in (0, 1):
        own = np.arange(colour, ITEMS - 2, 2, dtype=np.int32)
        assert model.recommend_history(own, 1).item[0, 0] == ITEMS - 2 + colour


def test_lists_depend_on_the_seed_and_on_nothing_else(fitted: tuple[str, Model]) -> None:
    name, model = fitted
    lists = model.recommend(EVERYONE, 10)
    torch.manual_seed(99)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if threads > 1 else 2)
    try:
        again = made(name).fit(board()[0], seed=1)
    finally:
        torch.set_num_threads(threads)
    for workers in (1, 3):
        other = again.recommend(EVERYONE, 10, workers)
        assert (other.item == lists.item).all()
        assert (other.score == lists.score).all()
    assert (made(name).fit(board()[0], seed=2).recommend(EVERYONE, 10).score != lists.score).any()


def test_asking_twice_gives_the_same_answer(fitted: tuple[str, Model]) -> None:
    """Prediction takes the mean of z: a version that samples z answers differently each time."""
    _, model = fitted
    assert (model.score(EVERYONE) == model.score(EVERYONE)).all()
    some = np.array([0, 4], np.int32)
    assert (model.score_history(some) == model.score_history(some)).all()


def test_a_restored_model_answers_alike(fitted: tuple[str, Model]) -> None:
    name, model = fitted
    arrays = model.arrays()
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float32)}
    restored = type(model).restore(board()[0], {k: v.copy() for k, v in arrays.items()}, made(name))
    assert (restored.score(EVERYONE) == model.score(EVERYONE)).all()
    some = np.array([1, 3, 5], np.int32)
    assert (restored.score_history(some) == model.score_history(some)).all()


@pytest.mark.parametrize("name", sorted(QUICK))
def test_everyone_gets_a_list_without_what_she_has(name: str) -> None:
    data, _ = board()
    train = data.rows((data.user != 3) & (data.item != 7))  # user 3 and item 7 are known but have no row
    lists = made(name, epochs=2).fit(train).recommend(EVERYONE, 8)
    assert (lists.item >= 0).all()
    assert not (lists.item == 7).any()
    for user, row in zip(lists.user, lists.item):
        assert not set(row.tolist()) & set(train.by_user.of(int(user)).tolist())


@pytest.mark.parametrize("name", sorted(QUICK))
def test_watch_sees_each_epoch_as_it_was_and_can_stop(name: str) -> None:
    train, seen = board()[0], []

    def watch(epoch: int, model: Model) -> bool:
        seen.append((epoch, model))
        return epoch < 3

    last = made(name).fit(train, watch=watch)
    assert [epoch for epoch, _ in seen] == [1, 2, 3]
    scores = [model.score(EVERYONE) for _, model in seen]
    assert (scores[0] != scores[2]).any()
    assert (scores[2] == last.score(EVERYONE)).all()
    assert (made(name, epochs=3).fit(train).score(EVERYONE) == scores[2]).all()
    if name == "multvae":  # beta climbs by epochs, whatever their number: the first epochs of a longer run
        assert (made(name, epochs=1).fit(train).score(EVERYONE) == scores[0]).all()


def test_someone_who_has_everything_is_learned_from() -> None:
    data = Interactions.of(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]))
    model = made("neumf", epochs=5).fit(data)
    assert np.isfinite(model.score(np.array([0, 1], np.int32))).all()


@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_pair_in_several_rows_counts_once(name: str) -> None:
    data, _ = board()
    twice = data.rows(np.concatenate([np.arange(len(data)), np.arange(0, len(data), 3)]))
    once = made(name, epochs=2).fit(data).score(EVERYONE)
    assert (made(name, epochs=2).fit(twice).score(EVERYONE) == once).all()


@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_rate_that_loses_the_loss_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="learning_rate must keep the loss finite"):
        made(name, learning_rate=1e30, epochs=30).fit(board()[0])
