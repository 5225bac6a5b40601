"""Fit one method on the training part, rank, and score the held-out part once."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import Catalogue, Relation, Split
from murmura.core.interactions import Interactions
from murmura.core.model import Among, Method, Model, RankedLists
from murmura.core.plugins import imported
from murmura.core.progress import SILENT, Progress
from murmura.engine.protocol import Protocol
from murmura.engine.reasons import term_reasons
from murmura.engine.run_folder import Run
from murmura.evaluation import DEFAULT_METRICS, Evaluation, evaluate
from murmura.evaluation.measure import rating_errors
from murmura.evaluation.sampled import evaluate_sampled

REASONS, REASON_HEADER = "reasons.csv", ("user", "item", "name", "term", "gain", "because")
EXPLAINED, AMONG = 3, 10  # people whose first item is explained, and the length of the list it is the first of
LIST_HEADER = ("user", "rank", "item", "score")
CURVE = "accuracy.csv"  # of a classifier: every client after every round
GROUP_HEADER = ("group", "members", "ratings", "held out", "RMSE", "MSE", "left out because")
CLASSIFIED = "murmura.lab.classification.classified_samples:"  # imported where samples are classified


@dataclass(frozen=True, eq=False)
class GroupErrors:
    """How far the predictions for every group's people are off; nan without a held-out rating."""

    names: tuple[str, ...]
    members: Longs  # (groups,)
    ratings: Longs  # (groups,) for training
    held_out: Longs  # (groups,)
    mse: Floats  # (groups,)
    refused: dict[int, str]  # groups left out of the exchange, and why

    def rows(self) -> list[Sequence[Any]]:
        """One line per group, as GROUP_HEADER names them."""
        table = (self.members, self.ratings, self.held_out, np.sqrt(self.mse), self.mse)
        columns = (column.tolist() for column in table)
        return [
            (name, *numbers, self.refused.get(group, ""))
            for group, (name, *numbers) in enumerate(zip(self.names, *columns))
        ]


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What one run found."""

    evaluation: Evaluation
    lists: RankedLists | None  # None: samples were classified, and nothing was ranked
    model: Model
    seconds: dict[str, float]
    cost: dict[str, float] = field(default_factory=dict)  # what left the devices; empty for centralised methods
    groups: GroupErrors | None = None  # where ratings were predicted by groups
    confusion: Longs | None = None  # (labels, answers) where samples were classified
    right: Bools | None = None  # (held-out samples,) whether each was classified rightly


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
    started, at = time.perf_counter(), cutoffs or rules.cutoffs
    if not rules.classifies:
        model = method.fit(split.train, seed, progress)
        return score(model, split, rules, workers, at, {"fit": time.perf_counter() - started}, metrics)
    found: ExperimentResult = imported(f"{CLASSIFIED}trained")(method, split, seed, progress, run)
    return found


def score(
    model: Model,
    split: Split,
    rules: Protocol,
    workers: int,
    cutoffs: tuple[int, ...],
    seconds: dict[str, float] | None = None,
    metrics: tuple[str, ...] = DEFAULT_METRICS,
) -> ExperimentResult:
    """Rank every user who has test rows; score the lists, or what is predicted where a protocol says so."""
    started = time.perf_counter()
    if rules.classifies:
        found: ExperimentResult = imported(f"{CLASSIFIED}scored")(model, split, seconds or {})
        return found
    users = np.flatnonzero(split.test.user_counts).astype(np.int32)
    lists = model.recommend(users, max(cutoffs), workers, _among(split, rules))
    ranked = time.perf_counter()
    groups = None
    if rules.predicts:
        evaluation, groups = score_ratings(model, split)
    else:
        evaluation = score_lists(lists, split, rules, cutoffs, metrics)
        evaluation = _with_sampled(evaluation, model, split, rules, cutoffs, metrics)
    times = {**(seconds or {}), "rank": ranked - started}
    return ExperimentResult(evaluation, lists, model, times, model.cost(), groups)


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


def _with_sampled(
    full: Evaluation,
    model: Model,
    split: Split,
    rules: Protocol,
    cutoffs: tuple[int, ...],
    metrics: tuple[str, ...],
) -> Evaluation:
    """The evaluation of the full ranking; beside it that of drawn candidates, where the protocol has them."""
    if rules.sampled is None:
        return full
    seen, hidden = split.train.by_user, ~model.candidates

    def answer(users: Ints) -> NDArray[Any]:
        scores = model.answer(users)
        scores[:, hidden] = -np.inf
        for row, user in enumerate(users.tolist()):
            scores[row, seen.of(user)] = -np.inf
        return scores

    found = evaluate_sampled(
        answer, split, rules.sampled, relevant_from=rules.relevant_from, cutoffs=cutoffs, metrics=metrics
    )
    return Evaluation({**full.values, **found.values}, {**full.per_user, **found.per_user}, full.users)


def score_ratings(model: Model, split: Split) -> tuple[Evaluation, GroupErrors | None]:
    """RMSE and MSE as means over groups where the model was trained by groups, otherwise over all ratings.

    "RMSE/ratings" and its like are over all ratings, "RMSE/people" means over people, in either case.
    """
    test = split.test
    predicted = model.predict(test.user, test.item)
    people = rating_errors(predicted, test.value, test.user)
    groups = group_errors(model, split, predicted)
    if groups is None:
        values = {key: people.values[key] for key in ("RMSE", "MSE")}
    else:
        known = groups.mse[groups.held_out > 0]
        values = {"RMSE": float(np.sqrt(known).mean()), "MSE": float(known.mean())}
    values |= {f"{key}/ratings": people.values[key] for key in ("RMSE", "MSE", "MAE")}
    values |= {f"{key}/people": people.values[f"{key}u"] for key in ("RMSE", "MSE", "MAE")}
    per_user = {f"{key}/people": column for key, column in people.per_user.items()}
    return Evaluation(values, per_user, people.users), groups


def group_errors(model: Model, split: Split, predicted: Floats) -> GroupErrors | None:
    """The errors of each group; None where the model knows no groups. People in none are passed over."""
    if (clients := model.clients) is None:
        return None
    of, n = clients.of, len(clients.names)
    owner = of[split.test.user]
    inside = owner >= 0
    held_out = np.bincount(owner[inside], minlength=n)
    squares = np.bincount(owner[inside], ((predicted - split.test.value) ** 2)[inside], minlength=n)
    trained = of[split.train.user]
    return GroupErrors(
        clients.names,
        np.bincount(of[of >= 0], minlength=n),
        np.bincount(trained[trained >= 0], minlength=n),
        held_out,
        np.divide(squares, held_out, out=np.full(n, np.nan), where=held_out > 0),
        clients.refused,
    )


def record_outcome(run: Run, outcome: ExperimentResult, split: Split) -> None:
    """Write the metrics of a run: averaged, per user, and per group where there are groups."""
    record_scores(run, outcome.evaluation, outcome.cost, split)
    if outcome.groups is not None:
        run.write_table("per_group.csv", GROUP_HEADER, outcome.groups.rows())
    if outcome.confusion is not None:
        imported(f"{CLASSIFIED}record_classified")(run, outcome, split.test)


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
        run.write_table("recommendations.tsv", LIST_HEADER, list_rows(lists, split.data), "\t")


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
