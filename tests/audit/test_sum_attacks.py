"""Attacks on sums, in worlds where the answer is known: alone in a cohort, and where nothing is to be read."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from murmura.algorithms.preset import neutral
from murmura.core.contract import (
    Algorithm,
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.population import ObservedSum
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update
from murmura.data.sources.synthetic import synth
from murmura.engine.federated_model import FederatedModel
from murmura.lab.audits.attack import AdversaryKnowledge, ItemClaims, ObservedUpdates
from murmura.lab.audits.attacked_training import AttackedTraining, left_over
from murmura.lab.audits.audit import attack, attacks_on, audit, chosen_attacks
from murmura.lab.audits.judge import judge, judge_traces
from murmura.lab.audits.sums.matched_filters import WhitenedSums
from murmura.lab.audits.sums.sum_attack import (
    ObservedSums,
    RowSpace,
    SumItemAttack,
    SumKnowledge,
    TracingAttack,
    sums_in_rounds,
)
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod, simulated


@settings
class Likes(Algorithm):
    """A stranger's method: everyone sends a one for each of her items, and the server counts."""

    name: ClassVar[str] = "likes"

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        return (Phase("count", MessageSpec((TableSpec("likes", "item", info.items, 1, "float64"),))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        return MessageSpec((TableSpec("n", "item", info.items, 1, "float64"),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        return ServerState({"n": np.zeros((info.items, 1))})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        return {}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        return state, Update({"likes": SparseRows(history.item, np.ones((len(history), 1)))})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        assert isinstance(received, Total)
        rows, n = received.update.tables["likes"], server.model["n"].copy()
        n[rows.index] += rows.values
        return ServerState({"n": n}), {}


DATA = synth(users=40, items=60, interactions=600, seed=3).interactions


def likes(**values: Any) -> FederatedMethod:
    return FederatedMethod(neutral("likes", Likes)(**values), InProcess())


def trained(
    ready: FederatedMethod, data: Interactions = DATA
) -> tuple[ObservedSums, AdversaryKnowledge, FederatedModel]:
    sums: list[ObservedSum] = []
    fitted = ready.fit(data, record_sums=sums.append)
    observed = ObservedSums(tuple(sums))
    return observed, seen(ready, fitted, observed).public, fitted


def seen(ready: FederatedMethod, fitted: FederatedModel, observed: ObservedSums) -> AttackedTraining:
    return AttackedTraining(ready, fitted, ObservedUpdates(()), observed)


def knowledge(name: str, observed: ObservedSums, fitted: FederatedModel) -> SumKnowledge:
    one = attack(name)
    assert isinstance(one, SumItemAttack | TracingAttack)
    return seen(likes(), fitted, observed).knowledge(one, Rng(server_secret(0)).stream(Purpose.OWN))


@pytest.mark.slow
def test_alone_in_a_cohort_everything_is_read() -> None:
    found = audit(likes(clients=1, rounds=300), DATA, 0, ["sum-participation", "sum-matched", "sum-tracing"])
    by_name = {one.attack: one.values for one in found.findings}
    assert by_name["sum-participation"]["pm-AUC"].mean == 1
    assert by_name["sum-matched"]["pm-AUC"].mean == 1
    assert by_name["sum-tracing"]["AUC"].mean > 0.98  # somebody whose list is like hers may stand for her
    assert by_name["popularity"]["pm-AUC"].mean == 0.5


def test_larger_cohorts_give_less_away() -> None:
    leaks = []
    for clients in (1, 4, 16):
        found = audit(likes(clients=clients, rounds=60), DATA, 0, ["sum-participation", "sum-tracing"])
        leaks.append([one.values["AUC"].mean for one in found.findings[:2]])
    assert leaks[0] > leaks[1] > leaks[2]
    assert min(leaks[2]) > 0.5


@pytest.mark.slow
def test_where_sums_say_nothing_nothing_is_found() -> None:
    """Of noise alone each one's pm-AUC is .5 on average and in [0, 1]: of n people within 4 * .5 / sqrt n."""
    data = synth(users=400, items=100, interactions=8000, seed=1).interactions
    observed, public, fitted = trained(likes(clients=20, rounds=50), data)
    random = np.random.default_rng(0)
    every = np.arange(100, dtype=np.int32)
    noise = [Update({"likes": SparseRows(every, random.normal(size=(100, 1)))}) for _ in observed.sums]
    blind = ObservedSums(tuple(replace(one, total=Total(own, 20)) for one, own in zip(observed.sums, noise)))
    for name in ("sum-participation", "sum-matched"):
        known, one = knowledge(name, blind, fitted), attack(name)
        assert isinstance(one, SumItemAttack)
        claims = one.claims(blind, known, Rng(server_secret(0)).stream(Purpose.OWN))
        verdict = judge(claims, fitted.plan.people, public.popularity, public.info.listed)
        assert abs(np.nanmean(verdict.per_client["pm-AUC"]) - 0.5) < 4 * 0.5 / np.sqrt(verdict.victims)
    tracing = attack("sum-tracing")
    assert isinstance(tracing, TracingAttack)
    known = knowledge("sum-tracing", blind, fitted)
    traces = tracing.traces(blind, known, Rng(server_secret(0)).stream(Purpose.OWN))
    verdict = judge_traces(traces, blind.presence(known.victims), known.victims, 400)
    assert abs(np.nanmean(verdict.per_client["AUC"]) - 0.5) < 4 * 0.5 / np.sqrt(verdict.victims)


def test_taste_alone_is_no_leak() -> None:
    """Everyone is in every round: rows say what people like her have, whether she is in them or not."""
    ready = simulated("cfpl", {"clients": "all", "rounds": 5, "factors": 4})
    (found, *_) = audit(ready, DATA, 0, ["sum-matched"]).findings
    assert found.values["pm-AUC"].mean == 0.5


def test_known_items_are_not_asked_about() -> None:
    observed, public, fitted = trained(likes(clients=4, rounds=20))
    known = knowledge("sum-matched", observed, fitted)
    asked, people = known.asked(), fitted.plan.people
    for victim in known.victims.tolist():
        own = people.history(victim, 0).item
        assert set(known.known_items[victim]) < set(own)
        assert len(known.known_items[victim]) == len(own) // 2
        assert not asked[victim, known.known_items[victim]].any()
        assert asked[victim].sum() == public.info.items - len(own) // 2
    assert not asked[np.setdiff1d(np.arange(people.clients), known.victims)].any()


def test_the_judge_asks_only_what_is_asked() -> None:
    _, public, fitted = trained(likes(clients=4, rounds=2))
    people = fitted.plan.people
    scores = np.zeros((people.clients, public.info.items))
    asked = np.ones(scores.shape, np.bool_)
    for client in range(people.clients):  # all wrong about one half, all right about the other
        own = people.history(client, 0).item
        scores[client, own[::2]], scores[client, own[1::2]] = -1, 1
        asked[client, own[::2]] = False
    claims = ItemClaims(scores, scores > 0, asked=asked)
    verdict = judge(claims, people, public.popularity, public.info.listed)
    for measure in ("pm-AUC", "AUC", "TPR@0.1%", "certain recall", "certain precision"):
        assert np.nanmin(verdict.per_client[measure]) == 1


def test_traces_by_hand() -> None:
    traces = np.array([[3.0, 1.0, 0.0], [2.0, 2.0, 5.0]])
    there = np.array([[True, False, False], [False, True, True]])
    verdict = judge_traces(traces, there, np.array([1, 4]), 6)
    # others: 0, 1, 2. Victim 1: 3 is above all. Victim 4: 2 is above two and equals one, 5 is above all.
    assert verdict.victims == 2
    np.testing.assert_allclose(verdict.per_client["AUC"][[1, 4]], [1, (2.5 / 3 + 1) / 2])
    np.testing.assert_allclose(verdict.per_client["TPR@0.1%"][[1, 4]], [1, 0.5])
    assert np.isnan(verdict.per_client["AUC"][[0, 2, 3, 5]]).all()
    assert verdict.roc == ((0.464159, 1.0),)  # one of three may be a false alarm: all are above the other two
    with pytest.raises(DataError, match="traces must be of 1 victims"):
        judge_traces(traces, there, np.array([1]), 6)


@pytest.mark.parametrize("columns", [False, True])
def test_the_filter_is_standard_normal_without_its_signal_and_finds_it(columns: bool) -> None:
    random = np.random.default_rng(4)
    rounds, rows, width = 400, 30, 3
    mix = np.array([[1.0, 0.9, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 2.0]]) if columns else np.eye(3)
    scale = np.linspace(0.5, 20, rows)[:, None]
    tables = (random.normal(size=(rounds, rows, width)) @ mix * scale).astype(np.float32)
    index = np.array([2, 7])
    signal = 6 * scale[index] * random.normal(size=(2, width))
    tables[0, index] += signal
    sums = WhitenedSums.of(tables, columns)
    found = np.array([sums.statistic(round, index, signal) for round in range(1, rounds)])
    assert abs(found.std() - 1) < 4 / np.sqrt(2 * rounds) + 36 / rounds  # the signal itself is in the scale
    assert sums.statistic(0, index, signal) > 7 > np.abs(found).max()
    assert sums.statistic(0, index, 0 * signal) == 0


@pytest.mark.parametrize("model", ["cfpl", "fcf", "fcf-paper"])
def test_the_recorder_sees_the_same_on_both_paths_and_changes_nothing(model: str) -> None:
    given = {"clients": 10, "rounds": 4, "channel": "secure-sum", "minimum_cohort": 1, "precision": "float64"}
    seen: dict[str, list[ObservedSum]] = {"plain": [], "kernel": []}
    models = {}
    for path, sums in seen.items():
        ready = replace(simulated(model, given), runtime=InProcess(path=path))  # type: ignore[arg-type]
        models[path] = ready.fit(DATA, record_sums=sums.append)
        assert models[path].path == path
    silent = simulated(model, given).fit(DATA)
    for name, array in silent.model.items():
        np.testing.assert_array_equal(array, models["kernel"].model[name])
    for one, other in zip(seen["plain"], seen["kernel"], strict=True):
        assert (one.phase.name, one.round) == (other.phase.name, other.round)
        np.testing.assert_array_equal(one.clients, other.clients)
        for table, rows in one.total.update.tables.items():
            np.testing.assert_array_equal(rows.index, other.total.update.tables[table].index)
            np.testing.assert_allclose(rows.values, other.total.update.tables[table].values, atol=1e-9)
    assert len(seen["kernel"]) == 4 + (model == "cfpl")


def test_rounds_of_one_client_are_shown_one_by_one() -> None:
    observed, _, fitted = trained(simulated("sfpl", {"rounds": 7, "factors": 2}))
    assert [len(one.clients) for one in observed.sums] == [1] * 7
    assert fitted.path == "kernel"


def test_a_sum_comes_with_the_model_before_it() -> None:
    observed, _, fitted = trained(likes(clients=5, rounds=6))
    n = np.zeros((DATA.n_items, 1))
    for one in observed.training:
        np.testing.assert_array_equal(one.model["n"], n)
        n += observed.space.dense(one.total.update)
    np.testing.assert_array_equal(fitted.model["n"], n)


def test_rows_of_features_tell_of_their_items() -> None:
    features = ItemFeatures.of(("a", "b", "c"), 4, np.array([0, 0, 1, 3]), np.array([0, 1, 1, 2]))
    info = FederationInfo(4, np.arange(4, dtype=np.int32), 2, 4, features, feature_count=3)
    phase = Phase("train", MessageSpec((TableSpec("features", "feature", 3, 2),)))
    space = RowSpace.of(phase, info)
    assert space is not None
    np.testing.assert_array_equal(space.of_items(np.array([0, 3])), [0, 1, 2])
    np.testing.assert_allclose(space.item_scores(np.array([4.0, 2.0, 7.0])), [3, 2, 0, 7])
    assert RowSpace.of(Phase("train", MessageSpec((TableSpec("W", "dense", 7, 2),))), info) is None


def test_who_adds_up_rows_of_items_can_be_attacked() -> None:
    names = {"cfpl": True, "fcf": True, "fcf-paper": True, "ckgflex": True, "kgflex-hybrid": True}
    names |= {"fedsplit": False, "fed-ease": False, "fedavg": False}
    for name, fits in names.items():
        assert sums_in_rounds(simulated(name).preset.algorithm()) == fits, name
    fpl = simulated("cfpl").preset.algorithm()
    assert {one.reads for one in attacks_on(fpl)} == {"updates"}
    assert {one.reads for one in attacks_on(fpl, sums=True)} == {"sums"}
    assert {one.reads for one in attacks_on(Likes())} == {"sums"}
    with pytest.raises(SettingError, match="is against methods that add rows of items up in rounds"):
        chosen_attacks(simulated("fedsplit"), ["sum-tracing"])


def test_a_training_without_such_sums_is_refused() -> None:
    with pytest.raises(DataError, match="this training has none"):
        _ = ObservedSums(()).space


def test_a_lone_upload_is_what_two_releases_differ_by() -> None:
    """The difference of two trainings, one without her, is what the audit says is left over of her."""
    ready = simulated("fed-item-knn", {"minimum_cohort": 1, "least": 1, "recency": 0})
    observed, _, fitted = trained(ready)
    victim = 7
    without, _, _ = trained(ready, DATA.rows(DATA.user != victim))
    left = left_over(fitted, observed.sums[0], victim, releases=2)
    space = RowSpace.of(left.phase, left.info)
    assert space is not None
    two = [space.dense(one.sums[0].total.update) for one in (observed, without)]
    np.testing.assert_array_equal(space.dense(left.total.update), two[0] - two[1])
    np.testing.assert_array_equal(np.flatnonzero(two[0] - two[1]), fitted.plan.people.history(victim, 0).item)


def test_exact_pairs_give_sybils_and_differences_everything() -> None:
    ready = simulated("fed-item-knn", {"minimum_cohort": 1, "least": 1, "recency": 0})
    found = audit(ready, DATA, 0, ["sybil-residual", "co-difference"])
    for one in found.findings[:2]:
        for measure in ("pm-AUC", "certain recall", "certain precision"):
            assert one.values[measure].mean == 1, (one.attack, measure)


def test_an_item_with_one_owner_is_its_owners_list() -> None:
    """Item 60 is had by client 5 alone: who knows that reads all of hers; with `least` 2 it takes no part."""
    user, item = np.append(DATA.user, 5), np.append(DATA.item, 60)
    data = Interactions.of(user, item)
    ready = simulated("fed-item-knn", {"minimum_cohort": 1, "least": 1, "recency": 0})
    observed, _, fitted = trained(ready, data)
    whole = seen(ready, fitted, observed)
    one = attack("co-rare-rows")
    assert isinstance(one, SumItemAttack)
    stream = Rng(server_secret(0)).stream(Purpose.OWN)
    known = whole.knowledge(one, stream)
    assert known.known_items[5].tolist() == [60]
    claims = one.claims(observed, known, stream)
    own = fitted.plan.people.history(5, 0).item
    np.testing.assert_array_equal(np.flatnonzero(claims.asserted[5]), own[own != 60])
    careful = simulated("fed-item-knn", {"minimum_cohort": 1, "least": 2, "recency": 0})
    observed, _, fitted = trained(careful, data)
    known = seen(careful, fitted, observed).knowledge(one, stream)
    assert all(
        fitted.plan.info.counts is not None and fitted.plan.info.counts[rare[0]] >= 2
        for rare in known.known_items.values()
    )


@pytest.mark.parametrize("least", [2, 5])
def test_the_audit_finds_whom_their_rarest_item_tells_on_and_not_by_definition_nobody(least: int) -> None:
    """As many as the plain way finds: her rarest item has only owners who all have another one too."""
    crowd = synth(users=80, items=40, interactions=700, seed=4).interactions
    user, item = np.append(crowd.user, [0, 1, 2, 3, 4, 5] * 2), np.append(crowd.item, [60] * 6 + [61] * 6)
    data = Interactions.of(user, item)
    ready = simulated("fed-item-knn", {"minimum_cohort": 1, "least": least, "recency": 0})
    (found, *_) = audit(ready, data, 0, ["co-rare-rows"]).findings
    owners = {one: set(data.user[data.item == one].tolist()) for one in range(data.n_items)}
    there = {one: whose for one, whose in owners.items() if len(whose) >= least}
    people = {u: sorted((len(w), one) for one, w in there.items() if u in w) for u in range(data.n_users)}
    known_items = [
        any(there[own[0][1]] <= whose for one, whose in there.items() if one != own[0][1])
        for own in people.values()
        if len(own) > 1
    ]
    assert sum(known_items) >= 6
    assert found.victims == len(known_items)
    assert found.values["exposed people"].mean == pytest.approx(sum(known_items) / len(known_items))
    assert trained(ready, data)[2].cost()["exposed people"] == sum(known_items)


@pytest.mark.slow
def test_noise_hides_a_lone_upload() -> None:
    data = synth(users=300, items=100, interactions=6000, seed=1).interactions
    given = {"minimum_cohort": 1, "epsilon": 1.0, "hopeless": True, "recency": 0}
    found = audit(simulated("fed-ease", given), data, 0, ["sybil-residual", "co-difference"])
    for one in found.findings[:2]:
        assert abs(one.values["pm-AUC"].mean - 0.5) < 0.03 + 4 * 0.5 / np.sqrt(one.victims)


def test_a_model_that_remembers_tells_its_members_and_one_of_noise_does_not() -> None:
    """People who alone have their items are in the pairs, or not; counts drowned in noise tell nobody."""
    given = {"minimum_cohort": 1, "recency": 0, "least": 1}
    alone = Interactions.of(np.repeat(np.arange(40), 5), np.arange(200)[::-1].copy())
    (found, *_) = audit(simulated("fed-item-knn", given), alone, 0, ["model-membership"]).findings
    assert found.of == "member"
    assert found.values["AUC"].mean == 1
    data = synth(users=600, items=40, interactions=7500, seed=6).interactions
    drowned = simulated("fed-mostpop", {"minimum_cohort": 1, "epsilon": 0.1, "hopeless": True})
    (found, *_) = audit(drowned, data, 0, ["model-membership"]).findings
    assert abs(found.values["AUC"].mean - 0.5) < 4 * np.sqrt(2 / 12 / 150)  # Mann and Whitney, 150 against 150
