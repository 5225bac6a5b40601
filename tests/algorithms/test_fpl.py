"""FPL against a sequential BPR, its own equations in plain sums, and its readings."""

from typing import Any

import numpy as np
import pytest

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.algorithms.fpl.fpl import FPL, draw_triples
from murmura.core.arrays import Floats
from murmura.core.consent import Consent
from murmura.core.contract import FederationInfo, History, RoundContext, ServerState, Total
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict, from_dict
from murmura.core.update import SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd
from murmura.testing.checks import assert_close

SEED = 4


def train(method: FPL, schedule: Schedule, path: str = "plain", pi: float = 1.0) -> FederatedModel:
    runtime = InProcess(path=path)  # type: ignore[arg-type]
    return fit(Plan(method, crowd(), schedule, consent=Consent(pi=pi), seed=SEED), runtime=runtime)


def sequential_bpr(data: Interactions, steps: int, factors: int) -> tuple[Floats, ...]:
    """Rendle et al.: BPR (UAI 2009), one triple after the other, with alpha = 0.05 and the papers' lambdas."""
    info, alpha = FederationInfo.of(data), 0.05
    keys, server = client_secrets(SEED, data.n_users), server_secret(SEED)
    start = 0.1 * Rng(server).stream(Purpose.INIT).normals(info.items * (factors + 1))
    Q, b = start.reshape(-1, factors + 1)[:, :factors].copy(), start.reshape(-1, factors + 1)[:, factors].copy()
    P = np.array([0.1 * Rng(key).stream(Purpose.INIT).normals(factors) for key in keys])
    for t in range(steps):
        u = int(Rng(server, t).stream(Purpose.SELECT).choose(data.n_users, 1)[0])
        own = data.by_user.of(u)
        for k, j in draw_triples(info.listed, own, 1, Rng(keys[u], t).stream(Purpose.TRIPLES)):
            i, p, qi, qj = own[k], P[u].copy(), Q[own[k]].copy(), Q[j].copy()
            g = 1 / (1 + np.exp(b[i] + p @ qi - b[j] - p @ qj))
            P[u] += alpha * (g * (qi - qj) - alpha / 20 * p)
            Q[i] += alpha * (g * p - alpha / 20 * qi)
            Q[j] += alpha * (-g * p - alpha / 200 * qj)
            b[i] += alpha * g
            b[j] += alpha * -g
    return P, Q, b


def test_with_nothing_of_ours_switched_on_the_server_adds_alpha_times_the_sum() -> None:
    method, info, draw = FPL(factors=4), FederationInfo.of(crowd()), np.random.default_rng(0)
    server, rows = (
        method.server_init(info, Rng(server_secret(SEED))),
        np.arange(0, info.items, 2, dtype=np.int32),
    )
    sent = draw.normal(size=(len(rows), 5)).astype(np.float32)
    stepped, _ = method.server_step("train", server, Total(Update({"items": SparseRows(rows, sent)}), 3))
    for name, gradient in (("Q", sent[:, :-1]), ("b", sent[:, -1])):
        expected = server.model[name].copy()
        expected[rows] += np.float32(method.alpha) * gradient
        assert stepped.model[name].tobytes() == expected.tobytes()
    assert not server.private
    assert not stepped.private


def test_one_client_one_triple_and_full_sharing_is_exactly_sequential_bpr() -> None:
    steps = 600
    P, Q, b = sequential_bpr(crowd(), steps, 5)
    schedule = Schedule(clients=1, rounds_per_epoch=steps, epochs=1)
    plain = train(FPL(factors=5, precision="float64"), schedule)
    for name, expected in (("Q", Q), ("b", b)):
        assert plain.model[name].tobytes() == expected.tobytes()
    assert plain.states["p"].tobytes() == P.tobytes()
    compiled = train(FPL(factors=5, precision="float64"), schedule, "kernel")
    for name, expected in (("Q", Q), ("b", b)):
        assert_close(compiled.model[name], expected, 64 * steps * 2.0**-52, name)


def test_an_update_is_the_sum_of_the_gradients_of_its_triples() -> None:
    """Version B at T = 9, written out: frozen items, p_u after every triple, a coin each, sums per item."""
    data, T, alpha, pi = crowd(), 9, 0.05, 0.6
    info, method = FederationInfo.of(data), FPL(factors=3, triples=T, precision="float64")
    rng, own = Rng(client_secrets(0, 12)[5], 17), data.by_user.of(5)
    history = History(own, np.ones(len(own)), np.full(len(own), pi))
    model = method.server_init(info, Rng(server_secret(0))).model
    state = method.client_init(info, history, rng)
    after, update = method.client_step(RoundContext(info, "train", 17, model), state, history, rng)
    Q, b, p = model["Q"], model["b"], state["p"].copy()
    words = rng.stream(Purpose.COINS).words(T)
    expected: dict[int, Any] = {}
    for t, (k, j) in enumerate(draw_triples(info.listed, own, T, rng.stream(Purpose.TRIPLES))):
        i, old = own[k], p.copy()
        g = 1 / (1 + np.exp(b[i] + old @ Q[i] - b[j] - old @ Q[j]))
        if words[t] / 2**32 < pi:
            expected[i] = expected.get(i, 0) + np.append(g * old - alpha / 20 * Q[i], g)
        expected[j] = expected.get(j, 0) + np.append(-g * old - alpha / 200 * Q[j], -g)
        p = old + alpha * (g * (Q[i] - Q[j]) - alpha / 20 * old)
    sent = update.tables["items"]
    assert sent.index.tolist() == sorted(expected)
    np.testing.assert_allclose(sent.values, [expected[i] for i in sorted(expected)], rtol=1e-12)
    np.testing.assert_allclose(after["p"], p, rtol=1e-12)


