"""How a data set is cut into training, validation and test rows: deterministic, each under its own name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from murmura.core.errors import SettingError
from murmura.data.interchange.split_files import GivenSplit
from murmura.data.splits.covered_random import CoveredRandomHoldout
from murmura.data.splits.leave_one_out import LeaveOneOut
from murmura.data.splits.random_holdout import KFold, LegacyRandomHoldout, RandomHoldout
from murmura.data.splits.temporal import ElliotTemporalHoldout, FixedTime, TemporalHoldout

__all__ = [
    "SPLITS",
    "AnySplit",
    "CoveredRandomHoldout",
    "ElliotTemporalHoldout",
    "FixedTime",
    "GivenSplit",
    "KFold",
    "LeaveOneOut",
    "LegacyRandomHoldout",
    "RandomHoldout",
    "TemporalHoldout",
    "split_named",
]

AnySplit = Annotated[
    TemporalHoldout
    | ElliotTemporalHoldout
    | LegacyRandomHoldout
    | RandomHoldout
    | CoveredRandomHoldout
    | LeaveOneOut
    | FixedTime
    | KFold
    | GivenSplit,
    Field(discriminator="kind"),
]

# a new split is one class, one row above and one here
SPLITS: dict[str, type] = {
    "temporal": TemporalHoldout,
    "temporal-elliot": ElliotTemporalHoldout,
    "random-legacy": LegacyRandomHoldout,
    "random": RandomHoldout,
    "random-covered": CoveredRandomHoldout,
    "leave-one-out": LeaveOneOut,
    "fixed-time": FixedTime,
    "k-fold": KFold,
}


def split_named(kind: str, values: Mapping[str, Any] | None = None) -> AnySplit:
    """The split behind a name, with some settings changed."""
    if kind not in SPLITS:
        raise SettingError(f"there is no split '{kind}'; it is one of {', '.join(SPLITS)}.")
    made: AnySplit = SPLITS[kind](**(values or {}))
    return made
