"""Accepting a report once: for the aggregators' shares and for the updates of readable mode alike.

The same content again changes nothing and gets the same receipt, also when its round is over: the first one may
have been lost on the way. Another content under the same id, a second report of a device, and whatever is new
when the round is over are refused.
"""

from __future__ import annotations

from collections.abc import KeysView

from murmura.channel.comparison import ContentComparison
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError


class AcceptedReports:
    """What one round has accepted, as ids and digests; kept after its end, until the next round has ended."""

    def __init__(self, manifest: Manifest, largest: int, what: str, duplicate: str) -> None:
        self.manifest = manifest.hash
        self.largest = largest  # bytes of a message
        self.closed = False
        self._round, self._deadline = manifest.round, manifest.deadline
        self._what, self._duplicate = what, duplicate
        self._same = ContentComparison()
        self._digests: dict[bytes, bytes] = {}  # report -> what tells its content from any other
        self._devices: set[int] = set()  # whose reports these are, where that is known
        self._left_out: dict[bytes, str] = {}  # report -> why its content is not used

    @property
    def reports(self) -> KeysView[bytes]:
        """The ids, in the order they came."""
        return self._digests.keys()

    def repeats(self, report: bytes, content: bytes, mark: bytes = b"") -> bool:
        """Whether exactly this has been accepted before; one that was left out is told so again."""
        if report not in self._digests or self._digests[report] != self._same.digest(content, mark):
            return False
        self._tell(report)
        return True

    def check_new(self, report: bytes, now: float, device: int | None = None) -> None:
        """Refuse a second content under this id or of this device, and anything new when the round is over."""
        if report in self._digests or device in self._devices:
            raise RefusedError("duplicate", self._duplicate)
        if self.closed or now > self._deadline:
            raise RefusedError("late", f"round {self._round} is over; the {self._what} was not counted.")

    def accept(
        self,
        report: bytes,
        content: bytes,
        device: int | None = None,
        left_out: str | None = None,
        mark: bytes = b"",
    ) -> None:
        """Remember what passed all checks; one that is `left_out` has been answered and is told why."""
        self._digests[report] = self._same.digest(content, mark)
        if device is not None:
            self._devices.add(device)
        if left_out is not None:
            self._left_out[report] = left_out
        self._tell(report)

    def _tell(self, report: bytes) -> None:
        if report in self._left_out:
            raise RefusedError("left-out", self._left_out[report])
