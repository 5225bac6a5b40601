"""Criteria of samples with labels: Ferrara's thesis, section 5.5: diversity, class balance (5.8), sharpness."""

from __future__ import annotations

import numpy as np

from murmura.aggregation.criteria import ClientView, Criterion
from murmura.core.arrays import Longs
from murmura.core.contract import FederationInfo, Samples
from murmura.core.errors import DataError, SettingError


class _OfLabels(Criterion):
    def check(self, info: FederationInfo) -> None:
        """Labels exist where samples are classified."""
        if info.task is None:
            raise SettingError(
                f"the criterion '{self.name}' must be measured on samples with labels, but clients hold "
                "histories of items; take dataset_size, category_diversity or long_tail."
            )

    def counts(self, view: ClientView) -> Longs:
        """(classes,) how many samples of each class the client holds."""
        self.check(view.info)
        assert view.info.task is not None
        labels = view.history.value.astype(np.int64)
        return np.bincount(labels, minlength=view.info.task.classes)


class LabelDiversity(_OfLabels):
    """The share of all classes of which the client has a sample."""

    name = "label_diversity"
    reveals = "how many different labels the client's samples have"

    def measure(self, view: ClientView) -> float:
        """delta(D_u) / classes."""
        counts = self.counts(view)
        return np.count_nonzero(counts) / len(counts)


class ClassBalance(_OfLabels):
    """The samples of the rarest class over those of the most frequent one, of all classes there are."""

    name = "class_balance"
    reveals = "how evenly the client's samples are spread over the labels; 0: a label is missing altogether"

    def measure(self, view: ClientView) -> float:
        """zeta(D_u), equation 5.8."""
        counts = self.counts(view)
        return float(counts.min() / max(counts.max(), 1))


class Sharpness(Criterion):
    """The mean quality of the samples; of photographs the share of sharp ones."""

    name = "sharpness"
    reveals = "which share of the client's samples is of good quality, such as sharp photographs"

    def measure(self, view: ClientView) -> float:
        """xi(D_u)."""
        held = view.history
        if not isinstance(held, Samples) or held.quality is None:
            raise DataError(
                "the criterion 'sharpness' must know the quality of every sample, but the data do not say it; "
                "take data with a quality attribute or leave the criterion out."
            )
        return float(held.quality.mean()) if len(held) else 0.0
