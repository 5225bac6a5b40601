"""Visit after visit: how a device stays in a federation, and what its owner gets from it.

It ranks with what it has: the ranking itself makes no request.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import Algorithm, ClientState, FederationInfo, History, RoundContext
from murmura.core.errors import MurmuraError, SettingError
from murmura.core.rng import Rng, Words
from murmura.core.update import Arrays
from murmura.device.device import Device, VisitOutcome
from murmura.device.download_cache import DownloadCache
from murmura.device.enrolment import JoinRequest, about, join
from murmura.device.folder import DeviceFolder
from murmura.device.http_transport import HttpTransport
from murmura.device.storage import Identity
from murmura.device.trust import GoneBackError, TermsChangedError, newest_model
from murmura.engine import reasons
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.terms import FederationTerms

POLL = 2.0  # seconds between looks while nothing is announced, on average
LATER = 600.0  # and while the servers show an older log than before, whatever they announce
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


class ManifestEvents:
    """Announcements of the coordinator; polling alone loses nothing but a little time."""

    def __init__(self, announcer: HttpTransport | None, url: str) -> None:
        self._event = asyncio.Event()
        self._task = None if announcer is None else asyncio.create_task(self._listen(announcer, url))

    async def _listen(self, announcer: HttpTransport, url: str) -> None:
        while True:
            with contextlib.suppress(UnreachableError):
                async for line in announcer.lines(f"{url}/events"):
                    if line.startswith("data:"):
                        self._event.set()
            await asyncio.sleep(POLL)

    async def wait(self) -> None:
        """Until something is announced, or for about as long as a poll takes."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), POLL * _jitter())
        self._event.clear()

    async def rest(self) -> None:
        """For much longer: what is announced meanwhile is of no use."""
        await asyncio.sleep(LATER * _jitter())
        self._event.clear()

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


def _jitter() -> float:
    return random.uniform(0.5, 1.5)  # spreads load, protects nothing


async def stay(
    device: Device,
    events: ManifestEvents,
    tell: Callable[[VisitOutcome], None],
    after: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Visit again and again until the federation is finished; a coordinator that is away is waited for.

    So are servers that have gone back. `after` is called whenever the device may have a newer model.
    """
    passing: type[MurmuraError] | None = None  # what is in the way and may pass: said once
    while True:
        try:
            outcome = await device.visit()
            passing = None
        except (UnreachableError, GoneBackError) as error:
            outcome = VisitOutcome("idle" if type(error) is passing else "refused", why=str(error))
            passing = type(error)
        except RefusedError as error:
            outcome = VisitOutcome("refused", why=str(error))
            if isinstance(error, TermsChangedError) and isinstance(device.storage, DeviceFolder):
                device.storage.offer(error.offered)
            if error.code in ("unauthorised", "version", "forged"):
                raise
        if outcome.kind != "idle":
            tell(outcome)
        if after is not None and outcome.kind in ("sent", "not-called", "finished"):
            with contextlib.suppress(UnreachableError, RefusedError):
                await after()
        if outcome.kind == "finished":
            return
        await (events.rest() if passing is GoneBackError else events.wait())


async def take_part(
    send: HttpTransport,
    url: str,
    folder: DeviceFolder,
    request: Callable[[], JoinRequest],
    top: int,
    tell: Printer,
) -> None:
    """Join if that has not been done, stay until the federation is finished, then recommend `top` items."""
    foreign = None if folder.exists else await join(request(), folder, send)
    identity = folder.identity()
    if identity.url != url:
        raise SettingError(f"{folder.path} must be of {url}, but its device joined {identity.url}.")
    cache = DownloadCache(identity.url, send, identity.terms)
    if foreign is not None:
        joined = {"items": len(folder.likes()), "foreign": foreign, "folder": str(folder.path)}
        pinned = {"terms": identity.terms.hash.hex(), "admission": identity.terms.admission}
        pinned["privacy"] = "; ".join([*identity.terms.labels.values(), identity.terms.noise.sentence()])
        info = (await cache.description()).info
        pinned["bytes"] = identity.terms.device_costs(info).sentence()
        tell({"event": "joined", **joined, **pinned, "people": info.people, "never": _why_never(identity)})
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
        ranking = OwnRanking(terms, newest, info, model, state, history, d.identity.secret, answer)
        best = ranking.recommend(k, people)
        why = ranking.explain(best[0]) if explained and people == 1 else []
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
        shared = f"; one device counts for at most {event['people']} people" if event["people"] > 1 else ""
        costs = f"{event['privacy']}; {event['bytes']}"
        return f"{SENTENCES[kind].format(**event)}{foreign}{crowd}{shared}{never}; {costs}"
    if kind == "recommended":
        if "why" not in event:
            return f"for {event['for']}: " + ", ".join(map(str, event["items"]))
        lines = [f"{item}: {why}" for item, why in zip(event["items"], event["why"])]
        return "\n  ".join([f"for {event['for']}:", *lines])
    spent = f"; epsilon {event['epsilon']:.3g} spent" if event.get("epsilon") is not None else ""
    return SENTENCES.get(kind, "stayed out: {why}").format(**event) + spent


@dataclass(frozen=True, eq=False)
class OwnRanking:
    """What a device ranks with."""

    terms: FederationTerms
    manifest: Manifest
    info: FederationInfo
    model: Arrays
    state: Arrays
    history: History
    secret: Words
    answer: Arrays | None = None

    def recommend(self, k: int, people: int = 1) -> list[Ints]:
        """For all `people` of the device the k best items on offer that each does not have, the best first.

        A device that has learned nothing yet is someone who comes later: her part is made from the model as it
        stands. Ties go to the lower number.
        """
        history = self.history
        algorithm, context, ready = self._ready()
        scores = np.asarray(algorithm.client_score(context, ready, history), np.float64)
        whose = np.zeros(len(history), np.int32) if history.person is None else history.person
        best = []
        for person in range(people):
            offered = np.setdiff1d(self.info.listed, history.item[whose == person])
            order = np.argsort(-scores[person, offered], kind="stable")
            best.append(offered[order[:k]].astype(np.int32))
        return best

    def explain(self, shown: Ints) -> list[str]:
        """Why each of the shown items, the list of a device's one owner; nothing where scores are no sums."""
        algorithm, context, ready = self._ready()
        sums = algorithm.client_terms(context, ready, self.history)
        if sums is None:
            return []
        offered = np.setdiff1d(self.info.listed, self.history.item).astype(np.int32)
        found = reasons.term_reasons(sums, offered, shown, len(shown))
        return [reasons.sentence(float(sums.scores[item]), parts) for item, parts in zip(shown.tolist(), found)]

    def _ready(self) -> tuple[Algorithm, RoundContext, ClientState]:
        algorithm, next_round = self.terms.algorithm(), self.manifest.round + 1
        rng, context = (
            Rng(self.secret, next_round),
            RoundContext(self.info, "ready", next_round, self.model, self.answer),
        )
        if self.state:
            return algorithm, context, algorithm.client_ready(context, self.state, self.history, rng)
        return algorithm, context, algorithm.client_fold_in(context, self.history, rng)
