"""How updates travel, as settings; `channel.chain` turns them into the stages between algorithm and server."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from murmura.core.arrays import Ints
from murmura.core.codec import downloaded_model
from murmura.core.errors import SettingError
from murmura.core.message import MessageSpec
from murmura.core.settings import Count, settings
from murmura.core.update import Arrays

Bound = Annotated[float, Field(gt=0, allow_inf_nan=False)]
READABLE = "the server can read each update"  # the label of everything that is not a secure sum


@settings
class ChannelSettings:
    """What happens to an update between a device and the server.

    none         a simulation that adds up floating-point updates as the papers do; no real federation takes it
    secure-sum   clip, fixed point, additive shares to two aggregators: neither learns anything from its share
    readable     the same stages with one aggregator: the server can read each update

    Blocks decide which items travel. dense: all on offer. half: the round's public random half, rows outside
    are dropped. core: the items with at least `core` interactions, the same in every round.
    """

    channel: Literal["none", "secure-sum", "readable"] = "none"
    clip: Bound = 30.0  # C: no update is longer than this in L2, biases and scalars included
    coordinate: Bound | None = None  # no single value is larger than this; None: C
    bits: Annotated[int, Field(ge=2, le=24)] = 16  # of one fixed-point value, its sign included
    ring: Literal[24, 32] = 32  # bits of one word of the sum
    block: Literal["dense", "half", "core"] = "dense"
    core: Count = 5
    minimum_cohort: Count = 100  # no sum of fewer devices is released
    download: Literal["exact", "float16", "int8"] = "exact"  # the numbers of the public model a device fetches

    @property
    def on(self) -> bool:
        """Whether updates go through the stages at all."""
        return self.channel != "none"

    @property
    def plain(self) -> bool:
        """Whether nothing at all happens on the way, in either direction."""
        return not self.on and self.download == "exact"

    @property
    def label(self) -> str | None:
        """What must stand wherever this channel is shown."""
        return None if self.channel == "secure-sum" else READABLE

    @property
    def server_reads(self) -> str:
        """What the server gets to read of the devices, in two words."""
        return "each update" if self.label else "sums alone"

    def summary(self) -> str:
        """One line for reports and ledgers."""
        if not self.on:
            return f"floating-point sums: {READABLE}"
        stages = f"L2 clip {self.clip:g}, {self.bits} bits in a ring of {self.ring}, block {self.block}"
        return f"{self.channel}, {stages}" + (f": {self.label}" if self.label else "")

    def downloads(self, publishes: MessageSpec) -> MessageSpec:
        """How the public model travels to a device."""
        return publishes if self.download == "exact" else publishes.narrowed(self.download)

    def as_downloaded(self, model: Arrays, publishes: MessageSpec, listed: Ints) -> Arrays:
        """The public model as a device gets it, in the model's own types."""
        return model if self.download == "exact" else downloaded_model(model, self.downloads(publishes), listed)

    def check_cohort(self, cohort: int, most: int | None = None) -> None:
        """Refuse rounds of fewer devices than the minimum; `most` is how many there could be."""
        if self.on and cohort < self.minimum_cohort:
            more = "; raise clients or" if most is None or cohort < most else " and no more;"
            raise SettingError(
                f"clients per round must be at least the minimum cohort of {self.minimum_cohort}, but there "
                f"are {cohort}{more} lower minimum_cohort."
            )
