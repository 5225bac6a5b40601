"""Who is best and by how much: the tables of results, what they say in sentences, what is unfinished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from murmura.core.channel import READABLE
from murmura.core.model import EVERYTHING
from murmura.evaluation.registry import badness, better, is_cost, is_of_labels, title
from murmura.evaluation.significance import ALPHA, PairedDifference
from murmura.report.page import Compared, Section
from murmura.report.summary import Results, marks
from murmura.report.table import (
    MISSING,
    NAME,
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    estimate_cell,
    number,
    number_cell,
    plain_table,
)
from murmura.studies.compare.folder import BELOW_MOSTPOP, ComparisonFolder, ModelRuns
from murmura.studies.compare.notes import exposure_sentence, order_sentence, rule_sentence

SEEDS = Column("seeds", "finished seeds")
SERVER_READS = Column("the server reads", "of what people have or send", numeric=False)


def section(compared: Compared) -> Section | None:
    """The headline: always there."""
    folder, results = compared.folder, compared.results
    values = {line.label: {key: one.mean for key, one in line.values.items()} for line in results.lines}
    made = str(folder.data.get("values", ""))  # of the values of the rows
    also = (
        made and f"{made[:1].upper()}{made[1:]}.",
        "" if folder.sampled is None else folder.sampled.sentence(),
        order_sentence(folder.order, folder.beside is not None),
        rule_sentence(folder.rule),
        exposure_sentence(values),
    )
    lead = tuple(one for one in (*outcome(results), *also) if one)
    tables = *result_tables(folder, results), status_table(folder)
    return Section.of("results", "Results", *tables, lead=lead, banner=unfinished(folder))


def result_tables(folder: ComparisonFolder, results: Results) -> list[ReportTable]:
    """The headline: one table per cut-off, costs beside the main one."""
    several = max((len(model.parts) for model in folder.models), default=1) > 1
    federated = any(model.federated for model in folder.models)
    classified = any(map(is_of_labels, results.metrics))
    without_lists = "classified samples" if classified else "errors of predicted ratings"
    tables = []
    for k in results.cutoffs:
        main = k == results.cutoffs[0]
        keys, told = (*results.at(k), *(results.costs if main else ())), main and federated
        heads = [NAME, *[SEEDS] * several, *map(_metric_column, keys), *[SERVER_READS] * told]
        rows = [
            (m.label, *[len(m.done)] * several, *_results(results, m, keys), *[server_reads(m)] * told)
            for m in folder.models
        ]
        heading = f"Results at {k}: means over users" if k else f"Results: {without_lists}"
        heading += (" and seeds" if k else ", means over seeds") if several else ""
        notes = _result_notes(results, keys, several)
        tables.append(plain_table("results" if main else f"results-at-{k}", heading, heads, rows, *notes))
    return tables


def server_reads(model: ModelRuns) -> str:
    """What the server gets to read, by the ledgers of a model's runs; nothing is said of one without."""
    told = [str(part.ledger["channel"]) for part in model.done if part.ledger and "channel" in part.ledger]
    if not model.federated:
        return EVERYTHING if model.done else ""
    if not told:
        return ""
    return "each update" if READABLE in told[0] else "noisy sums" if _privacy(model) else "sums without noise"


def _privacy(model: ModelRuns) -> dict[str, Any]:
    """What noise bounds, by the ledger of a model's first run; {}: nothing does."""
    ledgers = (part.ledger for part in model.done if part.ledger)
    return next((dict(ledger["privacy"]) for ledger in ledgers if "privacy" in ledger), {})


def _privacy_notes(results: Results) -> list[str]:
    notes = []
    for line in results.lines:
        if told := _privacy(line.model):
            people = f", as if among {told['as if people']:,} people" if "as if people" in told else ""
            notes.append(
                f"{line.label}: epsilon {told['epsilon']:.3g} at delta {told['delta']:.2g}{people}, for "
                f"{told['unit']}; against {told['against']}."
            )
    return notes


