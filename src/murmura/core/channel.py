"""How updates travel, as settings; `channel.chain` turns them into the stages between algorithm and server.

Last, what noise will leave of a sum.
"""

from __future__ import annotations

from dataclasses import dataclass
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
WITHOUT_NOISE = "sums without noise"  # of any federation without epsilon
EXACT = "everybody can read sums without noise"  # of a method that makes counts public, without epsilon
EPSILON = 4.0  # of a release that is served, or compared with the exact one, where nobody gives another
SUM_PROTOCOLS = ("shares", "masks", "ckks")  # in simulations alone; `lab.protections` has them
MECHANISMS = ("laplace", "local-gaussian")  # that add noise, in simulations alone


@settings
class ChannelSettings:
    """What happens to an update between a device and the server.

    none         a simulation that adds up floating-point updates as the papers do; no real federation takes it
    secure-sum   clip, fixed point, additive shares to two aggregators: neither learns anything from its share
    readable     the same stages with one aggregator: the server can read each update

    In simulations alone, the same stages with other protocols that sum (`lab.protections`):

    shares       additive shares to three aggregators
    masks        one server, pairwise masks, devices may be lost
    ckks         one server that adds ciphertexts, one key holder

    and with other noise, which needs `epsilon` (`lab.protections.mechanisms`):

    laplace          central Laplace noise; `clip` is an L1 length
    local-gaussian   every device adds noise to its own upload

    Blocks decide which items travel. dense: all on offer. half: the round's public random half, rows outside
    are dropped. core: the items with at least `core` interactions, the same in every round.

    With `epsilon` each aggregator adds the whole noise to its share, and fewer bits travel than `bits` where
    the noise is coarser than they are.
    """

    channel: Literal[  # how updates are added up, and who can read them
        "none", "secure-sum", "readable", "shares", "masks", "ckks", "laplace", "local-gaussian"
    ] = "none"
    clip: Bound = 30.0  # C: no update is longer than this in L2, biases and scalars included
    coordinate: Bound | None = None  # no single value is larger than this; None: C
    bits: Annotated[int, Field(ge=2, le=24)] = 16  # of one fixed-point value, its sign included
    ring: Literal[24, 32, 64] = 32  # bits of one word of the sum; 64: in simulations of very many clients alone
    # which items travel: all, half of them each round, or the core
    block: Literal["dense", "half", "core"] = "dense"
    core: Count = 5  # interactions from which an item belongs to the core
    minimum_cohort: Count = 100  # no sum of fewer devices is released
    download: Literal["exact", "float16", "int8"] = "exact"  # the numbers of the public model a device fetches
    epsilon: Bound | None = None  # noise bounds what all sums together reveal of one person; None: no noise
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None  # of that bound; None: 1 / (10 clients)
    as_if: Count | None = None  # simulations: the noise there would be among so many people
    hopeless: bool = False  # train although noise is expected to drown what there is to learn

    def __post_init__(self) -> None:
        if self.mechanism and self.epsilon is None:
            raise SettingError(
                f"channel '{self.channel}' adds noise for an epsilon, but there is none; give one."
            )
        if self.channel == "laplace" and self.delta is not None:
            raise SettingError(
                f"delta of channel 'laplace' is 0 and must be left out, but it is {self.delta:g}."
            )
        if self.channel == "local-gaussian" and self.as_if is not None:
            raise SettingError(
                "as_if must be left out for channel 'local-gaussian', whose noise grows with the people, but "
                f"it is {self.as_if}."
            )
        if self.ring == 64 and self.channel in SUM_PROTOCOLS:
            raise SettingError(f"ring must be 24 or 32 for channel '{self.channel}', but it is 64.")
        if self.epsilon is not None and self.channel != "secure-sum" and not self.mechanism:
            raise SettingError(
                f"channel must be 'secure-sum' where epsilon is given, but it is '{self.channel}': each of two "
                "aggregators adds the noise to its share."
            )
        for name in ("delta", "as_if"):
            if self.epsilon is None and getattr(self, name) is not None:
                raise SettingError(
                    f"{name} must be left out where epsilon is, but it is {getattr(self, name)}."
                )

    @property
    def on(self) -> bool:
        """Whether updates go through the stages at all."""
        return self.channel != "none"

    @property
    def simulated(self) -> bool:
        """Whether it exists in simulations alone."""
        return self.channel in SUM_PROTOCOLS or self.mechanism or self.ring == 64

    @property
    def mechanism(self) -> bool:
        """Whether its noise is not that of two aggregators."""
        return self.channel in MECHANISMS

    @property
    def plain(self) -> bool:
        """Whether nothing at all happens on the way, in either direction."""
        return not self.on and self.download == "exact"

    @property
    def label(self) -> str | None:
        """What must stand wherever this channel is shown."""
        summed = self.channel in ("secure-sum", "laplace", *SUM_PROTOCOLS)
        return None if summed else READABLE

    @property
    def server_reads(self) -> str:
        """What the server gets to read of the devices, in a few words."""
        if self.label:
            return "each update"
        return WITHOUT_NOISE if self.epsilon is None else "noisy sums"

    def summary(self) -> str:
        """One line for reports and ledgers."""
        if not self.on:
            return f"floating-point sums: {READABLE}"
        stages = f"L2 clip {self.clip:g}, {self.bits} bits in a ring of {self.ring}, block {self.block}"
        if self.epsilon is not None:
            people = "" if self.as_if is None else f" as if among {self.as_if} people"
            stages += f", noise for epsilon {self.epsilon:g}{people}"
        kind = f"{self.channel} (simulation only)" if self.simulated else self.channel
        return f"{kind}, {stages}" + (f": {self.label}" if self.label else "")

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


@dataclass(frozen=True)
class NoiseForecast:
    """How much people have in common, beside what noise alone looks like; `what` names the unit of both."""

    what: str
    signal: float
    noise: float
    enough: int | None = None  # about how many people like these noise would not drown; None: not known

    @property
    def ratio(self) -> float:
        """Below 1 there is no use in the exchange."""
        return self.signal / self.noise

    @property
    def hopeless(self) -> bool:
        """Whether noise is expected to drown what there is to learn."""
        return self.ratio < 1

    def sentence(self) -> str:
        """For people."""
        verdict = (
            "hopeless" if self.hopeless else "worth it" if self.ratio >= 2 else "little more than popularity"
        )
        found = f"{self.signal:.3g} against {self.noise:.3g} of noise ({self.ratio:.2g} times)"
        return f"{self.what}: {found}: {verdict}"

    def check(self, epsilon: float) -> None:
        """Refuse what is hopeless."""
        if self.hopeless:
            crowd = (
                "Bring more people together"
                if self.enough is None
                else f"About {self.enough:,} people would do"
            )
            raise SettingError(
                f"noise for epsilon {epsilon:g} must leave something to learn, but {self.what} is "
                f"{self.signal:.3g} where noise alone makes {self.noise:.3g}. Expect less than the most "
                f"popular items give. {crowd}; or raise epsilon, take fed-mostpop (counts alone), or say "
                "hopeless=true."
            )
