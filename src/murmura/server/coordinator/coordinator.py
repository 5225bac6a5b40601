"""The coordinator: it publishes rounds, gives tickets, and turns the sum of a round into the next model.

It sees no share. In readable mode, which must be asked for by name, it takes the updates itself.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from typing import Any

from murmura.channel.shares import Entropy
from murmura.server.coordinator.public_log import CAME, LEFT
from murmura.server.coordinator.rounds import Clock, RoundRunner
from murmura.server.coordinator.setup import FederationSetup
from murmura.server.database import ServerDatabase, Statement
from murmura.wire.admission import Admission, check_join
from murmura.wire.refusals import RefusedError, json_object, known, malformed, path_number
from murmura.wire.wire import HASH_BYTES, ID_BYTES, PROTOCOL, check_length, pack_pair

ORDERS = {"start": "running", "pause": "paused", "stop": "stopped"}
RENEW = "renew"  # the order to make another release


class Coordinator:
    """What devices and the operator can ask for; `rounds` is what happens between."""

    def __init__(self, setup: FederationSetup, store: ServerDatabase, clock: Clock, entropy: Entropy) -> None:
        setup.remember(store)
        self.key = store.signing_key()
        self._store, self._clock, self._entropy = store, clock, entropy
        self.rounds = RoundRunner(setup, store, self.key, clock, entropy)
        self._desk = self.rounds.desk
        self.operator_token = store.fact_or("operator", lambda: entropy(32).hex().encode()).decode()

    def join(self, body: bytes) -> dict[str, Any]:
        """Join: a random token."""
        said = "joining takes a JSON object with at most a 'slot', a 'token', an 'admission' and its 'proof'."
        read = json_object(body or b"{}", said)
        if set(read) - {"slot", "token", "admission", "proof"}:
            raise malformed(said)
        return self.register(*(read.get(name) for name in ("slot", "token", "admission", "proof")))

    def register(
        self, wanted: object = None, own: object = None, admission: object = None, proof: object = None
    ) -> dict[str, Any]:
        """A new device: its token, and the lowest free slot or the one it asks for.

        A device that brings a random token of its own can ask again when the answer was lost: it gets the place
        it has. Where devices are invited, an admission gives one place.
        """
        places = self.rounds.itinerary.info.clients
        token = self._entropy(32).hex() if own is None else _checked_token(own)
        admitted = self._admitted(token, admission, proof)
        known = self._store.value("SELECT slot FROM devices WHERE token = ?", (_hashed(token),))
        used = self._store.value("SELECT 1 FROM devices WHERE admission = ?", (admitted,))
        if known is None and used is not None:
            raise RefusedError("duplicate", "this invitation has been used by another device; ask for another.")
        slot = wanted if wanted is not None else self._free_slot(places) if known is None else known
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < places:
            raise malformed(f"a slot must be a number below {places}, but it is {str(slot)[:20]!r}.")
        taken = self._store.row("SELECT 1 FROM devices WHERE slot = ?", (slot,)) is not None
        if taken if known is None else known != slot:
            raise RefusedError("duplicate", f"slot {slot} is taken, or this device has another.")
        if known is None:
            row = (slot, _hashed(token), admitted, self._clock(), 0)
            came = self.rounds.store.releases.moved(CAME)
            self._store.write([("INSERT INTO devices VALUES (?, ?, ?, ?, ?)", row), *came])
        return {"token": token, "slot": slot, "federation": self.rounds.store.federation}

    def _admitted(self, token: str, admission: object, proof: object) -> bytes | None:
        """The public key of an admission, None in an open federation; refuses who was not invited."""
        terms = self.rounds.terms
        if terms.admission == "open":
            return None
        if admission is None:
            raise RefusedError(
                "unauthorised", "this federation is for invited devices; join with an invitation (murmura://…)."
            )
        shown = Admission.decode(_hexadecimal(admission))
        self._desk.check_valid(shown)
        check_join(shown, terms, token, _hexadecimal(proof), self._clock())
        return shown.public

    def revoke(self, message: bytes) -> int:
        """Invitations that no longer count, signed by the admitter.

        They lose their places; the answer is how many were named.
        """
        keys = self._desk.revoke(self.rounds.terms, message)
        there = "SELECT 1 FROM devices WHERE admission = ?"
        left = self._left(sum(self._store.row(there, (key,)) is not None for key in keys))
        gone = [("DELETE FROM devices WHERE admission = ?", (key,)) for key in keys]
        self._store.write([*gone, *left], forget=True)
        return len(keys)

    def _left(self, people: int = 1) -> list[Statement]:
        return self.rounds.store.releases.moved(LEFT, people)

    def remove(self, slot: str) -> dict[str, Any]:
        """Free a place."""
        number = int(slot) if slot.isascii() and slot.isdigit() and len(slot) < 10 else -1
        if self._store.row("SELECT 1 FROM devices WHERE slot = ?", (number,)) is None:
            raise RefusedError("unknown", f"there is no device in place {slot[:20]}.")
        self._store.write([("DELETE FROM devices WHERE slot = ?", (number,)), *self._left()], forget=True)
        return {"removed": number}

    def _free_slot(self, places: int) -> int:
        """The first slot nobody has: by a query, as there may be many devices."""
        found: int = self._store.value(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM devices WHERE slot = 0) THEN (SELECT min(slot) + 1 FROM "
            "devices d WHERE NOT EXISTS (SELECT 1 FROM devices n WHERE n.slot = d.slot + 1)) ELSE 0 END"
        )
        if found >= places:
            raise RefusedError("duplicate", f"all {places} places of this federation are taken.")
        return found

    def leave(self, token: str) -> dict[str, Any]:
        """Leave: the token is forgotten."""
        gone = "DELETE FROM devices WHERE slot = ?", (self.slot(token),)
        self._store.write([gone, *self._left()], forget=True)
        return {"left": True}

    def slot(self, token: str) -> int:
        """Whose token this is."""
        found = self._store.value("SELECT slot FROM devices WHERE token = ?", (_hashed(token),))
        if found is None:
            raise RefusedError("unauthorised", "this token belongs to no device here; join again.")
        return int(found)

    def ticket(self, token: str, message: bytes) -> bytes:
        """Admission of one report to the open round.

        It is a signature; there is one per device and round.
        """
        check_length(message, HASH_BYTES + ID_BYTES, "request for a ticket")
        name, report = message[:HASH_BYTES], message[HASH_BYTES:]
        slot, live = self.slot(token), self.rounds.published
        if live is None or live.hash != name:
            raise RefusedError("late", "a ticket must be for the open round, but is for another.")
        if slot not in live.called:
            raise RefusedError("not-called", "this device is not called in this round.")
        given = live.tickets.get(slot)
        if given is None:
            if self._clock() > live.manifest.deadline:
                raise RefusedError("late", f"round {live.manifest.round} is over.")
            live.tickets[slot] = report
        elif given != report:
            raise RefusedError("duplicate", "this device has a ticket for another report of this round.")
        return self.key.sign("ticket", name + report)

    def answer(self, token: str) -> bytes:
        """What the last exchange told this device alone."""
        return self.rounds.answer(self.slot(token))

    def manifest(self) -> tuple[bytes, bytes]:
        """The signed manifest of the open round; has an ETag.

        Its hash comes first: a device that knows it knows the rest.
        """
        live = self.rounds.published
        if live is None:
            stage = self.rounds.stage
            over = stage in ("finished", "stopped")
            raise RefusedError(
                "finished" if over else "paused", f"no round is open: the federation is {stage}."
            )
        return live.hash, live.envelope

    def news(self) -> str:
        """Says when there is a new manifest.

        It is the hash of the open round's, or the code of why none is open.
        """
        try:
            return self.manifest()[0].hex()
        except RefusedError as error:
            return error.code

    def last_manifest(self) -> bytes:
        """The signed manifest of the last round that was completed.

        It says how to use the model the round led to.
        """
        return known(self.rounds.store.last_committed(), "no round has been completed here yet.")

    def log_head(self) -> bytes:
        """The newest signed head of the log."""
        return known(self.rounds.store.log.head, "no head of the log has been signed here yet.").encode()

    def newest_model(self) -> bytes:
        """The newest model's entry in the log, and the proof that it is there."""
        head = self.rounds.store.log.head
        found = None if head is None else self.rounds.store.releases.newest_model(head)
        entry, proof = known(found, "no model has been trained here yet.")
        return pack_pair(entry, proof.encode())

    def log_entries(self, start: str) -> bytes:
        """Entries of the public log from a place on."""
        head = self.rounds.store.log.head
        return self.rounds.store.log.page(path_number(start), 0 if head is None else head.size)

    def log_consistency(self, first: str, size: str) -> bytes:
        """The proof that the log of one size begins with the log of another."""
        return b"".join(self.rounds.store.log.consistency(path_number(first), path_number(size)))

    def rollback(self, done: str) -> dict[str, Any]:
        """Go back to the model after so many rounds."""
        self.rounds.rollback(path_number(done))
        return self.status()

    def since(self, name: bytes, base: bytes) -> bytes:
        """The public model, for who has an earlier one: what changed, or the whole.

        The whole is sent where the changes are as long.
        """
        now = self.rounds.now
        shorter = self.rounds.store.changes_since(base, now) if name.hex() == now.model else None
        return self.blob(name) if shorter is None else shorter

    def blob(self, name: bytes) -> bytes:
        """A public model or the description, by its SHA-256."""
        why = "nothing is published under this hash; it may be of an older round."
        return known(self.rounds.store.blob(name), why)

    def check_operator(self, token: str) -> None:
        """Refuse anyone else."""
        if not hmac.compare_digest(token.encode(), self.operator_token.encode()):
            raise RefusedError("unauthorised", "this needs the operator's token; it is in the state folder.")

    def order(self, what: str) -> dict[str, Any]:
        """start, pause, stop or renew."""
        if what not in (*ORDERS, RENEW):
            known = ", ".join((*ORDERS, RENEW))
            raise RefusedError("unknown", f"an order must be one of {known}, but it is '{what[:20]}'.")
        if self.rounds.state == "stopped" and what != "stop":
            raise RefusedError("late", "this federation has been stopped for good; begin another one.")
        if what == RENEW:
            self.rounds.renew()
        else:
            self.rounds.set_state(ORDERS[what])
        return self.status()

    def identity(self) -> dict[str, str]:
        """Who this is."""
        return {"key": self.key.public.hex()}

    def about(self) -> dict[str, Any]:
        """What anyone may know before joining."""
        r, channel = self.rounds, self.rounds.setup.channel
        return {
            "protocol": PROTOCOL,
            "federation": r.store.federation,
            "key": self.key.public.hex(),
            "terms": "" if r.keeper.terms is None else r.terms.hash.hex(),
            "admission": r.setup.admission,
            "state": r.stage,
            "method": r.setup.preset.name,
            "mode": channel.channel,
            "label": r.setup.label,
            "minimum": channel.minimum_cohort,
            "rounds_done": r.now.position.done,
            "rounds_in_all": r.itinerary.rounds,
            "model": r.now.model,
            "window": None if r.keeper.terms is None else r.terms.windows.at(r.clock()),
            # JSON knows no infinity: null, where this window is the only one
            "waits_until": None if math.isinf(r.waits_until) else r.waits_until,
            "renews": r.store.releases.replaced(r.now.position),
            "difference": r.store.releases.difference,
            "breach": r.store.breach,
            "resumed": r.store.takeover.said,
        }

    def status(self) -> dict[str, Any]:
        """Where the federation stands.

        Everything an operator may know, nothing about one person. Who breaks rounds need not know of a search.
        """
        r, live = self.rounds, self.rounds.live
        status = {**self.about(), "devices": len(r.store.registered())}
        status |= {"suspected": len(r.search.candidates), "drift": r.drift.alarm}
        status |= {"alarm": r.store.alarm, "open": None}
        if live is not None:
            status["open"] = {
                **{name: getattr(live.manifest, name) for name in ("round", "phase", "called", "deadline")},
                "published": live.published,
                "reports": live.reports,
            }
        return status

    def metrics(self) -> dict[str, float]:
        """The same in numbers, for whoever watches many machines."""
        status, counters = self.status(), self.rounds.counters
        live = status["open"] or {"reports": 0, "called": 0}
        return {
            "murmura_devices": status["devices"],
            "murmura_rounds_done": status["rounds_done"],
            "murmura_rounds_committed_total": counters["committed"],
            "murmura_rounds_abandoned_total": counters["abandoned"],
            "murmura_rounds_void_total": counters["void"],
            "murmura_sums_cut_total": counters["cut"],
            "murmura_places_barred_total": self.rounds.search.barred,
            "murmura_step_largest_row": self.rounds.drift.last,
            "murmura_step_drift": self.rounds.drift.z,
            "murmura_round_reports": live["reports"],
            "murmura_round_called": live["called"],
        }

    def history(self, last: int = 100) -> list[dict[str, Any]]:
        """The last rounds."""
        return self.rounds.store.history(last)


def _hexadecimal(text: object) -> bytes:
    try:
        return bytes.fromhex(str(text)[:1024])
    except ValueError:
        raise malformed("an admission must be hexadecimal, but is not.") from None


def _checked_token(own: object) -> str:
    if not isinstance(own, str) or re.fullmatch("[0-9a-f]{64}", own) is None:
        raise malformed("a token must be 64 hexadecimal digits, but it is something else.")
    return own


def _hashed(token: str) -> bytes:
    return hashlib.sha256(b"murmura token" + token.encode("utf-8", "replace")).digest()
