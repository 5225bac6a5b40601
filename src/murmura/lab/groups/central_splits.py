"""A centralised rater on several test parts: the first row of FedSPLIT's table 3 (section 4.1).

The paper draws another test part for every repetition of the model without groups. Settings are those chosen on
the validation part of the first split.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from murmura.core.catalogue import Dataset
from murmura.data.splits.random_holdout import CoveredRandomHoldout
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.methods import defaults

PROTOCOL = "fedsplit"


def central_splits(
    dataset: Dataset, model: str, splits: int, folder: Path, source: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The errors of a fit on every split, each in a folder of its own; what is there already is only read."""
    first = CoveredRandomHoldout().seed
    settings = defaults(PROTOCOL, dataset.name, model)
    for number in range(splits):
        split_seed = first + number
        each = plan(dataset, f"{PROTOCOL}:seed={split_seed}", {model: settings}, seed=number, source=source)
        for line in compare(each, folder / f"split-{split_seed}"):
            yield {"split_seed": split_seed, "mse": line.values["MSE"], "rmse": line.values["RMSE"]}
