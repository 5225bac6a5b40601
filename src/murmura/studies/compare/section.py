"""Who is best and by how much: the tables of results, what they say in sentences, what is unfinished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from murmura.algorithms.cooccurrence.cooccurrence import RARE, SAFE
from murmura.channel.ledger import EXPOSED
from murmura.core.channel import READABLE, ChannelSettings
from murmura.core.model import EVERYTHING
from murmura.evaluation.registry import badness, better, is_cost, is_of_labels, title
from murmura.evaluation.significance import ALPHA, PairedDifference
from murmura.report.page import Compared, Section
from murmura.report.summary import Results, decimals_for, marks
from murmura.report.table import (
    MISSING,
    NAME,
    Column,
    ReportTable,
    TableCell,
    estimate_cell,
    number,
    number_cell,
    plain_table,
)
from murmura.studies.compare.comparison_plan import shown
from murmura.studies.compare.folder import BELOW_MOSTPOP, ComparisonFolder, ModelRuns

SEEDS = Column("seeds", "finished seeds")
USES = Column("uses", "beside the pairs of user and item", numeric=False)
SERVER_READS = Column("the server reads", "of what people have or send", numeric=False)


def section(compared: Compared) -> Section | None:
    """The headline: always there."""
    folder, results = compared.folder, compared.results
    values = {line.label: {key: one.mean for key, one in line.values.items()} for line in results.lines}
    made = str(folder.data.get("values", ""))  # of the values of the rows
    also = (
        made and f"{made[:1].upper()}{made[1:]}.",
        "" if folder.sampled is None else folder.sampled.sentence(),
        order_sentence(folder.order, folder.by_days is not None),
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
    informed = any(model.uses for model in folder.models)
    without_lists = "classified samples" if classified else "errors of predicted ratings"
    tables = []
    for k in results.cutoffs:
        main = k == results.cutoffs[0]
        keys, stated = (*results.at(k), *(results.costs if main else ())), main and federated
        last = [*[USES] * (main and informed), *[SERVER_READS] * stated]
        texts = {USES: lambda m: ", ".join(m.uses), SERVER_READS: server_reads}
        heads = [NAME, *[SEEDS] * several, *map(_metric_column, keys), *last]
        rows = [
            (m.label, *[len(m.done)] * several, *_results(results, m, keys), *(texts[one](m) for one in last))
            for m in folder.models
        ]
        heading = f"Results at {k}: means over users" if k else f"Results: {without_lists}"
        heading += (" and seeds" if k else ", means over seeds") if several else ""
        notes = _result_notes(results, keys, several)
        tables.append(plain_table("results" if main else f"results-at-{k}", heading, heads, rows, *notes))
    return tables


def server_reads(model: ModelRuns) -> str:
    """What the server gets to read, by the ledgers of a model's runs; nothing is said of one without."""
    stated = [str(part.ledger["channel"]) for part in model.done if part.ledger and "channel" in part.ledger]
    if not model.federated:
        return EVERYTHING if model.done else ""
    if not stated:
        return ""
    return "each update" if READABLE in stated[0] else "noisy sums" if _privacy(model) else "sums without noise"


def _privacy(model: ModelRuns) -> dict[str, Any]:
    """What noise bounds, by the ledger of a model's first run; {}: nothing does."""
    ledgers = (part.ledger for part in model.done if part.ledger)
    return next((dict(ledger["privacy"]) for ledger in ledgers if "privacy" in ledger), {})


