"""Liars in a simulation: the same on every path, within the real channel, and attacks that work."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import FederationError, SettingError
from murmura.core.interactions import Interactions
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.engine.run_folder import Run
from murmura.lab.audits.audit import ATTACKS, attack, attacks_on, audit_run, read_audits
from murmura.lab.audits.colluding_clients import (
    Conspiracy,
    Lie,
    MaliciousView,
    PoisoningAttack,
)
from murmura.lab.audits.poisoned_training import ATTACKS as OURS
from murmura.lab.audits.poisoned_training import _places, promotion
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod, simulated
from murmura.testing import crowd

THROUGH = {"channel": "secure-sum", "minimum_cohort": 5}
POISONING = [name for name in ATTACKS if isinstance(attack(name), PoisoningAttack)]
TRAIN = crowd(60, 30)


def skewed(people: int = 200, items: int = 60) -> Interactions:
    """Two tastes, and items from popular to nearly unknown: the first has the most owners."""
    random, like = np.random.default_rng(2), crowd(people, items)
    chance = np.linspace(0.8, 0.02, items) * np.where(np.arange(items) % 2, 1.0, 0.6)
    other = np.linspace(0.8, 0.02, items) * np.where(np.arange(items) % 2, 0.6, 1.0)
    has = random.random((people, items)) < np.where(np.arange(people)[:, None] % 2, chance, other)
    user, item = np.nonzero(has)
    return Interactions(
        like.users, like.items, user.astype(np.int32), item.astype(np.int32), np.ones(len(user))
    )


SKEWED = skewed()
COLD, POPULAR = int(np.argmin(SKEWED.item_counts)), int(np.argmax(SKEWED.item_counts))


def plan_of(name: str = "cfpl", data: Interactions = TRAIN, **settings: object) -> tuple[FederatedMethod, Plan]:
    given = {**THROUGH, "clients": 20, "rounds": 8, "precision": "float64", **settings}
    ready = simulated(name, given)
    return ready, ready.plan(data, 3, None)


def plot(mine: PoisoningAttack, plan: Plan, liars: int = 6, target: int = 25) -> Conspiracy:
    malicious = np.zeros(plan.info.clients, np.bool_)
    malicious[:: plan.info.clients // liars] = True
    return Conspiracy(mine, plan.algorithm, plan.people, malicious, target)


@pytest.mark.parametrize("name", POISONING)
@pytest.mark.parametrize("method", ["cfpl", "fcf"])
def test_the_compiled_path_and_the_plain_loop_are_lied_to_alike(method: str, name: str) -> None:
    mine = attack(name)
    assert isinstance(mine, PoisoningAttack)
    _, plan = plan_of(method)
    compiled = fit(plan, runtime=InProcess(path="kernel"), liars=plot(mine, plan)).model
    plain = fit(plan, runtime=InProcess(path="plain"), liars=plot(mine, plan)).model
    honest = fit(plan, runtime=InProcess()).model
    for key, array in compiled.items():
        assert array.tobytes() == plain[key].tobytes()
    assert any(not np.array_equal(array, honest[key]) for key, array in compiled.items())


PROMOTION, FORGED = OURS[0], OURS[2]
HONEST = PoisoningAttack("honest", "nobody lies", lambda view: None)


def test_liars_who_do_not_lie_change_no_bit() -> None:
    _, plan = plan_of()
    before = fit(plan, runtime=InProcess()).model
    after = fit(plan, runtime=InProcess(), liars=plot(HONEST, plan)).model
    for key, array in before.items():
        assert array.tobytes() == after[key].tobytes()


def too_long(view: MaliciousView) -> Lie | None:
    """One device goes beyond what the sum may be."""
    lie = promotion(view)
    return None if lie is None else Lie(lie.update, beyond=1.2)


def test_the_check_of_the_sum_holds_liars_too() -> None:
    _, plan = plan_of()
    with pytest.raises(FederationError, match="a sum of 20 devices must"):
        fit(
            plan,
            runtime=InProcess(),
            liars=plot(PoisoningAttack("too-long", "", too_long, alone="always"), plan),
        )


def test_lies_need_a_channel() -> None:
    _, plan = plan_of(channel="none")
    with pytest.raises(SettingError, match="lies need a channel"):
        fit(plan, runtime=InProcess(), liars=plot(PROMOTION, plan))


def test_a_cohort_of_liars_alone_is_not_simulated() -> None:
    """Everybody lies, which leaves nobody to lie to: the exchange stays honest, and nobody is asked."""

    def unasked(view: MaliciousView) -> Lie | None:
        raise AssertionError("nobody must be asked")

    _, plan = plan_of()
    fit(plan, runtime=InProcess(), liars=plot(PoisoningAttack("all", "", unasked), plan, plan.info.clients))


def shown(plan: Plan, mine: PoisoningAttack | None, target: int, liars_: int = 10, k: int = 3) -> float:
    """In which share of the honest lists of k the target is."""
    liars = None if mine is None else plot(mine, plan, liars_, target)
    model = fit(plan, runtime=InProcess(), liars=liars)
    honest = np.ones(plan.info.clients, np.bool_) if liars is None else ~liars.malicious
    has = np.zeros(plan.info.clients, np.bool_)
    has[plan.data.user[plan.data.item == target]] = True
    users = np.flatnonzero(honest & ~has).astype(np.int32)
    return float((model.recommend(users, k).item == target).any(axis=1).mean())


@pytest.mark.slow
def test_promotion_works_and_the_trust_region_stops_it() -> None:
    _, exposed = plan_of("cfpl", SKEWED, clients=60, rounds=60)
    _, bounded = plan_of("cfpl", SKEWED, clients=60, rounds=60, trust_region=True)
    assert shown(exposed, None, COLD) < 0.02
    assert shown(exposed, PROMOTION, COLD) > 0.2
    assert shown(bounded, PROMOTION, COLD) < 0.1


@pytest.mark.slow
def test_demotion_works_and_the_trust_region_stops_it() -> None:
    _, exposed = plan_of("cfpl", SKEWED, clients=60, rounds=60)
    _, bounded = plan_of("cfpl", SKEWED, clients=60, rounds=60, trust_region=True)
    demotion = attack("demotion")
    assert isinstance(demotion, PoisoningAttack)
    assert shown(exposed, demotion, POPULAR) < 0.5 * shown(exposed, None, POPULAR)
    assert shown(bounded, demotion, POPULAR) > 0.5 * shown(bounded, None, POPULAR)


def place_of_cold(plan: Plan, mine: PoisoningAttack | None) -> float:
    liars = plot(PROMOTION if mine is None else mine, plan, 40, COLD)
    model = fit(plan, runtime=InProcess(), liars=None if mine is None else liars)
    return float(_places(model, np.flatnonzero(~liars.malicious).astype(np.int32), COLD).mean())


def test_sums_of_pairs_get_false_histories_that_keep_the_bounds() -> None:
    """Forty false histories raise it; one upload that speaks for half of everybody passes no proof."""
    plan = simulated("fed-ease", {**THROUGH, "least": 1, "reg": 10.0}).plan(SKEWED, 3, None)
    honest = place_of_cold(plan, None)
    assert place_of_cold(plan, PROMOTION) < honest - 2
    assert place_of_cold(plan, FORGED) > honest - 2


def test_no_poisoning_is_done_unasked() -> None:
    assert not any(isinstance(one, PoisoningAttack) for one in attacks_on(simulated("cfpl").preset.algorithm()))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("likes") / "likes.csv"
    rows = [
        f"{user},{item},{random.integers(1, 6)},{1000 + n}"
        for user in range(60)
        for n, item in enumerate(np.flatnonzero(random.random(60) < np.linspace(0.7, 0.1, 60)))
    ]
    path.write_text("\n".join(["user,item,value,time", *rows]) + "\n")
    return path


@pytest.mark.slow
def test_as_a_person_runs_it(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "audited"
    words = ["audit", "--data", str(table), "--model", "cfpl", "--protocol", "fpl", "--out", str(out), "--json"]
    words += ["-S", "channel=secure-sum", "-S", "minimum_cohort=5", "-S", "clients=20", "-S", "rounds=10"]
    words += ["--attack", "promotion", "--attack", "freeze", "--liars", "0.1", "--liars", "0.3"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.exception
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    told = [(row["attack"], row["liars"]) for row in rows]
    assert told == [("promotion", 6), ("promotion", 16), ("freeze", 1)]
    assert {"P@10", "P@10 clean", "ER@10", "ER@10 clean low", "rank"} <= set(rows[0])
    assert rows[2]["ER@10"] is None
    (kept,) = read_audits(Run.open(out)).values()
    assert [one.attack for one in kept.poisonings] == ["promotion", "promotion", "freeze"]
    assert not kept.findings
    assert "audit-poisoning" in (out / "report.html").read_text()
    assert audit_run(out, ["freeze"]).poisonings[0].values == kept.poisonings[2].values


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--liars", "1.5"], "share of malicious clients must be above 0 and below 1"),
        (["--target", "no-such-item"], "target must be an item on offer"),
        (["-S", "channel=none"], "lies need a channel"),
    ],
)
@pytest.mark.slow
def test_bad_input_is_refused_in_a_sentence(table: Path, tmp_path: Path, flags: list[str], why: str) -> None:
    words = ["audit", "--data", str(table), "--model", "cfpl", "--out", str(tmp_path / "r"), "-S", "rounds=2"]
    words += ["--attack", "promotion", "-S", "channel=secure-sum", "-S", "minimum_cohort=5", *flags]
    result = CliRunner().invoke(app, words)
    assert result.exit_code != 0
    assert why in str(result.exception)
