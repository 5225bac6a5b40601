"""KGFlex: the thesis's worked example, gains against brute force, what leaves, and what is refused."""

from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.algorithms.kgflex.gain import MEASURES, draw_negatives, gain, select
from murmura.algorithms.kgflex.hybrid import KGFlexHybrid, leading_directions
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.algorithms.kgflex.loop_arrays import entropy_table
from murmura.core.consent import Consent, DisclosureMode
from murmura.core.contract import FederationInfo, History, RoundContext, Total
from murmura.core.errors import DataError, DivergenceError, FederationError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.rng import Purpose, Rng, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate, SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan, federation_info
from murmura.engine.visit import check_consent
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

MODES: tuple[DisclosureMode, ...] = ("sticky", "per-item-per-round", "per-triple")

# figure 6.1: five places to visit, and what is known of them
RIJKSMUSEUM, VONDELPARK, CAPITOLINE, NAVONA, CENTRAL_PARK = range(5)
LABELS = (
    "type=Location",
    "location=Amsterdam",
    "type=Urban Park",
    "type=Art Museum",
    "location=Rome",
    "location=New York",
)
LOCATION, AMSTERDAM, PARK, MUSEUM, ROME, YORK = range(6)
PLACES = {
    RIJKSMUSEUM: (LOCATION, AMSTERDAM, MUSEUM),
    VONDELPARK: (LOCATION, AMSTERDAM, PARK),
    CAPITOLINE: (LOCATION, MUSEUM, ROME),
    NAVONA: (LOCATION, ROME),
    CENTRAL_PARK: (LOCATION, PARK, YORK),
}
FEATURES = ItemFeatures.of(
    LABELS,
    5,
    np.repeat(list(PLACES), [len(known) for known in PLACES.values()]).astype(np.int32),
    np.concatenate([np.array(known) for known in PLACES.values()]).astype(np.int32),
)
INFO = FederationInfo(5, np.arange(5, dtype=np.int32), 1, 2, FEATURES, feature_count=len(FEATURES))
PINK = History.private(np.array([RIJKSMUSEUM, VONDELPARK]))


class Pink(KGFlex):
    """KGFlex whose data set D_Pink is the thesis's."""

    def gain_negatives(self, info: FederationInfo, own: Any, stream: Any) -> Any:
        return np.array([NAVONA, CENTRAL_PARK], np.int32)


def pink(**settings: Any) -> KGFlex:
    return Pink(factors=2, precision="float64", **settings)


def test_the_features_of_pink_are_those_of_example_6_1_and_6_2() -> None:
    assert set(FEATURES.of_item(VONDELPARK).tolist()) == {LOCATION, AMSTERDAM, PARK}
    assert FEATURES.of_items(PINK.item).tolist() == [LOCATION, AMSTERDAM, PARK, MUSEUM]


def test_the_gains_of_pink_are_those_of_example_6_3() -> None:
    """1 for Amsterdam, about 0.31 for art museums; a place and an urban park tell nothing."""
    chosen, k = pink().informative(INFO, PINK, Rng(client_secrets(0, 1)[0]).stream(Purpose.GAIN))
    assert chosen.tolist() == [AMSTERDAM, MUSEUM]
    assert k[0] == 1.0
    assert round(float(k[1]), 2) == 0.31


def test_the_score_of_a_museum_is_the_term_of_example_6_4() -> None:
    """Only the art museum counts for the Capitoline Museums: k (p . g + b)."""
    algorithm = pink()
    state = algorithm.client_init(INFO, PINK, Rng(client_secrets(0, 1)[0]))
    model = algorithm.server_init(INFO, Rng(server_secret(0))).model
    scores = algorithm.client_score(RoundContext(INFO, "ready", 1, model), state, PINK)[0]
    museum = 1  # its place among hers
    expected = state["k"][museum] * (state["P"][museum] @ model["G"][MUSEUM] + model["b"][MUSEUM])
    assert scores[CAPITOLINE] == pytest.approx(expected, abs=1e-15)
    assert scores[NAVONA] == 0.0


