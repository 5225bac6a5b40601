"""Behind `murmura join`: first contact, visits, and what the owner is told."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Words, client_secrets
from murmura.data.reading import Reading
from murmura.data.sources.registry import liked_rows, load, one_person
from murmura.device.device import Device, VisitOutcome
from murmura.device.download_cache import DownloadCache
from murmura.device.folder import DeviceFolder
from murmura.device.joining import JoinRequest, ManifestEvents, about, join, stay
from murmura.device.recommending import explain, recommend
from murmura.device.storage import Identity
from murmura.device.trust import newest_model
from murmura.wire.addresses import host_of, is_loopback
from murmura.wire.admission import Invitation
from murmura.wire.http_transport import HttpTransport
from murmura.wire.refusals import RefusedError, UnreachableError

FIRST = 10  # items of a list that count
SENTENCES = {
    "joined": "joined with {items} items, kept in {folder}",
    "sent": "round {round} ({phase}): {bytes:,} bytes left; "
    "{disclosed:.0%} of what you like has been part of an upload so far",
    "measured": f"after {{done}} rounds: {{hits}} of {{kept_back}} items kept back are among the first {FIRST}",
    "not-called": "round {round} ({phase}): not called",
    "renews": "a new release is asked for; until it is complete, the one before it ranks:",
    "finished": "the federation is finished",
}
Printer = Callable[[dict[str, object]], None]


def own_rows(
    data: str, user: str, together: bool, data_dir: Path | None, reading: dict[str, Any]
) -> Interactions:
    """What the file says of its owner, or of everyone who shares the device."""
    if not data:
        raise SettingError("--data must name a file with what you like the first time a device joins.")
    if together:
        return liked_rows(load(data, data_dir, **reading)).compact()
    return one_person(data, user, data_dir, Reading(**reading))


def check_first_contact(invited: Invitation, allowed: bool) -> None:
    """Refuse to believe whoever answers beyond this machine, unless its owner asks for that."""
    if invited.terms or allowed or is_loopback(host_of(invited.url)):
        return
    raise SettingError(
        f"{invited.url} must come with a fingerprint, or anybody on the way could answer for it; join with an "
        "invitation (murmura://…), give --fingerprint, or say --first-contact."
    )


def device_secret(simulate: tuple[int, int] | None) -> Words:
    """Fresh randomness; that of a simulation's client where (seed, client) says so."""
    if simulate is not None:
        seed, client = simulate
        drawn: Words = client_secrets(seed, client + 1)[client]
        return drawn
    return np.frombuffer(os.urandom(8), np.uint32)


async def take_part(
    send: HttpTransport,
    url: str,
    folder: DeviceFolder,
    request: Callable[[], JoinRequest],
    top: int,
    tell: Printer,
) -> None:
    """Join if that has not been done, stay until the federation is finished, then recommend `top` items."""
    if not folder.exists:
        foreign = await join(request(), folder, send)
        joined = {"items": len(folder.likes()), "foreign": foreign, "folder": str(folder.path)}
        new = folder.identity()
        pinned = {"terms": new.terms.hash.hex(), "admission": new.terms.admission}
        pinned["privacy"] = "; ".join([*new.terms.labels.values(), new.terms.noise.sentence()])
        tell({"event": "joined", **joined, **pinned, "never": _why_never(new)})
    identity = folder.identity()
    if identity.url != url:
        raise SettingError(f"{folder.path} must be of {url}, but its device joined {identity.url}.")
    cache = DownloadCache(identity.url, send, identity.terms)
    device = Device(identity, folder, folder.rows(), cache, send, time.time, asyncio.sleep, os.urandom)
    events = ManifestEvents(send, identity.url)
    own = _Own(device, folder)

    def visited(outcome: VisitOutcome) -> None:
        event: dict[str, Any] = {"event": outcome.kind, **vars(outcome)}
        tell({name: value for name, value in event.items() if name != "kind"})

    try:
        with contextlib.suppress(RefusedError, UnreachableError):  # `stay` meets and says the same
            await own.renewed(top, tell)
        await stay(device, events, visited, own.measure(tell))
        if top:
            await own.recommend(top, tell)
    finally:
        await events.close()


