"""One setting takes one value after the other, for several models: a comparison that knows its curves.

The thesis sweeps pi (figures 4.2, 4.3 and 4.6, table 4.4); any other setting can be swept the same way.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from murmura.core.catalogue import Dataset
from murmura.core.errors import RunError, SettingError
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import field_names, unknown
from murmura.engine.run import Run
from murmura.evaluation.intervals import Interval, seed_interval
from murmura.studies.compare import Comparison, ComparisonFolder, EntryMeans, mean, plan, run_entries
from murmura.studies.methods import method_class

FILE = "sweep.json"
FRESHNESS, NORMALISED = "freshness", "normalised freshness"


@dataclass(frozen=True)
class Sweep:
    """What is varied: the setting, its values, and the entries of a comparison that make each curve."""

    key: str
    values: tuple[Any, ...]
    curves: dict[str, tuple[str, ...]]  # model -> the labels of its entries, in the order of the values
    beside: tuple[str, ...] = ()  # models that do not have the setting, run once: horizontal lines


@dataclass(frozen=True)
class SweepPoint:
    """One entry of a comparison: the means over its finished seeds."""

    curve: str
    value: Any  # of the swept setting; None for a model beside the curves
    label: str
    seeds: int
    found: dict[str, float]  # metrics, F1@k, costs, and the numbers of the ledger (TCC, bytes_up, ...)
    settings: dict[str, Any] = field(default_factory=dict)
    each: tuple[dict[str, float | None], ...] = ()  # `found`, seed by seed

    def over_seeds(self, key: str) -> Interval:
        """The mean of a metric with its interval over seeds."""
        values = [value for found in self.each if (value := found.get(key)) is not None]
        return replace(seed_interval(values), mean=self.found.get(key, math.nan))

    @property
    def clients(self) -> str:
        """The clients in a round, as they were set: a number, at most that of those there are, or all."""
        wanted, there = self.settings.get("clients", ""), self.found.get("clients")
        cut = isinstance(wanted, int) and there is not None and wanted > there
        return f"{there:.0f}" if cut else str(wanted)


def plan_sweep(
    dataset: Dataset,
    protocol: str,
    models: dict[str, dict[str, Any]],
    key: str,
    values: Iterable[Any],
    *,
    beside: dict[str, dict[str, Any]] | None = None,
    **rest: Any,
) -> tuple[Comparison, Sweep]:
    """Every model with every value, as entries labelled `model key=value`; `rest` is for `compare.plan`.

    Refuses what cannot be run before anything is: a key a model does not have, a value it does not allow.
    """
    swept, others = tuple(values), dict(beside or {})
    _check(models, key, swept, others)
    curves = {label: tuple(entry_label(label, key, value) for value in swept) for label in models}
    entries = {
        entry: {"name": label, **given, key: value}
        for label, given in models.items()
        for entry, value in zip(curves[label], swept)
    }
    chosen = plan(dataset, protocol, {**others, **entries}, **rest)
    return chosen, Sweep(key, swept, curves, tuple(others))


def sweep(
    chosen: Comparison, what: Sweep, folder: Path, *, workers: int = 1, progress: Progress = SILENT
) -> Generator[EntryMeans, None, None]:
    """Run every entry; what is finished in `folder` is not repeated, so a killed sweep goes on."""
    with locked(folder):
        whole = Run.create(folder, chosen.config(chosen.entries, chosen.seeds, chosen.seed))
        write_sweep(whole, what)
        yield from run_entries(chosen, folder, workers, progress)


def write_sweep(whole: Run, what: Sweep) -> None:
    """Say in a comparison's folder which entries make a curve."""
    whole.write_json(FILE, asdict(what))


def entry_label(label: str, key: str, value: Any) -> str:
    """The label of one entry: `sfpl+ pi=0.3`."""
    return f"{label} {key}={value_text(value)}"


