"""Real data, published splits: the numbers that independent re-runs and the thesis print for these settings."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.baselines import baseline
from murmura.core.split import Split
from murmura.data.sources.registry import load
from murmura.engine.protocol import Protocol, protocol, whole_split
from murmura.evaluation.measure import evaluate


@cache
def cut(folder: Path, data: str, name: str) -> tuple[Split, Protocol]:
    dataset = load(data, folder)
    rules = protocol(name, dataset)
    return whole_split(dataset, rules), rules


# data, protocol, model, settings, metric, value, tolerance: half a unit of the last digit printed, unless said
ANCHORS: list[tuple[str, str, str, dict[str, Any], str, float, float]] = [
    ("ml-1m", "fpl", "ease", {"reg": 3000}, "P@10", 0.1317, 5e-5),
    ("ml-1m", "fpl", "ease", {"reg": 3000}, "R@10", 0.0747, 5e-5),
    ("ml-1m", "fpl", "user-knn", {"k": 400}, "P@10", 0.1284, 5e-5),
    ("amazon-digital-music", "fpl", "ease", {"reg": 100}, "P@10", 0.0207, 5e-5),
    ("amazon-digital-music", "fpl", "user-knn", {"k": 50}, "P@10", 0.0192, 3e-4),  # ties at the k-th neighbour
    ("foursquare-italy", "fpl", "user-knn", {"k": 50}, "P@10", 0.0415, 3e-4),
    # Elliot counts an item among its own neighbours: its k = 5 is 4, its k = 600 is 599
    ("yahoo-movies", "kgflex", "item-knn", {"k": 4}, "nDCG@10", 0.3293, 5e-5),
    ("facebook-books", "kgflex", "item-knn", {"k": 599}, "nDCG@10", 0.1289, 3e-4),
    ("facebook-books", "kgflex", "item-knn", {"k": 599}, "IC@10", 769, 1),
]


@pytest.mark.parametrize(("data", "rules", "model", "settings", "metric", "value", "near"), ANCHORS)
def test_known_numbers_are_met(
    data_dir: Path,
    data: str,
    rules: str,
    model: str,
    settings: dict[str, Any],
    metric: str,
    value: float,
    near: float,
) -> None:
    found = measured(data_dir, data, rules, model, tuple(settings.items()))
    assert abs(found[metric] - value) <= near, found


@cache
def measured(
    folder: Path, data: str, rules: str, model: str, settings: tuple[tuple[str, Any], ...]
) -> dict[str, float]:
    split, stated = cut(folder, data, rules)
    fitted = baseline(model)(**dict(settings)).fit(split.train)
    lists = fitted.recommend(np.arange(split.data.n_users, dtype=np.int32), 10)
    result = evaluate(
        lists,
        split,
        relevant_from=stated.relevant_from,
        gini_catalogue=stated.gini_catalogue,
    )
    return dict(result.values)
