"""One setting takes one value after the other, for several models: a comparison that knows its curves.

The thesis sweeps pi (figures 4.2, 4.3 and 4.6, table 4.4); any other setting can be swept the same way.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError
from murmura.core.flag_text import parse_models, parse_settings, parse_value
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Count, Flag, changed, field_names, settings, unknown
from murmura.engine.run_folder import Run
from murmura.lab.sweep.folder import entry_label, value_text
from murmura.studies.compare.comparison_plan import Comparison, EntryMeans, plan
from murmura.studies.compare.folder import SWEEP, Sweep
from murmura.studies.compare.run import run_entries
from murmura.studies.configuration import CompareConfig
from murmura.studies.methods import method_class
from murmura.studies.worker_pool import Workers

MODELS, PI_VALUES = "sfpl,sfpl+,pfpl,pfpl+,cfpl", "0,0.1,...,1"


def for_all(given: list[str], labels: list[str]) -> list[str]:
    """`key=value` without a model's name becomes one setting for each of the labels."""
    made = []
    for one in given:
        path, equals, text = one.partition("=")
        named = "." in path or not equals or not path
        made += [one] if named else [f"{label}.{path}={text}" for label in labels]
    return made


def parse_values(text: str) -> list[Any]:
    """`0,0.1,...,1` or `1,10,all`: values in their order; `...` goes on in the step of the two before it."""
    parts = [part.strip() for part in text.split(",")]
    if not text.strip() or "" in parts:
        raise SettingError(
            f"--values must be values with commas between them, but it is '{text}'; "
            "write for example --values 0,0.1,...,1."
        )
    found: list[Any] = []
    for place, part in enumerate(parts):
        if part in {"...", "…"}:
            found += _between(parts, place)
        else:
            found.append(parse_value(part))
    return found


def _between(parts: list[str], place: int) -> list[float | int]:
    """What `...` stands for: from the two numbers before it to the one after it, both ends left out."""
    try:
        first, second, last = (Decimal(parts[p]) for p in (place - 2, place - 1, place + 1) if p >= 0)
        step = second - first
        count = (last - second) / step
        if count != int(count) or count < 1:
            raise ValueError
    except (ValueError, IndexError, InvalidOperation, ArithmeticError):
        raise SettingError(
            "'...' in --values must stand between two numbers and a last one they lead to, but it is "
            f"'{','.join(parts)}'; write for example 0,0.1,...,1."
        ) from None
    made = [second + step * n for n in range(1, int(count))]
    return [int(one) if one == int(one) else float(one) for one in made]


@settings
class SweepConfig(CompareConfig):
    """A setting that is varied for several models: what `murmura sweep` takes."""

    protocol: Annotated[str, Flag()] = "fpl"
    models: Annotated[dict[str, dict[str, Any]], Flag(read=parse_models, default=MODELS)]
    # The setting that is varied.
    key: Annotated[str, Flag()] = "pi"
    # Its values; 0,0.1,...,1 counts on by itself.
    values: Annotated[tuple[Any, ...], Flag(metavar="V,V", read=parse_values)] = ()
    # Models run once beside the sweep, e.g. mostpop,bpr-mf.
    beside: Annotated[dict[str, dict[str, Any]], Flag(read=parse_models)] = Field(default_factory=dict)
    # How many seeds; the curves are means.
    seeds: Annotated[Count, Flag()] = 1

    @classmethod
    def default(cls, **own: Any) -> Self:
        """What is meant where nothing is said."""
        return super().default(**{"models": parse_models(MODELS), **own})

    def with_settings(self, given: list[str]) -> Self:
        """With what -S says; without a model's name it sets something for every swept model."""
        own = parse_settings(for_all(given, list(self.models)), [*self.models, *self.beside])
        models, beside = (
            {label: one | own[label] for label, one in some.items()} for some in (self.models, self.beside)
        )
        return changed(self, models=models, beside=beside)


def plan_config(config: SweepConfig, dataset: Dataset) -> tuple[Comparison, Sweep]:
    """The sweep that a configuration describes, of its data set."""
    values = config.values or parse_values(PI_VALUES if config.key == "pi" else "")
    rules, models, rest = config.whole_protocol, config.models, config.rest()
    return plan_sweep(dataset, rules, models, config.key, values, beside=config.beside, **rest)


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
    chosen: Comparison, what: Sweep, folder: Path, *, workers: int | Workers = 1, progress: Progress = SILENT
) -> Generator[EntryMeans, None, None]:
    """Run every entry; what is finished in `folder` is not repeated, so a killed sweep goes on."""
    with locked(folder):
        whole = Run.create(folder, chosen.config(chosen.entries, chosen.seeds, chosen.seed))
        whole.write_json(SWEEP, asdict(what))  # which entries make a curve
        yield from run_entries(chosen, folder, workers, progress)


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
