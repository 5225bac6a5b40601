"""Who invites, who is admitted, and which reports are accepted: each admission and each report once.

The same content again changes nothing and gets the same receipt, also when its round is over: the first one may
have been lost on the way. Another content under the same id, a second report of a device, and whatever is new
when the round is over are refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, KeysView, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from murmura.channel.key_pairs import ContentComparison
from murmura.core.errors import RunError
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire import wire
from murmura.wire.admission import Admission, Invitation, OwnAdmission
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError, forged, malformed
from murmura.wire.signed_records import check_signature
from murmura.wire.terms import FederationTerms

FILE = "admitter.db"


@dataclass(frozen=True)
class IssuedInvitation:
    """What is kept of an invitation: not the secret in its link."""

    number: int
    admission: bytes  # (32,) the public key that aggregators count
    label: str
    created: float
    expires: int  # 0: never
    revoked: float | None


class Admitter:
    """Signs invitations of one federation, and takes them back."""

    def __init__(self, store: ServerDatabase, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self.key = store.signing_key()
        self._followed: FederationTerms | None = None

    @property
    def terms(self) -> FederationTerms | None:
        """The federation it invites to."""
        kept = self._store.fact("terms")
        return None if kept is None else FederationTerms.decode(kept)

    @property
    def url(self) -> str:
        """Where that federation is."""
        return (self._store.fact("url") or b"").decode()

    def pin(self, terms: FederationTerms, url: str) -> None:
        """Invite to this federation from now on; refuses one that another key admits to."""
        if terms.admitter != self.key.public.hex():
            raise RunError(
                "invitations must be signed by the key that the federation's terms name, but this folder has "
                f"another; start the coordinator with --admitter {self.key.public.hex()}."
            )
        self._store.write([put_fact("terms", terms.encode()), put_fact("url", url.encode())], durable=True)

    def follow(self, terms: FederationTerms, url: str) -> bool:
        """Invite to what an aggregator has agreed to, if this key admits there; whether that is news."""
        if terms is self._followed:
            return False
        self._followed, known = terms, self.terms
        if terms.admitter != self.key.public.hex() or (known is not None and known.hash == terms.hash):
            return False
        self.pin(terms, self.url or url)
        return True

    def invite(self, count: int, label: str = "", days: float = 0) -> list[Invitation]:
        """So many one-use invitations; their secrets are nowhere but in them."""
        terms = self.terms
        if terms is None:
            raise RunError("this folder knows no federation yet; say --federation URL.")
        now = self._clock()
        expires = int(now + days * 86400) if days else 0
        made = [OwnAdmission.create(self.key, terms.federation, expires) for _ in range(count)]
        row = "INSERT INTO invitations (admission, label, created, expires) VALUES (?, ?, ?, ?)"
        self._store.write([(row, (one.key.public, label, now, expires)) for one in made], durable=True)
        return [Invitation(self.url, terms.hash, one) for one in made]

    def issued(self) -> list[IssuedInvitation]:
        """All of them, the oldest first."""
        columns = "number, admission, label, created, expires, revoked"
        found = self._store.rows(f"SELECT {columns} FROM invitations ORDER BY number")
        return [IssuedInvitation(*row) for row in found]

    def revoke(self, numbers: Sequence[int]) -> bytes:
        """The signed message that takes these back, for both aggregators and the coordinator."""
        known = {one.number: one.admission for one in self.issued()}
        missing = [number for number in numbers if number not in known]
        if missing:
            raise RunError(
                f"there must be an invitation {missing[0]}, but there is none; see `murmura invite list`."
            )
        keys = b"".join(known[number] for number in numbers)
        now = self._clock()
        change = "UPDATE invitations SET revoked = ? WHERE number = ? AND revoked IS NULL"
        self._store.write([(change, (now, number)) for number in numbers], durable=True)
        return self.key.sign("revocation", keys) + keys


REMEMBERED = 100_000  # admissions whose signature has been checked
KEY_BYTES, LINK_BYTES = 32, 8
REFUSALS = 2  # windows with a contribution that is not valid, until an admission is barred
FORGIVEN = 30  # windows until such a one is forgotten


class AdmissionDesk:
    """What is known of admissions; in an open federation everyone passes."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self._revoked = {bytes(one) for (one,) in store.rows("SELECT admission FROM revoked")}
        self._checked: dict[bytes, None] = {}
        self._barred: frozenset[bytes] | None = None  # not looked up yet
        self._forgotten = 0  # the window before which nobody is remembered any more

    def check(self, terms: FederationTerms, head: wire.ShareHead, shown: wire.SharePass, now: float) -> bytes:
        """The public key a share counts for, b"" in an open federation; refuses who was not admitted."""
        if terms.admission == "open":
            return b""
        admission = Admission.decode(shown.admission)
        self.check_valid(admission)
        if admission.public in self.refused_twice:
            raise forged(
                f"what came under this invitation was not valid in {REFUSALS} windows, so it is barred for "
                f"{FORGIVEN} windows; ask whoever admits for another one."
            )
        if shown.admission not in self._checked or (admission.expires and now > admission.expires):
            admission.check(terms, now)
            if len(self._checked) >= REMEMBERED:
                self._checked.clear()
            self._checked[shown.admission] = None
        check_signature(admission.public, "report", wire.report_content(head, shown.payload), shown.signature)
        return admission.public

    def check_valid(self, admission: Admission) -> None:
        """Refuse one that was taken back."""
        if admission.public in self._revoked:
            raise forged("this invitation was revoked; ask for another.")

    def revoke(self, terms: FederationTerms, message: bytes) -> list[bytes]:
        """The admitter's signature, then public keys that no longer count; those keys."""
        signature, keys = message[: wire.SIGNATURE_BYTES], message[wire.SIGNATURE_BYTES :]
        if terms.admission == "open" or len(keys) % KEY_BYTES or not keys:
            raise malformed("a revocation must name admissions of 32 bytes each, but does not.")
        check_signature(terms.admitter, "revocation", keys, signature)
        listed = [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]
        rows = [("INSERT OR IGNORE INTO revoked VALUES (?)", (one,)) for one in listed]
        self._store.write([*rows, ("INSERT OR IGNORE INTO revocations VALUES (?)", (message,))], durable=True)
        self._revoked.update(listed)
        return listed

    def revocations(self, terms: FederationTerms) -> list[bytes]:
        """What the admitter has signed, so that a machine restored from a copy gets it again.

        What the admitter of earlier terms has signed holds here, but nobody else could check it any more.
        """
        found, kept = list[bytes](), self._store.rows("SELECT message FROM revocations ORDER BY message")
        for (message,) in kept if terms.admitter else []:
            with suppress(RefusedError):
                keys = bytes(message)[wire.SIGNATURE_BYTES :]
                check_signature(terms.admitter, "revocation", keys, bytes(message)[: wire.SIGNATURE_BYTES])
                found.append(bytes(message))
        return found

    def bar(self, slot: int) -> None:
        """At a coordinator: a place is taken away, and its admission gives no other one."""
        found = self._store.value("SELECT admission FROM devices WHERE slot = ?", (slot,))
        barred = [] if found is None else [found]  # in an open federation there is none to bar
        rows = [("INSERT OR IGNORE INTO revoked VALUES (?)", (one,)) for one in barred]
        gone = ("DELETE FROM devices WHERE slot = ?", (slot,))
        self._store.write([*rows, gone], durable=True, forget=True)
        self._revoked.update(barred)

    def counted(self, phase: str, window: int, links: Mapping[bytes, int | None]) -> list[Statement]:
        """What remembers who was counted in a phase that another one follows, for this window alone.

        With each admission goes this aggregator's share of what later proofs are held against, if there is one.
        """
        rows = [
            ("INSERT INTO counted VALUES (?, ?, ?, ?)", (phase, window, _hidden(one, window), packed(link)))
            for one, link in links.items()
        ]
        return [before_window(window), *rows]

    def forget_before(self, window: int) -> None:
        """Who was counted before a window is forgotten, with every link, and refusals that are long past."""
        if window > self._forgotten:
            old = ("DELETE FROM invalid WHERE sent_in < ?", (window - FORGIVEN,))
            self._store.write([before_window(window), old], durable=True, forget=True)
            self._forgotten, self._barred = window, None

    def check_counted(self, phase: str, window: int, admission: bytes) -> int | None:
        """The link that the phase before has left of an admission; refuses who was not counted there."""
        found = self._store.row(
            "SELECT link FROM counted WHERE phase = ? AND counted_in = ? AND admission = ?",
            (phase, window, _hidden(admission, window)),
        )
        if found is None:
            raise RefusedError(
                "not-called", f"only devices that were counted in phase '{phase}' take part in this one."
            )
        return None if found[0] is None else int.from_bytes(found[0], "little")

    def note_invalid(self, admission: bytes, window: int) -> None:
        """Remember that what came under an admission was not valid: in one window it may not be its fault."""
        row = ("INSERT OR IGNORE INTO invalid VALUES (?, ?)", (admission, window))
        self._store.write([row], durable=True)
        self._barred = None

    @property
    def refused_twice(self) -> frozenset[bytes]:
        """At an aggregator: admissions whose contributions were not valid in two windows of the last ones."""
        if self._barred is None:
            found = "SELECT admission FROM invalid GROUP BY admission HAVING count(*) >= ?"
            self._barred = frozenset(bytes(one) for (one,) in self._store.rows(found, (REFUSALS,)))
        return self._barred


