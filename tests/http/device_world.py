"""The device of the golden vectors: what it holds, and the federation it is in."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, History

SECRET, ROUND, COHORT = np.array([0x01234567, 0x89ABCDEF], np.uint32), 3, 200
LISTED = np.array([0, 1, 2, 3, 5, 6, 7, 8, 9], np.int32)
COUNTS = np.array([9, 1, 4, 30, 0, 8, 2, 15, 4, 120])
OWN, TIMES = np.array([1, 3, 5, 7, 9], np.int32), np.array([500, 100, 400, 400, 300])
CONSENT = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
CHANNEL = ChannelSettings(channel="secure-sum")
PUBLIC = FederationInfo(10, LISTED, 200, 1000)
COUNTED = FederationInfo(10, LISTED, 200, 1000, counts=COUNTS)


def history_of(consent: Any = None, value: Any = None) -> History:
    """The own items with this consent and these values; all ones where nothing is said."""
    value = np.ones(len(OWN)) if value is None else value
    return History(OWN, value, np.ones(len(OWN)) if consent is None else consent, time=TIMES)
