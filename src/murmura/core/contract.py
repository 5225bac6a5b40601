"""The contract of a federated algorithm: what it exchanges, and which machine runs which part.

The prefix of a method names the machine. Everything is pure: state in, state out, randomness passed in, no
argument changed. The cut between `client_step` and `server_step` is the network; an Update crosses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.channel import NoiseForecast
from murmura.core.claims import Claim
from murmura.core.errors import SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Classification, Interactions
from murmura.core.message import MessageSpec
from murmura.core.model import ScoreTerms
from murmura.core.rng import Purpose, Rng
from murmura.core.update import Arrays, Update

if TYPE_CHECKING:
    from murmura.core.client_batch import BatchUpdate, ClientBatch
    from murmura.core.kernel import Kernel

ClientState = Arrays  # what a client keeps to itself: p_u, P_u, ...
Answers = Mapping[int, Arrays]  # client -> what the server tells it alone, after an "each" phase


@dataclass(frozen=True, eq=False)
class FederationInfo:
    """What every machine knows: the items on offer, and how large the federation is."""

    items: int  # item numbers are below this
    listed: Ints  # (n,) the items on offer, ascending: those that occur in training
    clients: int
    interactions: int  # of all clients together
    features: ItemFeatures | None = None  # of the items, for clients of algorithms that use them
    people: int = 1  # no client holds the rows of more people than this
    counts: Longs | None = None  # (items,) how often each occurs, where that is publicly known
    feature_count: int = 0  # how many features there are; servers need to know no more of them
    task: Classification | None = None  # where clients hold labelled samples; no items are on offer then

    @staticmethod
    def of(data: Interactions, groups: Ints | None = None) -> FederationInfo:
        """The public knowledge of a simulated federation of the users of `data`, or of groups of them.

        `groups` is the client of every user, from 0 without a gap; -1 is someone who is in no group.
        """
        counts = np.asarray(data.item_counts, np.int64)
        sizes = np.ones(data.n_users, np.int64) if groups is None else np.bincount(groups[groups >= 0])
        most, listed = int(sizes.max(initial=1)), np.flatnonzero(counts).astype(np.int32)
        known = data.features
        if data.samples is not None:
            none = np.zeros(0, np.int32)
            return FederationInfo(0, none, len(sizes), len(data), people=most, task=data.samples.task)
        features = 0 if known is None else len(known)
        return FederationInfo(data.n_items, listed, len(sizes), len(data), known, most, counts, features)


@dataclass(frozen=True, eq=False)
class History:
    """Every row one client holds, of one person or of several."""

    item: Ints  # (rows,) ascending for each person
    value: Floats  # (rows,)
    consent: Floats  # (rows,) in [0, 1]: the coin to flip at each use of the row; see channel.consent
    person: Ints | None = None  # (rows,) whose row it is, when a client holds several people
    attributes: Mapping[str, float] = field(default_factory=dict)  # in [0, 1]: what the client says of itself
    time: Longs | None = field(default=None, kw_only=True)  # (rows,) seconds since 1970; None: unknown

    def __len__(self) -> int:
        return len(self.item)

    @property
    def owners(self) -> Ints:
        """Whose row each one is; rows without an owner are of the only person."""
        return np.zeros(len(self), np.int32) if self.person is None else self.person

    @property
    def people(self) -> Ints:
        """Who has rows."""
        return np.unique(self.owners)

    @property
    def by_person(self) -> tuple[Ints, ...]:
        """The items of everybody who has rows."""
        return tuple(self.item[self.owners == person] for person in self.people.tolist())

    def open_rows(self, rng: Rng) -> Bools:
        """Which rows may speak in an exchange: those of items all of whose rows here are shared in it."""
        shared = rng.stream(Purpose.COINS).coins(self.consent)
        return ~np.isin(self.item, self.item[~shared])

    def rows(self, keep: Bools) -> Self:
        """Some of the rows."""
        columns: dict[str, Any] = {
            name: column[keep] for name, column in vars(self).items() if isinstance(column, np.ndarray)
        }
        return replace(self, **columns)

    @staticmethod
    def of(data: Interactions, user: int) -> History:
        """What one user of `data` holds, of which nothing is shared."""
        rows = data.by_user
        own = slice(rows.start[user], rows.start[user + 1])
        time = None if data.time is None else data.time[rows.order[own]]
        return History(rows.index[own], rows.value[own], np.zeros(own.stop - own.start), time=time)

    @staticmethod
    def private(
        item: NDArray[Any],
        value: NDArray[Any] | float = 1.0,
        person: NDArray[Any] | None = None,
        time: NDArray[Any] | None = None,
    ) -> History:
        """From rows in any order, each item once for each person, of which nothing is shared."""
        order = np.lexsort((item, np.zeros(len(item)) if person is None else person))
        values = np.broadcast_to(np.asarray(value, np.float64), len(item))[order]
        whose = None if person is None else np.asarray(person, np.int32)[order]
        when = None if time is None else np.asarray(time, np.int64)[order]
        return History(np.asarray(item, np.int32)[order], values, np.zeros(len(item)), whose, time=when)


@dataclass(frozen=True, eq=False)
class Samples(History):
    """Samples with labels, held by a client of a classifier: `item` is a sample's number, `value` its label."""

    inputs: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))  # (rows, *shape)
    quality: Floats | None = None  # (rows,) in [0, 1]: how good each one is, where that is known

    @property
    def label(self) -> Ints:
        """The class of each sample."""
        return self.value.astype(np.int32)