def test_pi_changes_what_is_sent_and_not_what_is_drawn() -> None:
    method, schedule = FPL(triples=5, precision="float64"), Schedule(clients="all", rounds=1)
    fitted = {pi: train(method, schedule, pi=pi) for pi in (0.0, 0.5, 1.0)}
    for pi in (0.0, 0.5):
        assert (fitted[pi].states["p"] == fitted[1.0].states["p"]).all()
    rows = [fitted[pi].ledger.totals["rows_up"] for pi in (0.0, 0.5, 1.0)]
    assert rows[0] < rows[1] < rows[2]
    assert np.nanmax(fitted[0.0].ledger.disclosed) == 0.0


def test_the_readings_differ_where_there_is_more_than_one_triple() -> None:
    schedule = Schedule(clients="all", rounds=2)
    for T, same in ((1, True), (6, False)):
        B = train(FPL(triples=T, precision="float64"), schedule)
        equations = train(FPL(triples=T, version="equations", precision="float64"), schedule)
        assert np.allclose(B.states["p"], equations.states["p"], rtol=0, atol=1e-15) == same


def test_the_number_of_triples_of_a_visit() -> None:
    info = FederationInfo(items=9, listed=np.arange(9, dtype=np.int32), clients=4, interactions=27)
    rows, rng = 11, Rng(client_secrets(0, 1)[0], 5)
    expected: dict[int | str, int] = {3: 3, "mean": 6, "own": 11}
    for triples, T in expected.items():
        assert FPL(triples=triples).visit_triples(info, rows, rng) == T  # type: ignore[arg-type]


def test_triples_in_proportion_to_interactions_have_the_mean_of_a_uniform_draw_of_interactions() -> None:
    info = FederationInfo(items=9, listed=np.arange(9, dtype=np.int32), clients=4, interactions=27)
    secret, n, method = client_secrets(0, 1)[0], 4000, FPL(triples=2, sampling="interactions")
    for rows in (1, 5, 20):
        made = np.array([method.visit_triples(info, rows, Rng(secret, t)) for t in range(n)])
        mean = 2 * rows * 4 / 27
        assert set(made.tolist()) == {int(mean), int(mean) + 1}
        assert abs(made.mean() - mean) < 4 * 0.5 / np.sqrt(n)
    assert "interactions" in method.reveals()["rows of an update"]
    assert not FPL(triples=2).reveals()


def test_people_choose_their_number_of_triples_once() -> None:
    info = FederationInfo(items=9, listed=np.arange(9, dtype=np.int32), clients=4, interactions=27)
    n, method = 2000, FPL(triples={1: 3, 8: 1})
    secrets = client_secrets(3, n)
    chosen = [method.visit_triples(info, 5, Rng(secret, 2)) for secret in secrets]
    assert chosen == [method.visit_triples(info, 5, Rng(secret, 9)) for secret in secrets]
    assert set(chosen) == {1, 8}
    assert abs(chosen.count(1) / n - 0.75) < 4 * np.sqrt(0.75 * 0.25 / n)
    assert method.visit_examples(info) == 2.75


def test_own_triples_are_not_weighed_by_interactions_twice() -> None:
    with pytest.raises(SettingError, match="weighs by interactions already"):
        FPL(triples="own", sampling="interactions")


def test_the_learning_rate_falls_with_the_rounds_on_clients_and_on_the_server() -> None:
    info = FederationInfo(items=3, listed=np.arange(3, dtype=np.int32), clients=2, interactions=2)
    constant, falling = (FPL(factors=2, precision="float64", rate_decay=decay) for decay in (0.0, 0.5))
    history = History(np.array([0], np.int32), np.ones(1), np.ones(1))
    moved = []
    for method in (constant, falling):
        server = method.server_init(info, Rng(client_secrets(0, 1)[0]))
        server = ServerState(server.model, method.counted(server.private, 6))  # 1 + 0.5 * 6 = 4
        context, rng = RoundContext(info, "train", 6, server.model), Rng(client_secrets(1, 1)[0], 6)
        p = method.client_init(info, history, rng)["p"]
        state, update = method.client_step(context, {"p": p}, history, rng)
        after, _ = method.server_step("train", server, Total(update, 1))
        moved.append((state["p"] - p, after.model["Q"] - server.model["Q"], update.tables["items"].values))
    for fast, slow in zip(moved[0][:2], moved[1][:2]):
        assert np.abs(fast).max() > 0
        assert np.allclose(fast, 4 * slow, rtol=1e-12, atol=1e-15)
    assert (moved[0][2] == moved[1][2]).all()  # what is sent is the gradient, whatever the rate


