"""What most rivals share: negatives outside a client's own rows, shuffled batches, and the published leak.

The loaders of PFedRec, GPFedRec and FedRAP draw negatives outside *all* interactions of a user, those of the
validation and test parts included: the held-out item is the one unrated item that is never pushed down. `leak`
repeats that for an experiment and says so in its name; without it negatives avoid training rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints
from murmura.core.contract import (
    Algorithm,
    ClientState,
    FederationInfo,
    History,
    Phase,
    RoundContext,
    ServerState,
)
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, NonNegative, Times, settings
from murmura.data.sources.registry import load
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import protocol

SPARED = 2  # held-out items a client may have: one of the validation and one of the test part
NEGATIVES, ORDER = int(Purpose.OWN), int(Purpose.OWN) + 1  # of epoch 0; two streams for each epoch more


class LabelledItems(NamedTuple):
    """The samples of one local epoch, in the order they are used."""

    item: Ints  # (samples,)
    label: Floats  # (samples,) 1 for an own item, 0 for a drawn one

    def batches(self, size: int) -> Iterator[LabelledItems]:
        """Some samples at a time."""
        for first in range(0, len(self.item), size):
            yield LabelledItems(self.item[first : first + size], self.label[first : first + size])


@settings
class SampledRival(Algorithm):
    """A method whose clients learn from own items and drawn ones."""

    bears_noise: ClassVar[bool] = False

    factors: Count = 32  # d
    negatives: Count = 4  # drawn for each own item, anew in each epoch
    batch: Count = 256  # samples of a step
    alone: Times = 0  # epochs of a client by itself in place of rounds: the control without communication
    leak: str | None = None  # DATA/PROTOCOL with held-out rows never drawn, as published: experiments only
    precision: Literal["float32", "float64"] = "float32"  # the numbers of the model and of updates

    spread: NonNegative = 1.0  # the item table starts as N(0, spread^2)

    @property
    def width(self) -> int:
        """The numbers a client sends for an item."""
        return self.factors

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of rows of items in every round."""
        rows = TableSpec("items", "item", info.items, self.width, self.precision)
        return (Phase("train", MessageSpec((rows,))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The item table."""
        return MessageSpec((TableSpec("Q", "item", info.items, self.factors, self.precision),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Normals."""
        draws = self.spread * rng.stream(Purpose.INIT).normals(info.items * self.factors)
        return ServerState({"Q": draws.reshape(info.items, -1).astype(self.precision)})

    def shared_items(self, history: History, rng: Rng) -> Ints:
        """What may speak in a visit: a coin for each row."""
        items: Ints = history.item[rng.stream(Purpose.COINS).coins(history.consent)]
        return items

    def own_vector(self, rng: Rng, scale: float) -> NDArray[Any]:
        """A person's first vector."""
        return (scale * rng.stream(Purpose.INIT).normals(self.factors)).astype(self.precision)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> NDArray[Any]:
        """As `client_ready` made them."""
        return np.asarray(state["scores"])[None]

    def spared(self, history: History) -> Ints:
        """What the published loaders spare besides the own items: nothing without the leak."""
        return spared_items(self.leak, history.item) if self.leak else np.zeros(0, np.int32)

    def draw(self, info: FederationInfo, own: Ints, shared: Ints, rng: Rng, epoch: int = 0) -> LabelledItems:
        """The samples of one epoch: the shared items, and for each some that are not among `own`."""
        out = np.flatnonzero(np.isin(info.listed, own))
        words = rng.stream(NEGATIVES + 2 * epoch).words(len(shared) * self.negatives).astype(np.uint64)
        free = max(0, len(info.listed) - len(out))
        place = ((words if free else words[:0]) * np.uint64(free) >> np.uint64(32)).astype(np.int64)
        place += np.searchsorted(out - np.arange(len(out)), place, side="right")  # past the own ones
        item = np.concatenate([shared, info.listed[place]])
        label = np.repeat([1.0, 0.0], [len(shared), len(place)])
        order = np.argsort(rng.stream(ORDER + 2 * epoch).words(len(item)), kind="stable")
        return LabelledItems(item[order], label[order])

    def client_negatives(self, info: FederationInfo, history: History, rng: Rng) -> Ints:
        """What a visit takes as negatives."""
        drawn = self.draw(info, self.avoided(history), history.item, rng)
        negatives: Ints = drawn.item[drawn.label == 0]
        return negatives

    def avoided(self, history: History) -> Ints:
        """What is never drawn as a negative."""
        return np.union1d(history.item, self.spared(history)).astype(np.int32)

    def visit_examples(self, info: FederationInfo) -> float:
        """How many samples one visit uses on average."""
        return info.interactions / info.clients * (1 + self.negatives)


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^-x)."""
    with np.errstate(over="ignore"):  # then it is 0, as it should be
        return 1.0 / (1.0 + np.exp(-x))


def bce_slope(logit: Floats, label: Floats) -> Floats:
    """d BCE / d logit."""
    return sigmoid(logit) - label


@lru_cache(maxsize=4)
def _everything(leak: str) -> Interactions:
    name, slash, rules = leak.rpartition("/")  # a file of one's own has slashes too
    if not slash:
        raise SettingError(f"leak must be DATA/PROTOCOL, such as ml-100k/ncf, but is '{leak}'.")
    dataset = load(name)
    return whole_split(dataset, protocol(rules, dataset)).data


def spared_items(leak: str, own: Ints) -> Ints:
    """The held-out items of whoever has these rows in training: found by the rows, a client has no name."""
    data = _everything(leak)
    users, by_item = np.zeros(data.n_users, np.int64), data.by_item
    for item in own[own < data.n_items].tolist():
        users[by_item.of(item)] += 1
    # who holds many more rows has these among them by chance
    whose = np.flatnonzero((users == len(own)) & (data.user_counts <= len(own) + SPARED))
    if not len(own) or len(whose) != 1:
        return np.zeros(0, np.int32)
    return np.setdiff1d(data.by_user.of(int(whose[0])), own).astype(np.int32)
