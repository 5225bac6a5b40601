"""How well samples are classified: per client, over all of them, and which classes are taken for which."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs
from murmura.evaluation.measure import Evaluation

ACCURACY = "accuracy"
ABOVE = (0.7, 0.8, 0.9, 0.95)  # local accuracies that clients are counted above


def local_accuracy(right: Floats, user: Ints, users: int) -> Floats:
    """The share of each client's samples that were answered rightly; NaN for a client without any."""
    held: Longs = np.bincount(user, minlength=users)
    counted = np.bincount(user, right, minlength=users)
    share: Floats = np.divide(counted, held, out=np.full(users, np.nan), where=held > 0)
    return share


def accuracies(predicted: Floats, label: Floats, user: Ints) -> Evaluation:
    """Eq. 5.9: over all samples, which weights local accuracies by the size of the local test set (LEAF).

    "accuracy/clients" is the plain mean over clients, "clients/80" the share with a local accuracy above 80 %.
    """
    right = (predicted == label).astype(np.float64)
    users = np.unique(user).astype(np.int32)
    local = local_accuracy(right, user, int(users[-1]) + 1)[users]
    values = {ACCURACY: float(right.mean()), f"{ACCURACY}/clients": float(local.mean())}
    values |= {f"clients/{round(100 * above)}": float((local > above).mean()) for above in ABOVE}
    return Evaluation(values, {ACCURACY: local}, users)


def confusion(predicted: Floats, label: Floats, classes: int) -> Longs:
    """How often samples of each class (rows) were taken for each (columns)."""
    pairs = label.astype(np.int64) * classes + predicted.astype(np.int64)
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)
