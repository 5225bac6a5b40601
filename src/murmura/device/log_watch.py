"""A watcher of the public log: anybody who keeps its heads, so that a fork cannot stay unseen.

A watcher keeps the signed heads it was shown. Each new head must extend the last one. Watchers exchange their
files: two heads of one federation that do not extend each other are proof that the log forked, and all three
machines signed it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from murmura.core.errors import DataError
from murmura.core.files import write_whole
from murmura.device.trust import GoneBackError, check_grown, check_log, fetch_terms
from murmura.wire.log import LogHead
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import DOWNLOAD_BYTES, Transport, ask

NEWEST = 1000  # heads that are kept one by one; of older ones, one an hour
HOUR = 3600.0
_VERSION = 1

Verdict = Literal["unbroken", "forked", "gone back", "stopped", "not compared"]
_HEADS = ("heads", "evidence")


@dataclass(frozen=True)
class SeenHead:
    """A head, and when it was seen first."""

    time: float
    head: LogHead


@dataclass(frozen=True)
class WatchedLog:
    """What a watcher has seen of one federation: its file."""

    federation: str
    terms: bytes  # hash
    heads: tuple[SeenHead, ...] = ()
    evidence: tuple[SeenHead, ...] = ()  # heads, signed by all, that do not fit those above

    @property
    def last(self) -> SeenHead | None:
        """The newest head that fitted."""
        return self.heads[-1] if self.heads else None

    def with_head(self, seen: SeenHead) -> WatchedLog:
        """One head more; of those beyond the newest thousand one an hour stays."""
        heads = (*self.heads, seen)
        if len(heads) > NEWEST + 1 and heads[-NEWEST - 1].time < heads[-NEWEST - 2].time + HOUR:
            heads = (*heads[: -NEWEST - 1], *heads[-NEWEST:])
        return replace(self, heads=heads)

    def with_evidence(self, seen: SeenHead) -> WatchedLog:
        """One head more that does not fit, once."""
        known = any(one.head == seen.head for one in self.evidence)
        return self if known else replace(self, evidence=(*self.evidence, seen))

    def write(self, path: Path) -> None:
        """As other watchers read it."""
        lines = {name: [[one.time, one.head.encode().hex()] for one in getattr(self, name)] for name in _HEADS}
        content = {"version": _VERSION, "federation": self.federation, "terms": self.terms.hex(), **lines}
        write_whole(path, json.dumps(content, indent=0).encode() + b"\n")

    @classmethod
    def read(cls, content: bytes, name: str) -> Self:
        """A watcher's file; refuses anything else."""
        try:
            values = json.loads(content)
            if values["version"] != _VERSION:
                raise ValueError
            heads, evidence = (tuple(_seen(one) for one in values[part]) for part in _HEADS)
            return cls(str(values["federation"]), bytes.fromhex(values["terms"]), heads, evidence)
        except (KeyError, TypeError, ValueError, RecursionError, RefusedError):
            raise DataError(f"{name} must be a file of `murmura log watch`, but is not.") from None


def _seen(pair: Sequence[Any]) -> SeenHead:
    time, head = pair
    return SeenHead(float(time), LogHead.decode(bytes.fromhex(head)))


@dataclass(frozen=True)
class Look:
    """What one look at a log says."""

    verdict: Verdict
    sentence: str


