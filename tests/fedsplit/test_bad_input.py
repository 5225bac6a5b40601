"""Who cannot take part is left out in one sentence, and the others go on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.algorithms.one_shot.co_statistics import FedSplitSvd
from murmura.cli.app import app
from murmura.core.contract import (
    Algorithm,
    ClientState,
    FederationInfo,
    History,
    IndividualUpdates,
    RoundContext,
)
from murmura.core.errors import DataError, FederationError, MurmuraError
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, server_secret
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import simulated
from tests.fedsplit.worlds import fours, raters

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
METHODS = (
    FedSplit(factors=3, patterns=4, epochs=40),
    FedSplitSvd(factors=3, rating_patterns=2, mask_patterns=2),
)


def run(method: Algorithm, data: Interactions, groups: Any = None) -> FederatedModel:
    groups = fours(data) if groups is None else groups
    fitted = fit(Plan(method, data, ONCE, groups=groups), runtime=InProcess())
    values = fitted.predict(data.user, data.item)
    assert np.isfinite(values).all()  # whoever was left out is answered all the same
    return fitted


@pytest.mark.parametrize("method", METHODS)
def test_a_group_of_one(method: Algorithm) -> None:
    groups = fours(raters())
    groups[23] = 6
    refused = run(method, raters(), groups).refused
    assert list(refused) == [6]
    assert refused[6].startswith("a group must have two people with ratings, but only one person has any here")


@pytest.mark.parametrize("method", METHODS)
def test_a_group_without_ratings(method: Algorithm) -> None:
    data = raters()
    emptied = data.rows(data.user < 20)
    refused = run(method, emptied, fours(data)).refused
    assert list(refused) == [5]
    assert "nobody has any here" in refused[5]


@pytest.mark.parametrize("method", METHODS)
def test_ratings_of_zero_and_below(method: Algorithm) -> None:
    data = raters()
    value = data.value.copy()
    value[data.user == 5] -= 4.5
    refused = run(method, replace(data, value=value)).refused
    assert list(refused) == [1]
    assert refused[1].startswith("ratings must be above 0, but one is -")


@pytest.mark.parametrize("method", METHODS)
def test_an_item_nobody_rated_is_predicted_by_the_means(method: Algorithm) -> None:
    data = raters()
    without = data.rows(data.item != 7)
    fitted = run(method, without)
    assert fitted.refused == {}
    one = fitted.predict(np.array([3], np.int32), np.array([7], np.int32))
    assert 1 <= one[0] <= 5
    assert np.abs(fitted.model["b"][7]) == 0


@settings
class Broken(FedSplit):
    """Its third group sends something else than it declared."""

    how: str = "nan"

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        state, update = super().client_step(context, state, history, rng)
        if context.phase == "means" or not (history.person is not None and len(history) == self.worst):
            return state, update
        rows = update.tables["items"]
        values, index = rows.values.copy(), rows.index.copy()
        if self.how == "nan":
            values[0, 0] = np.nan
        elif self.how == "negative":
            values[0, 0] = -1
        elif self.how == "items":
            index[-1] = context.info.items
        elif self.how == "k":
            values = values[:, 1:]
        elif self.how == "huge":
            values[0, -1] = -1e25
        return state, Update({"items": SparseRows(index, values)})


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("nan", "the values of 'items' must be finite, but one is not"),
        ("negative", "the factors of a group must not be negative, but one is -1"),
        ("items", "the row numbers of 'items' must ascend from 0 and stay below 18"),
        ("huge", "the numbers of an update must be at most 1e+06 in size, but one is 1e+25"),
        ("k", "the table 'items' must hold float32 rows of 4 under int32 numbers, but holds float32 of shape"),
    ],
)
def test_a_group_that_sends_nonsense(how: str, says: str) -> None:
    data = raters()
    rows = np.bincount(fours(data)[data.user])
    third = int(rows[2])
    assert (rows == third).sum() == 1  # it is known by its number of rows
    fitted = run(Broken(factors=3, patterns=4, epochs=40, worst=third, how=how), data)
    assert list(fitted.refused) == [2]
    assert fitted.refused[2].startswith(says)
    assert sorted(fitted.answers) == [0, 1, 3, 4, 5]


def test_a_huge_letter_of_singular_vectors_is_refused_too() -> None:
    method = FedSplitSvd(factors=2)
    phase = method.phases(FederationInfo(5, np.arange(5, dtype=np.int32), 2, 9))[1]
    values = np.ones((1, 6), np.float32)
    assert method.server_refuses(phase, Update({"items": SparseRows(np.array([3], np.int32), values)})) is None
    values[0, 1] = 1e30
    why = method.server_refuses(phase, Update({"items": SparseRows(np.array([3], np.int32), values)}))
    assert why == "the numbers of an update must be at most 1e+06 in size, but one is 1e+30."


def test_the_largest_letters_that_are_taken_leave_a_finite_model() -> None:
    """One group at the bound of every number, and sure of itself beyond belief."""
    method = FedSplit(factors=3, patterns=4, epochs=40, bias="counts", judge="weigh")
    data = raters()
    info = FederationInfo.of(data, groups=fours(data))
    phase, rng = method.phases(info)[1], np.random.default_rng(0)
    updates = {}
    for client in range(6):
        values = rng.random((18, 5)).astype(np.float32) + 1
        if client == 2:
            values[:] = 1e6
        rows = SparseRows(np.arange(18, dtype=np.int32), values)
        updates[client] = Update({"items": rows}, {"error": 0.0 if client == 2 else 0.7})
        assert method.server_refuses(phase, updates[client]) is None
    server, answers = method.server_step(
        "factors", method.server_init(info, Rng(server_secret(0))), IndividualUpdates(updates)
    )
    assert all(np.isfinite(part).all() for part in server.model.values())
    assert all(np.isfinite(part).all() for own in answers.values() for part in own.values())


def test_ratings_that_are_all_the_same_are_refused_with_the_way_out() -> None:
    data = raters()
    liked = replace(data, value=np.ones(len(data)))
    with pytest.raises(DataError, match=f"all {len(data)} of them are 1; take a protocol that keeps them"):
        simulated("fedsplit").fit(liked)


def test_a_federation_of_nobody_who_can_take_part() -> None:
    data = raters(people=6)
    with pytest.raises(FederationError, match="needs at least one update, but all 6 were refused"):
        fit(Plan(METHODS[0], data, ONCE, groups=np.arange(6, dtype=np.int32)), runtime=InProcess())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--protocol", "default"], "take a protocol that keeps them, such as --protocol ratings"),
        (["--protocol", "ratings", "-S", "groups=nowhere.csv"], "there is no such file"),
        (["--protocol", "ratings", "-S", "smallest=9", "-S", "largest=4"], "must go upwards"),
    ],
)
def test_a_mistake_leaves_no_folder_behind(words: list[str], says: str, tmp_path: Path) -> None:
    data = raters()
    lines = [f"{u},{i},{v:g}" for u, i, v in zip(data.user, data.item, data.value)]
    table = tmp_path / "ratings.csv"
    table.write_text("\n".join(["user,item,rating", *lines]), encoding="utf-8")
    for command in (["fit", "--model", "fedsplit"], ["compare", "--models", "fedsplit"]):
        out = tmp_path / command[0]
        given = [*command, "--data", str(table), "--out", str(out), *words]
        found = CliRunner().invoke(app, given)
        assert isinstance(found.exception, MurmuraError)
        assert says in str(found.exception)
        assert not out.exists()
    mended = ["fit", "--model", "fedsplit", "--data", str(table), "--out", str(out), "--protocol", "ratings"]
    assert CliRunner().invoke(app, [*mended, "-S", "epochs=20"]).exit_code == 0
