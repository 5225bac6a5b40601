"""What is compared: data made ready, every model with its settings, how often; and results as one table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import yaml

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.channel.ledger import EXPOSED
from murmura.core.catalogue import Dataset
from murmura.core.channel import EPSILON, ChannelSettings, NoiseForecast
from murmura.core.consent import Consent
from murmura.core.errors import DataError, SettingError, said_of
from murmura.core.settings import as_dict, field_names
from murmura.engine.prepared import PreparedData, prepare
from murmura.engine.protocol import protocol
from murmura.evaluation.measure import Evaluation, PlainTable, number
from murmura.evaluation.registry import DEFAULT_METRICS, chosen_metrics, has_no_cutoff
from murmura.studies.methods import (
    EQUIVALENTS,
    Sizes,
    below_minimum_cohort,
    by_rule,
    method,
    method_class,
    name_and_settings,
    published_settings,
    resolved_settings,
)
from murmura.studies.search.folder import Trial

CARRIED = {*field_names(Consent), *field_names(ChannelSettings)}  # of the settings of the exact row
Keep = Literal["all", "best", "none"]


@dataclass(frozen=True)
class ComparisonEntry:
    """One line of a comparison: a model with its settings, under the label the user gave it."""

    label: str
    model: str
    settings: dict[str, Any]
    seeds: int | None = None  # where it is run with fewer than the others
    from_size_rule: bool = False  # whether settings that nobody gave are those of the rule from sizes
    below_minimum: bool = False  # whether its sums are of fewer people than a federation asks for
    given: Mapping[str, Any] = field(default_factory=dict)  # of the settings, those that were given
    default: Mapping[str, Any] = field(default_factory=dict)  # and those kept for the data, or of the rule


@dataclass(frozen=True)
class EntryMeans:
    """The means over seeds of one entry."""

    label: str
    seeds: int
    values: dict[str, float | None]  # None: not defined, e.g. the Gini index of no lists
    failed: Exception | None = None  # why there is no value of some seed, or of none
    uses: tuple[str, ...] = ()  # beside the pairs of user and item

    def flat(self) -> dict[str, Any]:
        """One flat object, as --json prints it; the reason of a failure is its `error`."""
        more = {"uses": ", ".join(self.uses), "error": self.reason}
        stated = {key: text for key, text in more.items() if text}
        return {"model": self.label, "seeds": self.seeds, **self.values, **stated}

    @property
    def reason(self) -> str:
        """Why it failed, without its label; "" where it did not."""
        return "" if self.failed is None else str(self.failed).removeprefix(f"{self.label}: ")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared: data made ready, the entries, and how often each is run."""

    prepared: PreparedData
    entries: tuple[ComparisonEntry, ...]
    seeds: int = 1
    seed: int = 0
    cutoffs: tuple[int, ...] = (10,)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    source: dict[str, Any]  # how the data was named: what `reproduce` needs
    keep: Keep = "none"  # which fitted models stay in the folder

    def config(self, entries: tuple[ComparisonEntry, ...], seeds: int, seed: int) -> dict[str, Any]:
        """The configuration of the whole, or of one run of it, as kept in its folder."""
        return {
            "data": self.source,
            "protocol": as_dict(self.prepared.protocol),
            "cutoffs": list(self.cutoffs),
            **({} if self.metrics == DEFAULT_METRICS else {"metrics": list(self.metrics)}),
            "models": {e.label: {"name": e.model, **e.settings} for e in entries},
            **({} if not (own := {e.label: e.seeds for e in entries if e.seeds}) else {"seeds_of": own}),
            "seeds": seeds,
            "seed": seed,
        }

    @property
    def settings_source(self) -> dict[str, Any]:
        """Whose settings are the size rule's, and whose sums are of few people, as `rule.json` keeps it."""
        by_rule = [entry.label for entry in self.entries if entry.from_size_rule]
        few = [entry.label for entry in self.entries if entry.below_minimum]
        stated = {key: labels for key, labels in (("by rule", by_rule), ("few", few)) if labels}
        sizes = Sizes.of(self.prepared.split.train, self.prepared.protocol.split)
        return {**stated, "sizes": asdict(sizes)} if stated else {}

    @cached_property
    def order_users(self) -> list[str]:
        """The labels of the entries whose methods use the order of a person's rows."""
        return [entry.label for entry in self.entries if method(entry.model, entry.settings).uses_order]

    @cached_property
    def uses(self) -> dict[str, tuple[str, ...]]:
        """What entries use beside the pairs of user and item, by the labels of those that use more."""
        found = {entry.label: method(entry.model, entry.settings).uses for entry in self.entries}
        return {label: uses for label, uses in found.items() if uses}

    def columns(self, values: dict[str, float | None]) -> dict[str, float | None]:
        """What a table shows: of errors and accuracies those that were asked for, where any were."""
        if self.prepared.protocol.scores == "lists" or self.metrics == DEFAULT_METRICS:
            return values
        return {k: v for k, v in values.items() if not has_no_cutoff(k) or k.split("/")[0] in self.metrics}

    def seeds_of(self, entry: ComparisonEntry) -> range:
        """The seeds one entry is run with."""
        count = min(self.seeds, entry.seeds or self.seeds)
        return range(self.seed, self.seed + (count if method(entry.model, entry.settings).seeded else 1))

    def keeps(self, seed: int) -> bool:
        """Whether the model of a run with this seed is kept beside its results."""
        return self.keep != "none" and seed == self.seed

    def left_in_place(self) -> list[str]:
        """A line for each model of which some settings were given: which tuned ones stay beside them."""
        messages = []
        for entry in self.entries:
            if entry.given and entry.default:
                given, stay = (
                    ", ".join(f"{key}={some[key]}" for key in some) for some in (entry.given, entry.default)
                )
                source = "given by the rule from sizes" if entry.from_size_rule else "tuned for this data"
                messages.append(
                    f"{entry.label}: {given} is yours; {stay} stay as {source}. -S changes them too."
                )
        return messages

    def cautions(self, costs: Mapping[str, Mapping[str, float | None]]) -> str:
        """One line under the table: what to know before citing it. The report has a sentence on each."""
        source, drawn = self.settings_source, self.prepared.protocol.sampled
        exposed = {label: values[EXPOSED] for label, values in costs.items() if values.get(EXPOSED)}
        people = [f"{label}: {shown(count)}" for label, count in exposed.items() if count]
        found = {
            "sampled metrics": [f"{drawn.count:,} drawn items"] if drawn else [],
            "timestamps": self.order_users,
            "settings by size": source.get("by rule") or (),
            f"fewer than {ChannelSettings().minimum_cohort} people": source.get("few") or (),
            "edge of a search": self._on_edges(),
            "people exposed without noise": people,
        }
        said = []
        for what, who in found.items():
            if who:
                more = f" and {len(who) - 1} more" if len(who) > 1 else ""
                said.append(f"{what} ({who[0]}{more})")
        return f"Note: {'; '.join(said)}. The report explains." if said else ""

    def _on_edges(self) -> list[str]:
        """The labels whose published settings won on the edge of their grid."""
        from murmura.studies.search.space import edges

        grids = (_published_grids().get(self.prepared.protocol.name) or {}).get(self.prepared.data) or {}
        return [
            entry.label
            for entry in self.entries
            if (axes := grids.get(entry.model) or {})
            and not entry.from_size_rule
            and edges(entry.model, entry.default, axes)
        ]


