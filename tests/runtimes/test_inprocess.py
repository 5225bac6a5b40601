"""The plain loop says who failed, where and when; what is not allowed does not leave."""

from typing import Any, ClassVar

import numpy as np
import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.core.consent import Consent
from murmura.core.contract import (
    Algorithm,
    Answers,
    ClientState,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    RoundContext,
    ServerState,
    Total,
)
from murmura.core.errors import FederationError, SettingError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

PLAIN = InProcess(path="plain")


def train(algorithm: Algorithm, runtime: InProcess = PLAIN, **more: Any) -> Any:
    return fit(Plan(algorithm, crowd(), Schedule(clients="all", rounds=3), **more), runtime=runtime)


@settings
class Failing(FPL):
    """A client that fails in its third visit, in one way or another."""

    how: str = "step"

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        after, update = super().client_step(context, state, history, rng)
        if context.round == 2 and len(history) == 1:  # the third person of the crowd
            if self.how == "step":
                raise ZeroDivisionError("division by zero")
            extra = {"nonsense": update.tables["items"]} if self.how == "declared" else update.tables
            update = Update(extra)
        if self.how == "consent" and len(history) == 1:
            one = SparseRows(history.item, np.ones((1, self.factors + 1), np.float32))
            update = Update({"items": one})
        return after, update


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (
            "step",
            "client 2 failed in round 2 of phase 'train' at client_step: ZeroDivisionError: division by zero",
        ),
        (
            "declared",
            "client 2 failed in round 2 of phase 'train' at check of what leaves: .* must hold the tables",
        ),
        ("consent", "client 2 failed in round 0 .* a row of an item its owner does not share"),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_failure_names_client_round_and_stage(how: str, sentence: str, workers: int) -> None:
    with pytest.raises(FederationError, match=sentence):
        train(Failing(how=how), InProcess(path="plain", workers=workers), consent=Consent(pi=0.0))


def test_insisting_on_a_compiled_path_that_does_not_exist_is_refused() -> None:
    @settings
    class Plain(FPL):
        def kernel(self) -> None:  # type: ignore[override]
            return None

    with pytest.raises(SettingError, match="has no compiled path"):
        train(Plain(), InProcess(path="kernel"))
    assert train(Plain(), InProcess()).path == "plain"
    assert train(FPL(), InProcess()).path == "kernel"


@settings
class Means(Algorithm):
    """Three phases in one algorithm: a sum with everyone, an "each" with answers, then two phases a round."""

    name: ClassVar[str] = "means"

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        one = MessageSpec((), ("rows",))
        own = MessageSpec((TableSpec("size", "dense", 1, 1, "float64"),))
        return (
            Phase("count", one, repeat=2),
            Phase("letters", own, "each", repeat=1),
            Phase("ask", one),
            Phase("tell", one),
        )

    def publishes(self, info: FederationInfo) -> MessageSpec:
        return MessageSpec((TableSpec("log", "dense", 1, 4, "float64"),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        return ServerState({"log": np.zeros((1, 4))})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        return {"told": np.zeros(1)}

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        n = float(len(history))
        if context.phase == "letters":
            return state, Update({"size": SparseRows(np.zeros(1, np.int32), np.array([[n]]))})
        told = state["told"] if context.answer is None else context.answer["rank"]
        return {"told": told}, Update({}, {"rows": n + (100 * told[0] if context.phase == "tell" else 0)})

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
        log = server.model["log"].copy()
        if isinstance(received, IndividualUpdates):
            sizes = {client: update.tables["size"].values[0, 0] for client, update in received.updates.items()}
            order = sorted(sizes, key=lambda client: (sizes[client], client))
            return server, {client: {"rank": np.array([float(order.index(client))])} for client in sizes}
        log[0, ("count", "ask", "tell").index(phase)] += received.update.scalars["rows"]
        log[0, 3] += received.count
        return ServerState({"log": log}), {}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Any:
        return np.zeros((1, 20)) + state["told"]


def test_phases_happen_in_order_with_everyone_or_with_the_cohort() -> None:
    data = crowd()
    schedule = Schedule(clients=5, rounds_per_epoch=2, epochs=2)
    fitted = fit(Plan(Means(), data, schedule, seed=1), runtime=PLAIN)
    log = fitted.model["log"][0]
    assert fitted.rounds == 2 + 1 + 4
    assert log[0] == 2 * len(data)  # "count" twice, with everyone
    assert log[3] == 2 * 12 + 4 * 5 * 2  # "ask" and "tell" in each of four rounds, the same five clients
    assert log[2] > log[1] > 0  # the answers came back with the next visit
    again = fit(Plan(Means(), data, schedule, seed=1), runtime=InProcess(workers=3, arrival=4))
    assert (again.model["log"] == fitted.model["log"]).all()
