"""How often a coordinator asks an aggregator whether a round is complete."""

from __future__ import annotations

from collections.abc import Callable

from murmura.server.coordinator.open_round import OpenRound

RELATIVE, LONGEST = 0.1, 1.0  # a round may last a tenth longer, and a second at most, because nobody asked
UNFINISHED = 5.0  # seconds between questions while not everybody has a ticket: a round cannot be complete yet


class CollectingPace:
    """Between two questions as long as a tenth of what the round has lasted, and at most a second.

    So small federations lose a tenth of a second, large ones are asked for once a second, and nobody is asked
    before a device may have sent. While tickets are missing a question only tells the operator how far it is,
    or a coordinator that was restarted and knows of none what was sent before.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._asked = clock, 0.0

    def due(self, live: OpenRound | None) -> bool:
        """Whether it is time to move on; always while no aggregator collects."""
        if live is None or not live.published or live.individual_reports is not None:
            return True
        now, began = self._clock(), live.manifest.opened + live.manifest.hold
        if now > live.manifest.deadline or now < self._asked:  # also where the clock was put back
            self._asked = now
            return True
        complete = len(live.tickets) >= live.manifest.called
        wait = min(LONGEST, RELATIVE * (now - began)) if complete else UNFINISHED
        if now < began or now - self._asked < wait:
            return False
        self._asked = now
        return True
