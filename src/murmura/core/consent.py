"""What a person allows, as settings; channel.consent turns it into `history.consent`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.settings import Fraction, settings
from murmura.core.withholding import Withheld

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
    `core.withholding`; then it is the same for ever, so it needs `sticky`.
    """

    # the largest fraction of what people like that they contribute
    pi: Fraction | dict[Fraction, Annotated[float, Field(gt=0)]] = 1.0
    disclosure: DisclosureMode = "sticky"  # when the coin of pi is flipped
    statistics: Fraction = 1.0  # the share of people who take part in sums about people, such as item counts
    hides: Withheld = "random"  # what people keep back

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
