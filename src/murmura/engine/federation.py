"""A federation while it trains: the server, the clients' states and what has left; runtimes move it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from murmura.channel.chain import Chain
from murmura.core.channel import ChannelSettings
from murmura.core.compiled_path import Kernel, Population, States, Stretch, Tally
from murmura.core.errors import FederationError
from murmura.core.federation import Algorithm, Answers, Call, ClientState, Phase, Public, ServerState
from murmura.core.record import Recorder
from murmura.core.rng import Words
from murmura.core.update import Arrays


@dataclass(eq=False)
class Federation:
    """Everything a training run changes, and what it needs to go on."""

    algorithm: Algorithm
    public: Public
    people: Population
    server_secret: Words
    server: ServerState
    states: States  # name -> (clients, ...)
    tally: Tally
    kernel: Kernel | None = None  # the compiled path taken, where there is one
    rounds: int = 0  # rounds done, the exchanges before training included
    answers: Answers = field(default_factory=dict)  # what the last "each" phase told single clients
    refused: dict[int, str] = field(default_factory=dict)  # whose letter an "each" phase left out, and why
    channel: ChannelSettings = field(default_factory=ChannelSettings)
    chains: Mapping[str, Chain] = field(default_factory=dict)  # phase -> what its updates go through
    record: Recorder | None = None  # is shown every update that leaves a client; for audits of simulations

    _published: tuple[ServerState, Arrays] | None = None

    def client(self, client: int) -> ClientState:
        """What one client keeps."""
        return {name: stack[client] for name, stack in self.states.items()}

    def keep(self, client: int, state: ClientState) -> None:
        """Replace what one client keeps."""
        for name, value in state.items():
            self.states[name][client] = value

    def call(self, phase: str, round: int, client: int | None = None) -> Call:
        """What the server tells everyone in a round, and this client alone."""
        own = None if client is None else self.answers.get(client)
        return Call(self.public, phase, round, self.published, own)

    @property
    def published(self) -> Arrays:
        """The public model as every device gets it in this round."""
        if self._published is None or self._published[0] is not self.server:
            self._published = self.server, self.channel.downloaded(self.server.model)
        return self._published[1]


class Runtime(Protocol):
    """How a round is collected."""

    @property
    def workers(self) -> int:
        """How many workers run clients side by side."""

    def kernel_for(self, algorithm: Algorithm, carried: tuple[Phase, ...] = ()) -> Kernel | None:
        """The compiled path this runtime takes for the algorithm, or None for the plain one.

        `carried` are the phases whose updates go through a channel: a kernel must know its stages.
        """

    def run(self, federation: Federation, stretch: Stretch) -> None:
        """Run the rounds of a stretch."""


def first_states(algorithm: Algorithm, public: Public, people: Population, kernel: Kernel | None) -> States:
    """`client_init` of every client."""
    if kernel is not None:
        return kernel.init_clients(public, people)
    each = [
        algorithm.client_init(public, people.history(client, 0), people.rng(client, 0))
        for client in range(people.clients)
    ]
    return stacked(each)


def stacked(states: list[ClientState]) -> States:
    """The states of all clients, one array per name; refuses states of different shapes."""
    shapes = {tuple((name, np.shape(value)) for name, value in sorted(state.items())) for state in states}
    if len(shapes) > 1:
        raise FederationError(
            f"all clients must keep states of one shape, but there are {len(shapes)} shapes; pad them."
        )
    return {name: np.stack([state[name] for state in states]) for name in (states[0] if states else {})}
