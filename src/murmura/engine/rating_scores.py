"""Held-out ratings and a model that predicts become errors: per rating, per person and per group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.core.model import Model
from murmura.core.split import Split
from murmura.evaluation import Evaluation
from murmura.evaluation.ratings import rating_errors

HEADER = ("group", "members", "ratings", "held out", "RMSE", "MSE", "left out because")


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
        """One line per group, as HEADER names them."""
        table = (self.members, self.ratings, self.held_out, np.sqrt(self.mse), self.mse)
        columns = (column.tolist() for column in table)
        return [
            (name, *numbers, self.refused.get(group, ""))
            for group, (name, *numbers) in enumerate(zip(self.names, *columns))
        ]


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
