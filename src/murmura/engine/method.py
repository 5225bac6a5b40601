"""What every recommender offers, centralised or federated: it is fitted and asked the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from murmura.core.arrays import Ints
from murmura.core.interactions import Interactions
from murmura.core.lists import Lists
from murmura.core.progress import SILENT, Progress


class Recommender(Protocol):
    """A fitted method."""

    def recommend(self, users: Ints, k: int = 10, workers: int = 1) -> Lists:
        """The k best unseen items of each user."""


class Method(Protocol):
    """A method with its hyper-parameters, ready to be fitted."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def seeded(self) -> bool:
        """Whether the seed changes the result."""

    def fit(
        self,
        train: Interactions,
        seed: int = 0,
        progress: Progress = SILENT,
        watch: Callable[[int, Any], bool] | None = None,
    ) -> Recommender:
        """Learn from the training part; methods that learn in epochs call `watch` after each."""