def _published_grids() -> dict[str, Any]:
    """The grids behind the settings the package keeps: protocol -> data -> model -> axes."""
    from murmura.studies.configuration import experiment_folder

    values = yaml.safe_load((experiment_folder() / "defaults.yaml").read_text("utf-8"))
    return dict(values["grids"])


def shown(count: float) -> str:
    """A mean of counts: one digit where it is not whole."""
    return f"{count:,.1f}".removesuffix(".0")


def plan(
    dataset: Dataset,
    protocol_name: str,
    models: dict[str, dict[str, Any]],
    *,
    seeds: int = 1,
    seed: int = 0,
    cutoffs: tuple[int, ...] | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
    source: dict[str, Any] | None = None,
) -> Comparison:
    """Make the data ready and every model's settings whole: the given ones, under them the package's.

    The package's are those kept for the data; without any, the rule's for its sizes.
    """
    rules = protocol(protocol_name, dataset)
    wanted = chosen_metrics(metrics, rules.scores)
    named = {label: name_and_settings(given, label) for label, given in models.items()}
    for label, (name, own) in named.items():  # a bad setting is refused before the data is cut
        with said_of(label):
            resolved_settings(name, {**published_settings(rules.name, dataset.name, name, own), **own})
    prepared = prepare(dataset, rules)
    entries = []
    for label, (name, own) in named.items():
        default, from_rule = default_settings(name, prepared, own)
        fewer = below_minimum_cohort(name, {**default, **own}, prepared.split.train)
        whole = resolved_settings(name, {**default, **fewer, **own})
        left = {key: value for key, value in default.items() if key not in own}
        entries.append(
            ComparisonEntry(label, name, whole, None, from_rule and bool(left), bool(fewer), own, left)
        )
    return Comparison(
        prepared=prepared,
        entries=tuple(entries),
        seeds=seeds,
        seed=seed,
        cutoffs=cutoffs or rules.cutoffs,
        metrics=wanted,
        source=source or {"name": dataset.name},
    )


