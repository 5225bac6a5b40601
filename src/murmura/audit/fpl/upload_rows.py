"""What one row of an FPL upload says (FedeRank, ECIR 2021: equations 1 to 5).

A triple (u, i, j) with g = 1 - sigma(x_ui - x_uj) moves the row of the negative j by -g p_u - lambda_j q_j and
its bias by -g. Whoever reads a row of a negative that was drawn once, and knows the model it answered, has g,
p_u and the score of the positive it was compared with, whether that positive's row is sent or not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.audit.attack import AdversaryKnowledge
from murmura.core.arrays import Floats, Ints
from murmura.core.observer import SentUpdate

PHASE = "train"
SMALLEST = 1e-6  # a bias gradient below is too small to divide by


class UploadNegatives(NamedTuple):
    """The rows of an upload whose bias falls: negatives, as if each had been drawn once."""

    item: Ints  # (n,)
    g: Floats  # (n,)
    p: Floats  # (n, factors) the sender's vector when she drew it


def negatives(sent_update: SentUpdate, known: AdversaryKnowledge) -> UploadNegatives:
    """Read p_u off every row of a negative."""
    rows, k = sent_update.update.tables["items"], int(known.settings["factors"])
    values = rows.values.astype(np.float64)
    falls = values[:, k] < -SMALLEST
    item, values = rows.index[falls], values[falls]
    decay = float(known.settings["alpha"]) / 200  # lambda_j
    p = (values[:, :k] + decay * sent_update.model["Q"][item].astype(np.float64)) / values[:, k : k + 1]
    return UploadNegatives(item, -values[:, k], p)
