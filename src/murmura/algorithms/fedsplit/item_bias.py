"""What an item's bias in FedSPLIT is averaged over: the reading the paper leaves open, and ours.

all      all groups, as printed: one that never saw the item counts as a zero
seen     the groups that sent the item
counts   these, weighed by how many ratings of it each has; the update says how many
means    as counts, of the mean residual of its ratings in place of b_H, shrunk by `ridge_bias` ratings
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.algorithms.fedsplit.local import LocalModel
from murmura.algorithms.fedsplit.server import GroupFactors, combine_biases
from murmura.core.arrays import Floats
from murmura.core.contract import Phase
from murmura.core.settings import settings
from murmura.core.update import Update

Positive = Annotated[float, Field(gt=0)]


@settings
class FedSplitItemBias(FedSplit):
    """FedSPLIT with another average of the item biases."""

    bias: Literal["all", "seen", "counts", "means"] = "all"
    ridge_bias: Positive = 5.0  # of item means, by `bias="means"`; of the user biases, by `finish="ridge"`

    @property
    def counted(self) -> bool:
        """Whether updates say how many ratings of an item there are."""
        return self.bias in ("counts", "means")

    @property
    def width(self) -> int:
        """Factors, bias and perhaps the count."""
        return super().width + self.counted

    def columns(self, local: LocalModel) -> list[Floats]:
        """H, the bias and perhaps the count of every rated item."""
        H, bias = super().columns(local)
        if self.bias == "means":
            bias = local.mean_residual[:, None]
        return [H, bias, local.counts[:, None]] if self.counted else [H, bias]

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Also updates with an item without a rating."""
        if why := super().server_refuses(phase, update):
            return why
        values = update.tables["items"].values
        if self.counted and values[values.any(axis=1), -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        return None

    def read(self, update: Update) -> GroupFactors:
        """one update, perhaps with counts."""
        return GroupFactors.of(update.tables["items"], self.factors, self.counted)

    def biases(self, updates: Iterable[GroupFactors], items: int) -> tuple[Floats, Floats]:
        """The bias of every item; and the ratings, or groups, each has."""
        shrink = self.ridge_bias if self.bias == "means" else 0.0
        return combine_biases(updates, items, self.bias == "all", shrink)
