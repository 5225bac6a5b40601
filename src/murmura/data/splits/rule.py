"""The one way a split is made: a rule holds rows out for the test, then the same rule for the validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from murmura.core.arrays import Bools, Bytes, Longs
from murmura.core.catalogue import TEST, VALIDATION, Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.settings import settings

SplitFraction = Annotated[float, Field(ge=0, lt=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Rule = Callable[[Interactions, int], Bools]  # (rows, 0 for the test and 1 for the validation) -> held out


@settings
class Holdout:
    """A rule that holds a share of rows out for the test, and a share of the rest for the validation."""

    kind: str = ""
    test: SplitFraction = 0.2
    validation: SplitFraction = 0.0

    def apply(self, data: Interactions) -> Split:
        """Hold out the test part, then the validation part from the rest."""
        return apply_rule(self.title, data, self.held, self.validation > 0)

    def held(self, data: Interactions, stage: int) -> Bools:
        """Which rows are held out: of all for the test (0), of the rest for the validation (1)."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """The name of the split: its kind and the settings that matter."""
        return f"{self.kind}({', '.join(self.said())})"

    def said(self) -> list[str]:
        """The settings that name the split."""
        return [f"test={self.test:g}", f"validation={self.validation:g}"]

    def share(self, stage: int) -> float:
        """How much is held out."""
        return (self.test, self.validation)[stage]


def without_defaults(**default: Any) -> Any:
    """A serializer that leaves settings at these values out: run folders name them only where they differ."""

    def written(self: object, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in plain(self).items() if key not in default or value != default[key]}

    return model_serializer(mode="wrap")(written)


def apply_rule(name: str, data: Interactions, rule: Rule, validation: bool) -> Split:
    """Hold the test rows out by `rule`, then the validation rows out of the rest; nothing else is seen."""
    part: Bytes = np.zeros(len(data), np.uint8)
    held = rule(data, 0)
    part[held] = TEST
    if validation:
        rest = np.flatnonzero(~held)
        part[rest[rule(data.rows(rest), 1)]] = VALIDATION
    return Split(name, data, part)


def floor_fraction(share: float, n: Longs) -> Longs:
    """floor(share * n), where 0.2 * 5 is 1 and not a hair less."""
    whole: Longs = np.floor(share * n + 1e-9).astype(np.int64)
    return whole


def times(data: Interactions, split: str) -> Longs:
    """The times, refused where there are none."""
    if data.time is None:
        raise DataError(
            f"the split '{split}' needs a time for every row, but this data has none; split it at random."
        )
    return data.time
