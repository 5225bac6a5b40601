"""How a data set is cut into training, validation and test rows: deterministic, each under its own name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from pydantic import PlainSerializer, PlainValidator

from murmura.core.catalogue import Split
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.plugins import imported, unknown_name
from murmura.core.settings import as_dict
from murmura.data.splits.random_holdout import (
    ColdItems,
    CoveredRandomHoldout,
    KFold,
    LegacyRandomHoldout,
    RandomHoldout,
)
from murmura.data.splits.split_files import GivenSplit
from murmura.data.splits.temporal import ElliotTemporalHoldout, FixedTime, LeaveOneOut, TemporalHoldout


class SplitRule(Protocol):
    """What cuts a data set; its settings have its kind among them."""

    @property
    def kind(self) -> str:
        """Its name."""

    def apply(self, data: Interactions) -> Split:
        """The rows, and the part that each of them is in."""


_CUTS: tuple[Any, ...] = (
    TemporalHoldout,
    ElliotTemporalHoldout,
    LegacyRandomHoldout,
    RandomHoldout,
    CoveredRandomHoldout,
    LeaveOneOut,
    FixedTime,
    KFold,
    ColdItems,
)
DEALS = "partition-"  # how the names of splits begin that deal samples to clients
# a new split is one class and one row above: the class, or "module:class", which is imported when it is named
SPLITS: dict[str, Any] = {rule.kind: rule for rule in _CUTS} | {
    f"{DEALS}iid": "murmura.lab.classification.partition:PartitionIid",
    f"{DEALS}shards": "murmura.lab.classification.partition:PartitionShards",
    f"{DEALS}dirichlet": "murmura.lab.classification.partition:PartitionDirichlet",
}
# these read their test rows from the files of one data set and cut no other
FROM_FILES = {"ncf-files": "murmura.lab.rivals.ncf_files:NCFSplit"}


def split_class(kind: str) -> type[SplitRule]:
    """The class behind a name."""
    places = SPLITS | FROM_FILES
    if kind not in places:
        raise SettingError(unknown_name("split", kind, tuple(places)))
    found: type[SplitRule] = imported(places[kind])
    return found


def split_named(kind: str, values: Mapping[str, Any] | None = None) -> SplitRule:
    """The split behind a name, with some settings changed."""
    return split_class(kind)(**(values or {}))


def _read(given: Any) -> SplitRule:
    """A split from its plain values; one that was made elsewhere has a path, and no name in the table."""
    if not isinstance(given, Mapping):
        rule: SplitRule = given
        return rule
    values = {key: value for key, value in given.items() if key != "kind"}
    kind = str(given.get("kind"))
    return GivenSplit(**values) if kind == GivenSplit.kind else split_named(kind, values)


AnySplit = Annotated[SplitRule, PlainValidator(_read), PlainSerializer(as_dict)]
