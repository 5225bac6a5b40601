"""Who breaks the bounds of sums, and how far each step moves the model.

Group testing finds malformed clients without looking at anybody, by rounds with ever fewer candidates. A sum
that honest devices cannot have made is void, and one of those whose reports it is of has broken it. The
next round leaves half of them out. If its sum is void too, the breaker is in the half that came; if not, in the
half that was left out, and the round counts. The others who are called are those who were in a sum that kept
the bounds since the search began, as far as there are enough.

A place is guilty when everybody else of a void round has been in such a sum since, and two void rounds had
its report. So whoever breaks every round is found, several of them one after the other, and nobody is blamed
for one who does. Nothing of this is written down but who is barred in the end.

A step is as long as the row of a table that it moves furthest. Steps of an honest training grow shorter slowly,
so that one which is far longer than the last ones is worth a look: perhaps somebody pulls. The measure is a
robust z-score of the logarithm, (log m - median) / (1.4826 MAD), over the last steps (Iglewicz and Hoaglin,
1993). Everything in it follows from models that are public.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import Phase
from murmura.core.rng import Purpose, Rng
from murmura.core.update import Arrays
from murmura.server.admissions import AdmissionDesk
from murmura.server.database import ServerDatabase, put_fact

HALVES = Purpose.OWN + 8  # the stream that says which half of the candidates is left out
PATIENCE = 3  # rounds without news until the search ends
VOID = 2  # rounds that a guilty place must have broken

Slots = frozenset[int]
NO_SLOTS: Slots = frozenset()


@dataclass
class MalformedClientSearch:
    """A search over rounds; without candidates there is none."""

    candidates: Slots = NO_SLOTS  # one of them breaks rounds, as far as is known
    cleared: Slots = NO_SLOTS  # were in a sum that kept the bounds, since the search began
    barred: int = 0  # places, since the start of this process
    _void: list[Slots] = field(default_factory=list)  # whose reports the void sums were of
    _idle: int = 0  # rounds in a row that went well and told nothing

    def applies(self, phase: Phase, step: int) -> bool:
        """Whether half of them is left out: in the first exchange of a training round of all drawn."""
        return phase.repeat is None and step == 0 and phase.part == 1 and bool(self.candidates)

    def void(self, came: Slots, desk: AdmissionDesk) -> str:
        """The sum of these broke the bounds; nobody, where a coordinator was restarted and does not know.

        What is to be said of it, as after `good`: "" or that somebody is barred.
        """
        if not came:
            return ""
        self._idle = 0
        if not came - self.cleared:  # one of those who kept the bounds has begun to break them
            self.forget()
        self._void.append(came)
        self.candidates = self.candidates & came or came - self.cleared
        return self._bar(desk)

    def good(self, came: Slots, desk: AdmissionDesk) -> str:
        """The sum of these kept the bounds."""
        if not self.candidates:
            return ""
        self._idle = 0 if self.candidates & came else self._idle + 1
        self.cleared |= came
        self.candidates = self.candidates - came or self._narrowest
        if not self.candidates or self._idle > PATIENCE:  # it has stopped, or stays away: nobody is to blame
            self.forget()
        return self._bar(desk)

    def _bar(self, desk: AdmissionDesk) -> str:
        """Take the place and the admission of who is found guilty."""
        slot = self.guilty
        if slot is None:
            return ""
        self.forget()
        self.barred += 1
        desk.bar(slot)
        return f" (place {slot} broke the bounds of every round it was in and is barred)"

    def forget(self) -> None:
        """No search."""
        self.candidates, self.cleared, self._void, self._idle = NO_SLOTS, NO_SLOTS, [], 0

    @property
    def _narrowest(self) -> Slots:
        """Of all void sums the fewest who were in none that kept the bounds."""
        return min(filter(None, (came - self.cleared for came in self._void)), key=len, default=NO_SLOTS)

    @property
    def guilty(self) -> int | None:
        """The place that is left of a void round, and was in another one."""
        if len(self._narrowest) != 1:
            return None
        (slot,) = self._narrowest
        return slot if sum(slot in came for came in self._void) >= VOID else None

    def calls(self, drawn: Ints, registered: Ints, minimum: int, rng: Rng) -> Ints:
        """Whom to call instead of those drawn, never fewer than the minimum of those registered."""
        there = frozenset(registered.tolist())
        self.candidates &= there
        if not self.candidates:
            self.forget()
            return drawn
        left_out, tested = self._halves(len(registered) - minimum, rng)
        others = np.array(sorted(there - left_out - tested), np.int32)
        known = len(self.cleared.intersection(others.tolist()))
        wanted = min(max(minimum, len(tested) + known), max(minimum, len(drawn))) - len(tested)
        mixed, beside = others[_shuffled(len(others), rng)], self._narrowest
        # those of void sums before strangers: a good sum clears them
        merit = [0 if slot in self.cleared else 1 if slot in beside else 2 for slot in mixed.tolist()]
        first = mixed[np.argsort(merit, kind="stable")]
        return np.union1d(sorted(tested), first[: max(0, wanted)]).astype(np.int32)

    def _halves(self, spare: int, rng: Rng) -> tuple[Slots, Slots]:
        """(who is left out, who must come): halves of the candidates; of a last one and those not cleared.

        Where a last suspect has broken rounds with others who were in no good sum yet, these come without it.
        """
        ordered = sorted(self.candidates)
        if len(ordered) == 1:
            beside = self._narrowest - self.candidates
            return (self.candidates, beside) if beside and spare else (NO_SLOTS, self.candidates)
        chosen = rng.stream(HALVES).choose(len(ordered), max(0, min(len(ordered) // 2, spare)))
        half = frozenset(ordered[place] for place in chosen.tolist())
        return half, self.candidates - half


def _shuffled(n: int, rng: Rng) -> Ints:
    """The numbers below n in an order of this round."""
    return np.argsort(rng.stream(HALVES + 1).words(n), kind="stable").astype(np.int32)


FACT = "movements"
REMEMBERED = 50  # steps
FEWEST = 8  # steps before an alarm is possible
ALARM = 6.0  # standard deviations, if steps were log-normal
NARROWEST = 0.05  # of the logarithms: steps that are all but equal differ by less than is worth an alarm


class DriftWatch:
    """The last steps, as the coordinator keeps them."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self._steps: list[float] = json.loads(store.fact(FACT) or b"[]")
        self.z = 0.0  # of the last step

    @property
    def last(self) -> float:
        """How far the last step moved the row it moved furthest."""
        return self._steps[-1] if self._steps else 0.0

    @property
    def alarm(self) -> str:
        """What to tell the operator; "" where there is nothing."""
        if self.z < ALARM:
            return ""
        return (
            f"the last step moved a row by {self.last:.3g}, {self.z:.1f} deviations beyond those before it; "
            "pause and look at it, `murmura rounds rollback` goes back"
        )

    def note(self, before: Arrays, after: Arrays) -> None:
        """A step was committed."""
        moved = movement(before, after)
        if not moved:
            return
        self.z = robust_z(self._steps, moved)
        self._steps = [*self._steps, moved][-REMEMBERED:]
        self._store.write([put_fact(FACT, json.dumps(self._steps).encode())])

    def forget(self) -> None:
        """The model went back: its next step is compared with those before, not with the way back."""
        self.z = 0.0


def movement(before: Arrays, after: Arrays) -> float:
    """The largest L2 distance that a row of any table moved; tables of another shape are new."""
    longest = 0.0
    for name, array in after.items():
        old = before.get(name)
        if old is None or old.shape != array.shape or not array.size or array.dtype.kind != "f":
            continue
        moved = array.astype(np.float64) - old
        rows = moved.reshape(len(array), -1) if array.ndim else moved.reshape(1, 1)
        longest = max(longest, float(np.sqrt((rows**2).sum(axis=1)).max()))
    return longest


def robust_z(history: list[float], value: float) -> float:
    """How many robust deviations the logarithm of a step is above those of the steps before; 0 of too few."""
    if len(history) < FEWEST or not value > 0:
        return 0.0
    logs = np.log(history)
    middle = float(np.median(logs))
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))), NARROWEST)
    return (math.log(value) - middle) / spread
