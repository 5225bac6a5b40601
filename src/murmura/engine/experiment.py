"""Fit one method on the training part, rank, and score the held-out part once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints
from murmura.core.catalogue import Catalogue, Relation, Split
from murmura.core.interactions import Interactions
from murmura.core.model import Among, Method, Model, RankedLists
from murmura.core.plugins import imported
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import Protocol
from murmura.engine.reasons import term_reasons
from murmura.engine.run_folder import LISTS, Run
from murmura.evaluation import DEFAULT_METRICS, Evaluation, evaluate
from murmura.evaluation.measure import rating_errors
from murmura.evaluation.sampled import CandidateDraws, evaluate_sampled

REASONS, REASON_HEADER = "reasons.csv", ("user", "item", "name", "term", "gain", "because")
EXPLAINED, AMONG = 3, 10  # people whose first item is explained, and the length of the list it is the first of
LIST_HEADER = ("user", "rank", "item", "score")
CURVE = "accuracy.csv"  # of a classifier: every client after every round
CLASSIFIED = "murmura.lab.classification.classified_samples:"  # imported where samples are classified
GROUPED = "murmura.lab.groups.group_results:group_errors"  # and where a model was trained by groups
Tables = dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]]  # header and rows by file name


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What one run found."""

    evaluation: Evaluation
    lists: RankedLists | None  # None: samples were classified, and nothing was ranked
    model: Model
    seconds: dict[str, float]
    cost: dict[str, float] = field(default_factory=dict)  # what left the devices; empty for centralised methods
    tables: Tables = field(default_factory=dict)  # what else the run folder keeps: of groups, of labels


def experiment(
    method: Method,
    split: Split,
    rules: Protocol,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = SILENT,
    cutoffs: tuple[int, ...] | None = None,
    metrics: tuple[str, ...] = DEFAULT_METRICS,
    run: Run | None = None,
) -> ExperimentResult:
    """Fit on `split.train`, score on its test part: the validation rows of a selection, or an opened test.

    A classifier is scored after every round, too; with the folder of a `run` it goes on where it was stopped.
    """
    if rules.classifies:
        found: ExperimentResult = imported(f"{CLASSIFIED}trained")(
            method, split, seed, progress, run, rules.until
        )
        return found
    started = time.perf_counter()
    model = method.fit(split.train, seed, progress)
    return score(model, split, rules, workers, cutoffs, metrics, {"fit": time.perf_counter() - started})


def score(
    model: Model,
    split: Split,
    rules: Protocol,
    workers: int = 1,
    cutoffs: tuple[int, ...] | None = None,
    metrics: tuple[str, ...] = DEFAULT_METRICS,
    seconds: Mapping[str, float] = MappingProxyType({}),
) -> ExperimentResult:
    """Rank every user who has test rows; score the lists, or what is predicted where a protocol says so."""
    started = time.perf_counter()
    if rules.classifies:
        found: ExperimentResult = imported(f"{CLASSIFIED}scored")(model, split, seconds)
        return found
    cutoffs, tables = cutoffs or rules.cutoffs, Tables()
    users = np.flatnonzero(split.test.user_counts).astype(np.int32)
    lists = model.recommend(users, max(cutoffs), workers, _among(split, rules))
    times = {**seconds, "rank": time.perf_counter() - started}
    if rules.predicts:
        evaluation, tables = score_ratings(model, split)
    else:
        evaluation = score_lists(lists, split, rules, cutoffs, metrics)
        if rules.sampled is not None:
            drawn = _sampled(model, split, rules, rules.sampled, cutoffs, metrics)
            both = {**evaluation.values, **drawn.values}, {**evaluation.per_user, **drawn.per_user}
            evaluation = Evaluation(*both, evaluation.users)
    return ExperimentResult(evaluation, lists, model, times, model.cost(), tables)


def score_lists(
    lists: RankedLists, split: Split, rules: Protocol, cutoffs: tuple[int, ...], metrics: tuple[str, ...]
) -> Evaluation:
    """Score lists on the test part, by what a protocol counts."""
    return evaluate(
        lists,
        split,
        cutoffs=cutoffs,
        relevant_from=rules.relevant_from,
        gini_catalogue=rules.gini_catalogue,
        metrics=metrics,
    )


def _among(split: Split, rules: Protocol) -> Among | None:
    """What lists are of: a user's own test items, the items that nobody has yet, or what the model offers."""
    if rules.candidates == "rated-test":
        return split.test.by_user
    return split.test.item_counts > 0 if rules.ranks_cold_items else None


