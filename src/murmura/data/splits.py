"""How a data set is cut into training, validation and test rows: deterministic, each under its own name."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from murmura.data.leave_one_out import LeaveOneOut
from murmura.data.shuffled import KFold, LegacyRandomHoldout, RandomHoldout
from murmura.data.temporal import ElliotTemporalHoldout, FixedTime, TemporalHoldout

__all__ = [
    "SPLITS",
    "AnySplit",
    "ElliotTemporalHoldout",
    "FixedTime",
    "KFold",
    "LeaveOneOut",
    "LegacyRandomHoldout",
    "RandomHoldout",
    "TemporalHoldout",
]

AnySplit = Annotated[
    TemporalHoldout
    | ElliotTemporalHoldout
    | LegacyRandomHoldout
    | RandomHoldout
    | LeaveOneOut
    | FixedTime
    | KFold,
    Field(discriminator="kind"),
]

# a new split is one class, one row above and one here
SPLITS: dict[str, type] = {
    "temporal": TemporalHoldout,
    "temporal-elliot": ElliotTemporalHoldout,
    "random-legacy": LegacyRandomHoldout,
    "random": RandomHoldout,
    "leave-one-out": LeaveOneOut,
    "fixed-time": FixedTime,
    "k-fold": KFold,
}
