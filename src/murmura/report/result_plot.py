"""One metric of several results as a matplotlib figure, for notebooks and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from murmura.core.errors import SettingError, did_you_mean
from murmura.evaluation.registry import better
from murmura.report.drawing import ROW, name_rows, page_style, require_report
from murmura.studies.result_table import Results, result_values

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FILE_DOT = "#0072b2"


def plot(results: Results, metric: str) -> Figure:
    """A dot for each result, best first, as a figure of the caller's; needs the extra `report`."""
    require_report()
    from matplotlib import style
    from matplotlib.figure import Figure

    every = result_values(results)
    found = {label: value for label, values in every.items() if (value := values.get(metric)) is not None}
    known = list(dict.fromkeys(key for values in every.values() for key in values))
    if not found:
        hint = did_you_mean(metric, known, f"they have {', '.join(known) or 'no metric'}.")
        raise SettingError(f"no result has a value of '{metric}': {hint}")
    higher = metric == "value" or better(metric) == "higher"
    worst_last = sorted(found, key=lambda label: found[label], reverse=higher)
    with style.context(page_style("results", "file"), after_reset=True):
        figure = Figure(figsize=(7.0, 0.9 + ROW * len(found)), layout="constrained")
        axes = figure.subplots()
        axes.plot([found[label] for label in worst_last], range(len(found)), "o", color=FILE_DOT)
        name_rows(axes, worst_last)
        axes.set_xlabel(metric)
    return figure