@dataclass(frozen=True)
class Phase:
    """One kind of exchange.

    `repeat` is how often it happens, with every client, before the next phase begins. None: it is part of the
    training round, which the run's Schedule repeats with the clients it draws; neighbouring phases of this kind
    happen one after the other within each round, with the same clients.

    `part` below 1 calls a public random part of those clients: everybody can work out who is in it. `follows`
    names an earlier phase: only clients whose update was counted in its latest exchange take part.
    """

    name: str
    sends: MessageSpec
    combine: Literal["sum", "each"] = "sum"  # "each": the server reads every update
    repeat: int | None = None
    receives: MessageSpec | None = None  # what a visit needs of the public model; None: the whole
    asks: Literal["training", "statistics"] = "training"  # which of its owner's consents a visit needs
    returns: bool = False  # everyone fetches the outcome afterwards, as no later round will bring it
    part: float = 1.0  # of the clients that would be called
    follows: str = ""  # the phase in which a client must have been counted
    longest: float | None = None  # no update of it is longer in L2; a channel clips there, if not before
    budget: float = 1.0  # of what noise lets a training reveal: this phase's part, in relation to the others'
    claim: Claim | None = None  # what each update is proved to be in a secure sum; None: a channel bounds it

    @property
    def fetches_model(self) -> bool:
        """Whether a visit downloads anything of the public model; where not, its context has none."""
        return self.receives is None or bool(self.receives.tables)

    def __post_init__(self) -> None:
        if not 0 < self.part <= 1:
            raise SettingError(
                f"phase '{self.name}' must call a part above 0 and at most 1, but it is {self.part}."
            )


@dataclass(frozen=True, eq=False)
class RoundContext:
    """What the server tells a client in a round."""

    info: FederationInfo
    phase: str
    round: int
    model: Arrays  # the same bytes for everyone; empty in a phase that needs nothing of it
    answer: Arrays | None = None  # this client's own, only after an "each" phase


@dataclass(frozen=True, eq=False)
class Total:
    """What the server gets from a "sum" phase."""

    update: Update
    count: int  # how many clients it is the sum of
    noise: float = 0.0  # standard deviation of what aggregators have added to every number of it


@dataclass(frozen=True, eq=False)
class IndividualUpdates:
    """What the server gets from an "each" phase."""

    updates: Mapping[int, Update]


@dataclass(frozen=True, eq=False)
class ServerState:
    """The public model, and what the server keeps to itself (the state of an optimiser)."""

    model: Arrays
    private: Arrays = field(default_factory=dict)


Received = Total | IndividualUpdates  # by the server, from a "sum" phase or from an "each" phase
ClientStep = tuple[ClientState, Update]  # what a client keeps from a visit, and what leaves
ServerStep = tuple[ServerState, Answers]  # the next public model, and the answers to single clients


