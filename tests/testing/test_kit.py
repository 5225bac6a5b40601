"""The kit must refuse algorithms that break a promise: each impostor fails the test made for it."""

from typing import Any

import numpy as np
import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.core.federation import Call, ClientState, History
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update
from murmura.testing import AlgorithmKit, checkerboard, crowd

Step = tuple[ClientState, Update]


@settings
class Impure(FPL):
    def client_step(self, call: Call, state: ClientState, history: History, rng: Rng) -> Step:
        state["p"][0] += 1
        return super().client_step(call, state, history, rng)


@settings
class Careless(FPL):
    def client_step(self, call: Call, state: ClientState, history: History, rng: Rng) -> Step:
        state["p"].setflags(write=True)
        return super().client_step(call, state, history, Rng(rng.secret, np.random.randint(99)))  # noqa: NPY002


@settings
class Leaking(FPL):
    def client_step(self, call: Call, state: ClientState, history: History, rng: Rng) -> Step:
        everything = History(history.item, history.value, np.ones(len(history)))
        return super().client_step(call, state, everything, rng)


@settings
class Undeclared(FPL):
    def client_step(self, call: Call, state: ClientState, history: History, rng: Rng) -> Step:
        after, update = super().client_step(call, state, history, rng)
        rows = update.tables["items"]
        return after, Update({"items": SparseRows(rows.index, rows.values.astype(np.float16))})


@settings
class Drifting(FPL):
    """Its plain step is a little off its compiled one."""

    def client_step(self, call: Call, state: ClientState, history: History, rng: Rng) -> Step:
        after, update = super().client_step(call, state, history, rng)
        return {"p": after["p"] * (1 + 1e-9)}, update


@settings
class Lazy(FPL):
    """It learns nothing, plain or compiled."""

    def client_step(self, call: Call, state: ClientState, history: History, rng: Rng) -> Step:
        return state, Update({"items": SparseRows.empty(self.factors + 1, self.precision)})

    def kernel(self) -> Any:
        return None


def kit(method: type[FPL]) -> AlgorithmKit:
    class Kit(AlgorithmKit):
        schedule = Schedule(clients=5, rounds_per_epoch=2, epochs=2)
        training = Schedule(clients="all", rounds=3)

        def make(self) -> FPL:
            return method(precision="float64", triples=3)

    return Kit()


@pytest.mark.parametrize(
    ("impostor", "test"),
    [
        (Impure, "test_steps_are_pure"),
        (Careless, "test_steps_are_pure"),
        (Leaking, "test_what_is_not_shared_does_not_leave"),
        (Undeclared, "test_updates_match_what_is_declared"),
        (Drifting, "test_the_compiled_path_equals_the_plain_loop"),
        (Lazy, "test_the_withheld_item_of_the_checkerboard_comes_first"),
    ],
)
def test_an_impostor_fails(impostor: type[FPL], test: str) -> None:
    with pytest.raises((AssertionError, ValueError, RuntimeError, Exception)) as caught:
        getattr(kit(impostor), test)()
    assert not isinstance(caught.value, (NotImplementedError, AttributeError, TypeError))


def test_the_checkerboard_has_one_answer_for_everyone() -> None:
    data, answer = checkerboard()
    for u in range(data.n_users):
        own = set(data.by_user.of(u).tolist())
        assert answer[u] not in own
        assert own | {answer[u]} == set(range(u % 2, 16, 2))


def test_the_crowd_has_the_awkward_people() -> None:
    assert crowd().user_counts[:3].tolist() == [0, 20, 1]
