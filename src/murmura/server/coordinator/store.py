"""What a coordinator writes down: the federation, its position, its models and its rounds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from murmura.channel.shares import Entropy
from murmura.core.arrays import Ints
from murmura.core.codec import RowVersions, encode_model
from murmura.core.contract import Answers, ServerState
from murmura.core.features import encode_features
from murmura.core.files import answers_of, flat_answers
from murmura.core.message import MessageSpec
from murmura.core.rng import Rng
from murmura.core.update import Arrays
from murmura.engine.itinerary import Itinerary, Position
from murmura.server.coordinator.public_log import ModelChanges, PublicLog, Releases
from murmura.server.coordinator.setup import FederationSetup
from murmura.server.coordinator.takeover import LogTakeover
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire import wire
from murmura.wire.log import manifest_entry, model_entry
from murmura.wire.manifest import Download, Manifest, SignedManifest
from murmura.wire.refusals import RefusedError

Presence = tuple[frozenset[int], frozenset[int]]  # slots that came, slots that were called
RELEASED = "released "  # facts: of sums that another exchange follows, by the name of their phase
ALARM = "alarm"  # the fact that keeps what looks like false histories in a release
BREACH = "breach"  # begins what is said of a round whose sum was cut; the fact that keeps it
OLD = (  # rounds that only the log remembers; the newest that was committed stays for who comes later
    "DELETE FROM rounds WHERE serial < ? - 1000 "
    "AND serial < (SELECT max(serial) FROM rounds WHERE state = 'committed')"
)
LONGEST = 500  # characters kept of what is said of a round


@dataclass(frozen=True, eq=False)
class FederationState:
    """Where a federation stands between two rounds."""

    position: Position
    server: ServerState
    answers: Answers  # what the last exchange told single devices, by slot
    model: str  # hash of the public model
    model_bytes: int  # its length
    changes: tuple[Download, ...] = ()  # shorter ways to it
    counts: Download | None = None  # of items, which an exchange has made public


@dataclass(frozen=True)
class RoundEnd:
    """How a round ended."""

    serial: int
    position: Position  # where the federation is after it
    reports: int
    time: float
    said: str
    present: Presence


class CoordinatorStore:
    """The durable side of a federation; every change is one transaction."""

    def __init__(
        self, setup: FederationSetup, itinerary: Itinerary, store: ServerDatabase, entropy: Entropy
    ) -> None:
        self._setup, self._itinerary, self._store = setup, itinerary, store
        self.log, self._versions = PublicLog(store), ModelChanges(store)
        self.releases = Releases(store, self.log, itinerary)
        self.takeover = LogTakeover(store, self.log)
        self.description = setup.description.encode()
        if store.fact("progress") is None:
            server = itinerary.algorithm.server_init(itinerary.info, Rng(setup.server_secret))
            begin = [put_fact("federation", entropy(16)), put_fact("state", b"paused")]
            published = [(setup.description.hash, self.description)]
            if itinerary.info.features is not None:
                name = bytes.fromhex(setup.description.feature_hash)
                published.append((name, encode_features(itinerary.info.features)))
            blobs = [("INSERT INTO blobs VALUES (?, ?)", blob) for blob in published]
            store.write([*begin, *blobs, *self._now(Position(), server, {})], durable=True)
        self.federation = self._fact("federation").hex()

    def _fact(self, name: str) -> bytes:
        found = self._store.fact(name)
        assert found is not None, name
        return found

    @property
    def state(self) -> str:
        """Running, paused or stopped."""
        return self._fact("state").decode()

    def set_state(self, state: str) -> None:
        """Change it."""
        self._store.write([put_fact("state", state.encode())], durable=True)

    def federation_state(self) -> FederationState:
        """What the last commit left."""
        server = ServerState(
            wire.unpack_arrays(self._fact("server")), wire.unpack_arrays(self._fact("private"))
        )
        answers = answers_of(wire.unpack_arrays(self._fact("answers")))
        position = Position.decode(self._fact("progress"))
        model, counts = self._published(self._fact("model")), self._published(self._store.fact("counts") or b"")
        assert model is not None
        return FederationState(position, server, answers, model.hash, model.bytes, self._shorter(), counts)

    def _shorter(self) -> tuple[Download, ...]:
        kept = self._store.fact("changes") or b""
        found = self._published(kept[wire.HASH_BYTES :], base=kept[: wire.HASH_BYTES].hex())
        return () if found is None else (found,)

    def _published(self, name: bytes, base: str = "") -> Download | None:
        found = self._store.value("SELECT length(content) FROM blobs WHERE hash = ?", (name,))
        return None if found is None else Download(name.hex(), found, base)

    def blob(self, name: bytes) -> bytes | None:
        """What is published under a hash."""
        found: bytes | None = self._store.value("SELECT content FROM blobs WHERE hash = ?", (name,))
        return found

    def registered(self) -> Ints:
        """The slots of all devices, ascending."""
        found = self._store.rows("SELECT slot FROM devices ORDER BY slot")
        return np.array([slot for (slot,) in found], np.int32)

    def open_round(self, manifest: Manifest, called: Ints) -> None:
        """A round begins: it is in the log before anybody hears of it."""
        content = manifest.encode()
        row = (manifest.serial, manifest.hash, content, called.astype("<i4").tobytes())
        opened = ("INSERT INTO rounds VALUES (?, ?, ?, NULL, ?, 'open', NULL, NULL, NULL)", row)
        # who was called before is needed once more where this exchange calls the same devices
        forgotten = ("UPDATE rounds SET called = x'' WHERE serial < ?", (manifest.serial,))
        self.log.append([manifest_entry(content)], [opened, forgotten, (OLD, (manifest.serial,))], forget=True)

    def publish(self, manifest: Manifest, envelope: bytes, opening: bool) -> None:
        """Everybody has signed it; an exchange of the opening counts in its window, however often shown."""
        shown = "SELECT 1 FROM rounds WHERE serial = ? AND envelope IS NOT NULL"
        opening = (
            opening and self._store.value(shown, (manifest.serial,)) is None
        )  # a coordinator that was restarted shows it again
        counted = [self._attempted(manifest)]
        published = ("UPDATE rounds SET envelope = ? WHERE serial = ?", (envelope, manifest.serial))
        self._store.write([published, *(counted if opening else [])], durable=True)

    def note_refusal(self, code: str) -> None:
        """An aggregator may know a sum of this window that this machine, restored from a copy, has not."""
        found = self.opened()
        if code == "released" and found is not None:
            self._store.write([self._attempted(found[0])], durable=True)

    def _attempted(self, manifest: Manifest) -> Statement:
        said = self._attempts(manifest.window)
        said[manifest.phase] = said.get(manifest.phase, 0) + 1
        return put_fact("attempts", json.dumps({"window": manifest.window, "phases": said}).encode())

    def attempts(self, phase: str, window: int) -> int:
        """How often devices have heard of this exchange of the opening in this window."""
        return self._attempts(window).get(phase, 0)

    def _attempts(self, window: int) -> dict[str, int]:
        found = json.loads(self._store.fact("attempts") or b'{"window": -1}')
        return dict(found["phases"]) if found["window"] == window else {}

    def opened(self) -> tuple[Manifest, Ints] | None:
        """The round that is open, if one is, and whom it called."""
        found = self._store.row("SELECT manifest, called FROM rounds WHERE state = 'open'")
        return None if found is None else (Manifest.decode(bytes(found[0])), slots(found[1]))

    def last_committed(self) -> bytes | None:
        """The signed manifest of the newest round that was committed."""
        newest = "SELECT envelope FROM rounds WHERE state = 'committed' ORDER BY serial DESC"
        found: bytes | None = self._store.value(newest)
        return found

    def published_size(self, serial: int) -> int:
        """How long the log was in the newest manifest before this one that devices have heard of."""
        found = self._store.value(
            "SELECT envelope FROM rounds WHERE serial < ? AND envelope IS NOT NULL "
            "ORDER BY serial DESC LIMIT 1",
            (serial,),
        )
        return 0 if found is None else SignedManifest.decode(found).proof.head.size

    def last_round(self) -> tuple[str, Ints]:
        """Hash and cohort of the newest round; "" and nobody before the first."""
        found = self._store.row("SELECT hash, called FROM rounds ORDER BY serial DESC")
        return ("", slots(b"")) if found is None else (bytes(found[0]).hex(), slots(found[1]))

    def commit(
        self,
        end: RoundEnd,
        server: ServerState,
        answers: Answers,
        released: tuple[str, int, bytes] | None = None,
    ) -> None:
        """The next model, the new position and the end of the round in one transaction.

        `released` is a sum that another exchange follows: its phase, its window, its signed halves.
        """
        position, said = end.position, end.said
        changes = self._now(position, server, answers)
        entry = self._entry(end.serial, server)
        if self.releases.ends_with(position):
            difference = self._itinerary.algorithm.release_difference(server)
            changes += self.releases.completed(entry, difference)
            changes.append(put_fact(ALARM, self._itinerary.algorithm.alarm(server).encode()))
        row = (end.serial, position.done, _packed(server, answers))
        kept = [  # between two exchanges of a round there is nothing to go back to
            *([("INSERT INTO models VALUES (?, ?, ?)", row)] if position.step == 0 else []),
            (
                "DELETE FROM models WHERE serial NOT IN "
                "(SELECT serial FROM models ORDER BY serial DESC LIMIT ?)",
                (self._setup.keep,),
            ),
        ]
        if released is not None:
            phase, window, halves = released
            changes.append(put_fact(RELEASED + phase, window.to_bytes(8, "little") + halves))
        begins = Position.decode(self._fact("progress")).done == 0
        if begins or said.startswith(BREACH):
            sums = ["" if begins else self.breach, said if said.startswith(BREACH) else ""]
            changes.append(put_fact(BREACH, " ".join(filter(None, sums)).encode()))
        self._end(end, "committed", [*changes, *kept], [entry])

    @property
    def alarm(self) -> str:
        """What the operator should look at in the newest release, "" of nothing."""
        return (self._store.fact(ALARM) or b"").decode()

    @property
    def breach(self) -> str:
        """What was cut of the sums of the newest release, "" of honest ones."""
        return (self._store.fact(BREACH) or b"").decode()

    def released(self, phase: str, window: int) -> bytes | None:
        """What is kept of a sum of this window that other exchanges follow; None where there was none."""
        kept = self._store.fact(RELEASED + phase) or b""
        return kept[8:] if kept[:8] == window.to_bytes(8, "little") else None

    def go_back(self, position: Position) -> None:
        """The next exchange is an earlier one; the model stays."""
        self._store.write([put_fact("progress", position.encode())], durable=True)

    def abandon(self, end: RoundEnd) -> None:
        """The round is given up; the model stays."""
        self._end(end, "abandoned", [put_fact("progress", end.position.encode())])

    def _end(self, end: RoundEnd, state: str, changes: list[Statement], entries: Sequence[bytes] = ()) -> None:
        """Whom the round called is forgotten with it, unless the next exchange calls the same devices."""
        ended = "UPDATE rounds SET state = ?, reports = ?, ended = ?, reason = ? WHERE serial = ?"
        row = (state, end.reports, end.time, end.said[:LONGEST] or None, end.serial)
        forgotten = [] if end.position.step else [("UPDATE rounds SET called = x''", ())]
        missed = _slots_after(end.present, self._setup.expire)
        self.log.append(entries, [*changes, (ended, row), *forgotten, *missed], forget=True)

    def resume(self) -> None:
        """Where a log was taken over, everybody sees in it from which model this machine goes on."""
        if self.takeover.due:
            now, newest = self.federation_state(), self._store.value("SELECT max(serial) FROM models")
            self.takeover.resume(now.position.done, self._entry(newest or 0, now.server))

    def free_revoked(self) -> None:
        """Whose invitation was taken back has no place."""
        gone = "DELETE FROM devices WHERE admission IN (SELECT admission FROM revoked)"
        self._store.write([(gone, ())], forget=True)

    def rollback(self, done: int, now: Position) -> Position:
        """Go back to the model after so many rounds; numbers of rounds and manifests go on."""
        kept = self._store.rows("SELECT serial, done, state FROM models ORDER BY serial DESC")
        found = next((row for row in kept if row[1] == done), None)
        if found is None:
            there = ", ".join(str(row[1]) for row in kept) or "none"
            raise RefusedError("unknown", f"the models kept are those after {there} rounds, not after {done}.")
        server, answers = _unpacked(bytes(found[2]))
        # the first exchanges of a round that is left half done have used its number
        position = replace(now, done=done, step=0, round=now.round + (now.step > 0))
        entry = self._entry(int(found[0]), server)
        changes = self._now(position, server, answers)
        changes += self.releases.completed(entry if self.releases.ends_with(position) else b"")
        if self._counts(server) != self._counts(ServerState(wire.unpack_arrays(self._fact("server")))):
            # whoever was counted since was counted in another sum
            changes.append(("DELETE FROM facts WHERE substr(name, 1, ?) = ?", (len(RELEASED), RELEASED)))
        self.log.append([entry], [*changes, ("DELETE FROM models WHERE done > ?", (done,))])
        return position

    def history(self, last: int) -> list[dict[str, Any]]:
        """The last rounds, newest first."""
        found = self._store.rows(
            "SELECT manifest, state, reports, ended, reason FROM rounds ORDER BY serial DESC LIMIT ?", (last,)
        )
        rows = []
        for content, state, reports, ended, reason in found:
            m = Manifest.decode(bytes(content))
            row = {name: getattr(m, name) for name in ("serial", "round", "phase", "window", "called")}
            seconds = None if ended is None else round(ended - m.opened, 3)
            rows.append(row | {"state": state, "reports": reports, "seconds": seconds, "reason": reason})
        return rows

    def _now(self, position: Position, server: ServerState, answers: Answers) -> list[Statement]:
        """The changes that make a server state the current one; the model before it stays for slow readers."""
        (name, content), counts = self._named(server), self._counts(server)
        described = self._setup.description.hash
        features = bytes.fromhex(self._setup.description.feature_hash)
        before, versions = self._store.fact("model") or name, self._begun(server.model)
        if (base := self._store.fact("server")) is not None:
            versions = self._versions.moved(versions, wire.unpack_arrays(base), server.model)
        changes = b"" if before == name else versions.message(versions.number - 1, before, server.model) or b""
        shorter, count_hash = (hashlib.sha256(one).digest() if one else b"" for one in (changes, counts))
        kept = [described, features, before, name, shorter, count_hash, self._store.fact("counts") or b""]
        kept += self.releases.published  # devices rank with it until there is a newer one
        others = [(shorter, changes), (count_hash, counts)]
        published = [(name, content), *(one for one in others if one[1])]
        return [
            (f"DELETE FROM blobs WHERE hash NOT IN ({', '.join('?' * len(kept))})", tuple(kept)),
            *(("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blob) for blob in published),
            put_fact("model", name),
            put_fact("changes", before + shorter if changes else b""),
            put_fact("counts", count_hash),
            *self._versions.noted(versions, name),
            put_fact("server", wire.pack_arrays(server.model)),
            put_fact("private", wire.pack_arrays(server.private)),
            put_fact("answers", wire.pack_arrays(flat_answers(answers))),
            put_fact("progress", position.encode()),
        ]

    def changes_since(self, base: bytes, now: FederationState) -> bytes | None:
        """What leads from an earlier model to that of now; None where only the whole does, or is as short."""
        begun = self._begun(now.server.model)
        return self._versions.since(begun, base, bytes.fromhex(now.model), now.server.model)

    def _begun(self, model: Arrays) -> RowVersions:
        """How models like this one travel, before any has changed."""
        return RowVersions.first(self._downloads(model), self._itinerary.info.listed)

    def _named(self, server: ServerState) -> tuple[bytes, bytes]:
        """Hash and bytes of a public model."""
        content = encode_model(server.model, self._downloads(server.model), self._itinerary.info.listed)
        return hashlib.sha256(content).digest(), content

    def _downloads(self, model: Arrays) -> MessageSpec:
        """What this model holds as it travels: of some methods more once it tells the counts of items."""
        known = self._itinerary.after(model)
        return self._setup.channel.downloads(known.algorithm.publishes(known.info))

    def _counts(self, server: ServerState) -> bytes:
        """The counts of items that a model has made public, b"" for none."""
        counts = self._itinerary.algorithm.public_counts(server.model)
        return b"" if counts is None else wire.pack_arrays({"counts": counts.astype(np.uint32)})

    def _entry(self, serial: int, server: ServerState) -> bytes:
        """A model in the public log, with the counts that say what it holds."""
        counts = self._counts(server)
        count_hash = hashlib.sha256(counts).digest() if counts else b""
        return model_entry(serial, self._named(server)[0], count_hash)


def _slots_after(present: Presence, expire: int) -> list[Statement]:
    """Who came misses nothing; who stays away too often loses the place."""
    came, called = present
    return [
        *(("UPDATE devices SET missed = missed + 1 WHERE slot = ?", (slot,)) for slot in sorted(called - came)),
        *(("UPDATE devices SET missed = 0 WHERE slot = ? AND missed > 0", (slot,)) for slot in sorted(came)),
        ("DELETE FROM devices WHERE missed >= ?", (expire,)),
    ]


def _packed(server: ServerState, answers: Answers) -> bytes:
    parts = (server.model, server.private, flat_answers(answers))
    model, private, answer_bytes = (wire.pack_arrays(part) for part in parts)
    return wire.pack_pair(model, wire.pack_pair(private, answer_bytes))


def _unpacked(content: bytes) -> tuple[ServerState, Answers]:
    model, rest = wire.unpack_pair(content)
    private, answer_bytes = wire.unpack_pair(rest)
    server = ServerState(wire.unpack_arrays(model), wire.unpack_arrays(private))
    return server, answers_of(wire.unpack_arrays(answer_bytes))


def slots(packed: bytes) -> Ints:
    """Slots from the bytes they are stored as."""
    return np.frombuffer(packed, "<i4").astype(np.int32)