def default_settings(name: str, ready: PreparedData, own: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """What a model takes on a data set beside its own settings, and whether the rule from sizes says so."""
    rules = ready.protocol
    kept = published_settings(rules.name, ready.data, name, own)
    if kept or rules.predicts or rules.classifies or own.get("epsilon") is not None:
        return kept, False
    found = by_rule(EQUIVALENTS.get(name, name), Sizes.of(ready.split.train, rules.split))
    if own.get("rounds") is not None:  # which come before epochs
        found.pop("epochs", None)
    return found, bool(found)


Results = Iterable[EntryMeans] | Iterable[Trial] | Mapping[str, Evaluation]


def result_values(results: Results) -> dict[str, dict[str, float | None]]:
    """Label -> metric -> value, of what `compare`, `search` or `evaluate` gave."""
    if isinstance(results, Mapping):
        return {label: dict(found.values) for label, found in results.items()}
    found: dict[str, dict[str, float | None]] = {}
    for one in results:
        if isinstance(one, EntryMeans):
            found[one.label] = dict(one.values)
        elif isinstance(one, Trial):
            found[json.dumps(one.settings)] = {"value": one.value, "seconds": one.seconds}
        else:
            raise SettingError(
                f"a table must be of what compare, search or evaluate gave, but holds a {type(one).__name__}."
            )
    return found


def table(results: Results, caption: str = "") -> PlainTable:
    """One line per result, one column per metric; a notebook shows it as HTML, `print` as text."""
    found = result_values(results)
    keys = tuple(dict.fromkeys(key for values in found.values() for key in values))
    rows = tuple((label, *(number(values.get(key)) for key in keys)) for label, values in found.items())
    return PlainTable(("", *keys), rows, caption)


def with_pooled_rows(plan: Comparison) -> Comparison:
    """The plan with the centralised equivalent of each method of exact sums, unless there is one."""
    there, rows = {entry.model for entry in plan.entries}, list[ComparisonEntry]()
    for pooled, federated in EQUIVALENTS.items():
        exact = (one for one in plan.entries if one.model == federated and one.settings.get("epsilon") is None)
        if pooled not in there and (entry := next(exact, None)) is not None:
            known = field_names(method_class(pooled))
            settings = {key: value for key, value in entry.settings.items() if key in known}
            label = f"{entry.label} pooled"
            rows.append(ComparisonEntry(label, pooled, settings, entry.seeds, entry.from_size_rule))
    return replace(plan, entries=(*plan.entries, *rows))


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


def large_costs(plan: Comparison) -> list[str]:
    """A line for each federated model that costs a device more than a phone would like, before it is sent."""
    from murmura.runtimes.simulation import simulated

    said = []
    for entry in (one for one in plan.entries if one.model in ALGORITHMS):
        with suppress(SettingError, DataError):  # whose sentence is that of its failure
            costs = simulated(entry.model, entry.settings).device_costs(plan.prepared.split.train, plan.seed)
            said += [f"{entry.label}: {costs.sentence()}."] if costs.large else []
    return said


def _exact(entry: ComparisonEntry) -> bool:
    if entry.model not in ALGORITHMS or not algorithm(entry.model).noise_by_default:
        return False
    from murmura.runtimes.simulation import simulated

    return simulated(entry.model, entry.settings).preset.channel_settings().channel == "secure-sum"


def _noisy(entry: ComparisonEntry) -> ComparisonEntry:
    own = {key: value for key, value in entry.settings.items() if key in CARRIED} | {"epsilon": EPSILON}
    settings = resolved_settings(entry.model, own)
    label = f"{entry.label} epsilon {EPSILON:g}"
    return ComparisonEntry(label, entry.model, settings, entry.seeds, below_minimum=entry.below_minimum)


def _forecast(entry: ComparisonEntry, plan: Comparison) -> NoiseForecast | None:
    from murmura.runtimes.simulation import simulated

    ready = simulated(entry.model, {**entry.settings, "hopeless": True})  # which else is refused here
    return ready.plan(plan.prepared.split.train, plan.seed, None).noise_outlook()
