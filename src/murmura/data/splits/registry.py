"""How a data set is cut into training, validation and test rows: deterministic, each under its own name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import Field

from murmura.core.errors import SettingError
from murmura.core.plugins import unknown_name
from murmura.data.splits.partition import PartitionDirichlet, PartitionIid, PartitionShards
from murmura.data.splits.random_holdout import (
    ColdItems,
    CoveredRandomHoldout,
    KFold,
    LegacyRandomHoldout,
    RandomHoldout,
)
from murmura.data.splits.split_files import GivenSplit
from murmura.data.splits.temporal import ElliotTemporalHoldout, FixedTime, LeaveOneOut, TemporalHoldout

AnySplit = Annotated[
    TemporalHoldout
    | ElliotTemporalHoldout
    | LegacyRandomHoldout
    | RandomHoldout
    | CoveredRandomHoldout
    | LeaveOneOut
    | FixedTime
    | KFold
    | ColdItems
    | PartitionIid
    | PartitionShards
    | PartitionDirichlet
    | GivenSplit,
    Field(discriminator="kind"),
]

# a new split is one class and one row above; one that was made elsewhere has a path, and no name
SPLITS: dict[str, type] = {
    rule.kind: rule for rule in get_args(get_args(AnySplit)[0]) if rule is not GivenSplit
}


def split_named(kind: str, values: Mapping[str, Any] | None = None) -> AnySplit:
    """The split behind a name, with some settings changed."""
    if kind not in SPLITS:
        raise SettingError(unknown_name("split", kind, tuple(SPLITS)))
    made: AnySplit = SPLITS[kind](**(values or {}))
    return made
