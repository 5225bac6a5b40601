"""The people of a data set as devices: what an operator's simulation and `murmura devices` agree on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from murmura.algorithms.preset import ConfiguredPreset
from murmura.core.arrays import Ints
from murmura.core.catalogue import Dataset
from murmura.core.interactions import Interactions
from murmura.data.filters import LatestPerPair
from murmura.data.sources.registry import liked_rows, load
from murmura.engine.prepared import prepare, with_item_features
from murmura.engine.protocol import protocol
from murmura.runtimes.simulation import FederatedMethod


def training_rows(
    name: str, rules: str, data_dir: Path | None = None, reading: Mapping[str, Any] | None = None
) -> Interactions:
    """What the devices of a simulated federation hold: all rows, or the training part of a protocol.

    `reading` are the arguments of `load` about how the data is read.
    """
    return held_rows(load(name, data_dir, **(reading or {})), rules)


def held_rows(dataset: Dataset, rules: str) -> Interactions:
    """The same of a data set that is loaded."""
    if not rules and dataset.interactions.samples is None:
        return with_item_features(dataset, LatestPerPair().apply(liked_rows(dataset)))
    return prepare(dataset, protocol(rules or "default", dataset)).split.train


def groups_of(data: Interactions, preset: ConfiguredPreset, seed: int) -> Ints | None:
    """The device of every user, where the method is for groups of people; None: everyone has one."""
    found = FederatedMethod(preset).groups(data, seed)
    return None if found is None else found.of