def _metric_column(key: str) -> Column:
    direction = {"higher": "higher is better", "lower": "lower is better", "zero": "nearer to 0 is better"}
    return Column(key, f"{title(key)}; {direction[better(key)]}")


def _results(results: Results, model: ModelRuns, keys: Sequence[str]) -> Iterator[TableCell]:
    """The metrics of a model with intervals and marks, the best bold; its costs as they are."""
    line = next((line for line in results.lines if line.model is model), None)
    for key in keys:
        estimate, best = line.values.get(key, MISSING) if line else MISSING, results.best(key)
        decimals = decimals_for([one.values[key].mean for one in results.lines if key in one.values])
        if line is None or best is None or is_cost(key):
            yield number_cell(estimate.mean, decimals)
        else:
            is_best = badness(key, estimate.mean) == badness(key, best) and len(results.lines) > 1
            yield estimate_cell(estimate, decimals, marks(results, line, key), is_best)


def _result_notes(results: Results, keys: tuple[str, ...], several: bool) -> tuple[str, ...]:
    metrics = [key for key in keys if not is_cost(key)]
    tested = [key for key in metrics if any(key in line.people.per_user for line in results.lines)]
    untested = [key for key in metrics if key not in tested]
    once = several and any(len(line.model.parts) == 1 for line in results.lines)
    notes = ["A method that no seed changes is run once."] if once else []
    if tested:
        notes.append(
            f"In small type the 95 % interval: bootstrap over users (2,000 resamples) for {', '.join(tested)}"
            + (f"; Student's t over seeds for {', '.join(untested)}." if several and untested else ".")
        )
    if any(test.metric in keys for test in results.against_best):
        apart = f" Without values per user, so not tested: {', '.join(untested)}." if untested else ""
        notes.append(
            "Bold: the best value. † worse than the best model by more than chance: paired t-test on the "
            f"users' values{' (means over seeds)' if several else ''}, two-sided, Holm-corrected over the "
            f"comparisons of a metric, p < {ALPHA:g}; a value without † cannot be told from the best.{apart}"
        )
    if results.primary in keys and results.below_mostpop:
        notes.append(f"{BELOW_MOSTPOP} below MostPop in {results.primary}.")
    if any(test.metric in keys for test in results.against_baseline):
        notes.append("↑ ↓ a federated model better or worse than the best centralised one, by the same test.")
    return (*notes, *(_privacy_notes(results) if any(key == "epsilon" for key in keys) else ()))


def category_table(results: Results) -> ReportTable | None:
    """Metrics with one value per item category: one column each."""
    keys = [key for key in results.metrics if "/" in key and not is_of_labels(key)]
    if not keys:
        return None
    means = [line.values[key].mean for line in results.lines for key in keys if key in line.values]
    decimals = decimals_for(means)
    rows = (
        (line.label, *(estimate_cell(line.values.get(key, MISSING), decimals) for key in keys))
        for line in results.lines
    )
    return plain_table("categories", "By item category", (NAME, *map(_metric_column, keys)), rows)


def status_table(folder: ComparisonFolder) -> ReportTable | None:
    """What is not finished, run by run; nothing where all is."""
    words = {"missing": "not started", "new": "not started", "running": "unfinished", "fitted": "not evaluated"}
    parts = [(model, part) for model in folder.models for part in model.parts if not part.done]
    rows = ((model.label, one.seed, words.get(one.status, one.status), one.error) for model, one in parts)
    heads = ("model", "seed", "state", "what happened")
    return plain_table("unfinished", "Runs without a result", heads, rows) if parts else None


def unfinished(folder: ComparisonFolder) -> str:
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
    if results.below_mostpop:
        said.append(f"Below MostPop in {key}: {', '.join(line.label for line in results.below_mostpop)}.")
    return said


def _rest(tests: list[PairedDifference], models: int) -> str:
    if len(tests) < models - 1:
        return ""
    near = [test.label for test in tests if not test.sure]
    if not near:
        return " Every other model is worse by more than chance."
    named = near[0] if len(near) == 1 else ", ".join(near[:-1]) + " and " + near[-1]
    return f" Its lead over {named} may be chance."
