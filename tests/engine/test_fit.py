"""The one training loop: lines, epochs, watching, checkpoints, saving, and what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.errors import DataError, RunError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.schedule import Schedule
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import CHECKPOINT, fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import simulated
from murmura.testing import checkerboard, crowd
from murmura.testing.checks import assert_same_bits

SHORT = Schedule(clients=4, rounds_per_epoch=3, epochs=3)


def train(data: Interactions | None = None, **changes: Any) -> FederatedModel:
    given: dict[str, Any] = {"algorithm": FPL(triples=4), "schedule": SHORT, "runtime": InProcess(), "seed": 1}
    given |= changes
    plan = {
        name: given.pop(name)
        for name in ("algorithm", "schedule", "consent", "seed", "channel")
        if name in given
    }
    return fit(Plan(data=crowd() if data is None else data, **plan), **given)


def test_there_is_a_line_per_round_and_the_last_has_the_totals() -> None:
    fitted = train()
    assert [line.rounds for line in fitted.ledger.lines] == list(range(1, 10))
    assert [line.epoch for line in fitted.ledger.lines] == [0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert all(line.visits == 4 for line in fitted.ledger.lines)
    grown = [line.disclosed_mean for line in fitted.ledger.lines]
    assert grown == sorted(grown)


@pytest.mark.slow
def test_schedules_of_very_many_rounds_have_a_line_per_epoch() -> None:
    schedule = Schedule(clients=1, rounds_per_epoch=15_000, epochs=2)
    fitted = train(algorithm=FPL(), schedule=schedule)
    assert [line.rounds for line in fitted.ledger.lines] == [15_000, 30_000]
    assert fitted.ledger.totals["visits"] == 30_000


def test_the_watcher_sees_every_epoch_and_may_stop() -> None:
    seen: list[tuple[int, FederatedModel]] = []

    def watch(epoch: int, so_far: FederatedModel) -> bool:
        seen.append((epoch, so_far))
        return epoch < 2

    fitted = train(watch=watch)
    assert [epoch for epoch, _ in seen] == [1, 2]
    assert fitted.rounds == 6
    alone = train(schedule=Schedule(clients=4, rounds_per_epoch=3, epochs=1))
    assert_same_bits(
        dict(seen[0][1].model), dict(alone.model), "the model after one epoch"
    )  # not changed since
    assert_same_bits(seen[0][1].states, alone.states, "the states after one epoch")


def test_rounds_can_cut_the_last_epoch_short() -> None:
    epochs: list[int] = []

    def watch(epoch: int, so_far: FederatedModel) -> bool:
        epochs.append(epoch)
        return True

    fitted = train(schedule=Schedule(clients=4, rounds_per_epoch=3, epochs=9, rounds=7), watch=watch)
    assert fitted.rounds == 7
    assert epochs == [1, 2, 3]


def test_sticky_sharing_never_passes_its_limit_in_training() -> None:
    data, pi = crowd(60, 30), 0.3
    fitted = train(data, consent=Consent(pi=pi), schedule=Schedule(clients="all", rounds=60))
    held = data.user_counts
    limit = np.floor(pi * held + 1e-9)
    ever = np.nan_to_num(fitted.ledger.disclosed) * held
    assert (ever <= limit + 1e-9).all()
    per_triple = train(
        data, consent=Consent(pi=pi, disclosure="per-triple"), schedule=Schedule(clients="all", rounds=60)
    )
    assert np.nanmean(per_triple.ledger.disclosed) > 0.95  # a coin at every use discloses nearly everything


def test_a_coin_at_every_use_discloses_what_the_closed_form_says() -> None:
    """1 - (1 - pi/n)^(n R) of a history of n positives after R visits of T = n triples."""
    data, pi, rounds = checkerboard(400, 40)[0], 0.1, 8
    fitted = train(
        data, algorithm=FPL(triples="own"), schedule=Schedule(clients="all", rounds=rounds),
        consent=Consent(pi=pi, disclosure="per-triple"),
    )  # fmt: skip
    n = 19
    expected = 1 - (1 - pi / n) ** (n * rounds)
    spread = np.sqrt(expected * (1 - expected) / (400 * n))
    assert abs(np.mean(fitted.ledger.disclosed) - expected) < 4 * spread


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_a_checkpoint_is_taken_up_and_removed_from_nothing(tmp_path: Path, path: str) -> None:
    runtime = InProcess(path=path)  # type: ignore[arg-type]
    whole = train(runtime=runtime)
    train(runtime=runtime, folder=tmp_path, checkpoint_every=2, watch=lambda epoch, _: epoch < 2)
    assert (tmp_path / CHECKPOINT).exists()
    resumed = train(runtime=runtime, folder=tmp_path, checkpoint_every=2)
    whole.save(tmp_path / "whole.npz")
    resumed.save(tmp_path / "resumed.npz")
    assert (tmp_path / "whole.npz").read_bytes() == (tmp_path / "resumed.npz").read_bytes()
    assert list(tmp_path.glob("*.part")) == []


def one_row_less() -> Interactions:
    data = crowd()
    return data.rows(np.arange(len(data) - 1))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda: {"seed": 2}, "seed"),
        (lambda: {"algorithm": FPL(triples=5)}, "settings"),
        (lambda: {"schedule": Schedule(clients=5, rounds_per_epoch=3, epochs=3)}, "schedule"),
        (lambda: {"consent": Consent(pi=0.5)}, "choices"),
        (lambda: {"consent": Consent(disclosure="per-triple")}, "disclosure"),
        (lambda: {"data": one_row_less()}, "data"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_and_kept(
    tmp_path: Path, change: Callable[[], dict[str, Any]], what: str
) -> None:
    train(folder=tmp_path, checkpoint_every=4)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(RunError, match=rf"its .*{what}.* differ"):
        train(**change(), folder=tmp_path, checkpoint_every=4)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    train(folder=tmp_path, checkpoint_every=4)
    path = tmp_path / CHECKPOINT
    for damaged in (path.read_bytes()[:500], b"", b"not an archive"):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match="cannot be read"):
            train(folder=tmp_path, checkpoint_every=4)


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_a_saved_federation_answers_the_same(tmp_path: Path, path: str) -> None:
    method = FPL(triples=4, refresh=2)
    fitted = train(algorithm=method, runtime=InProcess(path=path), consent=Consent(pi=0.5))  # type: ignore[arg-type]
    fitted.save(tmp_path / "federation.npz")
    loaded = FederatedModel.load(tmp_path / "federation.npz", fitted.train, method)
    users = np.arange(12, dtype=np.int32)
    assert (loaded.recommend(users, 5).item == fitted.recommend(users, 5).item).all()
    assert loaded.score_history(np.array([1, 2])).tolist() == fitted.score_history(np.array([1, 2])).tolist()
    assert loaded.ledger.summary() == fitted.ledger.summary()
    assert loaded.ledger.lines == fitted.ledger.lines
    with pytest.raises(RunError, match="the data it was trained on"):
        FederatedModel.load(tmp_path / "federation.npz", one_row_less(), method)


def test_recommending_gives_the_same_lists_for_any_number_of_workers() -> None:
    fitted = train(crowd(700, 50), algorithm=FPL(triples=4, refresh=1))
    users = np.arange(700, dtype=np.int32)
    one, two = fitted.recommend(users, 5), fitted.recommend(users, 5, workers=2)
    assert (one.item == two.item).all()
    assert (one.score == two.score).all()
    assert fitted.client_state(5)["p"].shape == (20,)


def test_more_clients_a_round_than_there_are_is_everyone() -> None:
    everyone = train(schedule=Schedule(clients="all", rounds=2))
    assert everyone.ledger.totals["visits"] == 2 * 12
    more = train(schedule=Schedule(clients=13, rounds=2))
    assert more.ledger.totals == everyone.ledger.totals
    assert_same_bits(more.model, everyone.model, "model")


def test_bad_input_is_refused_in_one_sentence_and_nothing_is_lost(tmp_path: Path) -> None:
    data = crowd()
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (
            SettingError,
            "at least the minimum cohort of 13, but there are 12",
            {
                "schedule": Schedule(clients=13),
                "channel": ChannelSettings(channel="secure-sum", minimum_cohort=13),
            },
        ),
        (DataError, "at least one interaction", {"data": data.rows(np.zeros(0, np.int64))}),
        (
            DataError,
            "hold an item once, but 1 rows repeat",
            {"data": data.rows(np.r_[0, np.arange(len(data))])},
        ),
        (SettingError, "needs a folder", {"checkpoint_every": 3}),
        (SettingError, "at least 1", {"checkpoint_every": 0, "folder": tmp_path}),
        (SettingError, "the seed must be", {"seed": -1}),
    ]
    for error, sentence, changes in cases:
        with pytest.raises(error, match=sentence):
            train(**changes)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="must be from 0 to 19, but one is 20"):
        train().score_history(np.array([3, 20]))


def test_the_everyday_door_takes_settings_as_the_command_line_has_them() -> None:
    method = simulated("sfpl+", {"pi": 0.5, "epochs": 1, "rounds_per_epoch": 30}, workers=2)
    fitted = method.fit(crowd(), seed=3)
    assert (method.name, method.seeded, fitted.path) == ("sfpl+", True, "kernel")
    assert set(fitted.cost()) == {"disclosed", "kB up/client", "kB down/client"}
    assert fitted.ledger.papers["freshness"] == 30