class Algorithm(ABC):
    """A federated method: a frozen dataclass in one file, its fields the hyper-parameters."""

    name: ClassVar[str]
    uses_features: ClassVar[bool] = False  # whether its clients need to know the features of the items
    holds: ClassVar[Literal["history", "samples"]] = "history"  # what a client of it holds
    releases_counts: ClassVar[bool] = False  # whether a phase of it makes the counts of items public
    releases_pairs: ClassVar[bool] = False  # whether its model shows everybody sums: pairs, or item means
    bears_noise: ClassVar[bool] = False  # whether it can do with sums that noise was added to
    batch_rows: ClassVar[int] = (
        4096  # how many rows of histories `clients_step` takes at once, padding included
    )

    @property
    def uses_order(self) -> bool:
        """Whether, with these settings, the order of a history in time changes the result."""
        return False

    @property
    def reads_rows(self) -> int:
        """A visit needs so many rows of the model's item tables at most, those of its own; 0: the whole."""
        return 0

    def ranking_tables(self, model: MessageSpec) -> MessageSpec:
        """What of the public model a device ranks with: all of it."""
        return model

    def check_rows(self, value: Floats, time: Longs | None) -> None:
        """Refuse values or times of interactions that it has no use for; by default none."""
        return

    def check_size(self, info: FederationInfo) -> None:
        """Refuse before any exchange what a server could not hold, or a device not send or receive.

        `info.counts` are those expected; without any, what these people and items could make it is refused.
        """
        return

    @abstractmethod
    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """What is exchanged, in order."""

    @abstractmethod
    def publishes(self, info: FederationInfo) -> MessageSpec:
        """What the public model holds: the tables a client downloads."""

    def public_counts(self, model: Arrays) -> Longs | None:
        """How often each item occurs, once a phase has made it public; `info.counts` holds it from then on.

        Before that a method that `releases_counts` knows none. Names, repeats and `asks` do not depend on it.
        """
        return None

    def knows_counts(self, phase: Phase) -> bool:
        """Whether a visit of this phase fetches the released counts: it follows the phase of their sum."""
        return self.releases_counts and bool(phase.follows)

    def summed_counts(self, received: Total, items: int) -> Longs:
        """The counts that become public with a sum that others follow: by default its table `counts`."""
        table = received.update.tables["counts"]
        counts = np.zeros(items, np.int64)
        counts[table.index] = table.values[:, 0]
        return counts

    @abstractmethod
    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """The first public model."""

    @abstractmethod
    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """What a client keeps before its first round."""

    @abstractmethod
    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """One visit: what the client keeps from it, and what leaves."""

    @abstractmethod
    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The next public model; answers are empty except after an "each" phase."""

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Why an update of an "each" phase is left out, in one sentence; None takes it. The others go on."""
        return None

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Which rows of its history this update shows as positives: by default those of which it holds a row.

        For the ledger of a simulation, with the randomness of the step; a dense update cannot be read off.
        """
        held = np.zeros(len(history), np.bool_)
        for table in phase.sends.tables:
            if table.space == "item":
                held |= np.isin(history.item, update.tables[table.name].index)
        return held

    def disclosed_features(self, states: Arrays) -> Floats | None:
        """Of the stacked states of all clients the share of each one's features that ever left, for the ledger.

        NaN for a client without any; None: the method knows no features of items.
        """
        return None

    def client_negatives(self, info: FederationInfo, history: History, rng: Rng) -> Ints | None:
        """The items a visit takes as negatives, for the check of leaks; None: it draws none."""
        return None

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """What a client does with the final model before it ranks; nothing leaves. Nothing by default."""
        return state

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """The state of someone unknown in training, from the frozen model; nothing leaves."""
        return self.client_ready(context, self.client_init(context.info, history, rng), history, rng)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> NDArray[Any]:
        """Rankers: the scores of all items, (people, items)."""
        raise SettingError(f"{self.name} must rank items to be asked for scores, but it does not.")

    def client_quality(
        self, context: RoundContext, state: ClientState, history: History
    ) -> tuple[float, float] | None:
        """How much of its own data the received model gets right, and of how much; None: it cannot tell."""
        return None

    def client_terms(self, context: RoundContext, state: ClientState, history: History) -> ScoreTerms | None:
        """What the scores of a client's one person are sums of, for the reasons; None: they are no sums."""
        return None

    def client_predict(self, context: RoundContext, state: ClientState, queries: NDArray[Any]) -> NDArray[Any]:
        """Raters and classifiers: one value per query."""
        raise SettingError(f"{self.name} must predict values to be asked for them, but it only ranks.")

    def reveals(self) -> Mapping[str, str]:
        """What else its messages hold about a person, and what that tells, for the ledger; by default {}."""
        return {}

    def shown(self, model: Arrays) -> dict[str, float]:
        """What the public model tells of its own training, for the table beside accuracy."""
        return {}

    def exposed(self, server: ServerState, owner: Longs, item: Ints) -> int | None:
        """Of how many people its sums tell something for certain to whoever knows their rarest item in them.

        In simulations, where it is known who shared which item: (rows,) each. None: nothing is known of that.
        """
        return None

    def expected_counts(self, data: Interactions) -> Longs | None:
        """The counts a simulation's phase would make public without noise; None: it makes none."""
        return None

    def noise_outlook(
        self, info: FederationInfo, sigmas: Mapping[str, float], noisy: bool
    ) -> NoiseForecast | None:
        """What noise will leave of the sums, by what is public: before any is drawn, or after a noisy phase.

        `sigmas` are the standard deviations of the noise in one released number, by phase; `noisy` says that
        `info.counts` have noise already. By default clients that all agree are held against noise alone.
        """
        phases = [phase for phase in self.phases(info) if phase.repeat is None and phase.name in sigmas]
        if not phases:
            return None
        numbers = sum(
            (len(info.listed) if table.space == "item" else table.rows) * table.width
            for table in phases[0].sends.tables
        )
        return NoiseForecast(
            "the longest sum that clients of one mind make",
            float(info.clients),
            sigmas[phases[0].name] * numbers**0.5,
        )

    def release_difference(self, server: ServerState) -> str:
        """What the sums of a second release tell beyond those of the first, for people; "" of a first one."""
        return ""

    def alarm(self, server: ServerState) -> str:
        """What of a release an operator should look at, in one line; "" of nothing."""
        return ""

    def breach(self, server: ServerState) -> str:
        """What the last step found that no honest devices can have added, and cut, in one sentence; or ""."""
        return ""

    def server_unlearn(self, server: ServerState, gone: Mapping[str, Total]) -> ServerState:
        """The server as if some had never taken part: `gone` is the sum of what they sent, by phase.

        Their sum is enough, so that nobody has to show her own part to be forgotten. Refuses by default.
        """
        raise SettingError(
            f"{self.name} must keep its sums for someone to be taken out of them, but it goes on from model to "
            "model; what she sent is bounded by the clip and the noise, and a new training leaves her out."
        )

    def kernel(self) -> Kernel | None:
        """A compiled path, where there is one."""
        return None

    def clients_step(
        self, context: RoundContext, states: dict[str, NDArray[Any]], batch: ClientBatch
    ) -> tuple[dict[str, NDArray[Any]], BatchUpdate]:
        """`client_step` of many clients at once, optional: states are stacked, (clients, ...) for each name."""
        raise SettingError(f"{self.name} must have clients_step to visit many clients at once, but has none.")

    def clients_ready(
        self, context: RoundContext, states: dict[str, NDArray[Any]], batch: ClientBatch
    ) -> dict[str, NDArray[Any]]:
        """`client_ready` of many clients at once: needed beside `clients_step` where `client_ready` is."""
        if type(self).client_ready is not Algorithm.client_ready:
            raise SettingError(f"{self.name} must have clients_ready beside client_ready, but has none.")
        return states

    def visit_examples(self, info: FederationInfo) -> float:
        """How many training examples one visit uses on average: what an epoch can be measured with."""
        return info.interactions / info.clients
