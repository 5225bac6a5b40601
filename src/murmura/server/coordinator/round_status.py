"""Where a federation stands, for its operator and, less the open round and suspicions, for anyone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from murmura.server.coordinator.rounds import RoundRunner

OPERATORS = ("open", "suspected", "drift")  # what nobody else is told: who breaks rounds need not know it


def round_status(runner: RoundRunner) -> dict[str, Any]:
    """Everything, in plain values."""
    channel, live = runner.setup.channel, runner.live
    status: dict[str, Any] = {
        "state": "finished" if runner.finished else runner.state,
        "method": runner.setup.preset.name,
        "mode": channel.channel,
        "label": "; ".join(runner.setup.labels.values()),
        "minimum": channel.minimum_cohort,
        "rounds_done": runner.now.position.done,
        "rounds_in_all": runner.itinerary.rounds,
        "model": runner.now.model,
        "window": None if runner.keeper.terms is None else runner.terms.windows.at(runner.clock()),
        # JSON knows no infinity: null, where this window is the only one
        "waits_until": None if math.isinf(runner.waits_until) else runner.waits_until,
        "renews": runner.store.releases.replaced(runner.now.position),
        "difference": runner.store.releases.difference,
        "breach": runner.store.breach,
        "suspected": len(runner.search.suspects),
        "drift": runner.drift.alarm,
        "open": None,
    }
    if live is not None:
        status["open"] = {
            **{name: getattr(live.manifest, name) for name in ("round", "phase", "called", "deadline")},
            "published": live.published,
            "reports": live.reports,
        }
    return status