def entropy(*shares: float) -> float:
    return float(-sum(share * np.log2(share) for share in shares if share > 0))


def plainly(measure: str, p: int, n: int, half: int) -> float:
    """The definitions, one fraction after the other."""
    found, about, size = 0.0, 0.0, 2 * half
    found = 1.0 if measure != "gini" else 0.5
    for a, b in ((p, n), (half - p, half - n)):
        if a + b:
            shares = a / (a + b), b / (a + b)
            part = (a + b) / size
            found -= part * (1 - sum(s * s for s in shares) if measure == "gini" else entropy(*shares))
            about -= part * np.log2(part)
    if measure == "gini":
        return 2 * found
    return found / about if measure == "gain-ratio" and about else 0.0 if measure == "gain-ratio" else found


@pytest.mark.parametrize("measure", MEASURES)
def test_gains_are_their_definitions(measure: Any) -> None:
    half = 6
    for p, n in product(range(half + 1), repeat=2):
        found = gain(measure, np.array([p]), np.array([n]), half, entropy_table(2 * half))[0]
        assert found == pytest.approx(plainly(measure, p, n, half), abs=1e-12), (p, n)


@given(st.integers(1, 40), st.data())
def test_a_gain_lies_between_nothing_and_all(half: int, data: Any) -> None:
    p, n = data.draw(st.integers(0, half)), data.draw(st.integers(0, half))
    for measure in MEASURES:
        found = gain(measure, np.array([p]), np.array([n]), half, entropy_table(2 * half))[0]
        assert -1e-12 <= found <= 1 + 1e-12
        if p == n:
            assert abs(found) < 1e-12


def test_the_most_informative_of_each_distance_are_kept() -> None:
    labels = ("a=1", "a=2", "a=3", "a~b=1", "a~b=2")
    features = ItemFeatures.of(labels, 1, np.zeros(5, np.int32), np.arange(5, dtype=np.int32))
    found = np.array([0.2, 0.5, 0.2, 0.1, 0.3])
    chosen, k = select(features, (2, 1), found, np.arange(5, dtype=np.int32), 0.0)
    assert chosen.tolist() == [1, 0, 4]  # of equal ones the lower
    assert k.tolist() == [0.5, 0.2, 0.3]
    assert select(features, (5, 5), found, np.arange(5, dtype=np.int32), 0.25)[0].tolist() == [1, 4]


def test_negatives_are_never_own_and_follow_public_counts() -> None:
    counts = np.array([900, 90, 10, 0], np.int64)
    info = FederationInfo(4, np.arange(3, dtype=np.int32), 1, 1, counts=counts)
    drawn = draw_negatives(
        info, np.array([1], np.int32), 3000, True, Rng(client_secrets(1, 1)[0]).stream(Purpose.GAIN)
    )
    assert set(drawn.tolist()) == {0, 2}
    share, expected = (drawn == 2).mean(), 10 / 910
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 3000)
    evenly = draw_negatives(
        info, np.array([1], np.int32), 3000, False, Rng(client_secrets(1, 1)[0]).stream(Purpose.GAIN)
    )
    assert abs((evenly == 2).mean() - 0.5) < 4 * np.sqrt(0.25 / 3000)
    assert not len(
        draw_negatives(info, np.arange(3, dtype=np.int32), 5, True, Rng(client_secrets(1, 1)[0]).stream(0))
    )


def step(algorithm: KGFlex, history: History, round: int = 3) -> Update:
    state = algorithm.client_init(INFO, history, Rng(client_secrets(0, 1)[0]))
    model = algorithm.server_init(INFO, Rng(server_secret(0))).model
    context = RoundContext(INFO, "train", round, model)
    return algorithm.client_step(context, state, history, Rng(client_secrets(0, 1)[0], round))[1]


def shared(*consent: float) -> History:
    return replace(PINK, consent=np.array(consent))


