"""What User-kNN and Item-kNN share: the cosine between rows, and the settings that bend it.

The asymmetric cosine and the power ("locality") are from Aiolli: Efficient top-N recommendation for very large
scale binary rated datasets (RecSys 2013). Both default to the plain cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from murmura.baselines.base import Baseline, RankingModel
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import settings
from murmura.kernels.sparse import Sparse, nearest_rows


@dataclass(frozen=True, eq=False)
class NeighbourModel(RankingModel):
    """A sparse table of votes, and the histories it meets."""

    history: Sparse  # (users, items) x_ui
    votes: Sparse  # (users, users) or (items, items)
    method: CosineNeighbours

    def arrays(self) -> Arrays:
        """The votes, and x."""
        start, column, value = self.votes
        return {"start": start, "column": column, "value": value, "history": self.history.value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the votes."""
        history = Sparse.of(train.by_user.start, train.by_user.index, arrays["history"])
        return cls(train, history, Sparse.of(arrays["start"], arrays["column"], arrays["value"]), method)


@settings
class CosineNeighbours(Baseline):
    """The k rows b most similar to a row a, by a . b / (|a|^(2 asymmetry) |b|^(2 - 2 asymmetry) + shrink).

    Only similarities above 0 count, a row is not its own neighbour, ties go to the lower id. A neighbour's vote
    weighs its similarity to the given power.
    """

    seeded = False

    k: Annotated[int, Field(ge=1)] = 100
    asymmetry: Annotated[float, Field(ge=0, le=1)] = 0.5
    shrink: Annotated[float, Field(ge=0)] = 0.0
    power: Annotated[float, Field(gt=0)] = 1.0
    values: Literal["raw", "binary"] = "raw"

    @property
    def binary(self) -> bool:
        """Whether every row counts 1."""
        return self.values == "binary"

    def voters(self, rows: Sparse, n_columns: int, progress: Progress) -> Sparse:
        """The neighbours of every row, with the weight of their votes."""
        near = nearest_rows(rows, n_columns, self.k, self.asymmetry, self.shrink, progress)
        return Sparse.of(near.start, near.column, near.value**self.power)
