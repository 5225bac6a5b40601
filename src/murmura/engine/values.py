"""What a protocol makes of the values of a data set: likes from some value on, ratings, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from murmura.core.catalogue import Dataset
from murmura.core.errors import SettingError
from murmura.data.filters import Binarise
from murmura.data.repeats import ABOVE_ZERO, positives_sentence

if TYPE_CHECKING:
    from murmura.engine.protocol import Protocol


def like_threshold(dataset: Dataset, rules: Protocol) -> float | None:
    """The value from which on a row is a like; None: every row is, or values are no matter of liking."""
    if dataset.positive_from is not None:
        if rules.predicts or rules.classifies:
            raise SettingError(
                f"positive_from (--positive-from) must be left out for protocol '{rules.name}', which takes "
                f"values as they are, but it is {dataset.positive_from:g}."
            )
        return dataset.positive_from
    values = dataset.interactions.value
    return ABOVE_ZERO if _counts_rows(rules) and len(values) and values.min() < 0 else None


def values_sentence(dataset: Dataset, rules: Protocol) -> str:
    """What a protocol makes of the values of a data set; "" of samples, whose values are labels."""
    values = dataset.interactions.value
    if dataset.interactions.samples is not None or not len(values):
        return ""
    spread = f"{values.min():g} to {values.max():g}"
    if rules.predicts:
        return f"values are predicted as they are ({spread})"
    if _counts_rows(rules) or dataset.positive_from is not None or values.min() == values.max():
        return positives_sentence(dataset.interactions, like_threshold(dataset, rules))
    least = rules.relevant_from
    hits = "every held-out row" if least is None else f"a held-out row of at least {least:g}"
    return f"values are kept ({spread}); {hits} is relevant"


def _counts_rows(rules: Protocol) -> bool:
    """Whether every row counts alike, whatever its value."""
    return not rules.predicts and any(isinstance(step, Binarise) for step in rules.filters)
