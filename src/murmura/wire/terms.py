"""What a federation is, agreed by its coordinator and both aggregators, and pinned by every device that joins.

Terms are JSON in canonical form, named by their SHA-256. A manifest names the terms it is made under; a device
takes part under the terms it joined with and no others, so a coordinator cannot change a key, the method, a
bound, the minimum or the noise behind its back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

from murmura.algorithms import algorithm as named
from murmura.channel.chain import Chain
from murmura.channel.layout import VectorLayout
from murmura.channel.ledger import DeviceCosts, device_costs
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.phase_chains import chain
from murmura.core.channel import EXACT, READABLE, ChannelSettings
from murmura.core.claims import PairsClaim, RowsClaim
from murmura.core.contract import Algorithm, FederationInfo, Phase
from murmura.core.errors import MurmuraError
from murmura.core.schedule import Schedule
from murmura.core.settings import from_dict
from murmura.wire.refusals import RefusedError, forged, malformed, printable
from murmura.wire.signed_records import Count, Hexadecimal, PublicKey, Seconds, SignedRecord, check_signature
from murmura.wire.transport import DOWNLOAD_BYTES, check_plain, host_of, is_loopback
from murmura.wire.wire import SIGNATURE_BYTES

SIGNED = 3 * SIGNATURE_BYTES  # bytes of the signatures of all three machines
LABELS = {"readable": READABLE, "exact": EXACT}
LOST = (
    "the servers lost the log after entry {entries} and all copies of it, so nobody can check any more what "
    "was done after it"
)
CLOCKS_DIFFER = 600.0  # seconds by which the clocks of two machines may


def labels_of(channel: str, algorithm: Algorithm, noise: NoiseTerms) -> dict[str, str]:
    """What operator and device must each allow by an option of this name, as a clause that says why."""
    released = algorithm.releases_counts or algorithm.releases_pairs
    holds = {"readable": channel == "readable", "exact": released and not noise}
    return {name: label for name, label in LABELS.items() if holds[name]}


@dataclass(frozen=True)
class AggregatorAddress:
    """An aggregator as devices see it."""

    url: str
    key: PublicKey  # Ed25519: what it signs with
    sealing_key: PublicKey  # X25519: what shares for it are sealed to
    proof_key: PublicKey  # X25519: what both aggregators agree on a secret with that proofs are checked under


@dataclass(frozen=True)
class CatalogueRule:
    """Which items there are: `fixed`, those of one description for as long as the terms hold."""

    rule: Literal["fixed"]
    description: PublicKey  # hash
    bytes: Count  # of the description
    features_bytes: Count = 0  # of the item features it names


@dataclass(frozen=True)
class LostLog:
    """Where the log ends for everybody: nobody has what came after, so every owner is asked to go on there."""

    entries: Count  # that are left
    root: PublicKey  # of the tree over them
    serial: Count  # with this number manifests and rounds go on, far above any that was used


@dataclass(frozen=True)
class ReleaseWindows:
    """In one window a device answers a phase of the opening once, and no sum of it is released twice."""

    start: Seconds  # since 1970
    seconds: Seconds  # 0: one window for ever

    def at(self, time: float) -> int:
        """The number of the window a time lies in."""
        return 0 if self.seconds == 0 else max(0, math.floor((time - self.start) / self.seconds))

    def is_at(self, window: int, time: float) -> bool:
        """Whether a window is that of a time, as far as two clocks agree."""
        return self.before_drift(time) <= window <= self.at(time + self._slack)

    def before_drift(self, time: float) -> int:
        """The earliest window that it may be for a clock that is behind."""
        return self.at(time - self._slack)

    @property
    def _slack(self) -> float:
        return min(CLOCKS_DIFFER, self.seconds / 4)

    def ends(self, window: int) -> float:
        """When the next one begins."""
        return math.inf if self.seconds == 0 else self.start + (window + 1) * self.seconds


@dataclass(frozen=True)
class FederationTerms(SignedRecord):
    """What does not change while a federation lasts. An invitation carries its hash, and a device pins it."""

    said: ClassVar = "a statement of terms"
    unspelled: ClassVar = frozenset({"lost"})

    protocol: Literal[3]
    federation: Hexadecimal  # a random name: no message of one federation fits another
    coordinator: PublicKey
    seed_aggregator: AggregatorAddress | None  # None in readable mode
    vector_aggregator: AggregatorAddress | None
    admission: Literal["invited", "open"]
    admitter: Hexadecimal  # the key that signs admissions, "" where everyone may join
    method: str  # its name on the command line
    settings: Mapping[str, Any]
    schedule: Mapping[str, Any]
    catalogue: CatalogueRule
    channel: Mapping[str, Any]  # clip, bits, minimum cohort, ...
    windows: ReleaseWindows
    noise: NoiseTerms
    lost: LostLog | None = None  # the end of a log whose newest entries nobody has any more

    def check(self) -> None:
        """Refuse terms under which one machine could read an update, whatever anybody has agreed to."""
        pair = self.aggregators
        if len(pair) != (0 if self.readable else 2):
            raise malformed("terms must name two aggregators for a secure sum and none for readable mode.")
        if (self.admission == "invited") != (len(self.admitter) == 64):
            raise malformed("terms must name the key that admits, or admit everyone.")
        if self.admitter and self.admitter == self.coordinator:
            raise forged("the coordinator must not admit devices itself; take no part.")
        self._check_noise(self.noise.check)
        if len(pair) < 2:
            if self.noise:
                raise forged(
                    "terms must claim no noise where the server reads each update, but do; take no part."
                )
            return
        seed, vector = pair
        keys = {seed.key, vector.key, self.coordinator}
        agreed = {seed.sealing_key, vector.sealing_key, seed.proof_key, vector.proof_key}
        if len(keys) < 3 or len(agreed) < 4:
            raise forged(
                "the coordinator and the two aggregators must have three different keys, but two are equal: "
                "one machine could read what you send; take no part."
            )
        hosts = [host_of(seed.url), host_of(vector.url)]
        if hosts[0] == hosts[1] and not is_loopback(hosts[0]):
            raise forged(
                f"the two aggregators must be on two hosts, but both are on {hosts[0]}: one machine could read "
                "what you send; take no part."
            )
        for one in pair:
            check_plain(one.url)

    @staticmethod
    def _check_noise(check: Callable[[], None]) -> None:
        try:
            check()
        except MurmuraError as error:
            raise forged(str(error)) from None

    def check_signed(self, purpose: str, content: bytes, *signed: bytes) -> None:
        """Refuse what its machines did not all sign: the coordinator, the seed and the vector aggregator."""
        keys = [self.coordinator, *(one.key for one in self.aggregators)]
        for key, signature in zip(keys, signed):
            check_signature(key, purpose, content, signature)

    @property
    def aggregators(self) -> list[AggregatorAddress]:
        """The seed and the vector aggregator; none in readable mode."""
        return [one for one in (self.seed_aggregator, self.vector_aggregator) if one is not None]

    @property
    def readable(self) -> bool:
        """Whether the server can read each update."""
        return self.channel.get("channel") == "readable"

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What each device's owner must have allowed."""
        return labels_of(str(self.channel.get("channel")), self.algorithm(), self.noise)

    @property
    def minimum(self) -> int:
        """No sum of fewer devices is released."""
        return self.channel_settings.minimum_cohort

    @cached_property
    def channel_settings(self) -> ChannelSettings:
        """How updates travel; refuses settings this version does not know."""
        try:
            settings = from_dict(ChannelSettings, dict(self.channel))
        except MurmuraError as error:
            raise malformed(f"the channel of the terms cannot be used: {error}") from None
        if settings.simulated:
            raise malformed(
                "the channel of a real federation is a secure sum in a ring of 24 or 32 bits, but is "
                f"'{settings.channel}' in {settings.ring}."
            )
        return settings

    def device_costs(self, info: FederationInfo) -> DeviceCosts:
        """What each device will send and receive."""
        schedule = from_dict(Schedule, dict(self.schedule))
        return device_costs(self.algorithm(), info, schedule, self.channel_settings)

    def algorithm(self) -> Algorithm:
        """The method as it is configured; refuses one this version does not know."""
        return self._algorithm

    @cached_property
    def _algorithm(self) -> Algorithm:
        try:
            return named(self.method).rebuilt(self.settings)
        except MurmuraError as error:
            raise RefusedError("version", f"the terms ask for a method unknown here: {error}") from None

    def phase(self, name: str, info: FederationInfo) -> Phase:
        """The exchange of that name; refuses one that needs each update where sums were agreed on.

        Where there is noise, one that it does not bound is refused too.
        """
        for phase in self.algorithm().phases(info):
            if phase.name == name:
                if phase.combine == "each" and not self.readable:
                    raise forged(
                        f"phase '{name}' of {self.method} needs every update for itself, but this federation "
                        "was joined for sums; take no part."
                    )
                if self.admission == "open" and not self.readable and needs_link(phase):
                    raise forged(f"{UNLINKED}; take no part.")
                people = max(info.clients, self.minimum)
                self._check_noise(partial(self.noise.check_phase, phase, people))
                return phase
        raise malformed(f"{self.method} has no phase '{name[:40]}'.")

    def check_counts(self, phase: Phase, named: bool) -> None:
        """Refuse counts of items in a round to which no sum can have told them."""
        if named and not self.algorithm().knows_counts(phase):
            raise forged(
                f"counts of items must come from a sum that the phase follows, but '{phase.name}' of "
                f"{self.method} follows none that tells them; take no part."
            )

    def chain(self, phase: str, info: FederationInfo, largest: int) -> Chain:
        """The stages an update of a phase goes through; refuses what cannot be carried."""
        try:
            asked = self.phase(phase, info)
            words = VectorLayout.of(self.channel_settings, asked, info).words if asked.combine == "sum" else 0
            self._check_bytes(words * self.channel_settings.ring // 8)
            found = chain(self.channel_settings, asked, info, largest, self.noise.of_phase(phase))
            self._check_bytes(found.upload_bytes)
            return found
        except RefusedError:
            raise
        except MurmuraError as error:
            raise malformed(f"the channel of the terms cannot be used: {error}") from None

    @staticmethod
    def _check_bytes(length: int) -> None:
        if length > DOWNLOAD_BYTES:
            raise malformed(f"an update must have at most {DOWNLOAD_BYTES} bytes, but has {length}.")

    def differences(self, other: FederationTerms) -> list[str]:
        """What other terms change, one clause each: 'channel.minimum_cohort 100 → 5'."""
        ours, theirs = (_flat(asdict(replace(one, lost=None))) for one in (self, other))
        lost = [] if other.lost in (None, self.lost) else [LOST.format(entries=other.lost.entries)]
        return lost + [
            printable(f"{name} {' → '.join(_shown(ours.get(name), theirs.get(name)))}")
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)
        ]


UNLINKED = (
    "exact sums of pairs must be of admitted devices, as an admission links pairs to what was counted, but "
    "everybody may take part"
)


def needs_link(phase: Phase) -> bool:
    """Whether a phase holds what a device proves against what its admission had counted."""
    follows = isinstance(phase.claim, RowsClaim) and bool(phase.follows)
    return isinstance(phase.claim, PairsClaim) or follows


def signatures(message: bytes) -> tuple[bytes, bytes, bytes]:
    """The three that a message begins with: the coordinator's, the seed's and the vector aggregator's."""
    return (
        message[:SIGNATURE_BYTES],
        message[SIGNATURE_BYTES : 2 * SIGNATURE_BYTES],
        message[2 * SIGNATURE_BYTES : SIGNED],
    )


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
        flat |= inner
    return flat


def _shown(ours: object, theirs: object) -> tuple[str, str]:
    """Both values, shortened where that leaves them apart."""
    whole = str(ours), str(theirs)
    one, two = (f"{text[:16]}…" if len(text) > 40 else text for text in whole)
    return whole if one == two else (one, two)