def test_the_prior_counts_shared_positives_and_nothing_else() -> None:
    data = crowd()
    schedule = Schedule(clients="all", rounds=1)
    for path in ("plain", "kernel"):
        for pi in (0.0, 0.5, 1.0):
            fitted = fit(
                Plan(FPL(prior=True, precision="float64"), data, schedule, seed=SEED, consent=Consent(pi=pi)),
                runtime=InProcess(path=path),
            )
            people = fitted.plan.people
            counts = np.bincount(people.item[people.consent == 1.0], minlength=data.n_items)
            logs = np.log(counts + 5.0)
            expected = 0.5 * (logs - logs.mean())
            first = fitted.ledger.lines[0]
            assert first.rows_up == counts.sum()
            # one round of alpha 0.05 moves a bias by at most 0.05 per triple
            assert np.abs(fitted.model["b"] - expected).max() <= 0.05 * data.n_users


def test_a_guest_is_ranked_like_a_client_with_the_same_items() -> None:
    data = crowd(200, 60, seed=3)
    fitted = fit(
        Plan(FPL(triples="own", refresh=3), data, Schedule(clients="all", rounds=80)), runtime=InProcess()
    )
    agree = []
    for u in range(3, 40):
        own = data.by_user.of(u)
        client, guest = fitted.score(np.array([u], np.int32))[0], fitted.score_history(own)
        others = np.setdiff1d(np.arange(data.n_items), own)
        agree.append(np.corrcoef(client[others], guest[others])[0, 1])
    assert np.mean(agree) > 0.9


@pytest.mark.parametrize("triples", [1, "own"])
def test_single_precision_agrees_with_double(triples: int | str) -> None:
    schedule = Schedule(clients=1, rounds_per_epoch=2000, epochs=1)
    single, double = (
        train(FPL(triples=triples, precision=kind), schedule, "kernel")  # type: ignore[arg-type]
        for kind in ("float32", "float64")
    )
    assert single.ledger.totals["rows_up"] == double.ledger.totals["rows_up"]
    assert single.ledger.totals["bytes_up"] < double.ledger.totals["bytes_up"]
    # each of 2,000 visits rounds a value to 24 bits; errors add like a random walk
    assert_close(single.model["Q"], double.model["Q"], 2.0**-24 * 20 * np.sqrt(2000), "Q")


def test_the_presets_are_the_published_configurations() -> None:
    expected = {
        "sfpl": (1, 1, "visits", "sum"),
        "sfpl+": (1, "mean", "visits", "sum"),
        "pfpl": ("all", 1, "visits", "sum"),
        "pfpl+": ("all", "mean", "visits", "sum"),
        "cfpl": (500, "own", "triples", "adagrad"),
    }
    for name, (clients, triples, reading, optimiser) in expected.items():
        made = algorithm(name)()
        method, schedule, consent = made.algorithm(), made.schedule(), made.consent()
        assert isinstance(method, FPL)
        assert (schedule.clients, method.triples, schedule.rounds_per_epoch, method.optimiser) == (
            clients, triples, reading, optimiser,
        )  # fmt: skip
        assert (method.factors, method.alpha, schedule.epochs) == (20, 0.05, 20)
        assert (consent.pi, consent.disclosure, method.version) == (1.0, "sticky", "B")
        assert made.name == name
        assert from_dict(type(made), as_dict(made)) == made
    assert set(expected) <= set(ALGORITHMS)


def test_both_readings_of_an_epoch() -> None:
    """Code: X+ visits an epoch; thesis 4.5.2: X+ triples. Amazon Digital Music: X+ 61,408, |U| 1,835."""
    info = FederationInfo(
        items=34526, listed=np.arange(34526, dtype=np.int32), clients=1835, interactions=61408
    )
    rounds = {
        (name, reading): made.schedule().epoch_rounds(info, made.algorithm().visit_examples(info))
        for name in ("sfpl", "sfpl+", "pfpl", "pfpl+")
        for reading in ("visits", "triples")
        for made in [algorithm(name)(rounds_per_epoch=reading)]
    }
    assert rounds == {
        ("sfpl", "visits"): 61408, ("sfpl", "triples"): 61408,
        ("sfpl+", "visits"): 61408, ("sfpl+", "triples"): 1835,
        ("pfpl", "visits"): 33, ("pfpl", "triples"): 33,
        ("pfpl+", "visits"): 33, ("pfpl+", "triples"): 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"triples": 0}, "triples"),
        ({"clients": 0}, "clients"),
        ({"pi": 1.5}, "pi"),
        ({"alpha": 0}, "alpha"),
        ({"factors": 0}, "factors"),
        ({"rounds": 0}, "rounds"),
        ({"triple": 3}, "Did you mean 'triples'"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence) as refused:
        algorithm("sfpl+")(**wrong)
    assert str(refused.value).count(".") <= 3
    assert "\n" not in str(refused.value)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingError, match="did you mean 'sfpl"):
        algorithm("sfpl++")
