"""The named configurations: exact sums by a secure sum, every exchange once with everyone."""

from __future__ import annotations

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.algorithms.preset import Preset
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm

PARTS = (Consent, ChannelSettings)


def _of_sums(name: str, kind: str, summary: str, noisy: type[Algorithm] | None = None) -> Preset:
    """The configuration whose scores are of one kind alone."""
    defaults = {kind: 1.0, "channel": "secure-sum"}
    return Preset(name, Cooccurrence, f"{name}: {summary}", defaults, parts=PARTS, noisy=noisy)


FED_EASE = _of_sums(
    "fed-ease",
    "ease",
    "EASE from two exact sums, counts of items and of pairs; with epsilon from two noisy ones.",
    PrivateCooccurrence,
)
FED_MOSTPOP = Preset(
    "fed-mostpop",
    PrivateCooccurrence,
    "fed-mostpop: the most popular items from one sum of counts, exact or noisy.",
    {"eigenvectors": 0, "channel": "secure-sum"},
    parts=PARTS,
)
FED_ORDER = _of_sums(
    "fed-order", "order", "a regression of people's next items, from counts, a sketch and one more sum."
)
FED_ITEM_KNN = _of_sums("fed-item-knn", "knn", "Item-kNN from two exact sums, counts of items and of pairs.")