def test_what_leaves_is_of_features_that_shared_items_have() -> None:
    """Amsterdam is of both her places, the museum of one: it must not leave when that one is not shared."""
    everything = {
        f for r in range(8) for f in step(pink(unshared="keep"), shared(1, 1), r).tables["features"].index
    }
    assert everything == {AMSTERDAM, MUSEUM}
    for r in range(8):
        assert not len(step(pink(unshared="keep"), shared(0, 0), r).tables["features"])
        assert MUSEUM not in step(pink(unshared="keep"), shared(0, 1), r).tables["features"].index


def test_an_update_with_a_feature_of_no_shared_item_is_refused_before_it_leaves() -> None:
    (phase,) = pink().phases(INFO)
    leaking = Update({"features": SparseRows(np.array([MUSEUM], np.int32), np.ones((1, 3)))})
    check_consent(phase, leaking, shared(1, 0), FEATURES)
    with pytest.raises(FederationError, match="features of shared items alone"):
        check_consent(phase, leaking, shared(0, 1), FEATURES)


def test_pairs_that_share_no_feature_are_dropped_or_kept() -> None:
    """No other place has a feature of hers when she has but one museum: the authors drop every pair."""
    one = History(np.array([RIJKSMUSEUM], np.int32), np.ones(1), np.ones(1))

    class Museum(KGFlex):
        def informative(self, info: FederationInfo, history: History, stream: Any) -> Any:
            return np.array([AMSTERDAM], np.int32), np.ones(1)

    away = replace(INFO, listed=np.array([RIJKSMUSEUM, NAVONA], np.int32))
    for rule, sent in (("drop", 0), ("keep", 1)):
        algorithm = Museum(factors=2, precision="float64", unshared=rule)  # type: ignore[arg-type]
        state = algorithm.client_init(away, one, Rng(client_secrets(0, 1)[0]))
        model = algorithm.server_init(away, Rng(server_secret(0))).model
        context = RoundContext(away, "train", 1, model)
        update = algorithm.client_step(context, state, one, Rng(client_secrets(0, 1)[0], 1))[1]
        assert len(update.tables["features"]) == sent


@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_a_step_climbs_the_pairwise_likelihood(reg: float) -> None:
    """The gradient that leaves is that of sum ln sigma(x_ui - x_uj) - reg |theta|^2 / 2, by differences.

    The theta of a pair are those of either item's features; so is the step that p_f takes.
    """
    algorithm = pink(unshared="keep", reg=reg)
    state = algorithm.client_init(INFO, shared(1, 1), Rng(client_secrets(0, 1)[0]))
    model = dict(algorithm.server_init(INFO, Rng(server_secret(0))).model)
    rng = Rng(client_secrets(0, 1)[0], 4)
    after, sent = algorithm.client_step(RoundContext(INFO, "train", 4, model), state, shared(1, 1), rng)
    negatives = algorithm.client_negatives(INFO, PINK, rng)
    from murmura.algorithms.fpl.fpl import draw_triples

    pairs = draw_triples(INFO.listed, PINK.item, 2, rng.stream(Purpose.TRIPLES))
    assert pairs[:, 1].tolist() == negatives.tolist()

    def likelihood() -> float:
        scores = algorithm.client_score(RoundContext(INFO, "train", 4, model), state, PINK)[0]
        fit = float(sum(-np.log1p(np.exp(scores[j] - scores[PINK.item[row]])) for row, j in pairs))
        return fit - reg / 2 * sum(squares(item) for row, j in pairs for item in (PINK.item[row], j))

    def squares(item: int) -> float:
        """Of all parameters of an item's features that are hers."""
        own = [(at, f) for at, f in enumerate(state["feature"].tolist()) if f in FEATURES.of_item(item)]
        return float(
            sum(
                (state["P"][at] ** 2).sum() + (model["G"][f] ** 2).sum() + model["b"][f].sum() ** 2
                for at, f in own
            )
        )

    def slope_of(table: Any, name: str, at: tuple[int, ...]) -> float:
        kept, ends = table[name], []
        for sign in (1, -1):
            table[name] = kept.copy()
            table[name][at] += sign * 1e-6
            ends.append(likelihood())
        table[name] = kept
        return (ends[0] - ends[1]) / 2e-6

    moved = (after["P"] - state["P"]) / algorithm.alpha
    for at in np.ndindex(2, 2):
        assert moved[at] == pytest.approx(slope_of(state, "P", at), abs=1e-7)
    for row, f in enumerate(sent.tables["features"].index.tolist()):
        for d in range(3):
            slope = slope_of(model, "G", (f, d)) if d < 2 else slope_of(model, "b", (f,))
            assert sent.tables["features"].values[row, d] == pytest.approx(slope, abs=1e-7)


