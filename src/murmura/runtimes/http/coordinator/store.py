"""What a coordinator writes down: the federation, its position, its models and its rounds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.channel.shares import Entropy
from murmura.core.arrays import Ints
from murmura.core.codec import encode_model
from murmura.core.contract import Answers, ServerState
from murmura.core.feature_codec import encode_features
from murmura.core.rng import Rng
from murmura.engine.archive import answers_of, flat_answers
from murmura.engine.itinerary import Itinerary, Position
from murmura.runtimes.http.coordinator.setup import FederationSetup
from murmura.runtimes.http.database import ServerDatabase, Statement, put_fact
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.manifest import Manifest

LONGEST = 500  # characters kept of what is said of a round


@dataclass(frozen=True, eq=False)
class FederationState:
    """Where a federation stands between two rounds."""

    position: Position
    server: ServerState
    answers: Answers  # what the last exchange told single devices, by slot
    model: str  # hash of the public model


class CoordinatorStore:
    """The durable side of a federation; every change is one transaction."""

    def __init__(
        self, setup: FederationSetup, itinerary: Itinerary, store: ServerDatabase, entropy: Entropy
    ) -> None:
        self._setup, self._itinerary, self._store = setup, itinerary, store
        self.description = setup.description.encode()
        self.description_hash = hashlib.sha256(self.description).hexdigest()
        if store.fact("progress") is None:
            server = itinerary.algorithm.server_init(itinerary.info, Rng(setup.server_secret))
            begin = [put_fact("federation", entropy(16)), put_fact("state", b"paused")]
            published = [(bytes.fromhex(self.description_hash), self.description)]
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
        return FederationState(position, server, answers, self._fact("model").hex())

    def registered(self) -> Ints:
        """The slots of all devices, ascending."""
        found = self._store.rows("SELECT slot FROM devices ORDER BY slot")
        return np.array([slot for (slot,) in found], np.int32)

    def open_round(self, manifest: Manifest, envelope: bytes, called: Ints) -> None:
        """A round begins."""
        row = (manifest.serial, manifest.hash, envelope, called.astype("<i4").tobytes())
        self._store.write(
            [("INSERT INTO rounds VALUES (?, ?, ?, ?, 'open', NULL, NULL, NULL)", row)], durable=True
        )

    def opened(self) -> tuple[bytes, Ints] | None:
        """The signed manifest and the cohort of the round that is open, if one is."""
        found = self._store.row("SELECT envelope, called FROM rounds WHERE state = 'open'")
        return None if found is None else (bytes(found[0]), slots(found[1]))

    def last_committed(self) -> bytes | None:
        """The signed manifest of the newest round that was committed."""
        found = self._store.row("SELECT envelope FROM rounds WHERE state = 'committed' ORDER BY serial DESC")
        return None if found is None else bytes(found[0])

    def last_round(self) -> tuple[str, Ints]:
        """Hash and cohort of the newest round; "" and nobody before the first."""
        found = self._store.row("SELECT hash, called FROM rounds ORDER BY serial DESC")
        return ("", slots(b"")) if found is None else (bytes(found[0]).hex(), slots(found[1]))

    def commit(
        self,
        serial: int,
        position: Position,
        server: ServerState,
        answers: Answers,
        count: int,
        now: float,
        said: str,
    ) -> None:
        """The next model, the new position and the end of the round in one transaction."""
        self._end(serial, "committed", count, now, said, self._now(position, server, answers))

    def abandon(self, serial: int, position: Position, count: int, now: float, why: str) -> None:
        """The round is given up; the model stays."""
        self._end(serial, "abandoned", count, now, why, [put_fact("progress", position.encode())])

    def _end(
        self, serial: int, state: str, count: int, now: float, said: str, changes: list[Statement]
    ) -> None:
        ended = "UPDATE rounds SET state = ?, reports = ?, ended = ?, reason = ? WHERE serial = ?"
        row = (state, count, now, said[:LONGEST] or None, serial)
        tickets = ("DELETE FROM tickets WHERE serial = ?", (serial,))
        self._store.write([*changes, (ended, row), tickets], durable=True)

    def ticket_holder(self, serial: int, report: bytes) -> int | None:
        """Whose report id this is."""
        found = self._store.row("SELECT slot FROM tickets WHERE serial = ? AND report = ?", (serial, report))
        return None if found is None else int(found[0])

    def history(self, last: int) -> list[dict[str, Any]]:
        """The last rounds, newest first."""
        found = self._store.rows(
            "SELECT envelope, state, reports, ended, reason FROM rounds ORDER BY serial DESC LIMIT ?", (last,)
        )
        rows = []
        for envelope, state, reports, ended, reason in found:
            m = Manifest.decode(bytes(envelope)[wire.SIGNATURE_BYTES :])
            row = {name: getattr(m, name) for name in ("serial", "round", "phase", "mode", "called")}
            seconds = None if ended is None else round(ended - m.opened, 3)
            rows.append(row | {"state": state, "reports": reports, "seconds": seconds, "reason": reason})
        return rows

    def _now(self, position: Position, server: ServerState, answers: Answers) -> list[Statement]:
        """The changes that make a server state the current one; the model before it stays for slow readers."""
        info = self._itinerary.info
        downloads = self._setup.channel.downloads(self._itinerary.algorithm.publishes(info))
        content = encode_model(server.model, downloads, info.listed)
        name, described = hashlib.sha256(content).digest(), bytes.fromhex(self.description_hash)
        features = bytes.fromhex(self._setup.description.feature_hash)
        before = self._store.fact("model") or name
        return [
            ("DELETE FROM blobs WHERE hash NOT IN (?, ?, ?, ?)", (described, features, before, name)),
            ("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, content)),
            put_fact("model", name),
            put_fact("server", wire.pack_arrays(server.model)),
            put_fact("private", wire.pack_arrays(server.private)),
            put_fact("answers", wire.pack_arrays(flat_answers(answers))),
            put_fact("progress", position.encode()),
        ]


def slots(packed: bytes) -> Ints:
    """Slots from the bytes they are stored as."""
    return np.frombuffer(packed, "<i4").astype(np.int32)
