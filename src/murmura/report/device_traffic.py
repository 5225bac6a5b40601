"""What one device sends and downloads, in all and in one visit: what accuracy is held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from murmura.evaluation.pareto import pareto_front
from murmura.report.summary import ModelSummary, Results, badness
from murmura.runs.comparison import ModelRuns
from murmura.runs.run import RunFolder

UP, DOWN = "kB up/client", "kB down/client"


@dataclass(frozen=True)
class DeviceTraffic:
    """Means over the finished seeds of one federated model, in kB; NaN where the folder does not say."""

    up: float
    down: float  # the model a device ranks with is part of it
    final: float  # that model alone
    visits: float  # of one device
    up_visit: float
    down_visit: float

    @property
    def total(self) -> float:
        """Up and down together."""
        return self.up + self.down

    @property
    def total_visit(self) -> float:
        """The same in one visit."""
        return self.up_visit + self.down_visit


Priced = list[tuple[ModelSummary, DeviceTraffic]]
PRICES: dict[str, Callable[[DeviceTraffic], float]] = {
    "kB up per device": lambda t: t.up,
    "kB down per device": lambda t: t.down,
    "kB per device": lambda t: t.total,
    "kB up per visit": lambda t: t.up_visit,
    "kB down per visit": lambda t: t.down_visit,
    "kB per visit": lambda t: t.total_visit,
}


def priced(results: Results, key: str) -> Priced:
    """The models that have the metric and counted their bytes, best first."""
    found = ((line, device_traffic(line.model)) for line in results.ranked(key))
    return [(line, traffic) for line, traffic in found if traffic is not None]


def on_front(lines: Priced, price: str, key: str) -> list[ModelSummary]:
    """Those no other beats by this price and the metric, cheapest first; whoever has no price takes no part."""
    best = pareto_front(
        lines, lambda one: PRICES[price](one[1]), lambda one: -badness(key, one[0].values[key].mean)
    )
    return [line for line, _ in best]


def device_traffic(model: ModelRuns) -> DeviceTraffic | None:
    """What a device of a federated model moved; None of a model whose runs counted no bytes."""
    counted = [part for part in model.done if UP in part.metrics and DOWN in part.metrics]
    if not counted:
        return None
    found = [_of_run(part) for part in counted]
    return DeviceTraffic(*(math.fsum(values) / len(found) for values in zip(*found)))


def _of_run(part: RunFolder) -> tuple[float, ...]:
    up, down, ledger = part.metrics[UP], part.metrics[DOWN], part.ledger or {}
    visits, sent = _number(ledger, "visits"), _number(ledger, "bytes_up")
    received, final = _number(ledger, "bytes_down"), _number(ledger, "final_bytes_down", 0.0)
    clients = _number(ledger, "clients")
    with_visits = visits > 0 and clients > 0
    if not with_visits:
        return up, down, math.nan, math.nan, math.nan, math.nan
    each = 1000.0 * visits
    return up, down, final / 1000 / clients, visits / clients, sent / each, received / each


def _number(ledger: Mapping[str, Any], key: str, missing: float = math.nan) -> float:
    """A number of the ledger, which may be anybody's file."""
    value = ledger.get(key, missing)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