def test_a_rate_that_diverges_is_stopped_in_one_sentence() -> None:
    plan = Plan(KGFlex(alpha=500.0, factors=3), crowd(60, 20), Schedule(clients="all", rounds=60))
    with pytest.raises(DivergenceError, match=r"^kgflex.alpha must be small enough .* lower alpha\.$"):
        fit(plan, runtime=InProcess())


def test_scaled_and_clipped_updates_do_not_diverge() -> None:
    for settings in ({"visit": "mean"}, {"clip_update": 0.1}):
        algorithm = KGFlex(alpha=0.5, factors=3, **settings)
        fitted = fit(Plan(algorithm, crowd(60, 20), Schedule(clients="all", rounds=60)), runtime=InProcess())
        assert np.isfinite(fitted.model["G"]).all()


def test_data_without_features_is_refused_in_one_sentence() -> None:
    with pytest.raises(DataError, match="kgflex learns from features of items"):
        Plan(KGFlex(), replace(crowd(), features=None)).info  # noqa: B018


def test_a_person_whose_items_have_no_features_sends_nothing_and_gets_a_list() -> None:
    data = crowd()
    nothing = ItemFeatures.of(("a=1",), data.n_items, np.array([0, 1], np.int32), np.zeros(2, np.int32))
    fitted = fit(
        Plan(KGFlex(factors=2), replace(data, features=nothing), Schedule(rounds=3)), runtime=InProcess()
    )
    lists = fitted.recommend(np.arange(data.n_users, dtype=np.int32), 3)
    assert (lists.item[3:] >= 0).all()


def test_pi_zero_lets_nothing_leave() -> None:
    fitted = fit(
        Plan(KGFlex(factors=2), crowd(), Schedule(rounds=3), consent=Consent(pi=0.0)), runtime=InProcess()
    )
    assert fitted.ledger.totals["rows_up"] == 0
    assert not fitted.states["sent"].any()


def test_with_its_own_settings_at_their_defaults_the_server_adds_alpha_times_the_sum() -> None:
    """As published; that the gradients are those of the likelihood is tested above."""
    algorithm = KGFlex(factors=3, alpha=0.3, precision="float64")
    info = Plan(algorithm, crowd(), Schedule(rounds=1)).info
    server = algorithm.server_init(info, Rng(server_secret(0)))
    sent = SparseRows(np.array([1, 2], np.int32), np.arange(8.0).reshape(2, 4))
    after, _ = algorithm.server_step("train", server, Total(Update({"features": sent}), 5))
    assert not after.private
    for f, gradient in zip((1, 2), sent.values):
        assert after.model["G"][f].tolist() == (server.model["G"][f] + 0.3 * gradient[:3]).tolist()
        assert after.model["b"][f] == server.model["b"][f] + 0.3 * gradient[3]
    assert (after.model["G"][3:] == server.model["G"][3:]).all()