def _why_never(own: Identity) -> str:
    """Why every round of this federation will be declined; "" where it will not."""
    if own.terms.minimum < own.minimum:
        return (
            f"its sums are of at least {own.terms.minimum} devices and you want {own.minimum}; if that is "
            f"enough for you, leave and join with --minimum {own.terms.minimum}"
        )
    for name, label in own.disallowed.items():
        return f"{label}; if you want that, leave and join with --{name}"
    return ""


@dataclass(eq=False)
class _Own:
    """What the owner alone gets: recommendations, and how many likes kept back are among them."""

    device: Device
    folder: DeviceFolder

    def measure(self, tell: Printer) -> Callable[[], Awaitable[None]] | None:
        """What to call when there is a newer model, if anything was kept back."""
        kept = {(like.person, like.item) for like in self.folder.likes() if like.kept_back}

        async def measured() -> None:
            best, done, _ = await self._best(FIRST)
            if best:
                found = {(person, item) for person, items in enumerate(best) for item in items}
                hits = len(kept & found)
                tell({"event": "measured", "done": done, "hits": hits, "kept_back": len(kept)})

        return measured if kept else None

    async def recommend(self, k: int, tell: Printer) -> None:
        """The best items under their own names, for everyone of the device."""
        best, _, why = await self._best(k, explained=True)
        if not best:
            return
        labels = (await self.device.cache.description()).items.labels
        names = self.device.identity.people or ("you",)
        for name, items in zip(names, best):
            said = {"why": why} if why else {}
            tell({"event": "recommended", "for": name, "items": labels[items].tolist(), **said})

    async def renewed(self, k: int, tell: Printer) -> bool:
        """Whether another release is asked for; until it is complete the one before it ranks, and is shown."""
        if not k or not (await about(self.device.send, self.device.identity.url)).get("renews"):
            return False
        tell({"event": "renews"})
        await self.recommend(k, tell)
        return True

    async def _best(self, k: int, explained: bool = False) -> tuple[list[list[int]], int, list[str]]:
        """Everybody's first k items by the newest model, and the rounds it has seen; none before training.

        The third: why each of these items, for a device of one owner whose method can say so.
        """
        d = self.device
        federation = await about(d.send, d.identity.url)
        manifest, state = await d.last_manifest(), self.folder.memory.state
        if manifest is None or not (state or federation["rounds_done"] or federation.get("renews")):
            return [], 0, []
        terms = d.identity.terms
        logged = await newest_model(d.send, d.identity.url, terms, self.folder.memory.head)
        newest, info = await d.cache.newest(manifest, logged)
        history, _ = d.history(info, self.folder.permission(), manifest.round)
        answer = await d.own_answer() if terms.phase(manifest.phase, info).returns else None
        model = await d.cache.model(newest, info)
        people = max(1, len(d.identity.people))
        held = (terms, newest, info, model, state, history, d.identity.secret)
        best = recommend(*held, k, answer, people)
        why = explain(*held, best[0]) if explained and people == 1 else []
        return [items.tolist() for items in best], int(federation["rounds_done"]), why


def sentence(event: dict[str, Any]) -> str:
    """One line for the owner."""
    kind = event["event"]
    if kind == "joined":
        foreign = f"; {event['foreign']} rows are of items it does not have" if event["foreign"] else ""
        crowd = (
            "; everyone may join this federation: one person may fill a sum"
            if event["admission"] == "open"
            else ""
        )
        never = f"; nothing will be sent: {event['never']}" if event["never"] else ""
        return f"{SENTENCES[kind].format(**event)}{foreign}{crowd}{never}; {event['privacy']}"
    if kind == "recommended":
        if "why" not in event:
            return f"for {event['for']}: " + ", ".join(map(str, event["items"]))
        lines = [f"{item}: {why}" for item, why in zip(event["items"], event["why"])]
        return "\n  ".join([f"for {event['for']}:", *lines])
    spent = f"; epsilon {event['epsilon']:.3g} spent" if event.get("epsilon") is not None else ""
    return SENTENCES.get(kind, "stayed out: {why}").format(**event) + spent
