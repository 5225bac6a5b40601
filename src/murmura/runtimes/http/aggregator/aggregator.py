"""One of the two aggregators: it adds up shares and releases one sum per round, of enough devices, once.

The seed aggregator keeps 32 bytes per report and answers with a signed receipt. The vector aggregator takes a
share only together with that receipt, so every share it adds has its twin and none has to be kept: it holds a
sum. When the round is closed it names its reports; the seed aggregator expands exactly those seeds, and a seed
without a twin is left out.

Shares live in memory only. A restart during a round loses them: the round is answered "lost", and the
coordinator gives it up. What has been released is written down first and is final.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from murmura.channel.ring import Ring
from murmura.channel.shares import SEED_BYTES, expand
from murmura.core.rng import Words
from murmura.runtimes.http.acceptance import AcceptedReports
from murmura.runtimes.http.database import ServerDatabase, put_fact
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.keys import ServerKey, check_signature
from murmura.runtimes.http.protocol.manifest import FederationDescription, Manifest, open_manifest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.wire import SEED, VECTOR, ShareMessage

Clock = Callable[[], float]
Role = Literal["seed", "vector"]
KEPT_ROUNDS = 1000  # how many past rounds an aggregator remembers the reports of


@dataclass
class _Open:
    """The round that is being collected, in memory."""

    manifest: Manifest
    ring: Ring
    accepted: AcceptedReports
    seeds: dict[bytes, bytes] = field(default_factory=dict)  # report -> seed (seed aggregator)
    total: Words = field(init=False)  # the running sum (vector aggregator)

    def __post_init__(self) -> None:
        self.total = np.zeros(self.ring.words, np.uint32)

    def add(self, share: ShareMessage) -> None:
        """One share: a seed is kept, a vector added to the sum."""
        if share.kind == SEED:
            self.seeds[share.report] = share.payload
        else:
            self.total += self.ring.unpack(share.payload)  # modulo 2**32, of which 2**24 is a divisor


class Aggregator:
    """The state machine of one aggregator."""

    def __init__(
        self, role: Role, store: ServerDatabase, clock: Clock, minimum: int, coordinator: bytes | None
    ) -> None:
        self.role, self.minimum = role, minimum
        self.key = ServerKey.load_or_create(store)
        self._store, self._clock = store, clock
        pinned = store.fact("coordinator")
        if pinned is not None and coordinator is not None and pinned != coordinator:
            raise RefusedError(
                "forged", "the coordinator's key must be the one this aggregator knows, but is not."
            )
        self.coordinator = pinned or coordinator
        self.accepted = self.refused = 0
        self._open: _Open | None = None
        self._before: AcceptedReports | None = None  # in the last round that was released
        if store.row("SELECT 1 FROM rounds WHERE state = 'open'"):
            store.write([("UPDATE rounds SET state = 'lost' WHERE state = 'open'", ())], durable=True)

    def pin(self, coordinator: bytes) -> None:
        """Trust this coordinator from now on; another one never."""
        if self.coordinator is None:
            self._store.write([put_fact("coordinator", coordinator)], durable=True)
            self.coordinator = coordinator

    def identity(self) -> dict[str, str]:
        """Who this is."""
        return {"key": self.key.public.hex(), "role": self.role}

    def metrics(self) -> dict[str, float]:
        """How many shares were taken and refused since this process started."""
        return {"murmura_reports_accepted_total": self.accepted, "murmura_reports_refused_total": self.refused}

    def open_round(self, message: bytes) -> bytes:
        """A signed manifest and the description it names; answers with this aggregator's key."""
        envelope, described = unpack_pair(message)
        manifest = self._verified(envelope)
        if self._open is not None and self._open.manifest.hash == manifest.hash:
            return self.key.public
        known = self._store.row("SELECT hash, state FROM rounds WHERE serial = ?", (manifest.serial,))
        if known is not None:
            self._refuse_again(manifest, *known)
            return self.key.public
        last = self._store.row("SELECT max(serial) FROM rounds")
        if last is not None and last[0] is not None and manifest.serial < last[0]:
            raise RefusedError(
                "replay", f"a manifest must come after {last[0]}, but is number {manifest.serial}."
            )
        if hashlib.sha256(described).hexdigest() != manifest.description:
            raise RefusedError("forged", "the description must be the one the manifest names, but is not.")
        ring = manifest.chain(FederationDescription.decode(described).info).ring
        row = (manifest.serial, manifest.hash, "open", None, None)
        self._store.write(
            [
                ("UPDATE rounds SET state = 'dropped' WHERE state = 'open'", ()),
                ("UPDATE rounds SET total = NULL WHERE total IS NOT NULL", ()),
                ("DELETE FROM rounds WHERE serial < ?", (manifest.serial - KEPT_ROUNDS,)),
                ("INSERT INTO rounds VALUES (?, ?, ?, ?, ?)", row),
            ],
            durable=True,
        )
        share_bytes = wire.SHARE_HEADER + (SEED_BYTES if self.role == "seed" else ring.message_bytes)
        duplicate = "another share was accepted under this report id before."
        self._open = _Open(manifest, ring, AcceptedReports(manifest, share_bytes, "share", duplicate))
        return self.key.public

    def _verified(self, envelope: bytes) -> Manifest:
        manifest = open_manifest(envelope, self._coordinator_key())
        mine = manifest.seed_aggregator if self.role == "seed" else manifest.vector_aggregator
        if mine is None or mine.key != self.key.public.hex():
            raise RefusedError(
                "forged", f"the manifest must name this machine as its {self.role} aggregator, but does not."
            )
        return manifest

    def _refuse_again(self, manifest: Manifest, known: bytes, state: str) -> None:
        if known != manifest.hash:
            raise RefusedError("replay", f"manifest {manifest.serial} is known here with another content.")
        if state != "released":
            raise RefusedError("lost", f"the shares of round {manifest.round} are lost; give the round up.")

    @property
    def share_bytes(self) -> int:
        """The length of a share of the open round, or of the one before it; nothing longer is read."""
        now = wire.SHARE_HEADER if self._open is None else self._open.accepted.largest
        return now if self._before is None else max(now, self._before.largest)

    @property
    def release_bytes(self) -> int:
        """The longest request for a sum: two signatures, and every report that was taken."""
        accepted = self._before if self._open is None else self._open.accepted
        count = 0 if accepted is None else len(accepted.reports)
        return 2 * wire.SIGNATURE_BYTES + (wire.ID_BYTES * count if count else self._listed())

    def _listed(self) -> int:
        """The bytes of the last list that was released: after a restart it may be asked for again."""
        found = self._store.row("SELECT max(length(ids)) FROM rounds WHERE total IS NOT NULL")
        return int(found[0]) if found is not None and found[0] is not None else 0

    def report(self, message: bytes) -> bytes:
        """Take one share; answers with a signed receipt, the same one when the same share comes again."""
        try:
            receipt = self._take(message)
        except RefusedError:
            self.refused += 1
            raise
        self.accepted += 1
        return receipt

    def _take(self, message: bytes) -> bytes:
        o, before = self._open, self._before
        if o is None and before is None:
            raise RefusedError("paused", "no round is open here.")
        now = o if o is not None and wire.share_manifest(message) == o.manifest.hash else None
        any_length = max(len(message), wire.SHARE_HEADER)  # a share of another round is never added up
        length = any_length if now is None else now.accepted.largest
        kind = SEED if self.role == "seed" else VECTOR
        share = ShareMessage.decode(message, kind, length - wire.SHARE_HEADER)
        if before is not None and share.manifest == before.manifest and before.repeats(share.report, message):
            return self._receipt(share)
        if o is None:
            raise RefusedError("late", "no round is open here; the share was not counted.")
        if now is None:
            raise RefusedError("replay", "a share must be of the open round's manifest, but is of another.")
        if not now.accepted.repeats(share.report, message):
            now.accepted.check_new(share.report, self._clock())
            self._check(share, now)
            now.add(share)
            now.accepted.accept(share.report, message)
        return self._receipt(share)

    def _check(self, share: ShareMessage, o: _Open) -> None:
        name = share.manifest + share.report
        check_signature(self._coordinator_key(), "ticket", name, share.ticket)
        if self.role == "vector":
            twin = o.manifest.seed_aggregator
            assert twin is not None
            if share.receipt == wire.NO_RECEIPT:
                raise RefusedError(
                    "no-twin", "a vector share must carry the seed aggregator's receipt, but has none."
                )
            check_signature(bytes.fromhex(twin.key), "receipt", name, share.receipt)

    def _receipt(self, share: ShareMessage) -> bytes:
        return self.key.sign("receipt", share.manifest + share.report)

    def count(self, name: bytes) -> int:
        """How many reports of this manifest have been taken."""
        return len(self._collecting(name).accepted.reports)

    def close_round(self, name: bytes, command: bytes) -> bytes:
        """Stop collecting; answers with the signed list of reports. Only the coordinator may ask."""
        self._check_command("close", name, command)
        released = self._released(name)
        if released is not None:
            return self._signed_ids(name, released[0])
        o = self._collecting(name)
        o.accepted.closed = True
        return self._signed_ids(name, wire.pack_ids(o.accepted.reports))

    def release(self, name: bytes, message: bytes) -> bytes:
        """The sum over the agreed list, signed with it; once it is out it is final.

        `message` is the coordinator's command (64 bytes), then the other aggregator's signed list.
        """
        command, signature, ids = message[:64], message[64:128], message[128:]
        self._check_command("release", name, command)
        released = self._released(name)
        if released is not None:
            if released[0] != ids:
                raise RefusedError(
                    "released", "a sum over another list of this round was released; it is final."
                )
            return self._signed_total(name, *released)
        o = self._collecting(name)
        twin = o.manifest.vector_aggregator if self.role == "seed" else o.manifest.seed_aggregator
        assert twin is not None
        check_signature(bytes.fromhex(twin.key), "reports", name + ids, signature)
        packed = o.ring.pack(self._sum(o, wire.unpack_ids(ids)))
        self._store.write(
            [("UPDATE rounds SET state = 'released', ids = ?, total = ? WHERE hash = ?", (ids, packed, name))],
            durable=True,
        )
        self._open, self._before = None, o.accepted
        return self._signed_total(name, ids, packed)

    def _sum(self, o: _Open, ids: list[bytes]) -> Words:
        least = max(self.minimum, o.manifest.minimum)
        if len(ids) < least:
            raise RefusedError(
                "too-few", f"a sum must be of at least {least} reports, but the list has {len(ids)}."
            )
        if self.role == "seed":
            o.accepted.closed = True
            missing = [report for report in ids if report not in o.seeds]
            if missing:
                raise RefusedError("no-twin", f"{len(missing)} reports of the list have no share here.")
            return o.ring.add_up(expand(o.seeds[report], o.ring) for report in ids)
        if set(ids) != o.accepted.reports or not o.accepted.closed:
            raise RefusedError("no-twin", "the agreed list must be what was added up here, but is not.")
        return o.ring.wrap(o.total.astype(np.int64))

    def _signed_ids(self, name: bytes, ids: bytes) -> bytes:
        return self.key.sign("reports", name + ids) + ids

    def _signed_total(self, name: bytes, ids: bytes, total: bytes) -> bytes:
        """Signature of the list, signature of the sum over it, the sum."""
        listed = hashlib.sha256(ids).digest()
        return self.key.sign("reports", name + ids) + self.key.sign("sum", name + listed + total) + total

    def _collecting(self, name: bytes) -> _Open:
        if self._open is None or self._open.manifest.hash != name:
            raise self._absent(name)
        return self._open

    def _released(self, name: bytes) -> tuple[bytes, bytes] | None:
        found = self._store.row("SELECT ids, total FROM rounds WHERE hash = ? AND state = 'released'", (name,))
        if found is None:
            return None
        if found[1] is None:
            raise RefusedError("late", "the sum of this round has been handed out and is no longer kept.")
        return bytes(found[0]), bytes(found[1])

    def _absent(self, name: bytes) -> RefusedError:
        found = self._store.row("SELECT state FROM rounds WHERE hash = ?", (name,))
        if found is None:
            return RefusedError("unknown", "this aggregator was never asked to open that round.")
        if found[0] == "released":
            return RefusedError("released", "the sum of this round has been released.")
        return RefusedError("lost", "the shares of this round are lost; give the round up.")

    def _check_command(self, what: str, name: bytes, signature: bytes) -> None:
        check_signature(self._coordinator_key(), what, name, signature)

    def _coordinator_key(self) -> bytes:
        if self.coordinator is None:
            raise RefusedError("paused", "this aggregator does not know its coordinator's key yet; try again.")
        return self.coordinator


def pack_pair(first: bytes, second: bytes) -> bytes:
    """Two messages as one: length of the first (4 bytes), first, second."""
    return len(first).to_bytes(4, "little") + first + second


def unpack_pair(message: bytes) -> tuple[bytes, bytes]:
    """The opposite."""
    length = int.from_bytes(message[:4], "little")
    if len(message) < 4 + length:
        raise RefusedError("malformed", "two messages in one must be as long as they claim, but are not.")
    return message[4 : 4 + length], message[4 + length :]