@pytest.mark.parametrize("path", ["plain", "kernel"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [KGFlex, KGFlexHybrid])
def test_where_every_item_has_a_feature_of_its_own_no_more_features_leave_than_items(
    make: type[KGFlex], mode: DisclosureMode, path: Literal["plain", "kernel"]
) -> None:
    """Such a feature names its item: one that left without its item would tell of an item not shared."""
    data = crowd(30, 20)
    number = np.arange(data.n_items, dtype=np.int32)
    own = ItemFeatures.of(tuple(f"id={n}" for n in number), data.n_items, number, number)
    plan = Plan(
        make(factors=2, unshared="keep"),
        replace(data, features=own),
        Schedule(clients="all", rounds=2),
        consent=Consent(pi=0.3, disclosure=mode),
    )
    fitted = fit(plan, runtime=InProcess(path=path))
    items = np.nan_to_num(fitted.ledger.disclosed) * np.bincount(data.user, minlength=data.n_users)
    left = fitted.states["sent"].sum(axis=1)
    assert left.sum() > 0
    assert (left <= np.rint(items)).all()


@pytest.mark.parametrize("mode", MODES)
def test_the_hybrid_of_someone_who_shares_nothing_sends_no_feature_and_no_positive(
    mode: DisclosureMode,
) -> None:
    """Its dense rows leave all the same, each as that of an item never met."""
    seen: list[SentUpdate] = []
    plan = Plan(
        KGFlexHybrid(factors=2, item_factors=3, precision="float64"),
        crowd(),
        Schedule(clients="all", rounds=2),
        consent=Consent(pi=0.0, disclosure=mode),
    )
    fitted = fit(plan, runtime=InProcess(path="plain"), record=seen.append)
    assert len(seen) == 2 * plan.data.n_users
    for one in seen:
        assert not len(one.update.tables["features"])
        against = one.model["Q"][plan.info.listed] * one.update.tables["items"].values
        assert (against.sum(axis=1) <= 1e-12).all()  # -(p . q_i)^2: every item is pulled towards 0
    assert np.nansum(fitted.ledger.disclosed) == 0.0


@pytest.mark.parametrize("path", ["plain", "kernel"])
def test_nobody_may_have_any_feature(path: Literal["plain", "kernel"]) -> None:
    """As figure 6.3 has it: nothing leaves, and everyone has a list."""
    algorithm = KGFlex(factors=2, first_limit=0, second_limit=0)
    fitted = fit(Plan(algorithm, crowd(), Schedule(rounds=3)), runtime=InProcess(path=path))
    assert fitted.states["P"].shape == (crowd().n_users, 0, 2)
    assert fitted.ledger.totals["rows_up"] == 0
    assert (fitted.recommend(np.arange(crowd().n_users, dtype=np.int32), 3).item[3:] >= 0).all()


def test_the_hybrid_is_its_two_parts_trained_apart() -> None:
    """Its features are those of KGFlex alone, its vectors those of FCF alone, to the bit."""
    data, schedule = crowd(), Schedule(clients=5, rounds=6)
    algorithm = KGFlexHybrid(factors=3, item_factors=4, precision="float64")
    both = fit(Plan(algorithm, data, schedule, seed=2), runtime=InProcess(path="plain"))
    alone = fit(
        Plan(KGFlex(factors=3, precision="float64"), data, schedule, seed=2), runtime=InProcess(path="plain")
    )
    vectors = fit(Plan(algorithm.vectors(), data, schedule, seed=2), runtime=InProcess(path="plain"))
    assert both.model["G"].tobytes() == alone.model["G"].tobytes()
    assert both.model["Q"].tobytes() == vectors.model["Q"].tobytes()


def test_items_of_which_nothing_is_known_have_no_prior() -> None:
    nobody = np.empty(0, np.int32)
    assert not leading_directions(ItemFeatures.of((), 5, nobody, nobody), 3).any()


def test_a_discount_needs_public_counts() -> None:
    algorithm = KGFlexHybrid(discount=0.1)
    info = replace(federation_info(algorithm, crowd()), counts=None)
    with pytest.raises(SettingError, match="discount needs public counts"):
        algorithm.server_init(info, Rng(server_secret(0)))
