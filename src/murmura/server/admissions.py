"""Who was admitted, and who no longer is: for the places of a coordinator and the counts of an aggregator."""

from __future__ import annotations

from murmura.server.database import ServerDatabase, Statement
from murmura.wire import wire
from murmura.wire.admission import Admission
from murmura.wire.keys import check_signature
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import ShareHead, SharePass

REMEMBERED = 100_000  # admissions whose signature has been checked
KEY_BYTES = 32


class AdmissionDesk:
    """What is known of admissions; in an open federation everyone passes."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self._revoked = {bytes(one) for (one,) in store.rows("SELECT admission FROM revoked")}
        self._checked: dict[bytes, None] = {}

    def check(self, terms: FederationTerms, head: ShareHead, shown: SharePass, now: float) -> bytes:
        """The public key a share counts for, b"" in an open federation; refuses who was not admitted."""
        if terms.admission == "open":
            return b""
        admission = Admission.decode(shown.admission)
        self.check_valid(admission)
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
            raise RefusedError("forged", "this invitation was revoked; ask for another.")

    def revoke(self, terms: FederationTerms, message: bytes) -> list[bytes]:
        """The admitter's signature, then public keys that no longer count; those keys."""
        signature, keys = message[: wire.SIGNATURE_BYTES], message[wire.SIGNATURE_BYTES :]
        if terms.admission == "open" or len(keys) % KEY_BYTES or not keys:
            raise RefusedError("malformed", "a revocation must name admissions of 32 bytes each, but does not.")
        check_signature(bytes.fromhex(terms.admitter), "revocation", keys, signature)
        listed = [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]
        self._store.write(
            [("INSERT OR IGNORE INTO revoked VALUES (?)", (one,)) for one in listed], durable=True
        )
        self._revoked.update(listed)
        return listed

    def bar(self, slot: int) -> None:
        """At a coordinator: a place is taken away, and its admission gives no other one."""
        found = self._store.row("SELECT admission FROM devices WHERE slot = ?", (slot,))
        if found is None:
            return
        barred = [] if found[0] is None else [bytes(found[0])]  # in an open federation there is none to bar
        rows = [("INSERT OR IGNORE INTO revoked VALUES (?)", (one,)) for one in barred]
        gone = ("DELETE FROM devices WHERE slot = ?", (slot,))
        self._store.write([*rows, gone], durable=True, forget=True)
        self._revoked.update(barred)

    def counted(self, phase: str, window: int, admissions: list[bytes]) -> list[Statement]:
        """What remembers who was counted in a phase that another one follows, for this window alone."""
        rows = [
            ("INSERT INTO counted VALUES (?, ?, ?)", (phase, window, _hidden(a, window))) for a in admissions
        ]
        return [("DELETE FROM counted WHERE counted_in < ?", (window,)), *rows]

    def check_counted(self, phase: str, window: int, admission: bytes) -> None:
        """Refuse who was not counted in the phase this one follows."""
        found = self._store.row(
            "SELECT 1 FROM counted WHERE phase = ? AND counted_in = ? AND admission = ?",
            (phase, window, _hidden(admission, window)),
        )
        if found is None:
            raise RefusedError(
                "not-called", f"only devices that were counted in phase '{phase}' take part in this one."
            )


def _hidden(admission: bytes, window: int) -> bytes:
    return wire.digest(b"murmura counted\0" + window.to_bytes(8, "little") + admission)
