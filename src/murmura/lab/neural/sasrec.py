"""Kang and McAuley: Self-attentive sequential recommendation (ICDM 2018), SASRec.

The network is trained with torch (`sasrec_network` has the formulas and says where it departs from the
paper); it answers in numpy, from the end of a person's history.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from murmura.baselines.base import Pairs, popularity
from murmura.core.arrays import Bools, Ints, Longs, Singles
from murmura.core.errors import DataError, MemoryLimitError, SettingError
from murmura.core.interactions import Interactions, latest_each
from murmura.core.model import Arrays
from murmura.core.rng import Rng
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.lab.neural import require_torch
from murmura.lab.neural.histories import Sequences, Windows, shuffle_keys, windows
from murmura.lab.neural.networks import NetworkBaseline, NetworkModel

if TYPE_CHECKING:
    from murmura.lab.neural.training_loop import Fit

EPSILON = 1e-5  # added to a variance before its root, in training too
PUBLIC = Rng(np.zeros(2, np.uint32))  # shuffles items of one time when asked: whatever the seed, always alike


@dataclass(frozen=True, eq=False)
class SasRecModel(NetworkModel):
    """Vectors of items and places, and the blocks that read a history with them."""

    read: Sequences
    reads = Sequences

    def score(self, users: Ints) -> Singles:
        """The scores of every item after the user's newest ones; -inf where training had no row of the item."""
        start = self.read.histories.start
        end = start[np.asarray(users, np.int64) + 1]
        begin = np.maximum(start[users], end - len(self.network["place"]))
        return self._answer(windows(self._ordered, begin, end))

    def score_history(self, items: Ints) -> Singles:
        """The same for a set of items, which is in no order and read in a drawn one; popularity when empty."""
        own, _ = latest_each(items)
        return self._of_stranger(own, np.zeros(len(own), np.int64))

    def score_timed_history(self, items: Ints, time: Longs) -> Singles:
        """The same for items in the order of their times; those of one time in a drawn one."""
        own, when = latest_each(items, time)
        assert when is not None
        return self._of_stranger(own, when)

    def _of_stranger(self, own: Longs, time: Longs) -> Singles:
        histories = self.read.histories
        known = np.isin(own, histories.item)
        if not known.any():
            return popularity(self.train)
        column = np.searchsorted(histories.item, own[known])
        drawn = shuffle_keys(PUBLIC, histories.n_users * len(histories.item) + column)
        column = column[np.lexsort((drawn, time[known]))][-len(self.network["place"]) :]
        scores: Singles = self._answer(windows(column, np.array([0]), np.array([len(column)])))[0]
        return scores

    @cached_property
    def _ordered(self) -> Longs:
        return self.read.ordered(PUBLIC)

    def _answer(self, read: Windows) -> Singles:
        """From what was read to the scores of the whole catalogue."""
        scores = last_states(self.network, self.method.heads, read) @ self.network["item"].T
        return self.spread(scores, self.read.histories.item)


def last_states(network: Arrays, heads: int, read: Windows) -> Singles:
    """(rows, dim) the state at the end of every window; its product with the items' vectors is their scores."""
    width, d = read.column.shape[1], network["item"].shape[1]
    x: Singles = np.float32(d**0.5) * network["item"][read.column] + network["place"][:width]
    blocks = sum(name.startswith("query") for name in network)
    step = np.arange(width)
    earlier: Bools = (step <= step[:, None])[None]
    for n in range(1, blocks + 1):
        asking = x
        if n == blocks:  # nothing but the last place is asked for any more
            asking, earlier = x[np.arange(len(x)), read.size - 1][:, None], _within(step, read.size)
        x = asking + _attention(network, n, heads, asking, x, earlier)
        inner = np.maximum(
            _norm(network, f"feed{n}", x) @ network[f"inner{n}_weight"] + network[f"inner{n}_bias"], 0
        )
        x = x + inner @ network[f"outer{n}_weight"] + network[f"outer{n}_bias"]
    return _norm(network, "last", x[:, 0])


