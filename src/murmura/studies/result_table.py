"""Results side by side as one table, for notebooks and terminals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from murmura.core.errors import SettingError
from murmura.evaluation.measure import Evaluation, PlainTable, number
from murmura.studies.compare.comparison_plan import EntryMeans
from murmura.studies.search.folder import Trial

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
