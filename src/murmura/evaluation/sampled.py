"""Each user's relevant items ranked among a few drawn ones: the evaluation of NCF, beside the full ranking.

He, Liao, Zhang, Nie, Hu and Chua, "Neural collaborative filtering", WWW 2017: the held-out item among 99 drawn
ones that the user does not have, in training or in the test part. Of equal scores the drawn item comes first:
a method gains nothing by scoring all alike. What is sampled orders methods otherwise than full ranking does
(Krichene and Rendle, KDD 2020), so its metrics have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints
from murmura.core.catalogue import Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import NO_ITEM, RankedLists
from murmura.core.rng import client_secrets
from murmura.evaluation.measure import Evaluation, evaluate
from murmura.evaluation.registry import UserMetric, metric_of
from murmura.evaluation.relevance import Relevance

SAMPLED = "sampled"
Answer = Callable[[Ints], NDArray[Any]]  # users -> their scores of all items, -inf for what is never listed


@dataclass(frozen=True)
class CandidateDraws:
    """How many items are drawn for each user, how often, and with which seed."""

    count: int
    draws: int
    seed: int

    def sentence(self) -> str:
        """What a reader must know of the metrics that are sampled."""
        return (
            f"{SAMPLED}: relevant items ranked among {self.count:,} items drawn for each person of those she "
            f"does not have; ties against the relevant one; mean of {self.draws} draws (seed {self.seed}); "
            "it may order methods otherwise than the full ranking beside it."
        )

    def flat(self) -> dict[str, int]:
        """The same for --json."""
        return {"candidates": self.count, "draws": self.draws, "draw seed": self.seed}


def sampled_key(key: str) -> str:
    """What a metric is called where candidates were drawn: "HR@10" becomes "HR/sampled@10"."""
    name, _, k = key.rpartition("@")
    return f"{name}/{SAMPLED}@{k}"


def evaluate_sampled(
    answer: Answer,
    split: Split,
    how: CandidateDraws,
    *,
    relevant_from: float | None = None,
    cutoffs: tuple[int, ...] = (10,),
    metrics: Sequence[str],
    given: Ints | None = None,
) -> Evaluation:
    """The metrics that have a value for each user with a relevant item, as means over the draws."""
    rows = [metric_of(key) for key in metrics]
    wanted = tuple(row.key for row in rows if isinstance(row, UserMetric) and row.over == "relevant")
    truth = Relevance.of(split, relevant_from)
    lists = sampled_lists(answer, split.data, truth, how, max(cutoffs), given)
    found = [evaluate(one, truth, cutoffs=cutoffs, metrics=wanted) for one in lists]
    values = {key: float(np.mean([one.values[key] for one in found])) for key in found[0].values}
    columns: dict[str, Floats] = {
        key: np.mean([one.per_user[key] for one in found], axis=0) for key in found[0].per_user
    }
    named = {sampled_key(key): value for key, value in values.items()}
    return Evaluation(named, {sampled_key(key): column for key, column in columns.items()}, truth.users)


def sampled_lists(
    answer: Answer,
    data: Interactions,
    truth: Relevance,
    how: CandidateDraws,
    k: int,
    given: Ints | None = None,
) -> list[RankedLists]:
    """The lists of each draw: the k best of a user's relevant and drawn items; `data` has all she has.

    `given` candidates, (users, candidates), take the place of what would be drawn.
    """
    from murmura.kernels.ranking import draw_unmet, score_blocks

    owned, keys = data.by_user, client_secrets(how.seed, data.n_users)
    draws = how.draws if given is None else 1
    items = np.full((draws, len(truth.users), k), NO_ITEM, np.int32)
    for rows, scores in score_blocks(answer, truth.users, data.n_items):
        users = truth.users[rows]
        relevant = _padded(truth, rows)
        drawn = np.empty((len(users), how.count), np.int32) if given is None else given[users]
        for draw in range(draws):
            if given is None:
                draw_unmet(users, owned.start, owned.index, data.n_items, keys, draw, drawn)
            best = _best(scores, drawn, relevant, k)
            items[draw, rows, : best.shape[1]] = best
    return [RankedLists(truth.users, one, np.zeros(one.shape, np.float32)) for one in items]


def refuse_too_many(data: Interactions, users: Ints, count: int) -> None:
    """Refuse to draw more items than some user does not have."""
    pairs = np.unique(data.user.astype(np.int64) * data.n_items + data.item)
    unmet = data.n_items - np.bincount(pairs // data.n_items, minlength=data.n_users)[users]
    if len(users) and (fewest := int(unmet.min())) < count:
        who = data.users.labels[users[int(unmet.argmin())]]
        raise SettingError(
            f"candidates must be at most the items a person does not have, but it is {count:,} and user {who} "
            f"lacks {fewest:,} of the {data.n_items:,} items; draw {fewest:,} or fewer."
        )


def _best(scores: NDArray[Any], drawn: Ints, relevant: Ints, k: int) -> Ints:
    """The k best of both, the drawn ones first among equals; what is never listed leaves its place empty."""
    items = np.concatenate((drawn, relevant), axis=1)
    value = np.take_along_axis(scores, np.maximum(items, 0), axis=1)
    value[items < 0] = -np.inf
    order = np.argsort(-value, axis=1, kind="stable")[:, :k]
    best: Ints = np.take_along_axis(items, order, axis=1)
    best[np.isneginf(np.take_along_axis(value, order, axis=1))] = NO_ITEM
    again = (best[:, :, None] == best[:, None, :]) & ~np.tri(best.shape[1], dtype=np.bool_)
    best[again.any(axis=2)] = NO_ITEM  # 156 of NCF's given candidates are the relevant item: a tie against it
    return best


def _padded(truth: Relevance, rows: slice) -> Ints:
    """The relevant items of some users side by side, NO_ITEM where one has fewer: (users, most)."""
    size, start = truth.size[rows], truth.start[:-1][rows]
    place = np.arange(max(1, int(size.max(initial=0))))
    inside = place < size[:, None]
    found: Ints = np.full(inside.shape, NO_ITEM, np.int32)
    found[inside] = truth.item[(start[:, None] + place)[inside]]
    return found
