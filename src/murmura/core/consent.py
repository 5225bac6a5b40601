"""What a person allows, as settings, and which items people withhold; see `channel.consent_draws`.

Who shares a fraction pi of her items withholds the rest by a policy, which Ferrara's thesis, 4.7, leaves open.
A policy ranks the rows of a person from the first she would hide; at pi she hides the first n - floor(pi n) of
her n rows: a smaller pi hides more of the same.

random      any of them
categories  one category after the other, in an order of her own: everything of it, then of the next
rarest      what the fewest people have; everyone knows how popular an item is
newest      what she had last
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Words, philox
from murmura.core.settings import Fraction, settings

NonDisclosurePolicy = Literal["random", "categories", "rarest", "newest"]
# rows by user -> a number each, the lowest hidden first
Ranking = Callable[[Interactions, Words], Floats | Longs]


def sticky_limit(pi: float | Floats, n: int | Longs) -> Any:
    """floor(pi * n), where 0.29 * 100 is 29 although the product of the doubles is a little less."""
    return np.floor(np.asarray(pi) * n + 1e-9).astype(np.int64)


def undisclosed_rows(policy: NonDisclosurePolicy, data: Interactions, pi: Floats, secrets: Words) -> Bools:
    """The rows people keep back, in the order of `data.by_user`; `pi` and `secrets` are everyone's own."""
    rows = data.by_user
    counts = np.diff(rows.start)
    user = np.repeat(np.arange(data.n_users), counts)
    within = np.arange(len(data)) - np.repeat(rows.start[:-1], counts)
    order = np.lexsort((_words(within, secrets[user]), RANKINGS[policy](data, secrets), user))
    place = np.empty(len(data), np.int64)
    place[order] = within
    hidden: Bools = place < (counts - sticky_limit(pi, counts))[user]
    return hidden


def _words(block: Longs, secrets: Words) -> Words:
    """The first word of each block of a WITHHOLD stream: block k of a person's for her row k."""
    counter = np.zeros((*block.shape, 4), np.uint32)
    counter[..., 0], counter[..., 2] = block, Purpose.WITHHOLD
    return philox(counter, secrets)[..., 0]


def _rarest(data: Interactions, secrets: Words) -> Longs:
    return np.asarray(data.item_counts, np.int64)[data.by_user.index]


def _newest(data: Interactions, secrets: Words) -> Longs:
    if data.time is None:
        raise DataError(
            "hides must be another policy than 'newest' where rows have no times, as here; choose 'random'."
        )
    return -data.time[data.by_user.order]


def _by_category(data: Interactions, secrets: Words) -> Floats:
    """The place of an item's first category in its owner's order; after all of them where it has none.

    Of the features of items these are the labels of the last predicate, where `Catalogue` puts categories.
    """
    known = data.features
    if known is None or not len(known):
        raise DataError(
            "hides must be another policy than 'categories' where no item has one, as here; choose 'random'."
        )
    rows = data.by_user
    block = np.broadcast_to(2**31 + np.arange(len(known)), (len(secrets), len(known)))
    orders = _words(block, secrets[:, None])  # (users, categories): each person's own
    user = np.repeat(np.arange(data.n_users), np.diff(rows.start))
    pair = np.repeat(np.arange(len(rows.index)), np.diff(known.start)[rows.index])
    label = known.of_each(rows.index)
    predicates = np.array([text.partition("=")[0] for text in known.labels])
    pair, label = (part[(predicates == predicates[-1])[label]] for part in (pair, label))
    first = np.full(len(rows.index), np.inf)
    np.minimum.at(first, pair, orders[user[pair], label])
    return first


RANKINGS: dict[NonDisclosurePolicy, Ranking] = {
    "random": lambda data, _: np.zeros(len(data), np.int64),
    "categories": _by_category,
    "rarest": _rarest,
    "newest": _newest,
}


DisclosureMode = Literal["sticky", "block", "per-item-per-round", "per-triple"]


@settings
class Permission:
    """What the owner of one device allows now; every part can be taken back before the next byte leaves.

    train        take part in training rounds at all
    pi           at most this share of what she likes, where an update shows it
    statistics   take part in sums about people, such as how many like each item
    never        items that are never to be shared; she may take that back
    epsilon      noise must bound what all uploads of this device together reveal to this; None: she does not
    ask
    release_epsilon   the same of one training or release alone, as its terms have it
    """

    train: bool = True
    pi: Fraction = 1.0
    statistics: bool = True
    never: tuple[int, ...] = ()
    epsilon: Annotated[float, Field(gt=0)] | None = None
    release_epsilon: Annotated[float, Field(gt=0)] | None = None

    def permits(self, asks: Literal["training", "statistics"]) -> bool:
        """Whether a phase that asks for this may have an answer."""
        return self.train if asks == "training" else self.statistics


@settings
class Consent:
    """How much of what they like people contribute. pi limits what is contributed; it does not protect privacy.

    sticky              an item joins the shared set only while that set is smaller than floor(pi * n)
    block               the same, but the shared set is one stretch of the history in time order
    per-item-per-round  a coin per item and round (the papers' equation 4)
    per-triple          a coin at every use of a positive (the authors' code)

    `pi` is one number for everyone, or the choices people make: {0: 0.2, 0.5: 0.5, 1: 0.3} says that 20 % share
    nothing and 30 % everything. `hides` is what they keep back: at random as `sticky` draws, or by a policy of
    this module; then it is the same for ever, so it needs `sticky`.
    """

    # the largest fraction of what people like that they contribute
    pi: Fraction | dict[Fraction, Annotated[float, Field(gt=0)]] = 1.0
    disclosure: DisclosureMode = "sticky"  # when the coin of pi is flipped
    statistics: Fraction = 1.0  # the share of people who take part in sums about people, such as item counts
    hides: NonDisclosurePolicy = "random"  # what people keep back

    def __post_init__(self) -> None:
        if self.hides != "random" and self.disclosure != "sticky":
            raise SettingError(
                f"disclosure must be 'sticky' where people hide by '{self.hides}', but it is "
                f"'{self.disclosure}'; change one of them."
            )

    @property
    def average_pi(self) -> float:
        """The mean over people."""
        if not isinstance(self.pi, dict):
            return self.pi
        return sum(p * w for p, w in self.pi.items()) / sum(self.pi.values())
