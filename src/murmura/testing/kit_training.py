"""What the kit trains on and how: small federations, one visit of a client, a runtime that dies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import (
    Algorithm,
    FederationInfo,
    History,
    IndividualUpdates,
    RoundContext,
    Total,
)
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, client_secrets, server_secret
from murmura.core.schedule import Schedule
from murmura.core.update import Update, add_up
from murmura.device.simulated import rows_of_devices
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan, federation_info
from murmura.runtimes.inprocess import InProcess
from murmura.testing.checks import (
    assert_same_bits,
    assert_same_ledger,
    check_step,
    exchanges,
    frozen,
    made,
    pure,
    require,
)
from murmura.testing.data import crowd, labelled

CHANNELS = (
    ChannelSettings(channel="secure-sum", clip=0.5, minimum_cohort=1),
    ChannelSettings(
        channel="secure-sum", clip=20, coordinate=1, block="half", minimum_cohort=1, download="int8"
    ),
    ChannelSettings(
        channel="readable", bits=12, ring=24, block="core", core=3, minimum_cohort=1, download="float16"
    ),
)

NOISY = ChannelSettings(
    channel="secure-sum", clip=2.0, minimum_cohort=1, epsilon=20.0, delta=1e-3, hopeless=True
)


class KitTraining:
    """What an algorithm is held to its promises with; a kit may change the class attributes."""

    schedule = Schedule(clients=5, rounds_per_epoch=3, epochs=2)  # for comparisons: short
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=5)  # for quality: long enough
    roundings = 64.0  # how many rounding errors one training example may add to a value
    quality_floor = 0.9  # the share of people whose withheld item must come first on the checkerboard
    pi = 0.5
    members = 1  # the people of a client; more: the clients are groups of so many
    rated = False  # whether the algorithm learns from ratings; its checkerboard is then a rated one
    no_strangers = ""  # why it does not answer people who were in no training; "": it does
    save_every = 2  # rounds between two checkpoints
    kills: tuple[int, ...] = (4, 1)  # after how many batches of rounds the process dies, each time

    def make(self) -> Algorithm:
        """The algorithm under test."""
        raise AssertionError(
            f"{type(self).__name__} must define make(self): it returns the algorithm under test."
        )

    def _interactions(self, many: bool = False) -> Interactions:
        """Awkward people, few or many, with what the algorithm's clients hold."""
        if made(self.make).holds == "samples":
            return labelled(400) if many else labelled()
        return crowd(400, 30) if many else crowd()

    def _channels(self) -> tuple[ChannelSettings, ...]:
        """The channels to try; samples are no items that could be counted, so there is no core of them."""
        if made(self.make).holds == "history":
            return (*CHANNELS, NOISY) if made(self.make).bears_noise else CHANNELS
        return tuple(replace(way, block="dense") if way.block == "core" else way for way in CHANNELS)

    def _check_labels(self, fitted: FederatedModel) -> None:
        """Every client, the one without samples too, and a guest give every sample a label."""
        require(fitted.plan.algorithm, "client_predict")
        data, sent = fitted.plan.data, fitted.ledger.totals["bytes_up"]
        assert data.samples is not None
        asked = np.arange(data.n_items, dtype=np.int32)
        for client in range(3):
            found = fitted.predict(np.full(len(asked), client, np.int32), asked)
            known = np.isin(found, np.arange(data.samples.classes))
            assert known.all(), "client_predict must return the label of every sample, but some are none."
        state = fitted.guest_state(self._history(data, 0))
        answer = fitted.plan.algorithm.client_predict(fitted.ready_context, state, data.samples.inputs(asked))
        assert np.isin(answer, np.arange(data.samples.classes)).all()
        assert fitted.ledger.totals["bytes_up"] == sent

    def _check_accuracy(self) -> None:
        """Samples nobody trained on get their labels."""
        require(made(self.make), "client_predict")
        data = labelled(each=24, awkward=False)
        held = np.arange(len(data)) % 4 == 0
        fitted = fit(Plan(made(self.make), data.rows(~held), self.training, seed=3), runtime=InProcess())
        right = float((fitted.predict(data.user[held], data.item[held]) == data.value[held]).mean())
        assert right >= self.quality_floor, (
            f"{self.quality_floor:.0%} of unseen samples must get their label, but {right:.0%} do; mend the "
            "steps, train longer (training) or state a lower quality_floor."
        )

    def _setting(self, people: Interactions) -> tuple[Algorithm, FederationInfo, Interactions]:
        algorithm = made(self.make)
        return algorithm, federation_info(algorithm, people, self._groups(people)), people

    def _groups(self, people: Interactions) -> Ints | None:
        """The client of everyone: neighbours share one."""
        if self.members == 1:
            return None
        return (np.arange(people.n_users) // self.members).astype(np.int32)

    def _history(self, people: Interactions, client: int, consent: float = 1.0) -> History:
        """What one client holds."""
        own = rows_of_devices(people, self._groups(people), np.arange(people.n_items, dtype=np.int32))(client)
        return replace(own, consent=np.full(len(own), consent))

    def _guest_answer(self, fitted: FederatedModel, data: Interactions, user: int) -> int:
        """The best item for a stranger who rated like `user`, her own items excluded."""
        alone = History.of(data, user)
        state = fitted.guest_state(alone)
        scores = fitted.plan.algorithm.client_score(fitted.ready_context, state, alone)[0].copy()
        scores[alone.item] = -np.inf
        return int(scores.argmax())

    def _train(
        self,
        runtime: Any,
        mode: Any = "sticky",
        many: bool = False,
        folder: Path | None = None,
        channel: ChannelSettings | None = None,
        pi: float | None = None,
    ) -> FederatedModel:
        data = self._interactions(many)
        schedule = Schedule(clients=300, rounds_per_epoch=2, epochs=1) if many else self.schedule
        every = None if folder is None else self.save_every
        consent = Consent(pi=self.pi if pi is None else pi, disclosure=mode)
        return fit(
            Plan(
                made(self.make),
                data,
                schedule,
                consent=consent,
                seed=5,
                groups=self._groups(data),
                channel=channel or ChannelSettings(),
            ),
            runtime=runtime,
            folder=folder,
            checkpoint_every=every,
        )

    def _die_after(self, batches: int, folder: Path) -> bool:
        """Whether there was something left to kill."""
        try:
            ended = self._train(_DyingRuntime(InProcess(), batches), folder=folder)
        except _KilledError:
            return True
        assert ended.plan.itinerary.rounds <= batches, "the training ended before it was killed"
        return False

    def _assert_equal(self, one: FederatedModel, other: FederatedModel) -> None:
        assert_same_ledger(one.ledger, other.ledger)
        for part in ("model", "states", "ready"):
            assert_same_bits(getattr(one, part), getattr(other, part), part)

    def _visit(
        self,
        algorithm: Algorithm,
        info: FederationInfo,
        people: Interactions,
        phase: str,
        model: Any,
        client: int,
        consent: float = 1.0,
    ) -> Update:
        rng = Rng(client_secrets(0, info.clients)[client], 7)
        history = frozen(self._history(people, client, consent))
        state = frozen(algorithm.client_init(info, history, rng))
        context = RoundContext(info, phase, 7, frozen(model))
        with pure(algorithm, "client_step"):
            return check_step(algorithm, algorithm.client_step(context, state, history, rng))

    def _one_round(self) -> dict[str, Any]:
        """Everything one round makes, from read-only arguments."""
        algorithm, info, people = self._setting(self._interactions())
        made: dict[str, Any] = {}
        server = frozen(algorithm.server_init(info, Rng(server_secret(0))))
        made["server"] = server
        for phase in exchanges(algorithm, info):
            updates = {
                client: frozen(self._visit(algorithm, info, people, phase.name, server.model, client))
                for client in range(info.clients)
            }
            received = Total(frozen(add_up(updates.values())), info.clients)
            individual = IndividualUpdates(updates)
            with pure(algorithm, "server_step"):
                answer = algorithm.server_step(
                    phase.name, server, received if phase.combine == "sum" else individual
                )
            server = frozen(answer[0])
            made |= {f"{phase.name} {client}": update for client, update in updates.items()}
            made[f"server after {phase.name}"] = server
        return made


class _KilledError(Exception):
    """The process was killed."""


class _DyingRuntime:
    """A runtime whose process dies after some batches of rounds."""

    def __init__(self, runtime: InProcess, after: int) -> None:
        self.runtime, self.left = runtime, after

    def kernel_for(self, algorithm: Algorithm, through: Any = ()) -> Any:
        return self.runtime.kernel_for(algorithm, through)

    def run(self, federation: Any, rounds: range) -> None:
        if not self.left:
            raise _KilledError
        self.left -= 1
        self.runtime.run(federation, rounds)
