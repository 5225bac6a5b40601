"""The coordinator: it publishes rounds, gives tickets, and turns the sum of a round into the next model.

It sees no share. In readable mode, which must be asked for by name, it takes the updates itself.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any

from murmura.channel.shares import Entropy
from murmura.runtimes.http.coordinator.rounds import Clock, RoundRunner
from murmura.runtimes.http.coordinator.setup import FederationSetup
from murmura.runtimes.http.database import ServerDatabase, put_fact
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.wire import HASH_BYTES, ID_BYTES, PROTOCOL, check_length

ORDERS = {"start": "running", "pause": "paused", "stop": "stopped"}


class Coordinator:
    """What devices and the operator can ask for; `rounds` is what happens between."""

    def __init__(self, setup: FederationSetup, store: ServerDatabase, clock: Clock, entropy: Entropy) -> None:
        setup.remember(store)
        self.key = ServerKey.load_or_create(store)
        self._store, self._clock, self._entropy = store, clock, entropy
        self.rounds = RoundRunner(setup, store, self.key, clock, entropy)
        operator = store.fact("operator")
        if operator is None:
            operator = entropy(32).hex().encode()
            store.write([put_fact("operator", operator)], durable=True)
        self.operator_token = operator.decode()

    def register(self, wanted: object = None, own: object = None) -> dict[str, Any]:
        """A new device: its token, and the lowest free slot or the one it asks for.

        A device that brings a random token of its own can ask again when the answer was lost: it gets the place
        it has.
        """
        places = self.rounds.itinerary.info.clients
        token = self._entropy(32).hex() if own is None else _checked_token(own)
        known = self._store.row("SELECT slot FROM devices WHERE token = ?", (_hashed(token),))
        slot = wanted if wanted is not None else self._free_slot(places) if known is None else known[0]
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < places:
            raise RefusedError(
                "malformed", f"a slot must be a number below {places}, but it is {str(slot)[:20]!r}."
            )
        taken = self._store.row("SELECT 1 FROM devices WHERE slot = ?", (slot,)) is not None
        if taken if known is None else known[0] != slot:
            raise RefusedError("duplicate", f"slot {slot} is taken, or this device has another.")
        if known is None:
            row = (slot, _hashed(token), self._clock())
            self._store.write([("INSERT INTO devices VALUES (?, ?, ?)", row)])
        return {"token": token, "slot": slot, "federation": self.rounds.store.federation}

    def _free_slot(self, places: int) -> int:
        """The first slot nobody has: by a query, as there may be many devices."""
        found = self._store.row(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM devices WHERE slot = 0) THEN "
            "(SELECT min(slot) + 1 FROM devices d WHERE NOT EXISTS "
            "(SELECT 1 FROM devices n WHERE n.slot = d.slot + 1)) ELSE 0 END"
        )
        assert found is not None
        if found[0] >= places:
            raise RefusedError("duplicate", f"all {places} places of this federation are taken.")
        return int(found[0])

    def leave(self, token: str) -> dict[str, Any]:
        """Forget a device."""
        self._store.write([("DELETE FROM devices WHERE slot = ?", (self.slot(token),))])
        return {"left": True}

    def slot(self, token: str) -> int:
        """Whose token this is."""
        found = self._store.row("SELECT slot FROM devices WHERE token = ?", (_hashed(token),))
        if found is None:
            raise RefusedError("unauthorised", "this token belongs to no device here; join again.")
        return int(found[0])

    def ticket(self, token: str, message: bytes) -> bytes:
        """A signature that lets one report of this device into the open round: one per device and round."""
        check_length(message, HASH_BYTES + ID_BYTES, "request for a ticket")
        name, report = message[:HASH_BYTES], message[HASH_BYTES:]
        slot, live = self.slot(token), self.rounds.published
        if live is None or live.hash != name:
            raise RefusedError("late", "a ticket must be for the open round, but is for another.")
        if slot not in live.called:
            raise RefusedError("not-called", "this device is not called in this round.")
        given = self._store.row(
            "SELECT report FROM tickets WHERE serial = ? AND slot = ?", (live.manifest.serial, slot)
        )
        if given is None:
            if self._clock() > live.manifest.deadline:
                raise RefusedError("late", f"round {live.manifest.round} is over.")
            row = (live.manifest.serial, slot, report)
            self._store.write([("INSERT INTO tickets VALUES (?, ?, ?)", row)])
        elif bytes(given[0]) != report:
            raise RefusedError("duplicate", "this device has a ticket for another report of this round.")
        return self.key.sign("ticket", name + report)

    def answer(self, token: str) -> bytes:
        """What the last exchange told this device alone."""
        return self.rounds.answer(self.slot(token))

    def manifest(self) -> tuple[bytes, bytes]:
        """(hash, signed manifest) of the open round; a device that knows the hash knows the rest."""
        live = self.rounds.published
        if live is None:
            state = self.rounds.status()["state"]
            over = state in ("finished", "stopped")
            raise RefusedError(
                "finished" if over else "paused", f"no round is open: the federation is {state}."
            )
        return live.hash, live.envelope

    def news(self) -> str:
        """The hash of the open round's manifest, or the code of why none is open."""
        try:
            return self.manifest()[0].hex()
        except RefusedError as error:
            return error.code

    def last_manifest(self) -> bytes:
        """The signed manifest of the last round that was committed: how to use the model it led to."""
        found = self.rounds.store.last_committed()
        if found is None:
            raise RefusedError("unknown", "no round has been completed here yet.")
        return found

    def blob(self, name: bytes) -> bytes:
        """A public model or the description, by its hash."""
        found = self._store.row("SELECT content FROM blobs WHERE hash = ?", (name,))
        if found is None:
            raise RefusedError("unknown", "nothing is published under this hash; it may be of an older round.")
        return bytes(found[0])

    def check_operator(self, token: str) -> None:
        """Refuse anyone else."""
        if not hmac.compare_digest(token.encode(), self.operator_token.encode()):
            raise RefusedError("unauthorised", "this needs the operator's token; it is in the state folder.")

    def order(self, what: str) -> dict[str, Any]:
        """Start, pause or stop; what the federation is afterwards."""
        if what not in ORDERS:
            raise RefusedError(
                "unknown", f"an order must be one of {', '.join(ORDERS)}, but it is '{what[:20]}'."
            )
        if self.rounds.state == "stopped" and what != "stop":
            raise RefusedError("late", "this federation has been stopped for good; begin another one.")
        self.rounds.set_state(ORDERS[what])
        return self.status()

    def identity(self) -> dict[str, str]:
        """Who this is."""
        return {"key": self.key.public.hex()}

    def about(self) -> dict[str, Any]:
        """What anyone may know before joining."""
        status = self.rounds.status()
        status.pop("open")
        return {
            "protocol": PROTOCOL,
            "federation": self.rounds.store.federation,
            "key": self.key.public.hex(),
            "description": self.rounds.store.description_hash,
            **status,
        }

    def status(self) -> dict[str, Any]:
        """Everything an operator may know; nothing about one person."""
        return {
            **self.about(),
            "devices": len(self.rounds.store.registered()),
            "open": self.rounds.status()["open"],
        }

    def metrics(self) -> dict[str, float]:
        """The same in numbers, for whoever watches many machines."""
        status, counters = self.status(), self.rounds.counters
        live = status["open"] or {"reports": 0, "called": 0}
        return {
            "murmura_devices": status["devices"],
            "murmura_rounds_done": status["rounds_done"],
            "murmura_rounds_committed_total": counters.committed,
            "murmura_rounds_abandoned_total": counters.abandoned,
            "murmura_round_reports": live["reports"],
            "murmura_round_called": live["called"],
        }

    def history(self, last: int = 100) -> list[dict[str, Any]]:
        """The last rounds, newest first."""
        return self.rounds.store.history(last)


def _checked_token(own: object) -> str:
    if not isinstance(own, str) or re.fullmatch("[0-9a-f]{64}", own) is None:
        raise RefusedError("malformed", "a token must be 64 hexadecimal digits, but it is something else.")
    return own


def _hashed(token: str) -> bytes:
    return hashlib.sha256(b"murmura token" + token.encode("utf-8", "replace")).digest()
