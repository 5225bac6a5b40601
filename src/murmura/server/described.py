"""The federation that a data set or a file of items describes, before anybody has joined."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms.preset import ConfiguredPreset
from murmura.core.catalogue import Catalogue
from murmura.core.contract import FederationInfo
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.graphs.feature_files import with_features
from murmura.data.reading import Reading
from murmura.engine.plan import federation_info, with_used_features
from murmura.runtimes.simulation import groups_of
from murmura.wire.description import FederationDescription


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
