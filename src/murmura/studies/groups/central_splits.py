"""A centralised rater on several test parts: the first row of FedSPLIT's table 3 (section 4.1).

The paper draws another test part for every repetition of the model without groups. Settings are those chosen on
the validation part of the first split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.catalogue import Dataset
from murmura.data.splits.random_holdout import CoveredRandomHoldout
from murmura.studies.compare import compare, plan
from murmura.studies.methods import defaults

PROTOCOL = "fedsplit"


@dataclass(frozen=True)
class SplitScores:
    """The errors of one fit on one test part."""

    split_seed: int
    mse: float
    rmse: float


def central_splits(
    dataset: Dataset, model: str, splits: int, folder: Path, source: dict[str, Any]
) -> Iterator[SplitScores]:
    """Fit once for every split, each in a folder of its own; what is there already is only read."""
    first = CoveredRandomHoldout().seed
    settings = defaults(PROTOCOL, dataset.name, model)
    for number in range(splits):
        split_seed = first + number
        each = plan(dataset, f"{PROTOCOL}:seed={split_seed}", {model: settings}, seed=number, source=source)
        for line in compare(each, folder / f"split-{split_seed}"):
            mse, rmse = line.values["MSE"], line.values["RMSE"]
            assert mse is not None
            assert rmse is not None
            yield SplitScores(split_seed, mse, rmse)