class _FaultError(Exception):
    """A log, or another watcher's file, is not as it must be."""

    def __init__(self, verdict: Verdict, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict


@dataclass
class LogWatcher:
    """Looks at one log again and again, and keeps what it saw."""

    send: Transport
    url: str
    path: Path
    pinned: bytes | None = None  # hash of the terms it must be of
    idle: float | None = None  # seconds without a new entry after which it has stopped; None: two windows
    others: Sequence[str] = ()  # files of other watchers, or where they are published

    async def look(self, now: float) -> Look:
        """One look; a head that is signed and does not fit stays in the file as evidence."""
        try:
            terms, watched = await self._known()
            head = LogHead.decode((await ask(self.send, "GET", f"{self.url}/log")).body)
            head.check(terms)
            watched = await self._extended(watched, SeenHead(now, head))
            watched.write(self.path)
            for name in self.others:
                await self._compare(watched, terms, name)
        except _FaultError as error:
            return Look(error.verdict, f"{error.verdict.upper()}: {error}")
        except UnreachableError as error:
            return Look("stopped", f"STOPPED: {error}")
        except RefusedError as error:
            verdict: Verdict = "forked" if error.code == "forged" else "stopped"
            return Look(verdict, f"{verdict.upper()}: {error}")
        return self._judged(watched, terms, now)

    async def _known(self) -> tuple[FederationTerms, WatchedLog]:
        """The terms; those seen first, and changed ones, only in a log that is right in every entry."""
        terms = await fetch_terms(self.send, self.url, self.pinned)
        try:
            watched = WatchedLog.read(self.path.read_bytes(), str(self.path))
        except FileNotFoundError:
            watched = WatchedLog(terms.federation, b"")
        if watched.federation != terms.federation:
            raise DataError(
                f"{self.path} must be of the federation at {self.url}, but is of another; give another file."
            )
        if watched.terms != terms.hash:
            await check_log(self.send, self.url, terms)
        return terms, replace(watched, terms=terms.hash)

    async def _extended(self, watched: WatchedLog, seen: SeenHead) -> WatchedLog:
        """With a new head, if it extends the last one; otherwise the head is evidence."""
        last = watched.last
        if last is None:
            return watched.with_head(seen)
        try:
            await check_grown(seen.head, last.head, (), self.send, self.url)
        except GoneBackError as error:
            watched.with_evidence(seen).write(self.path)
            if error.code == "replay":
                why = f"{last.head.size} entries were seen, but only {seen.head.size} are shown."
                raise _FaultError("gone back", why) from None
            why = f"the {seen.head.size} entries shown do not begin with the {last.head.size} seen before."
            raise _FaultError("forked", why) from None
        return watched if seen.head.size == last.head.size else watched.with_head(seen)

    async def _compare(self, watched: WatchedLog, terms: FederationTerms, name: str) -> None:
        """Refuse a head of another watcher that is no stage of this log, nor its future."""
        other = await self._other(name, terms)
        own = {one.head.size: one.head.root for one in watched.heads}
        for seen in other.heads + other.evidence:
            if own.get(seen.head.size, seen.head.root) != seen.head.root:
                self._forked(watched, seen, terms, name)
        last, newest = watched.last, other.last
        if last is None or newest is None or newest.head.size in own:
            return
        older, newer = sorted((newest.head, last.head), key=lambda one: one.size)
        try:
            await check_grown(newer, older, (), self.send, self.url)
        except RefusedError:
            self._forked(watched, newest, terms, name)

    async def _other(self, name: str, terms: FederationTerms) -> WatchedLog:
        try:
            if "://" in name:
                content = (await self.send("GET", name, b"", {}, largest=DOWNLOAD_BYTES)).body
            else:
                content = Path(name).read_bytes()
            other = WatchedLog.read(content, name)
        except OSError as error:
            raise _FaultError("not compared", f"{name} cannot be read ({error.strerror}).") from None
        except (DataError, UnreachableError) as error:
            raise _FaultError("not compared", str(error)) from None
        if other.federation != terms.federation:
            raise _FaultError("not compared", f"{name} must be of this federation, but is of another.")
        return other

    def _forked(self, watched: WatchedLog, seen: SeenHead, terms: FederationTerms, name: str) -> None:
        """Keep another watcher's head as evidence; one that is not signed proves nothing."""
        try:
            seen.head.check(terms)
        except RefusedError:
            why = f"{name} has a head that the machines of this federation did not sign."
            raise _FaultError("not compared", why) from None
        watched.with_evidence(seen).write(self.path)
        raise _FaultError("forked", f"the watcher of {name} was shown another log of {seen.head.size} entries.")

    def _judged(self, watched: WatchedLog, terms: FederationTerms, now: float) -> Look:
        last = watched.last
        assert last is not None
        idle = 2 * max(terms.windows.seconds, HOUR) if self.idle is None else self.idle
        what = f"{last.head.size} entries, root {last.head.root.hex()[:16]}…"
        if now - last.time > idle:
            return Look("stopped", f"STOPPED: no new entry for {now - last.time:.0f} seconds; {what}")
        return Look("unbroken", f"unbroken, {what}")