def before_window(window: int) -> Statement:
    """What forgets who was counted before a window, and every link of theirs."""
    return "DELETE FROM counted WHERE counted_in < ?", (window,)


def packed(link: int | None) -> bytes | None:
    """A link as it is kept."""
    return None if link is None else link.to_bytes(LINK_BYTES, "little")


def _hidden(admission: bytes, window: int) -> bytes:
    return wire.digest(b"murmura counted\0" + window.to_bytes(8, "little") + admission)


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
        self._left_out: dict[bytes, RefusedError] = {}  # report -> why its content is not used
        self._answers: dict[bytes, bytes] = {}  # report -> what follows its receipt

    @property
    def reports(self) -> KeysView[bytes]:
        """The ids, in the order they came."""
        return self._digests.keys()

    @property
    def used(self) -> list[bytes]:
        """Those of them whose contents are used."""
        return [report for report in self._digests if report not in self._left_out]

    def answer(self, report: bytes) -> bytes:
        """What follows the receipt of a report: the same whenever it comes."""
        return self._answers.get(report, b"")

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
        left_out: RefusedError | None = None,
        mark: bytes = b"",
        answer: bytes = b"",
    ) -> None:
        """Remember what passed all checks; one that is `left_out` has been answered and is told why."""
        self._digests[report] = self._same.digest(content, mark)
        if device is not None:
            self._devices.add(device)
        if left_out is not None:
            self._left_out[report] = left_out
        if answer:
            self._answers[report] = answer
        self._tell(report)

    def _tell(self, report: bytes) -> None:
        if report in self._left_out:
            raise self._left_out[report]
