"""One setting takes one value after the other, for several models: a comparison that knows its curves.

The thesis sweeps pi (figures 4.2, 4.3 and 4.6, table 4.4); any other setting can be swept the same way.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import field_names, unknown
from murmura.engine.run_folder import Run
from murmura.studies.compare.comparison_plan import Comparison, EntryMeans, plan
from murmura.studies.compare.folder import Sweep
from murmura.studies.compare.run import run_entries
from murmura.studies.methods import method_class
from murmura.studies.sweep.folder import entry_label, value_text, write_sweep
from murmura.studies.worker_pool import Workers


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
        write_sweep(whole, what)
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