def _privacy_notes(results: Results) -> list[str]:
    notes = []
    for line in results.lines:
        if stated := _privacy(line.model):
            people = f", as if among {stated['as if people']:,} people" if "as if people" in stated else ""
            notes.append(
                f"{line.label}: epsilon {stated['epsilon']:.3g} at delta {stated['delta']:.2g}{people}, for "
                f"{stated['unit']}; against {stated['against']}."
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
            "Bold: the best value. † worse than the best model by more than chance; paired t-test on the "
            f"users' values{' (means over seeds)' if several else ''}, two-sided, Holm-corrected over the "
            f"comparisons of a metric, p < {ALPHA:g}; a value without † cannot be told from the best.{apart}"
        )
    if results.primary in keys and results.below_mostpop:
        notes.append(f"{BELOW_MOSTPOP} below MostPop in {results.primary}.")
    if any(test.metric in keys for test in results.against_baseline):
        kind = " that uses as much" if any(line.model.uses for line in results.lines) else ""
        notes.append(
            f"↑ ↓ a federated model better or worse than the best centralised one{kind}, by the same test."
        )
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
    best, informed = results.best_of_kinds(key), any(line.model.uses for line in ranked)
    for more in (False, True):
        federated, central = best.get((more, True)), best.get((more, False))
        if federated and central and central.values[key].mean > 0:
            ratio = federated.values[key].mean / central.values[key].mean
            much = f"reaches {100 * ratio:.0f} % of" if better(key) == "higher" else f"has {ratio:.2f} times"
            kind = f" of those that use {'more than' if more else 'nothing but'} the pairs" if informed else ""
            said.append(
                f"The best federated model{kind}, {federated.label}, {much} the {key} of {central.label}, the "
                "best centralised one."
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


def order_sentence(found: dict[str, Any], both: bool = False) -> str:
    """What a reader must know of the order behind the results, from what a folder keeps; "" of nothing."""
    if not found.get("used by"):
        return ""
    labels = [str(label) for label in found["used by"]]
    who = labels[0] if len(labels) == 1 else ", ".join(labels[:-1]) + " and " + labels[-1]
    uses = f"{who} {'uses' if len(labels) == 1 else 'use'} timestamps"
    if found.get("order") == "day":
        hidden = "the order inside a day was hidden from training and ranking"
        return f"{uses}, cut to whole days (UTC): {hidden}. The split was made with real times."
    if both:
        more = "Where real times score higher than whole days, part of the score may be session order."
        return f"{uses}. The split is the same for both orders. {more}"
    session = "If users rated many items in one session, part of this score may be session order"
    return f"{uses}. {session}: check with --order real,day."


def rule_sentence(found: dict[str, Any]) -> str:
    """What a reader must know of such settings, from what a folder keeps; "" of nothing."""
    sizes = found.get("sizes") or {}
    from_rule, few = (", ".join(map(str, found.get(key) or ())) for key in ("by rule", "few"))
    messages = []
    if from_rule:
        known = {key: sizes.get(key) for key in ("users", "items", "rows")}
        counts = ", ".join(f"{count:,} {key}" for key, count in known.items() if isinstance(count, int))
        messages.append(
            f"Settings by rule from sizes ({counts}): {from_rule}. None are kept for this data; "
            "they were not chosen on it, and murmura search may find better ones."
        )
    if few:
        messages.append(
            f"Simulated among {sizes.get('users')} people: {few}. A federation of devices releases no sum of "
            f"fewer than {ChannelSettings().minimum_cohort} by default (minimum_cohort)."
        )
    return " ".join(messages)


def exposure_sentence(costs: Mapping[str, Mapping[str, float | None]]) -> str:
    """Which of the models tell on people, with the numbers their releases gave; "" where none does.

    `costs` has the values beside accuracy by the model's label, means over seeds.
    """
    messages = []
    for label, values in costs.items():
        rare, exposed = values.get(RARE), values.get(EXPOSED)
        if not exposed:
            continue
        whose = "1 person" if exposed == 1 else f"any of {shown(exposed)} people"
        few = f" (items with fewer than {SAFE} owners take part: {shown(rare)})" if rare else ""
        messages.append(
            f"The release of {label} has no noise: who knows the rarest item in it of {whose} learns "
            f"another one for certain{few}."
        )
    return " ".join(messages)
