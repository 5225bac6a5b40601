"""What noise would leave of a federation, from public figures alone: before anybody is asked for anything.

The strongest direction of what people have together is held against the noise edge, as a coordinator does with
noisy counts (`algorithms.cooccurrence.private`). How much of what a noisy release gains over popularity is left
at such a ratio was measured on five data sets, at several epsilons and simulated numbers of people
(docs/results/privacy-plan.csv; a test holds the curve against it).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from murmura.algorithms.cooccurrence.private import SCALE, PrivateCooccurrence
from murmura.algorithms.preset import ONCE
from murmura.core.channel import ChannelSettings, NoiseForecast
from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import server_secret
from murmura.engine.itinerary import Itinerary, forecast_of
from murmura.report.drawing import FILE_GRID, FILE_MUTED, page_style, require_report

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
CROWDS = (1, 4, 16, 64)  # times as many people
HALF = 2.0  # the gain is (ratio - 1) / (ratio + HALF): none at 1, half of it at 4


@dataclass(frozen=True)
class PublicFigures:
    """What may be known of a federation before it begins, or of one like it."""

    people: int
    items: int
    per_person: float  # items somebody has, on average
    effective_items: float  # 1 / sum of q^2, q the share of all rows that an item has: how few are popular

    def __post_init__(self) -> None:
        if self.people < 1 or self.items < 1 or self.per_person <= 0:
            raise SettingError("people, items and items per person must be above 0, but one is not.")
        if not 1 <= self.effective_items <= self.items:
            raise SettingError(
                f"effective items must be from 1 to the {self.items} items there are, but are "
                f"{self.effective_items:g}."
            )

    @classmethod
    def of(cls, train: Interactions) -> Self:
        """Of a public data set that is like the federation."""
        counts = train.item_counts[train.item_counts > 0].astype(np.float64)
        shares = counts / counts.sum()
        people = int(np.count_nonzero(train.user_counts))
        return cls(people, len(counts), len(train) / people, float(1 / (shares**2).sum()))

    def info(self, people: int) -> FederationInfo:
        """A federation of so many people, in which this many items are equally popular and no other occurs."""
        counts, popular = np.zeros(self.items, np.int64), max(1, round(self.effective_items))
        counts[:popular] = round(SCALE * people * self.per_person**0.5 / self.effective_items)
        listed = np.arange(self.items, dtype=np.int32)
        return FederationInfo(self.items, listed, people, round(people * self.per_person), counts=counts)


@dataclass(frozen=True)
class PlannedRelease:
    """What to expect of one epsilon among so many people."""

    people: int
    epsilon: float
    delta: float
    forecast: NoiseForecast

    @property
    def gain(self) -> float:
        """The share of what the release would gain over popularity without noise; below 0: a loss."""
        return expected_gain(self.forecast.ratio)

    def flat(self) -> dict[str, object]:
        """One flat object, as --json prints it."""
        about = {"people": self.people, "epsilon": self.epsilon, "delta": self.delta}
        found = {"ratio": round(self.forecast.ratio, 3), "gain": round(self.gain, 3)}
        return {**about, **found, "hopeless": self.forecast.hopeless}


def expected_gain(ratio: float) -> float:
    """How much is left of the gain over popularity, by the ratio of what there is to learn to noise."""
    return (ratio - 1) / (ratio + HALF)


def plan_releases(
    figures: PublicFigures, people: Sequence[int] = (), epsilons: Sequence[float] = EPSILONS
) -> Iterator[PlannedRelease]:
    """Every number of people with every epsilon; by default as many as there are, and more."""
    method = PrivateCooccurrence()
    for crowd in people or [figures.people * times for times in CROWDS]:
        itinerary = Itinerary(method, figures.info(crowd), ONCE)
        for epsilon in epsilons:
            channel = ChannelSettings(channel="secure-sum", epsilon=epsilon)
            noise = itinerary.noise(channel, server_secret(0))
            forecast = forecast_of(itinerary, noise, noisy=False)
            assert forecast is not None
            yield PlannedRelease(crowd, float(epsilon), float(noise.delta), forecast)


LINES = ("#882255", "#d55e00", "#e69f00", "#009e73", "#0072b2", "#332288")


def privacy_plan_picture(figures: PublicFigures, planned: Sequence[PlannedRelease]) -> str:
    """SVG: the share of the gain over popularity that is left, people on a logarithmic axis."""
    require_report()
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(page_style("privacy-plan", "file"), after_reset=True):
        figure = Figure(figsize=(7.5, 4.6), dpi=72, layout="constrained")
        axes = figure.add_subplot()
        for place, epsilon in enumerate(sorted({one.epsilon for one in planned}, reverse=True)):
            line = sorted((one.people, one.gain) for one in planned if one.epsilon == epsilon)
            shown = [(people, max(-0.1, gain)) for people, gain in line]
            look: dict[str, Any] = {"color": LINES[place % len(LINES)], "marker": "o"}
            axes.plot(*zip(*shown), label=f"epsilon {epsilon:g}", **look)
        axes.axhspan(-0.1, 0, color=FILE_GRID, alpha=0.6, linewidth=0)
        axes.annotate("hopeless: the most popular items do better", (0.99, 0.02), fontsize=8, color=FILE_MUTED,
                      xycoords="axes fraction", ha="right", va="bottom")  # fmt: skip
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_ylim(-0.1, 1.0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_xlabel("people")
        axes.set_ylabel("of what is gained over popularity without noise")
        axes.set_title(
            f"{figures.items:,} items ({figures.effective_items:,.0f} effective), {figures.per_person:.0f} for "
            "each person",
            fontsize=10,
        )
        axes.legend(frameon=False, fontsize=8)
        axes.grid(True)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
