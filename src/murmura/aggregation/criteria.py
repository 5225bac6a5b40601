"""Criteria: properties of a client, measured on the client, each a number from 0 to 1.

Ferrara's thesis, section 5.5: dataset size and the divergence of the local model, of which the authors' code
measures another one; those of labels are in `lab.classification`. The diversity of categories, the share of
rare items and the novelty of an update are ours.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats
from murmura.core.contract import FederationInfo, History
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import short_head
from murmura.core.update import Arrays, SparseRows, Update

MEANS = 16  # more rows than so many times the mean, rounded up to a power of two, count as that many


@dataclass(frozen=True, eq=False)
class ClientView:
    """What a criterion may look at: what this client holds and shares, what it received, what it would send."""

    info: FederationInfo
    history: History  # without the rows its owner shares with nobody: they count in no criterion
    model: Arrays  # the public model it received
    update: Update | None = None  # its own, for criteria that need it


class Criterion(ABC):
    """A named property of a client: 0 is none of it, 1 all there can be."""

    name: str
    reveals: str  # one sentence: what its value tells about a person
    needs_update: ClassVar[bool] = False  # it is measured after the client has trained
    needs_features: ClassVar[bool] = False  # of items

    @abstractmethod
    def measure(self, view: ClientView) -> float:
        """The value of one client."""

    def check(self, info: FederationInfo) -> None:
        """Refuse a federation in which it cannot be measured, before anything is trained; by default none."""
        return


def measured(criteria: Sequence[Criterion], view: ClientView) -> Floats:
    """The values of one client, (criteria,); refuses one that is no number from 0 to 1."""
    values = np.array([one.measure(view) for one in criteria], np.float64)
    for one, value in zip(criteria, values.tolist()):
        if (why := out_of_range(one.name, value)) is not None:
            raise DataError(why)
    return values


def out_of_range(name: str, value: float) -> str | None:
    """Why this is no value of a criterion, in one sentence; None: it is one."""
    if 0 <= value <= 1:
        return None
    return f"the criterion '{name}' must be a number from 0 to 1, but is {value:g}; mend or scale its measure."


class DatasetSize(Criterion):
    """n_u / 2^k. Dividing by a power of two is exact, so normalised values equal n_u / sum n to the bit.

    2^k is the smallest power of two that is at least MEANS times the mean size, or the size of the whole
    federation where that is less: nobody can claim to hold more than that, and values stay large enough to
    survive a fixed point.
    """

    name = "dataset_size"
    reveals = "how many rows or samples the client holds"

    def measure(self, view: ClientView) -> float:
        """1 from 2^k rows on."""
        whole = view.info.interactions
        largest = min(whole, MEANS * -(-whole // max(view.info.clients, 1)))
        return min(1.0, len(view.history) / (1 << max(largest - 1, 0).bit_length()))


@dataclass(frozen=True)
class Attribute(Criterion):
    """What a client says of itself, from a file of attributes: a number from 0 to 1, or 1 for true."""

    attribute: str
    name: str = ""
    reveals: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or f"attribute:{self.attribute}")
        object.__setattr__(self, "reveals", self.reveals or f"what the client says of its '{self.attribute}'")

    def measure(self, view: ClientView) -> float:
        """The attribute as it is."""
        said = view.history.attributes
        if self.attribute not in said:
            there = f"has {', '.join(sorted(said))}" if said else "has none"
            raise DataError(
                f"the criterion '{self.name}' must find an attribute '{self.attribute}' of the client, but it "
                f"{there}; give a column of that name with --attributes FILE."
            )
        if math.isnan(said[self.attribute]):
            raise DataError(
                f"the criterion '{self.name}' must know the '{self.attribute}' of every client, but the file "
                "of attributes has no row of this one; add it."
            )
        return said[self.attribute]


TRUST = Attribute("trust", "trust", "how far the federation trusts the client")
CAPABILITY = Attribute("capability", "capability", "how able the client's device and its connection are")


class CategoryDiversity(Criterion):
    """The share of all categories of items that the client's own items have."""

    name = "category_diversity"
    reveals = "how many of the categories of items the client's history covers"
    needs_features: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """Categories are the features of items, publicly known."""
        known = view.info.features
        if known is None or not len(known):
            raise DataError(
                "the criterion 'category_diversity' must know features of items, but none are known; give "
                "--features FILE or take a data set with genres."
            )
        return len(known.of_items(view.history.item)) / len(known)


class LongTail(Criterion):
    """The share of the client's items outside the short head, as the metrics of the long tail define it."""

    name = "long_tail"
    reveals = "which share of the client's items few people have"

    def check(self, info: FederationInfo) -> None:
        """Rare and popular are public counts."""
        if info.counts is None or info.task is not None:
            raise SettingError(
                "the criterion 'long_tail' must know how often each item occurs, but this federation does not "
                "publish it; leave the criterion out."
            )

    def measure(self, view: ClientView) -> float:
        """0 for a client without items."""
        self.check(view.info)
        items = view.history.item
        return 1.0 - float(_head(view.info)[items].mean()) if len(items) else 0.0


@lru_cache(maxsize=4)
def _head(info: FederationInfo) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which items are popular; every client of a simulation asks for the same."""
    assert info.counts is not None
    return short_head(info.counts)


class ModelDivergence(Criterion):
    """phi = 1 / sqrt(||theta - theta_u||_2 + 1), over the whole vector of changes, as the thesis writes it."""

    name = "model_divergence"
    reveals = "how far the client's own data pull the model away from where it stands"
    needs_update: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """1: the client would leave the model as it is."""
        return 1 / math.sqrt(_norm(rows.values for rows in _tables(view).values()) + 1)


class LayerDivergence(Criterion):
    """The same of the mean of the layers' norms, biases left out, as the thesis's authors' code has it.

    A layer is a table with more than one column; a table with one column is a bias.
    """

    name = "layer_divergence"
    reveals = ModelDivergence.reveals
    needs_update: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """1: the client would leave every layer as it is."""
        norms = [_norm([rows.values]) for rows in _tables(view).values() if rows.values.shape[1] > 1]
        return 1 / math.sqrt(sum(norms) / max(len(norms), 1) + 1)


class UpdateNovelty(Criterion):
    """||U|| / (||U|| + ||model||): how much of where the model would stand is this client's doing.

    All a client can compare its update with is the model it received. The share is 0 for an update that changes
    nothing and grows with what the client adds to what is known; the opposite of divergence, which it rewards.
    """

    name = "update_novelty"
    reveals = ModelDivergence.reveals
    needs_update: ClassVar[bool] = True

    def measure(self, view: ClientView) -> float:
        """0: nothing new."""
        own = _norm(rows.values for rows in _tables(view).values())
        known = _norm(table for table in view.model.values() if table.dtype.kind == "f")
        return own / (own + known) if own > 0 else 0.0


def _tables(view: ClientView) -> dict[str, SparseRows]:
    assert view.update is not None, "a criterion that needs the update says so in needs_update"
    return dict(view.update.tables)


def _norm(parts: Iterable[NDArray[Any]]) -> float:
    """The L2 norm of all of them as one vector."""
    return math.sqrt(sum(float(np.square(part, dtype=np.float64).sum()) for part in parts))
