"""What a data set is like, in plain values ready for a table or JSON."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.catalogue import Dataset, Relation
from murmura.core.features import ItemFeatures, encode_features, readable_predicate
from murmura.core.interactions import SampleTable

FEW = 10  # holders whose samples are listed one by one


def describe(dataset: Dataset) -> dict[str, Any]:
    """Sizes, density, values, time span, what is known about items, fingerprint and notes."""
    data = dataset.interactions
    if data.samples is not None:
        return _describe_samples(dataset, data.samples)
    pairs = data.n_users * data.n_items
    per_user, per_item = data.user_counts, data.item_counts
    known = dataset.catalogue
    return {
        "name": dataset.name,
        "rows": len(data),
        "users": data.n_users,
        "items": data.n_items,
        "density": len(data) / pairs if pairs else 0.0,
        "rows_per_user": [int(per_user.min()), float(np.median(per_user)), int(per_user.max())],
        "rows_per_item": [int(per_item.min()), float(np.median(per_item)), int(per_item.max())],
        "values": [float(data.value.min()), float(data.value.mean()), float(data.value.max())],
        "first": None if data.time is None else _date(int(data.time.min())),
        "last": None if data.time is None else _date(int(data.time.max())),
        "user_ids": "text" if data.users.is_text else "whole numbers",
        "item_ids": "text" if data.items.is_text else "whole numbers",
        "items_with_names": None if known.names is None else int((known.names != "").sum()),
        "items_with_links": None if known.links is None else int((known.links != "").sum()),
        "categories": _labels(known.categories),
        "features": None if known.features is None else len(known.features.labels),
        "fingerprint": data.fingerprint,
        "notes": list(dataset.notes),
    }


def _describe_samples(dataset: Dataset, samples: SampleTable) -> dict[str, Any]:
    """How many samples of which label there are, what they look like, and with whom they lie."""
    data = dataset.interactions
    labels = np.bincount(data.value.astype(np.int64), minlength=samples.classes)
    quality, held = samples.qualities(data.item), data.user_counts
    few = dict(zip(map(str, data.users.labels.tolist()), held.tolist())) if data.n_users <= FEW else None
    return {
        "name": dataset.name,
        "samples": len(data),
        "holders": data.n_users,
        "samples_per_holder": few or _quantiles(held),
        "shape": list(samples.task.shape),
        "numbers": str(samples.stored.dtype),
        "classes": samples.classes,
        "samples_per_class": dict(zip(map(str, range(samples.classes)), labels.tolist())),
        "quality": None if quality is None else float(quality.mean()),
        "fingerprint": data.fingerprint,
        "samples_fingerprint": samples.fingerprint,
        "notes": list(dataset.notes),
    }


def describe_features(name: str, known: ItemFeatures, top: int = 20) -> dict[str, Any]:
    """Features by hop and predicate, how many items share one, how many an item has, the most frequent ones."""
    start, _ = known.by_feature
    shared, each = np.diff(start), np.diff(known.start)
    hops, counts = np.unique(known.hops, return_counts=True)
    often = np.argsort(-shared, kind="stable")[:top].tolist()
    return {
        "name": name,
        "features": len(known),
        "pairs": len(known.feature),
        "items": known.items,
        "items_without": int((each == 0).sum()),
        # what a device of a federation that uses them fetches once
        "download_bytes": len(encode_features(known)),
        "by_hop": dict(zip(map(str, hops.tolist()), counts.tolist())),
        "items_per_feature": _quantiles(shared),
        "features_per_item": _quantiles(each),
        "by_predicate": dict(
            Counter(
                readable_predicate(label.partition("=")[0]) if "=" in label else "feature"
                for label in known.labels
            )
        ),
        "most_frequent": [{"name": known.name(code), "items": int(shared[code])} for code in often],
    }


def _quantiles(counts: Longs) -> dict[str, float]:
    names, shares = ("least", "quarter", "median", "three quarters", "most"), (0, 0.25, 0.5, 0.75, 1)
    return dict(zip(names, np.quantile(counts, shares).tolist()))


def _labels(relation: Relation | None) -> dict[str, int] | None:
    """How many items carry each label."""
    if relation is None:
        return None
    counts = np.bincount(relation.label, minlength=len(relation.labels))
    return dict(zip(relation.labels, counts.tolist()))


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
