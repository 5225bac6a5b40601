"""Weighted methods: one wrapper for all, two ways to send, equal weights the method itself."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.aggregation import CRITERIA, criterion
from murmura.aggregation.criteria import ClientView, Criterion
from murmura.aggregation.messages import Standing, row
from murmura.aggregation.weighted import Weighted, weighted
from murmura.aggregation.weighting import Weighting, shares, total_share
from murmura.algorithms import algorithm
from murmura.core.consent import Consent
from murmura.core.contract import History, RoundContext
from murmura.core.errors import FederationError, SettingError
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict, from_dict
from murmura.core.update import SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.engine.plan import Plan
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
    assert one.cost()["effective clients"] == pytest.approx(5)
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


def test_the_ledger_says_what_each_criterion_tells_about_a_person(tmp_path: Path) -> None:
    for way, whom in (
        ("sums", "only sums over a round are read"),
        ("values", "the server reads it of each client"),
    ):
        fitted = trained(method("fcf", criteria="dataset_size,long_tail", criteria_sent=way))
        told = fitted.records()["ledger.json"]["reveals"]
        assert told["dataset_size"] == f"how many rows or samples the client holds; {whom}"
        assert set(told) == {"dataset_size", "long_tail"}
        fitted.save(tmp_path / way)
        again = FederatedModel.load(tmp_path / way, fitted.train, fitted.plan.algorithm)
        assert again.records()["ledger.json"] == fitted.records()["ledger.json"]
        assert again.cost() == fitted.cost()
    assert "reveals" not in trained(method("fcf")).records()["ledger.json"]


def test_a_row_its_owner_shares_with_nobody_counts_in_no_criterion() -> None:
    made, data = method("fcf", criteria="dataset_size"), crowd()
    assert isinstance(made, Weighted)
    plan = Plan(made, data, consent=Consent(pi=0.5), seed=5)
    context = RoundContext(plan.info, "criteria", 0, {})
    scale = float(made.client_criteria(context, History.private(np.arange(1)), None)[0])
    assert scale == 0
    for client in range(plan.info.clients):
        history = plan.people.history(client, 0)
        shared, all_rows = (history.consent > 0).sum(), len(history)
        value = made.client_criteria(context, history, None)[0]
        whole = made.client_criteria(context, replace(history, consent=np.ones(all_rows)), None)[0]
        assert value * all_rows == pytest.approx(whole * shared)


class Twisted(Criterion):
    """A stranger's criterion that is wrong for clients with three rows."""

    name = "twisted"
    reveals = "nothing"

    def __init__(self, wrong: float) -> None:
        self.wrong = wrong

    def measure(self, view: ClientView) -> float:
        return self.wrong if len(view.history) == 1 else 0.5


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), float("inf")])
def test_a_value_that_is_none_is_refused_where_it_is_measured(wrong: float) -> None:
    with CRITERIA.also("twisted", Twisted(wrong)):
        sums, values = (method("fcf", criteria="twisted", criteria_sent=way) for way in ("sums", "values"))
        everyone = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
        with pytest.raises(
            FederationError, match=r"client 2 failed.*'twisted' must be a number from 0 to 1, but"
        ):
            trained(sums, schedule=everyone)
        fitted = trained(values, schedule=everyone)  # the others go on
        assert list(fitted.refused) == [2]
        assert "'twisted' must be a number from 0 to 1" in fitted.refused[2]


@pytest.mark.parametrize("value", [-0.25, -1.0])
def test_the_server_refuses_a_value_that_a_liar_did_not_check(value: float) -> None:
    made, data = method("fcf", criteria="dataset_size", criteria_sent="values"), crowd()
    plan = Plan(made, data, seed=5)
    (phase,) = made.phases(plan.info)
    sent = Update({"items": SparseRows.empty(20, np.float64), "criteria": row(np.array([value]))})
    assert made.server_refuses(phase, sent) == (
        f"the criterion 'dataset_size' must be a number from 0 to 1, but is {value:g}; "
        "mend or scale its measure."
    )
    honest = Update({**sent.tables, "criteria": row(np.array([0.25]))})
    assert made.server_refuses(phase, honest) is None
    with pytest.raises(FederationError, match=r"must be at most 1, but one is 1\.5"):
        phase.sends.check(Update({**sent.tables, "criteria": row(np.array([1.5]))}))


