"""How many of their held-out samples clients classify rightly (Ferrara's thesis, section 5.5.4)."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.errors import DataError
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.registry import ACCURACY, TARGETS, target_key


def local_accuracy(right: Bools, user: Ints, users: int) -> Floats:
    """The share of right answers of every user; NaN for one without a sample."""
    held: Longs = np.bincount(user, minlength=users)
    counted = np.bincount(user[right], minlength=users)
    share: Floats = np.divide(counted, held, out=np.full(users, np.nan), where=held > 0)
    return share


def accuracies(predicted: Floats, actual: Floats, user: Ints) -> Evaluation:
    """Accuracy = right answers / all answers (equation 5.9), of every user and of all.

    `accuracy` is the mean over users weighted by how many samples each has (LEAF), `accuracy/clients` the plain
    mean over users, and `clients/70` and its like the share of users whose own accuracy is strictly above.
    """
    if not len(predicted) == len(actual) == len(user) > 0:
        lengths = len(predicted), len(actual), len(user)
        raise DataError(f"answers, labels and users must be equally many and some, but are {lengths}.")
    users, right = np.unique(user), predicted == actual
    own = local_accuracy(right, user, int(users[-1]) + 1)[users]
    values = {ACCURACY: float(right.mean()), f"{ACCURACY}/clients": float(own.mean())}
    values |= {target_key(target): float((own > target).mean()) for target in TARGETS}
    return Evaluation(values, {ACCURACY: own}, users.astype(np.int32))


def confusion(predicted: Floats, actual: Floats, classes: int) -> Longs:
    """(classes, classes) how many samples of each label, row by row, got each answer, column by column."""
    wrong = ~np.isin(predicted, np.arange(classes))
    if wrong.any():
        raise DataError(
            f"answers must be labels from 0 to {classes - 1}, but {int(wrong.sum())} are not, such as "
            f"{predicted[wrong][0]:g}; client_predict must return the class of every sample."
        )
    pairs = actual.astype(np.int64) * classes + predicted.astype(np.int64)
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)
