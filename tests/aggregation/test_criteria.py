"""Every criterion on clients whose answer is known, and where it does not apply, refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.aggregation import CRITERIA, criterion
from murmura.aggregation.criteria import ClientView, measured
from murmura.core.contract import FederationInfo, History, Samples
from murmura.core.errors import DataError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Classification
from murmura.core.update import SparseRows, Update
from murmura.evaluation.formulas import popularity_groups
from murmura.testing import crowd
from tests.aggregation.worlds import method
from tests.core.test_plugins import install, site  # noqa: F401

DIGITS = FederationInfo(0, np.zeros(0, np.int32), 4, 40, task=Classification((2,), 10))
STRANGER = """
from murmura.aggregation.criteria import ClientView, Criterion

class Patience(Criterion):
    name = "patience"
    reveals = "how long the client can wait"

    def measure(self, view: ClientView) -> float:
        return 0.75
"""


def samples(labels: list[int], quality: list[float] | None = None, **said: float) -> Samples:
    n = len(labels)
    good = None if quality is None else np.array(quality)
    rows = np.arange(n, dtype=np.int32), np.array(labels, float), np.ones(n)
    return Samples(*rows, None, said, np.zeros((n, 2), np.uint8), good)


def value(name: str, history: History, info: FederationInfo = DIGITS, **more: Any) -> float:
    return float(measured((criterion(name),), ClientView(info, history, more.pop("model", {}), **more))[0])


def test_criteria_of_samples() -> None:
    held = samples([1, 1, 1, 7], [1, 0, 1, 1], trust=0.3, premium=1.0)
    assert value("dataset_size", held) == 4 / 64  # at most all 40 rows, the next power of two
    assert value("label_diversity", held) == 0.2
    assert value("class_balance", held) == 0
    two = replace(DIGITS, task=Classification((2,), 2))
    assert value("class_balance", samples([0, 1, 1, 1, 0, 1]), two) == 0.5
    assert value("sharpness", held) == 0.75
    assert value("trust", held) == 0.3
    assert value("attribute:premium", held) == 1
    nobody = samples([], [])
    for name in ("dataset_size", "label_diversity", "class_balance", "sharpness"):
        assert value(name, nobody) == 0


def test_size_is_told_in_16_times_the_mean_and_no_more() -> None:
    many = replace(DIGITS, clients=1000, interactions=10_000)
    assert value("profile_size", samples([0] * 10), many) == 10 / 256
    assert value("dataset_size", samples([0] * 5000), many) == 1


def test_criteria_of_histories() -> None:
    data = crowd()
    info = FederationInfo.of(data)
    tail = popularity_groups(data).tail
    rare, popular = np.flatnonzero(tail), np.flatnonzero(~tail)
    own = History.private(np.concatenate([rare[:1], popular[:3]]))
    assert value("long_tail", own, info) == 0.25
    assert value("long_tail", History.private(np.empty(0, int)), info) == 0
    known = ItemFeatures.of(("a", "b", "c", "d"), 20, np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    few = replace(info, features=known)
    assert len(known) == 3
    assert value("category_diversity", History.private(np.array([0, 1, 9])), few) == pytest.approx(2 / 3)
    assert method("fcf", criteria="category_diversity").uses_features
    assert not method("fcf", criteria="long_tail").uses_features


def test_criteria_of_updates() -> None:
    kernel = SparseRows(np.arange(2, dtype=np.int32), np.array([[3.0, 0.0], [0.0, 0.0]]))
    bias = SparseRows(np.arange(1, dtype=np.int32), np.array([[4.0]]))
    sent, held = Update({"kernel": kernel, "bias": bias}), samples([1])
    assert value("model_divergence", held, update=sent) == pytest.approx(6**-0.5)  # || (3, 4) || = 5
    assert value("layer_divergence", held, update=sent) == pytest.approx(4**-0.5)  # of the kernel alone
    twice = Update({"first": kernel, "second": SparseRows(kernel.index, kernel.values / 3), "bias": bias})
    assert value("layer_divergence", held, update=twice) == pytest.approx(3**-0.5)  # mean of 3 and 1
    model = {"Q": np.array([[0.0, 15.0]])}
    assert value("update_novelty", held, update=sent, model=model) == pytest.approx(0.25)
    assert value("update_novelty", held, update=Update({}), model=model) == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("label_diversity", "must be measured on samples with labels, but clients hold histories"),
        ("sharpness", "must know the quality of every sample"),
        ("trust", "must find an attribute 'trust' of the client, but it has none; give a column"),
        ("category_diversity", "must know features of items"),
    ],
)
def test_a_criterion_that_does_not_apply_is_refused(name: str, says: str) -> None:
    info = replace(FederationInfo.of(crowd()), features=None)
    with pytest.raises((DataError, SettingError), match=says):
        value(name, History.private(np.array([0, 1])), info)
    with pytest.raises(SettingError, match="must know how often each item occurs"):
        value("long_tail", History.private(np.array([0, 1])), replace(info, counts=None))


def test_a_criterion_of_another_package_is_equal_to_ours(site: Path) -> None:  # noqa: F811
    install(site, "patient", STRANGER, "murmura.criteria", patience="Patience")
    assert value("patience", samples([1])) == 0.75
    assert "patience" in CRITERIA.names()
    with pytest.raises(SettingError, match="no criterion 'patienc': did you mean 'patience'"):
        criterion("patienc")


def test_every_criterion_says_what_it_reveals() -> None:
    for name in CRITERIA:
        made = criterion("attribute:premium" if name == "attribute" else name)
        assert made.reveals
        assert name in (made.name, "profile_size", "attribute")
