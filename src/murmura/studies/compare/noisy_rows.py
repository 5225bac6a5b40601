"""Beside a model of exact sums that everybody can read, the row of the same method with noise."""

from __future__ import annotations

from dataclasses import replace

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.core.channel import EPSILON, ChannelSettings, NoiseForecast
from murmura.core.consent import Consent
from murmura.core.errors import said_of
from murmura.core.settings import field_names
from murmura.runtimes.simulation import simulated
from murmura.studies.compare.comparison_plan import Comparison, ComparisonEntry
from murmura.studies.methods import resolved_settings

CARRIED = {*field_names(Consent), *field_names(ChannelSettings)}  # of the settings of the exact row


def with_noisy_rows(plan: Comparison) -> tuple[Comparison, list[str]]:
    """The plan with a noisy row for each method of exact sums, and a line for each that noise would drown."""
    noisy = {entry.model for entry in plan.entries if entry.settings.get("epsilon") is not None}
    rows, left_out = list[ComparisonEntry](), list[str]()
    for entry in plan.entries:
        if entry.model in noisy or not _exact(entry):
            continue
        noisy.add(entry.model)
        row = _noisy(entry)
        with said_of(entry.label):
            forecast = _forecast(row, plan)
        if forecast is not None and forecast.hopeless:
            crowd = f"; about {forecast.enough:,} people would do" if forecast.enough else ""
            left_out.append(
                f"{row.label} has no row: {forecast.what} is {forecast.signal:.3g} where noise alone makes "
                f"{forecast.noise:.3g}{crowd}."
            )
        else:
            rows.append(row)
    return replace(plan, entries=(*plan.entries, *rows)), left_out


def _exact(entry: ComparisonEntry) -> bool:
    if entry.model not in ALGORITHMS or not algorithm(entry.model).noise_by_default:
        return False
    return simulated(entry.model, entry.settings).preset.channel_settings().channel == "secure-sum"


def _noisy(entry: ComparisonEntry) -> ComparisonEntry:
    own = {key: value for key, value in entry.settings.items() if key in CARRIED} | {"epsilon": EPSILON}
    settings = resolved_settings(entry.model, own)
    label = f"{entry.label} epsilon {EPSILON:g}"
    return ComparisonEntry(label, entry.model, settings, entry.seeds, below_minimum=entry.below_minimum)


def _forecast(entry: ComparisonEntry, plan: Comparison) -> NoiseForecast | None:
    ready = simulated(entry.model, {**entry.settings, "hopeless": True})  # which else is refused here
    return ready.plan(plan.prepared.split.train, plan.seed, None).noise_outlook()
