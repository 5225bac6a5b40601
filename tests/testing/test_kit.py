"""The kit must refuse algorithms that break a promise: each impostor fails the test made for it."""

from typing import Any
from unittest import SkipTest

import numpy as np
import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.core.contract import (
    Algorithm,
    ClientState,
    FederationInfo,
    History,
    Phase,
    RoundContext,
    ServerState,
)
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update
from murmura.testing import AlgorithmKit, checkerboard, crowd

Step = tuple[ClientState, Update]


@settings
class Impure(FPL):
    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        state["p"][0] += 1
        return super().client_step(context, state, history, rng)


@settings
class Careless(FPL):
    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        state["p"].setflags(write=True)
        return super().client_step(context, state, history, Rng(rng.secret, np.random.randint(99)))  # noqa: NPY002


@settings
class Leaking(FPL):
    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        everything = History(history.item, history.value, np.ones(len(history)))
        return super().client_step(context, state, everything, rng)


@settings
class Undeclared(FPL):
    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        after, update = super().client_step(context, state, history, rng)
        rows = update.tables["items"]
        return after, Update({"items": SparseRows(rows.index, rows.values.astype(np.float16))})


@settings
class Drifting(FPL):
    """Its plain step is a little off its compiled one."""

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        after, update = super().client_step(context, state, history, rng)
        return {"p": after["p"] * (1 + 1e-9)}, update


@settings
class Lazy(FPL):
    """It learns nothing, plain or compiled."""

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
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


class Empty(Algorithm):
    """Everything is left to write."""

    name = "empty"


@settings
class Dense(Lazy):
    """It sends something else than it declares."""

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        return state, Update({"others": SparseRows.empty(3, "float64")})


@settings
class Alone(Lazy):
    """It returns the update without the state."""

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> Step:
        return super().client_step(context, state, history, rng)[1]  # type: ignore[return-value]


@settings
class Unpublished(Lazy):
    """Its model lacks a table."""

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        return ServerState({})


@settings
class Silent(Lazy):
    """It exchanges nothing."""

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        return ()


@settings
class Unranked(FPL):
    """It forgot to score."""

    client_score = Algorithm.client_score


@pytest.mark.parametrize(
    ("method", "test", "sentence"),
    [
        (
            Empty,
            "settings_survive_a_round_trip",
            r"write client_init\(self, info.*: What a client keeps before",
        ),
        (Empty, "steps_are_pure", r"write server_step\(self, phase.*: The next public model"),
        (Impure, "steps_are_pure", r"Impure\.client_step must not change its arguments, but did; return new"),
        (Dense, "updates_match_what_is_declared", r"client_step in phase 'train': .* must hold the tables"),
        (
            Alone,
            "updates_match_what_is_declared",
            r"client_step must return \(state, Update\), but returned Update",
        ),
        (Unpublished, "updates_match_what_is_declared", r"server_init must fill the table 'Q' that publishes"),
        (Silent, "steps_are_pure", r"Silent\.phases must declare at least one exchange"),
        (Leaking, "what_is_not_shared_does_not_leave", r"no row of an item whose share is 0, but sent \["),
        (
            Unranked,
            "unknown_people_and_empty_histories_are_answered",
            r"write client_score\(self, context",
        ),
        (Unranked, "the_withheld_item_of_the_checkerboard_comes_first", r"write client_score\("),
        (
            Lazy,
            "the_withheld_item_of_the_checkerboard_comes_first",
            r"must come first for 90% of the people, but",
        ),
    ],
)
def test_a_failure_says_what_to_write(method: type[Any], test: str, sentence: str) -> None:
    class Kit(AlgorithmKit):
        training = Schedule(clients="all", rounds=3)

        def make(self) -> Any:
            return method() if method is Empty else method(precision="float64", triples=3)

    with pytest.raises(AssertionError, match=sentence):
        getattr(Kit(), f"test_{test}")()


def test_a_kit_without_make_or_with_something_else_says_so() -> None:
    class TestNothing(AlgorithmKit):
        pass

    class TestNumber(AlgorithmKit):
        def make(self) -> Any:
            return 3

    for kit_class, sentence in ((TestNothing, "TestNothing must define make"), (TestNumber, "returned 3")):
        with pytest.raises(AssertionError, match=sentence):
            kit_class().test_steps_are_pure()


def test_what_does_not_apply_is_skipped_with_its_reason() -> None:
    class Kit(AlgorithmKit):
        schedule = Schedule(clients="all", rounds=1)

        def make(self) -> FPL:
            return Lazy(precision="float64")

    for test, reason in (
        ("the_compiled_path_does_not_depend_on_workers", "no compiled path"),
        ("the_compiled_path_equals_the_plain_loop", "no compiled path"),
        ("a_stopped_training_ends_like_one_that_never_stopped", r"its 1 rounds end before kills = \(4, 1\)"),
    ):
        with pytest.raises(SkipTest, match=reason):
            getattr(Kit(), f"test_{test}")()


def test_the_checkerboard_has_one_answer_for_everyone() -> None:
    data, answer = checkerboard()
    for u in range(data.n_users):
        own = set(data.by_user.of(u).tolist())
        assert answer[u] not in own
        assert own | {answer[u]} == set(range(u % 2, 16, 2))


def test_the_crowd_has_the_awkward_people() -> None:
    assert crowd().user_counts[:3].tolist() == [0, 20, 1]
