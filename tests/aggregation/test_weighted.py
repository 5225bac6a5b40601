"""Weighted methods: one wrapper for all, two ways to send, equal weights the method itself."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from murmura.aggregation.weighted import Weighted, weighted
from murmura.aggregation.weighting import Weighting, shares, total_share
from murmura.algorithms import algorithm
from murmura.core.errors import SettingError
from murmura.core.settings import as_dict, from_dict
from murmura.testing import crowd
from tests.aggregation.worlds import gap, method, trained

METHODS = ("sfpl+", "cfpl", "fcf", "fcf-paper", "kgflex")
SETS = (("dataset_size",), ("dataset_size", "long_tail"), ("model_divergence", "category_diversity"))
ROUNDING = 1e-9


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("criteria", SETS)
def test_values_and_sums_give_the_same_model(name: str, criteria: tuple[str, ...]) -> None:
    sums, values = (trained(method(name, criteria=criteria, criteria_sent=way)) for way in ("sums", "values"))
    assert gap(sums, values) <= ROUNDING
    plain = trained(method(name))
    assert gap(sums, plain) > 1e-5  # the weights do something


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("way", ["sums", "values"])
def test_equal_weights_give_the_method_itself(name: str, way: str) -> None:
    data = crowd()
    alike = replace(data, attributes={"trust": np.full(data.n_users, 0.3), "capability": np.ones(data.n_users)})
    plain = trained(method(name), alike)
    one = trained(method(name, criteria="trust", criteria_sent=way), alike)
    assert gap(one, plain) <= ROUNDING
    two = trained(method(name, criteria="capability,trust", criteria_sent=way), alike)
    assert gap(two, plain) <= ROUNDING
    assert one.cost()["effective clients"] == pytest.approx(1)
    here = trained(algorithm(name)(precision="float32").algorithm(), alike)
    single = algorithm(name)(criteria="trust", criteria_sent=way, precision="float32")
    there = trained(single.algorithm(), alike)  # its digits hide what shares round
    assert all(here.model[table].tobytes() == there.model[table].tobytes() for table in here.model)


@pytest.mark.parametrize("sizes", [[1, 2, 3, 10], [7, 7, 7], [600] * 9 + [599], [1, 1000]])
def test_dataset_size_alone_is_federated_averaging_to_the_bit(sizes: list[int]) -> None:
    n, weighting = np.array(sizes), Weighting(criteria=("dataset_size",), weight_cap=1e9)
    scale = 1 << int(n.sum() - 1).bit_length()
    c = n / scale
    x = c / c.sum()
    assert (x == n / n.sum()).all()
    g = shares(weighting.score_function(), c[:, None], c[:, None].sum(axis=0), len(n), weighting.weight_cap)
    np.testing.assert_array_max_ulp(g / total_share(float(g.sum()), len(n)), n / n.sum(), maxulp=2)


def test_a_weighted_method_is_told_whole_by_its_settings() -> None:
    made = method("cfpl", criteria="dataset_size, long_tail", score="mean", importance="2,1")
    assert isinstance(made, Weighted)
    assert made.weighting == Weighting(criteria=("dataset_size", "long_tail"), score="mean", importance=(2, 1))
    assert made.inner == method("cfpl")
    assert made.name == "fpl"
    assert from_dict(type(made), as_dict(made)) == made == pickle.loads(pickle.dumps(made))
    assert algorithm("cfpl").rebuilt(as_dict(made)) == made
    assert made == weighted(made.inner, made.weighting) != weighted(made.inner, Weighting(criteria=("trust",)))
    assert not isinstance(method("cfpl"), Weighted)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"criteria": "dataset_siz"}, "no criterion 'dataset_siz': did you mean 'dataset_size'"),
        ({"criteria": ["trust", "trust"]}, "named once each, but 'trust' occurs again"),
        ({"criteria": "attribute"}, "must be followed by a name, as in attribute:premium"),
        ({"criteria": "trust:high"}, "must stand alone, without a colon, but it is 'trust:high'"),
        ({"criteria": "trust", "score": "choquet", "capacity": {"tru": 1}}, "keys"),
        ({"criteria": "trust", "score": "mean", "importance": [1, 2]}, "importance must have one number"),
        ({"criteria": "trust", "weight_cap": 0.5}, "greater than or equal to 1"),
    ],
)
def test_a_weighting_that_cannot_be_is_refused(values: dict[str, object], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        method("fcf", **values)