def value_text(value: Any) -> str:
    """A value as it is shown: 0.3, 500, all."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def read_sweep(comparison: ComparisonFolder) -> Sweep | None:
    """What a folder sweeps; None where it is an ordinary comparison."""
    if not comparison.run.has(FILE):
        return None
    found = comparison.run.read(FILE)
    try:
        curves = {str(label): tuple(map(str, entries)) for label, entries in found["curves"].items()}
        curves = {label: entries for label, entries in curves.items() if {*entries} & comparison.models.keys()}
        beside = tuple(label for label in map(str, found["beside"]) if label in comparison.models)
        return Sweep(str(found["key"]), tuple(found["values"]), curves, beside)
    except (KeyError, TypeError, AttributeError):
        raise RunError(
            f"{comparison.run.path / FILE} is damaged: run the sweep again with the same --out."
        ) from None


def only(comparison: ComparisonFolder, rows: Sequence[str]) -> ComparisonFolder:
    """The comparison as if it had only these rows: models, or curves of its sweep; all where none are named."""
    if not rows:
        return comparison
    what = read_sweep(comparison)
    kept = {*rows, *(entry for row in rows if what for entry in what.curves.get(row, ()))}
    models = {label: given for label, given in comparison.models.items() if label in kept}
    return replace(comparison, config={**comparison.config, "models": models})


def points(comparison: ComparisonFolder) -> list[SweepPoint]:
    """The entries of a comparison that have a finished seed; of a sweep with their curve and value."""
    what = read_sweep(comparison)
    places: dict[str, tuple[str, Any]] = {}
    for curve, entries in what.curves.items() if what else ():
        places |= {entry: (curve, value) for entry, value in zip(entries, what.values if what else ())}
    made = []
    for label, settings in comparison.models.items():
        each = [_numbers(run) for run in comparison.finished(label)]
        if each:
            known = {key: found for key, found in mean(each).items() if found is not None}
            made.append(
                SweepPoint(*places.get(label, (label, None)), label, len(each), known, settings, tuple(each))
            )
    return made


def freshness(found: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The federated ones of the points of a comparison; those of one curve freshest first.

    FPL, long version, 3.3: freshness is the number of updated models delivered in an epoch, the rounds per
    epoch; its normalised form divides by the X+ models of sequential training (eq. 11). The more clients in a
    round, the fewer rounds.
    """
    curves = list(dict.fromkeys(point.curve for point in found))
    known = [point for point in found if NORMALISED in point.found]
    return sorted(known, key=lambda point: (curves.index(point.curve), -point.found[FRESHNESS]))


def _numbers(run: Run) -> dict[str, float | None]:
    """Metrics with F1 = 2PR / (P + R) of the means (thesis, figure 4.2), and what the ledger adds up."""
    found: dict[str, float | None] = dict(run.read("metrics.json"))
    for key in [key for key in found if key.startswith("P@")]:
        P, R = found[key], found.get(f"R@{key[2:]}")
        if P is not None and R is not None:
            found[f"F1@{key[2:]}"] = 2 * P * R / (P + R) if P + R else 0.0
    ledger = run.read("ledger.json") if run.has("ledger.json") else {}
    return found | {key: value for key, value in ledger.items() if isinstance(value, int | float)}


def _check(
    models: dict[str, dict[str, Any]], key: str, values: tuple[Any, ...], beside: dict[str, dict[str, Any]]
) -> None:
    if not models or not values:
        raise SettingError(
            "a sweep needs at least one model and one value, but has "
            f"{len(models)} and {len(values)}; give --models and --values."
        )
    texts = [value_text(value) for value in values]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise SettingError(f"the values of a sweep must differ, but {twice} is there twice; leave one out.")
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise SettingError(f"the values of a sweep must be finite, but they are {', '.join(texts)}.")
    for label, given in models.items():
        name = str(given.get("name", label))
        known = field_names(method_class(name))
        if key not in known:
            raise SettingError(unknown(key, known, name))
        if key in given:
            raise SettingError(
                f"{label}.{key} is what the sweep varies, but it is also set to {given[key]}; leave that out."
            )
    same = next((label for label in beside if label in models), None)
    if same is not None:
        raise SettingError(f"'{same}' must be swept or stand beside the sweep, but is named for both.")
