"""What every method offers, centralised or federated: it is fitted, kept and asked the same way."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from murmura.core.arrays import Ints
from murmura.core.interactions import Interactions
from murmura.core.model import Model
from murmura.core.progress import SILENT, Progress

EVERYTHING = "all data"  # what is read where all data are in one place


class Method(Protocol):
    """A method with its hyper-parameters, ready to be fitted."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def seeded(self) -> bool:
        """Whether the seed changes the result."""

    @property
    def uses_order(self) -> bool:
        """Whether, with these settings, the result depends on the order of a person's rows in time."""
        return False

    @property
    def server_reads(self) -> str:
        """What whoever runs it gets to read of people, in two words; centralised methods have everything."""
        return EVERYTHING

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse data it cannot learn from, before anything is written; by default none."""
        return

    @abstractmethod
    def fit(
        self,
        train: Interactions,
        seed: int = 0,
        progress: Progress = SILENT,
        watch: Callable[[int, Any], bool] | None = None,
    ) -> Model:
        """Learn from the training part; methods that learn in epochs call `watch` after each."""

    def fit_resumably(
        self,
        train: Interactions,
        seed: int,
        progress: Progress,
        folder: Path,
        checkpoint_every: int | None,
        watch: Callable[[int, Any], bool] | None = None,
    ) -> Model:
        """Fit; a long training saves itself in `folder` on the way and goes on from there."""
        return self.fit(train, seed, progress, watch)

    @abstractmethod
    def save(self, path: Path, model: Model) -> None:
        """Keep a fitted model as one file, complete or not at all."""

    @abstractmethod
    def load(self, path: Path, train: Interactions) -> Model:
        """The model a file keeps, with the training part it was fitted on."""

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> tuple[Ints, Ints] | None:
        """The (user, item) pairs `fit` takes as negatives in an epoch, each unmet item equally likely.

        None: this method draws none. The check for leaks counts how many of them are held out.
        """
        return None
