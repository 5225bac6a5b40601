"""What a protocol leaves of a data set, as the papers' tables of data print it.

FPL (long version), table 1; FedeRank (ECIR 2021), table 1; Ferrara's thesis, table 4.1; FedSPLIT, table 1.
"""

from __future__ import annotations

import numpy as np

from murmura.core.catalogue import Dataset
from murmura.data.user_tables import random_groups
from murmura.engine.prepared import PreparedData, prepare
from murmura.engine.protocol import Protocol
from murmura.evaluation.formulas import category_bias
from murmura.evaluation.significance import Interval, seed_interval

SOURCE, WHOLE, TRAINING = "source", "whole", "training data"
SIZES = ("users", "items", "rows", "rows per user", "rows per item", "density")
GROUPS = "groups"
DataFacts = dict[str, dict[str, Interval]]  # part of the data -> what -> value, with an interval over groupings


def data_facts(dataset: Dataset, rules: Protocol, groupings: int = 10) -> DataFacts:
    """Sizes of the source, of what the filters leave and of the training part; biases and groups of the latter.

    Users and items of the training part are those that occur in it. Groups are counted where ratings are
    predicted: the mean over so many random groupings, drawn as FedSPLIT draws them.
    """
    ready = prepare(dataset, rules)
    about, source, train = ready.describe(), dataset.interactions, ready.split.train
    learned_from = int(np.count_nonzero(train.user_counts))
    facts = {
        SOURCE: _sizes(source.n_users, source.n_items, len(source)),
        WHOLE: _sizes(about["users"], about["items"], about["rows"]),
        TRAINING: {**_sizes(learned_from, about["train items"], len(train)), **_biases(ready)},
    }
    if rules.predicts:
        facts[TRAINING][GROUPS] = seed_interval(
            [float(len(random_groups(train.n_users, seed))) for seed in range(groupings)]
        )
    return facts


def _sizes(users: int, items: int, rows: int) -> dict[str, Interval]:
    values = (users, items, rows, rows / users, rows / items, rows / (users * items))
    return {name: Interval(float(value)) for name, value in zip(SIZES, values, strict=True)}


def _biases(ready: PreparedData) -> dict[str, Interval]:
    """B_T of each category, where items have any; over all items that the filters leave, as in table 4.5."""
    known = ready.catalogue.categories
    if known is None or not len(known.labels):
        return {}
    values = category_bias(ready.split.train.item_counts, known)
    return {f"B_T {name}": Interval(float(value)) for name, value in zip(known.labels, values)}
