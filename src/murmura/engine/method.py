"""What every method offers, centralised or federated: it is fitted and asked the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from murmura.baselines.base import Model
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress


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
    ) -> Model:
        """Learn from the training part; methods that learn in epochs call `watch` after each."""
