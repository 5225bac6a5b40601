"""How far the predictions for every group's people are off, where each group was one client in training."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.catalogue import Split
from murmura.core.model import Model
from murmura.engine.experiment import Tables

FILE = "per_group.csv"
HEADER = ("group", "members", "ratings", "held out", "RMSE", "MSE", "left out because")


def group_errors(model: Model, split: Split, predicted: Floats) -> tuple[dict[str, float], Tables]:
    """RMSE and MSE as means over groups, and a line per group; people in none are passed over."""
    clients = model.clients
    assert clients is not None
    of, n, trained = clients.of, len(clients.names), clients.of[split.train.user]
    owner = of[split.test.user]
    inside = owner >= 0
    held_out = np.bincount(owner[inside], minlength=n)
    squares = np.bincount(owner[inside], ((predicted - split.test.value) ** 2)[inside], minlength=n)
    mse = np.divide(squares, held_out, out=np.full(n, np.nan), where=held_out > 0)
    counts = np.bincount(of[of >= 0], minlength=n), np.bincount(trained[trained >= 0], minlength=n), held_out
    columns = [column.tolist() for column in (*counts, np.sqrt(mse), mse)]
    whys = [clients.refused.get(group, "") for group in range(n)]
    known = mse[held_out > 0]
    values = {"RMSE": float(np.sqrt(known).mean()), "MSE": float(known.mean())}
    return values, {FILE: (HEADER, list(zip(clients.names, *columns, whys)))}
