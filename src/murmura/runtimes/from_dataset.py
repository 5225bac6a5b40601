"""The people of a data set as devices: what an operator's simulation and `murmura devices` agree on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms.preset import ConfiguredPreset
from murmura.core.arrays import Ints
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.contract import FederationInfo
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.filters import LatestPerPair
from murmura.data.graphs.own_features import with_features
from murmura.data.reading import Reading
from murmura.data.sources.registry import liked_rows, load
from murmura.engine.plan import federation_info, with_used_features
from murmura.engine.prepared import prepare, with_item_features
from murmura.engine.protocol import protocol
from murmura.runtimes.simulation import FederatedMethod
from murmura.wire.description import FederationDescription


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


def describe_federation(data: Interactions, preset: ConfiguredPreset, seed: int) -> FederationDescription:
    """The federation whose devices are the users of `data`, or the groups the method puts them in."""
    info = federation_info(preset.algorithm(), data, groups_of(data, preset, seed))
    return FederationDescription.of(data.items, info)


def describe_items(
    path: Path,
    preset: ConfiguredPreset,
    clients: int,
    interactions: int,
    reading: Mapping[str, Any] | None = None,
) -> FederationDescription:
    """A federation of so many devices over the items in a file, one id per line, and perhaps their features."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} must list items, one per line, but cannot be read ({error}).") from None
    labels = [line.strip() for line in lines if line.strip()]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise DataError(
            f"{path} must list at least two items, each once, but has {len(labels)} lines with "
            f"{len(set(labels))} different ones."
        )
    numbers = all(label.isdigit() and str(int(label)) == label for label in labels)
    vocabulary, _ = Vocabulary.of(np.array([int(n) for n in labels] if numbers else labels))
    listed = np.arange(len(vocabulary), dtype=np.int32)
    groups = preset.grouping()
    people = 1 if groups is None else groups.largest
    catalogue, _ = with_features(Catalogue(vocabulary), Reading(**(reading or {})))
    known = catalogue.item_features()
    count = 0 if known is None else len(known)
    info = FederationInfo(len(vocabulary), listed, clients, interactions, known, people, feature_count=count)
    return FederationDescription.of(vocabulary, with_used_features(preset.algorithm(), info))


def item_titles(catalogue: Catalogue) -> bytes:
    """What people call the items, and which kinds they are of, in the order of their numbers: for the page."""
    kinds: list[list[int]] = [[] for _ in range(len(catalogue.items))]
    relation = catalogue.categories
    for item, label in zip(
        *(([], []) if relation is None else (relation.item.tolist(), relation.label.tolist()))
    ):
        kinds[item].append(label)
    shown = {
        "titles": [catalogue.name(code) for code in range(len(catalogue.items))],
        "kinds": [] if relation is None else list(relation.labels),
        "of": [] if relation is None else kinds,
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
