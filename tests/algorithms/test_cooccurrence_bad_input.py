"""Models made of sums meet what data and devices bring: one sentence where it cannot go on, nothing lost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.central import PooledEase, PooledItemKnn
from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.core.channel import ChannelSettings
from murmura.core.errors import DataError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from tests.cli.processes import murmura, ratings

SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=1)


def trained(method: Cooccurrence, train: Interactions, path: str = "auto") -> FederatedModel:
    return fit(Plan(method, train, channel=SECURE), runtime=InProcess(path=path))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "needs"), [("recency", {"knn": 1.0}), ("order", {})])
def test_missing_times_are_said_and_what_to_do(name: str, needs: dict[str, Any]) -> None:
    train = replace(crowd(), time=None)
    said = (
        f"{name} must be 0 where rows have no times, as here, but it is 1; give -S {name}=0, or data with times"
    )
    with pytest.raises(DataError, match=said):
        trained(Cooccurrence(**{**needs, name: 1.0}), train)


def test_equal_times_are_an_order_too() -> None:
    """Rows of one time stand by the numbers of their items: a regression of what comes next has an answer."""
    train = crowd(80, 30)
    equal = replace(train, time=np.full(len(train), 7))
    model = trained(Cooccurrence(order=1.0, rank=4, least=1), equal)
    scores = model.score(np.arange(80, dtype=np.int32))
    assert np.isfinite(scores).all()
    assert np.ptp(scores, axis=1).min() > 0


def test_an_item_outside_the_features_is_like_no_other_and_ranks_by_the_sums() -> None:
    train = crowd(80, 30)
    named = np.arange(2, 30, dtype=np.int32)  # nothing is known of items 0 and 1
    features = ItemFeatures.of(("even", "odd"), 30, named, named % 2)
    train = replace(train, features=features)
    settings: dict[str, Any] = {"ease": 1.0, "reg": 20.0, "features": 0.2, "least": 1}
    federated, pooled = trained(Cooccurrence(**settings), train), PooledEase(**settings).fit(train)
    users = np.arange(80, dtype=np.int32)
    assert np.array_equal(federated.recommend(users, 10).item, pooled.recommend(users, 10).item)
    assert np.isfinite(federated.model["ease"]).all()
    without = trained(Cooccurrence(**{**settings, "features": 0.0}), train).model["ease"]
    assert not np.allclose(without[2:, 2:], federated.model["ease"][2:, 2:])
    assert np.abs(federated.model["ease"][0]).max() > 0


def test_a_features_file_may_have_other_items_and_lack_some(tmp_path: Path) -> None:
    table = tmp_path / "known.csv"
    table.write_text("item,genre\n" + "".join(f"m{n:02d},g{n % 3}\n" for n in range(3, 40)) + "elsewhere,g1\n")
    flags = (
        "-S",
        "features=0.1",
        "-S",
        "least=1",
        "-S",
        "minimum_cohort=10",
        "--features",
        str(table),
        "--json",
    )
    done = murmura("compare", "--data", str(ratings(tmp_path)), "--models", "fed-ease", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def longest() -> Interactions:
    """One person has all of 100,000 items; fifty others have a few of the first forty."""
    rng, items = np.random.default_rng(0), 100_000
    few = [np.sort(rng.choice(40, 12, replace=False)) for _ in range(50)]
    user = np.concatenate([np.zeros(items, int), *(np.full(12, n + 1) for n in range(50))])
    return Interactions.of(user, np.concatenate([np.arange(items), *few]))


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_a_device_with_a_hundred_thousand_items_counts_those_that_take_part(path: str) -> None:
    train = longest()
    settings: dict[str, Any] = {"knn": 1.0, "k": 10, "least": 5}
    model = trained(Cooccurrence(**settings), train, path)
    assert (model.model["counts"] > 0).sum() == 100_000
    assert len(model.model["neighbours"]) == 40
    users = np.arange(51, dtype=np.int32)
    pooled = PooledItemKnn(**settings).fit(train)
    assert np.array_equal(model.recommend(users, 10).item, pooled.recommend(users, 10).item)
    first, second = model.ledger.lines
    assert first.bytes_up % 51 == second.bytes_up % 51 == 0  # one length for all


def test_more_items_than_fit_are_refused_before_any_table_is_made() -> None:
    with pytest.raises(SettingError, match=r"memory_gb must be at least 120\.0 for the weights between 100000"):
        trained(Cooccurrence(knn=1.0, least=1), longest())
