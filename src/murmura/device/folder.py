"""A device's own folder: only its owner can read it, and every file in it is whole or absent.

device.json (who it is and the terms it joined under), history.json (what its owner likes), permission.json
(what she allows), memory.bin (what was learned), journal.jsonl (what left), receipts.jsonl (who countersigned
it), offered-terms.json (other terms that its owner has not agreed to), terms-*.json (those that held before).
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.consent import Permission
from murmura.core.contract import History
from murmura.core.errors import DataError, RunError
from murmura.core.files import write_whole
from murmura.core.settings import as_dict, from_dict
from murmura.device import journal
from murmura.device.journal import Journal, JournalEntry
from murmura.device.storage import (
    RECEIPTS,
    DeviceMemory,
    Identity,
    Receipt,
    append_receipt,
    check_receipts,
    read_receipts,
)
from murmura.wire.admission import OwnAdmission
from murmura.wire.terms import FederationTerms

DEVICE, HISTORY, PERMISSION, MEMORY = "device.json", "history.json", "permission.json", "memory.bin"
OFFERED, TERMS = "offered-terms.json", "terms-*.json"
JOINING = "joining.token"
OWN = 0o600  # for its owner alone
VERSION = 3  # of the folder's files, as device.json says; older ones belonged to older versions of the wire


@dataclass(frozen=True)
class LikedItem:
    """One thing the owner likes, under her own name for it."""

    label: Any
    item: int  # its number in the federation
    value: float
    kept_back: bool = False  # not trained on: her own measure of how good the recommendations are
    person: int = 0  # of a household
    time: int | None = None  # seconds since 1970, where it is known; it never leaves


@dataclass(frozen=True)
class DeviceFolder:
    """The storage of a real device."""

    path: Path

    @property
    def exists(self) -> bool:
        """Whether a device lives here."""
        return (self.path / DEVICE).exists()

    def create(self, identity: Identity, likes: list[LikedItem], permission: Permission) -> None:
        """A new device; its identity is written last, so that half a device is none."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        self._write(HISTORY, json.dumps([vars(like) for like in likes]).encode())
        self.allow(permission)
        self.keep(DeviceMemory())
        self._write_identity(identity)
        (self.path / JOINING).unlink(missing_ok=True)

    def wanted_token(self) -> str:
        """The random token to join with: written down first, so that a crash does not take a second place."""
        path = self.path / JOINING
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o700)
            self._write(JOINING, secrets.token_hex(32).encode())
        return path.read_text("ascii")

    def _write_identity(self, identity: Identity) -> None:
        own = identity.admission
        plain = {
            "version": VERSION,
            **vars(identity),
            "terms": identity.terms.encode().decode(),
            "secret": [int(word) for word in identity.secret],
            "admission": None if own is None else own.encode().hex(),
        }
        self._write(DEVICE, json.dumps(plain).encode())

    def identity(self) -> Identity:
        """Who it is; refuses a folder of another version."""
        read = self._json(DEVICE)
        version = read.pop("version", 1)
        if version > VERSION:
            raise RunError(
                f"{self.path} must be of version {VERSION}, but a newer Murmura made it version {version}; "
                "start that one, or join in another folder."
            )
        if version < VERSION:
            raise RunError(
                f"{self.path} must be of version {VERSION}, but was made by version {version}, whose "
                "federations cannot go on; join anew in another folder."
            )
        own = read["admission"]
        return Identity(
            **read
            | {
                "terms": FederationTerms.decode(read["terms"].encode()),
                "secret": np.array(read["secret"], np.uint32),
                "admission": None if own is None else OwnAdmission.decode(bytes.fromhex(own)),
                "people": tuple(read["people"]),
            }
        )

    def offer(self, terms: FederationTerms) -> None:
        """Keep other terms until the owner agrees to them."""
        self._write(OFFERED, terms.encode())

    def offered(self) -> FederationTerms | None:
        """Terms that the owner has not agreed to, if there are any."""
        path = self.path / OFFERED
        return FederationTerms.decode(path.read_bytes()) if path.exists() else None

    def accept(self, terms: FederationTerms) -> None:
        """The owner agrees: from now on these terms count, and no others.

        Refuses other items, which have other numbers here. What was learned by another method is of no use.
        """
        own = self.identity()
        if terms.catalogue.description != own.terms.catalogue.description:
            raise RunError(
                "the items of the federation changed, so what this device holds must be looked up anew; leave, "
                "and join again."
            )
        if (terms.method, terms.settings) != (own.terms.method, own.terms.settings):
            self.keep(replace(self.memory, state={}))
        if terms.lost not in (None, own.terms.lost):
            self.keep(self.memory.ended(terms.lost))
        self._keep_terms(own.terms, self.path)
        self._write_identity(replace(own, terms=terms))
        (self.path / OFFERED).unlink(missing_ok=True)

    def likes(self) -> list[LikedItem]:
        """Everything its owner likes."""
        return [LikedItem(**like) for like in self._json(HISTORY)]

    def rows(self) -> History:
        """What it trains on."""
        used = [like for like in self.likes() if not like.kept_back]
        person = np.array([like.person for like in used])
        items, values = np.array([like.item for like in used]), np.array([like.value for like in used])
        times = [like.time for like in used if like.time is not None]  # of all rows, or of none
        when = np.array(times, np.int64) if len(times) == len(used) else None
        return History.private(items, values, person if self.identity().people else None, when)

    @property
    def memory(self) -> DeviceMemory:
        """What was learned."""
        try:
            return DeviceMemory.decode((self.path / MEMORY).read_bytes())
        except (OSError, ValueError, KeyError) as error:
            raise self._damaged(MEMORY, error) from None

    def keep(self, memory: DeviceMemory) -> None:
        """Replace it; when this returns it is on disk."""
        self._write(MEMORY, memory.encode())

    def permission(self) -> Permission:
        """What the owner allows at this moment: read anew every time, as she may change it meanwhile."""
        return from_dict(Permission, self._json(PERMISSION))

    def allow(self, permission: Permission) -> None:
        """Change what is allowed."""
        self._write(PERMISSION, json.dumps(as_dict(permission)).encode())

    def keep_place(self, place: int) -> None:
        """Keep the number the coordinator has given it anew."""
        self._write_identity(replace(self.identity(), place=place))

    @property
    def journal(self) -> Journal:
        """What left."""
        return Journal(self.path / journal.NAME)

    def note(self, entry: JournalEntry) -> str:
        """Write an upload down before it leaves; the same upload sent again is one upload."""
        past = self.journal.verify()
        if past.entries and past.entries[-1].manifest == entry.manifest:
            return past.head
        head = self.journal.append(entry, past)
        for path in self.path.glob("journal.*"):
            path.chmod(OWN)
        return head

    def keep_receipt(self, receipt: Receipt) -> None:
        """Keep what the machines that took an upload signed."""
        append_receipt(self.path / RECEIPTS, receipt)
        (self.path / RECEIPTS).chmod(OWN)

    def check_evidence(self, copy: Path | None = None) -> int:
        """Check the journal against every receipt, also those of a copy kept elsewhere; how many there are."""
        found = read_receipts(self.path / RECEIPTS) + ([] if copy is None else read_receipts(copy))
        past = self.journal.verify()
        check_receipts(found, self._agreed(), frozenset(past.heads))
        recorded = {(entry.round, entry.phase) for entry in past.entries}
        uploads = self.memory.exchanges if self.exists else ()
        missing = [one for one in uploads if one not in recorded]
        pending = self.exists and self.memory.pending is not None  # prepared, perhaps not written down yet
        if missing and not (pending and missing == [uploads[-1]]):
            raise DataError(
                f"{self.journal.path} must have a line for round {missing[0][0]} ({missing[0][1]}), in which "
                "this device took part, but has none: its past was rewritten."
            )
        return len(found)

    def _agreed(self) -> dict[str, FederationTerms]:
        """All terms that a device here has taken part under, by their hashes, also one that has left."""
        past = [FederationTerms.decode(path.read_bytes()) for path in self.path.glob(TERMS)]
        return {one.hash.hex(): one for one in [*past, *([self.identity().terms] if self.exists else [])]}

    def _keep_terms(self, terms: FederationTerms, to: Path) -> None:
        """What checks receipts of uploads under these terms, also when others have taken their place."""
        write_whole(to / TERMS.replace("*", terms.hash.hex()[:16]), terms.encode(), mode=OWN)

    @property
    def has_evidence(self) -> bool:
        """Whether a device lives here, or what one left behind of its journal."""
        return self.exists or any(self.path.glob(TERMS))

    def export_evidence(self, to: Path) -> None:
        """Copy the evidence of what left to a new folder, with the keys that check it."""
        if to.exists():
            raise RunError(f"{to} must not exist yet to keep the journal in, but does; give another --journal.")
        to.mkdir(parents=True, mode=0o700)
        for name in (journal.NAME, Path(journal.NAME).with_suffix(".head").name, RECEIPTS):
            if (self.path / name).exists():
                write_whole(to / name, (self.path / name).read_bytes(), mode=OWN)
        for terms in self._agreed().values():
            self._keep_terms(terms, to)

    def delete(self) -> None:
        """Remove every file of the device, its identity first, and the folder if nothing else is in it."""
        for name in (DEVICE, PERMISSION, MEMORY, HISTORY, JOINING, OFFERED, RECEIPTS):
            (self.path / name).unlink(missing_ok=True)
        for path in (*self.path.glob("journal.*"), *self.path.glob(TERMS)):
            path.unlink()
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def _write(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, content, mode=OWN)
        folder = os.open(self.path, os.O_RDONLY)  # the new name must survive a power cut too
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            raise RunError(
                f"{self.path} must be the folder of a device, but has no {name}; join a federation first."
            ) from None
        except (OSError, ValueError) as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, error: Exception) -> RunError:
        return RunError(
            f"{self.path / name} must be readable, but is not ({error}); join anew in another folder."
        )
