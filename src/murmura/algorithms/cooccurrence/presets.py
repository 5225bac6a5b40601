"""The named configurations: two exact sums each, by a secure sum, every exchange once with everyone."""

from __future__ import annotations

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.preset import Preset
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent

SUMS = (Consent, ChannelSettings)

FED_EASE = Preset(
    "fed-ease",
    Cooccurrence,
    "fed-ease: EASE from two exact sums, counts of items and of pairs.",
    {"ease": 1.0, "channel": "secure-sum"},
    parts=SUMS,
)
FED_ORDER = Preset(
    "fed-order",
    Cooccurrence,
    "fed-order: a regression of people's next items, from counts, a sketch and one more sum.",
    {"order": 1.0, "channel": "secure-sum"},
    parts=SUMS,
)
FED_ITEM_KNN = Preset(
    "fed-item-knn",
    Cooccurrence,
    "fed-item-knn: Item-kNN from two exact sums, counts of items and of pairs.",
    {"knn": 1.0, "channel": "secure-sum"},
    parts=SUMS,
)