def _sampled(
    model: Model,
    split: Split,
    rules: Protocol,
    draws: CandidateDraws,
    cutoffs: tuple[int, ...],
    metrics: tuple[str, ...],
) -> Evaluation:
    """The evaluation among drawn candidates."""
    find = getattr(rules.split, "candidates", None)  # a split that comes with candidates of its own
    given = None if find is None else find(split)
    seen, hidden = split.train.by_user, ~model.candidates

    def answer(users: Ints) -> NDArray[Any]:
        scores = model.answer(users)
        scores[:, hidden] = -np.inf
        for row, user in enumerate(users.tolist()):
            scores[row, seen.of(user)] = -np.inf
        return scores

    return evaluate_sampled(
        answer, split, draws, relevant_from=rules.relevant_from, cutoffs=cutoffs, metrics=metrics, given=given
    )


def score_ratings(model: Model, split: Split) -> tuple[Evaluation, Tables]:
    """RMSE and MSE as means over groups where the model was trained by groups, otherwise over all ratings.

    "RMSE/ratings" and its like are over all ratings, "RMSE/people" means over people, in either case.
    """
    test, tables = split.test, Tables()
    predicted = model.predict(test.user, test.item)
    people = rating_errors(predicted, test.value, test.user)
    values = {key: people.values[key] for key in ("RMSE", "MSE")}
    if model.clients is not None:
        values, tables = imported(GROUPED)(model, split, predicted)
    values |= {f"{key}/ratings": people.values[key] for key in ("RMSE", "MSE", "MAE")}
    values |= {f"{key}/people": people.values[f"{key}u"] for key in ("RMSE", "MSE", "MAE")}
    per_user = {f"{key}/people": column for key, column in people.per_user.items()}
    return Evaluation(values, per_user, people.users), tables


def record_outcome(run: Run, outcome: ExperimentResult, split: Split) -> None:
    """Write the metrics of a run, averaged and per user, and its tables of groups or labels."""
    record_scores(run, outcome.evaluation, outcome.cost, split)
    for name, (header, rows) in outcome.tables.items():
        run.write_table(name, header, rows)


def record_scores(run: Run, evaluation: Evaluation, cost: dict[str, float], split: Split) -> None:
    """Write the metrics of a run, averaged and per user."""
    found = {**evaluation.values, **cost}
    run.write_json("metrics.json", {key: None if math.isnan(value) else value for key, value in found.items()})
    people = split.data.users.labels[evaluation.users].tolist()
    columns = [evaluation.per_user[name].tolist() for name in evaluation.per_user]
    run.write_table("per_user.csv", ["user", *evaluation.per_user], zip(people, *columns))


def record_lists(run: Run, lists: RankedLists | None, split: Split) -> None:
    """Write the recommendations of a run under the owners' own ids, where there are any."""
    if lists is not None:
        run.write_table(LISTS, LIST_HEADER, list_rows(lists, split.data), "\t")


def list_rows(lists: RankedLists, data: Interactions) -> list[tuple[Any, int, Any, str]]:
    """The lists as lines of own ids: user, rank, item, score."""
    users, items = data.users.labels, data.items.labels
    rows = []
    for user, row, scores in zip(users[lists.user].tolist(), lists.item, lists.score):
        kept = row >= 0
        for place, (item, value) in enumerate(zip(items[row[kept]].tolist(), scores[kept].tolist()), start=1):
            rows.append((user, place, item, f"{value:.6g}"))
    return rows


def record_training(run: Run, model: Model) -> None:
    """Write what the model kept about its training: objects, or tables as (header, rows), by file name."""
    for name, record in model.records().items():
        if isinstance(record, tuple):
            run.write_table(name, *record)
        else:
            run.write_json(name, record)


def record_reasons(run: Run, model: Model, catalogue: Catalogue) -> None:
    """Write what the score of the first item of a few people is the sum of, where that is features of items."""
    train, rows = model.train, []
    for user in np.flatnonzero(train.user_counts)[:EXPLAINED].tolist():
        terms = model.terms(user)
        if terms is None or not terms.features:
            return
        offered = np.setdiff1d(np.flatnonzero(model.candidates), train.by_user.of(user)).astype(np.int32)
        (first,) = model.recommend(np.array([user], np.int32), 1).item[0].tolist()
        parts = term_reasons(terms, offered, np.array([first]), AMONG)[0] if first >= 0 else []
        who, name = train.users.labels[user], catalogue.name(first)
        rows += [(who, name, one.name, one.term, one.gain, int(one.because)) for one in parts]
    run.write_table(REASONS, REASON_HEADER, rows)


def record_items(run: Run, split: Split, categories: Relation | None) -> None:
    """Write how often each item occurs in either part, and its categories, under the owners' own ids.

    Samples are no items on offer: each occurs once.
    """
    if split.data.samples is not None:
        return
    items = split.data.items.labels.tolist()
    counts = (split.train.item_counts.tolist(), split.test.item_counts.tolist())
    run.write_table("items.csv", ["item", "train", "test"], zip(items, *counts))
    if categories is not None:
        pairs = zip(categories.item.tolist(), categories.label.tolist())
        rows = ((items[item], categories.labels[label]) for item, label in pairs)
        run.write_table("categories.csv", ["item", "category"], rows)