def test_a_criterion_that_is_0_for_everyone_says_nothing() -> None:
    data = crowd()
    none = replace(data, attributes={"trust": np.zeros(data.n_users)})
    for way in ("sums", "values"):
        alone = trained(method("fcf", criteria="trust", criteria_sent=way), none)
        assert gap(alone, trained(method("fcf"))) <= ROUNDING
        first = trained(method("fcf", criteria="trust,dataset_size", criteria_sent=way, weight_cap=1e9), none)
        plain = trained(method("fcf"))
        assert 1e-6 < gap(first, plain) < np.inf  # what follows it counts


def test_a_round_in_which_nobody_has_a_score_adds_nothing() -> None:
    data = crowd()
    apart = np.arange(data.n_users) % 2
    none = replace(data, attributes={"trust": apart.astype(float), "capability": (1 - apart).astype(float)})
    worst = {"criteria": "trust,capability", "score": "owa", "importance": (0, 1)}
    sums, values = (trained(method("sfpl+", criteria_sent=way, **worst), none) for way in ("sums", "values"))
    assert gap(sums, values) == 0
    first = trained(method("sfpl+"), schedule=Schedule(clients=5, rounds=1))
    start = first.plan.algorithm.server_init(first.plan.info, Rng(first.plan.server_secret)).model
    assert all((start[name] == sums.model[name]).all() for name in start)


def lying(n: int, cap: float) -> tuple[FederatedModel, FederatedModel]:
    """A federation of n honest clients of a few rows, and the same with one that claims all there can be."""
    data = crowd(n, 30)

    class Claimed(Criterion):
        name = "claimed"
        reveals = "nothing"

        def measure(self, view: ClientView) -> float:
            lies = bool(view.history.attributes["lies"])
            return 1.0 if lies else criterion("dataset_size").measure(view)

    liar = np.zeros(n)
    with CRITERIA.also("claimed", Claimed()):
        made = method("sfpl+", criteria="claimed", criteria_sent="values", weight_cap=cap)
        everyone = Schedule(clients="all", rounds_per_epoch=1, epochs=2)
        honest = trained(made, replace(data, attributes={"lies": liar.copy()}), everyone)
        liar[2] = 1.0
        return honest, trained(made, replace(data, attributes={"lies": liar}), everyone)


@pytest.mark.slow
def test_a_client_that_lies_about_its_size_is_capped_and_the_report_shows_it() -> None:
    n, cap = 200, 4.0
    honest, lied = lying(n, cap)
    assert honest.cost()["capped"] == 0
    assert lied.cost()["capped"] == pytest.approx(1 / n)
    free = lying(n, 1e9)[1]
    # it may claim 32 times the mean size at most, and is then cut down to 4 shares
    assert free.cost()["largest weight"] > 10
    assert lied.cost()["largest weight"] <= 1.25 * cap


@pytest.mark.parametrize("criteria", ["dataset_size", "dataset_size,long_tail"])
def test_what_a_dropout_between_the_two_exchanges_does(criteria: str) -> None:
    """One criterion stays exact: the weights of those who came, renormalised. Several differ a little."""
    made = method("sfpl+", criteria=criteria)
    assert isinstance(made, Weighted)
    values = np.array([[0.5, 0.2], [0.25, 0.6], [0.125, 0.1], [0.75, 0.9], [0.1, 0.4]])[
        :, : criteria.count(",") + 1
    ]
    stayed = values[:4]
    late = made.client_shares(stayed, Standing(values.sum(axis=0), 5))
    fresh = made.client_shares(stayed, Standing(stayed.sum(axis=0), 4))
    off = np.abs(late / late.sum() - fresh / fresh.sum()).max()
    assert off <= (1e-15 if criteria == "dataset_size" else 0.03)


def test_how_far_weights_are_off_when_two_of_ten_are_gone() -> None:
    """Three criteria at random, prioritised: the weight that is most off, over many rounds."""
    random, score = np.random.default_rng(0), Weighting(criteria=("trust",)).score_function()
    off = []
    for _ in range(2000):
        values = random.random((10, 3))
        came = values[:8]
        late, fresh = (shares(score, came, told.sum(axis=0), len(told), cap=1e9) for told in (values, came))
        off.append(np.abs(late / late.sum() / (fresh / fresh.sum()) - 1).max())
    assert 0.02 < np.median(off) < 0.025
    assert 0.1 < max(off) < 0.125
