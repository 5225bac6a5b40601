"""Who invites: a key the coordinator does not hold, and a list of the invitations it has signed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmura.core.errors import RunError
from murmura.server.database import ServerDatabase, put_fact
from murmura.wire.admission import Invitation, OwnAdmission
from murmura.wire.keys import ServerKey
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
        self.key = ServerKey.load_or_create(store)
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
        return [
            IssuedInvitation(n, bytes(a), label, made, ends, back) for n, a, label, made, ends, back in found
        ]

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