def _within(step: Longs, size: Longs) -> Bools:
    inside: Bools = step < size[:, None, None]
    return inside


def _attention(network: Arrays, n: int, heads: int, asking: Singles, x: Singles, seen: Bools) -> Singles:
    """What the places of `asking` gather from those of `x` that they may see, head by head."""
    at, every = _norm(network, f"attend{n}", asking), _norm(network, f"attend{n}", x)
    query, key, value = (
        (source @ network[f"{name}{n}_weight"]).reshape(len(x), -1, heads, x.shape[2] // heads).swapaxes(1, 2)
        for name, source in (("query", at), ("key", every), ("value", every))
    )
    weight = query @ key.swapaxes(2, 3) / np.float32(key.shape[3] ** 0.5)
    weight = np.where(seen[:, None], weight, np.float32(-np.inf))
    weight = np.exp(weight - weight.max(3, keepdims=True))
    weight /= weight.sum(3, keepdims=True)
    gathered: Singles = (weight @ value).swapaxes(1, 2).reshape(asking.shape)
    return gathered


def _norm(network: Arrays, name: str, x: Singles) -> Singles:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    normed: Singles = scaled * network[f"{name}_scale"] + network[f"{name}_shift"]
    return normed


@settings
class SasRec(NetworkBaseline):
    """What comes next, by attention to what came before.

    `length` is how many items of a history are read at once, the newest when asked; `negatives` how many items
    each step sets against the next ones: as many as there are, or more, is the whole softmax.
    """

    name = "sasrec"
    model = SasRecModel
    uses_order: ClassVar[bool] = True

    dim: Count = 64  # length of the vectors
    blocks: Count = 2  # blocks of attention
    heads: Count = 1  # heads of each block
    length: Count = 50  # items of a history that are read at once, the newest when asked
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.2  # share of numbers that a step hides
    negatives: Count = 512  # items each step sets against the next ones
    epochs: Count = 30  # passes over the histories
    batch: Count = 128  # histories of one step
    learning_rate: Positive = 0.001  # of Adam
    l2: NonNegative = 0.0  # weight of the squared weights
    memory_gb: Positive = 4.0  # a step that would need more is refused

    def __post_init__(self) -> None:
        if self.dim % self.heads:
            raise SettingError(
                f"sasrec.heads must divide dim, but {self.heads} does not divide {self.dim}; change one."
            )

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse data without times, and tables that would not fit, as well."""
        super().check(train, seed)
        if train.time is None:
            raise DataError(
                "sasrec needs a time for every row, but this data has none; take data with times, or a model "
                "that uses no order."
            )
        self._refuse_too_large(int((train.item_counts > 0).sum()))

    def trained(self, read: Sequences, fit: Fit) -> Arrays:
        """Adam on the softmax of what comes next."""
        from murmura.lab.neural import sasrec_network

        shape = sasrec_network.Shape(self.dim, self.blocks, self.heads, self.length, self.dropout)
        return sasrec_network.train(read, shape, self.negatives, fit)

    def _refuse_too_large(self, n_items: int) -> None:
        """Before anything that large is made: vectors with gradients and Adam's two means, scores of a step."""
        scores = self.batch * self.length * (1 + min(self.negatives, n_items))
        needed = 4 * (5 * n_items * self.dim + 4 * scores) / 1e9
        rounded_up = math.ceil(10 * needed) / 10
        if needed > self.memory_gb:
            raise MemoryLimitError(
                f"sasrec.memory_gb must be at least {rounded_up} for {n_items} items and {scores} scores in a "
                f"step, but it is {self.memory_gb:g}; raise it, or lower negatives, batch or dim."
            )

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> Pairs:
        """The unmet items that are set against the next ones, by the generator of that seed and epoch."""
        require_torch(self.name)
        from murmura.lab.neural import sasrec_network

        return sasrec_network.drawn_negatives(Sequences.of(train), self.negatives, seed, epoch)
