"""The networks as baselines, beyond what every baseline promises."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

import torch

from murmura.baselines import baseline
from murmura.baselines.base import Baseline
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from tests.baselines.kit import checkerboard
from tests.neural.quick import QUICK

EVERYONE = np.arange(40, dtype=np.int32)
BOARD, WITHHELD = checkerboard()
each = pytest.mark.parametrize("name", sorted(QUICK))


def made(name: str, **changes: Any) -> Baseline:
    return baseline(name)(**{**QUICK[name], **changes})


def test_multvae_knows_the_board_with_its_defaults() -> None:
    first = baseline("multvae")().fit(BOARD).recommend(EVERYONE, 1).item[:, 0]
    assert first.tolist() == [WITHHELD[user] for user in range(40)]


@each
def test_scores_depend_on_the_seed_and_on_nothing_the_caller_did(name: str) -> None:
    scores = made(name, epochs=5).fit(BOARD, seed=1).score(EVERYONE)
    torch.manual_seed(99)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(1 if threads > 1 else 2)
    try:
        again = made(name, epochs=5).fit(BOARD, seed=1).score(EVERYONE)
        assert torch.get_num_threads() != threads
    finally:
        torch.set_num_threads(threads)
    assert (again == scores).all()
    assert torch.equal(torch.get_rng_state(), state)


@each
def test_asking_twice_gives_the_same_answer(name: str) -> None:
    """Prediction takes the mean of z: a version that samples z answers differently each time."""
    model = made(name, epochs=2).fit(BOARD)
    assert (model.score(EVERYONE) == model.score(EVERYONE)).all()
    some = np.array([0, 4], np.int32)
    assert (model.score_history(some) == model.score_history(some)).all()
    assert {array.dtype for array in model.arrays().values()} == {np.dtype(np.float32)}


@each
def test_the_first_epochs_of_a_longer_run_are_a_shorter_run(name: str) -> None:
    """The papers pick the best of 50, 100 and 200 epochs: beta climbs by epochs, whatever their number."""
    scores = {}

    def watch(epoch: int, model: Any) -> bool:
        scores[epoch] = model.score(EVERYONE)
        return True

    made(name, epochs=4).fit(BOARD, watch=watch)
    assert (made(name, epochs=2).fit(BOARD).score(EVERYONE) == scores[2]).all()


@each
def test_someone_who_has_everything_is_learned_from(name: str) -> None:
    data = Interactions.of(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]), time=np.arange(5))
    assert np.isfinite(made(name, epochs=5).fit(data).score(np.array([0, 1], np.int32))).all()


@each
def test_a_pair_in_several_rows_counts_once(name: str) -> None:
    twice = BOARD.rows(np.concatenate([np.arange(len(BOARD)), np.arange(0, len(BOARD), 3)]))
    once = made(name, epochs=2).fit(BOARD).score(EVERYONE)
    assert (made(name, epochs=2).fit(twice).score(EVERYONE) == once).all()


@each
def test_a_rate_that_loses_the_loss_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="learning_rate must keep the loss finite"):
        made(name, learning_rate=1e30, epochs=30).fit(BOARD)


def test_a_user_decodes_to_the_same_scores_known_or_unknown() -> None:
    model = made("multvae", epochs=5).fit(BOARD)
    alone = model.score_history(BOARD.by_user.of(3))
    # one row and forty rows are multiplied in different orders of summation: 20 terms of float32
    assert model.score(EVERYONE)[3] == pytest.approx(alone, rel=1e-4, abs=1e-5)
