"""The sentences of a report: what came out, and what is still missing."""

from __future__ import annotations

from murmura.report.result_folder import ResultFolder, printable
from murmura.report.summary import PairedDifference, Results, better, title
from murmura.report.tables.table import decimals_for, number


def headline(folder: ResultFolder) -> str:
    """What was compared on what."""
    name = printable(folder.source.get("name", "data"))
    if folder.kind == "run":
        return f"{folder.models[0].label} on {name}"
    return f"{len(folder.models)} models on {name}" if len(folder.models) > 1 else f"One model on {name}"


def subline(folder: ResultFolder) -> str:
    """Protocol, seeds, version and date, as far as the folder has them."""
    seeds = max((len(model.parts) for model in folder.models), default=1)
    version = folder.environment.get("murmura")
    parts = [
        f"protocol {folder.protocol}",
        "one seed" if seeds == 1 else f"{seeds} seeds",
        f"Murmura {version}" if version else "",
        f"{folder.status} {folder.at.replace('T', ' ').replace('+00:00', ' UTC')}".strip(),
    ]
    return printable(" · ".join(filter(None, parts)))


def unfinished(folder: ResultFolder) -> str:
    """How much is there where not all is; "" where all is."""
    done = sum(model.finished for model in folder.models)
    if done == len(folder.models):
        return ""
    if folder.kind == "run" and folder.models[0].parts[0].status == "fitted":
        return "This run is fitted but not evaluated: `murmura evaluate` opens its test part."
    some = [model for model in folder.models if model.done and not model.finished]
    partly = "".join(f" {m.label}: {len(m.done)} of {len(m.parts)} seeds." for m in some)
    return f"{done} of {len(folder.models)} models finished.{partly} The numbers below are of what is there."


def outcome(results: Results) -> list[str]:
    """Who is best, who cannot be told from it, and how far federated models come."""
    key = results.primary
    ranked = results.ranked(key) if key else ()
    if key is None or not ranked:
        return []
    decimals = decimals_for([line.values[key].mean for line in ranked])
    first, value = ranked[0], ranked[0].values[key]
    interval = ""
    if value.low <= value.high:
        interval = f" (95 % interval {number(value.low, decimals)} to {number(value.high, decimals)})"
    shown = number(value.mean, decimals) + interval
    if len(ranked) == 1:
        return [f"{first.label} has a {key} ({title(key)}) of {shown}."]
    tests = [test for test in results.against_best if test.metric == key]
    said = [f"{first.label} has the best {key} ({title(key)}), {shown}.{_rest(tests, len(ranked))}"]
    federated = next((line for line in ranked if line.model.federated), None)
    central = next((line for line in ranked if not line.model.federated), None)
    if federated and central and central.values[key].mean > 0:
        ratio = federated.values[key].mean / central.values[key].mean
        more = better(key) == "higher"
        much = f"reaches {100 * ratio:.0f} % of" if more else f"has {ratio:.2f} times"
        said.append(
            f"The best federated model, {federated.label}, {much} the {key} of {central.label}, the best "
            "centralised one."
        )
    return said


def _rest(tests: list[PairedDifference], models: int) -> str:
    if len(tests) < models - 1:
        return ""
    near = [test.label for test in tests if not test.sure]
    if not near:
        return " Every other model is worse by more than chance."
    named = near[0] if len(near) == 1 else ", ".join(near[:-1]) + " and " + near[-1]
    return f" Its lead over {named} may be chance."
