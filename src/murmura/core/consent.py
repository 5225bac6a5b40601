"""What a person allows, as settings; channel.disclosure turns it into `history.share`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from murmura.core.settings import settings

Share = Annotated[float, Field(ge=0, le=1)]
Mode = Literal["sticky", "per-item-per-round", "per-triple"]


@settings
class Consent:
    """How much of what they like people contribute. pi limits what is contributed; it does not protect privacy.

    sticky              an item joins the shared set only while that set is smaller than floor(pi * n)
    per-item-per-round  a coin per item and round (the papers' equation 4)
    per-triple          a coin at every use of a positive (the authors' code)

    `pi` is one number for everyone, or the choices people make: {0: 0.2, 0.5: 0.5, 1: 0.3} says that 20 % share
    nothing and 30 % everything.
    """

    pi: Share | dict[Share, Annotated[float, Field(gt=0)]] = 1.0
    disclosure: Mode = "sticky"

    @property
    def average_pi(self) -> float:
        """The mean over people."""
        if not isinstance(self.pi, dict):
            return self.pi
        return sum(p * w for p, w in self.pi.items()) / sum(self.pi.values())
