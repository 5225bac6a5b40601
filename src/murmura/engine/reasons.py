"""Why an item is shown: the nearest of the person's own items, in the space the model ranks with.

A reason says "similar to", never "because": nearness of item vectors is a fact about the model, not a cause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import SettingError
from murmura.core.model import Model


@dataclass(frozen=True)
class Reason:
    """The own item nearest to a shown one."""

    item: int
    nearest: int  # -1: the person has no item of her own
    cosine: float


def item_vectors(model: Model) -> Floats:
    """The item vectors a model ranks with: (items, factors). A federated model's are public."""
    vectors = model.item_vectors
    if vectors is None:
        raise SettingError(
            "--why needs a model with item vectors (federated, bpr-mf, mf, ials), but this one has none; "
            "leave --why out."
        )
    return np.asarray(vectors, np.float64)


def reasons(vectors: Floats, own: Ints, shown: Ints) -> list[Reason]:
    """For every shown item the own item with the largest cosine; of equal ones the lower."""
    if not len(own):
        return [Reason(int(item), -1, 0.0) for item in shown]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1.0)
    cosines = unit[shown] @ unit[own].T  # (shown, own)
    nearest = cosines.argmax(axis=1)
    return [
        Reason(int(item), int(own[place]), float(cosines[row, place]))
        for row, (item, place) in enumerate(zip(shown, nearest))
    ]
