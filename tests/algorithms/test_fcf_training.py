"""FCF as a named method: what its ledger says, how it ranks, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.errors import DataError, FederationError
from murmura.core.interactions import Interactions
from murmura.data.sources.registry import load
from murmura.engine.federated_model import FederatedModel
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import protocol
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod, simulated
from murmura.testing import crowd

NAMES = ("fcf", "fcf-paper")


def trained(name: str, data: Interactions | None = None, **settings: object) -> FederatedModel:
    return simulated(name, {"epochs": 4, "factors": 5, **settings}).fit(data or crowd(), seed=2)


@pytest.mark.parametrize("name", NAMES)
def test_an_epoch_is_one_round_with_everybody(name: str) -> None:
    fitted = trained(name)
    assert fitted.path == "kernel"
    assert fitted.rounds == 4
    assert fitted.ledger.totals["visits"] == 4 * 12


@pytest.mark.parametrize(("pi", "share"), [(1.0, 1.0), (0.0, 0.0)])
def test_the_ledger_counts_the_rows_of_own_items(pi: float, share: float) -> None:
    fitted = trained("fcf", pi=pi)
    rows = int(share * 4 * len(fitted.train))
    assert fitted.ledger.totals["rows_up"] == rows
    assert fitted.ledger.totals["bytes_up"] == 4 * 12 * (8 + 4) + rows * (4 + 5 * 4)
    assert (fitted.ledger.item_rows == 4 * share * fitted.train.item_counts).all()
    assert np.nanmean(fitted.ledger.disclosed) == share


@pytest.mark.parametrize(("pi", "share"), [(1.0, 1.0), (0.0, 0.0)])
def test_the_ledger_counts_dense_updates_whole_and_positives_by_consent(pi: float, share: float) -> None:
    fitted = trained("fcf-paper", pi=pi)
    assert fitted.ledger.totals["rows_up"] == 4 * 12 * 20
    assert fitted.ledger.totals["bytes_up"] == 4 * 12 * (8 + 4 + 20 * 5 * 4)
    assert np.nanmean(fitted.ledger.disclosed) == share


@pytest.mark.parametrize("name", NAMES)
def test_a_stranger_is_answered_like_a_member_with_her_history(name: str) -> None:
    """Both vectors are the closed form; float32 members agree with it to their own rounding."""
    fitted = trained(name, refresh=True)
    for user in range(1, 12):
        member = fitted.score(np.array([user], np.int32))[0]
        guest = fitted.score_history(fitted.train.by_user.of(user))
        assert np.abs(member - guest).max() <= 64 * np.finfo(np.float32).eps * max(1, np.abs(guest).max())


def test_without_refresh_the_vector_of_the_last_visit_ranks() -> None:
    stale, fresh = trained("fcf"), trained("fcf", refresh=True)
    assert stale.model["Q"].tobytes() == fresh.model["Q"].tobytes()
    assert stale.ready["p"].tobytes() == stale.states["p"].tobytes() == fresh.states["p"].tobytes()
    assert not np.allclose(stale.ready["p"], fresh.ready["p"])


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_steps_that_are_too_long_are_told_in_one_sentence(path: str) -> None:
    preset = algorithm("fcf")(gamma=1e6, epochs=20, factors=4)
    runtime = InProcess(path=path)  # type: ignore[arg-type]
    with pytest.raises(FederationError, match=r"must stay below.*gamma = 1e\+06.*lower gamma\.$"):
        FederatedMethod(preset, runtime).fit(crowd())


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_raw_values_must_be_above_zero(path: str) -> None:
    data = crowd()
    wrong = Interactions(data.users, data.items, data.user, data.item, data.value - (data.item == 3))
    preset = algorithm("fcf-paper")(values="raw")
    with pytest.raises(DataError, match="needs values above 0, but one is 0; use 'binary'"):
        FederatedMethod(preset, InProcess(path=path)).fit(wrong)  # type: ignore[arg-type]


def test_raw_values_are_confidences() -> None:
    data = crowd()
    rated = Interactions(data.users, data.items, data.user, data.item, data.value + data.item % 4)
    binary, raw = trained("fcf-paper", rated), trained("fcf-paper", rated, values="raw")
    assert trained("fcf-paper", data).model["Q"].tobytes() == binary.model["Q"].tobytes()
    assert not np.allclose(binary.model["Q"], raw.model["Q"])


def test_quality_on_real_data(data_dir: Path) -> None:
    """Amazon Digital Music, defaults, one seed: P@10 is .0047 for MostPop; see docs/papers/fcf.md."""
    dataset = load("amazon-digital-music", data_dir)
    split = whole_split(dataset, protocol("fpl", dataset))
    test = set(zip(split.test.user.tolist(), split.test.item.tolist()))
    users = np.unique(split.test.user)
    for name, floor in (("fcf", 0.0055), ("fcf-paper", 0.0150)):
        lists = simulated(name).fit(split.train).recommend(users, 10)
        hits = sum((u, i) in test for u, row in zip(users.tolist(), lists.item.tolist()) for i in row)
        assert hits / (10 * len(users)) >= floor
