"""What the networks share: they are fitted by torch, and a fitted one answers in numpy from arrays by name."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from murmura.baselines.base import Baseline, RankingModel, require_rows
from murmura.core.arrays import Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays, Watch
from murmura.core.progress import SILENT, Progress
from murmura.lab.neural import require_torch
from murmura.lab.neural.histories import Histories

if TYPE_CHECKING:
    from murmura.lab.neural.training_loop import Fit


@dataclass(frozen=True, eq=False)
class NetworkModel(RankingModel):
    """The parameters of a network by name, and what it has read of the training part."""

    network: Arrays
    read: Any  # what `reads` makes of the training part
    method: Any
    reads: ClassVar[Any] = Histories

    def arrays(self) -> Arrays:
        """The parameters."""
        return self.network

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the parameters."""
        return cls(train, arrays, cls.reads.of(train), method)

    def spread(self, scores: NDArray[Any], item: Ints) -> Singles:
        """From the items of training to the whole catalogue; -inf where training had no row of the item."""
        whole = np.full((len(scores), self.train.n_items), -np.inf, np.float32)
        whole[:, item] = scores
        return whole


class NetworkBaseline(Baseline):
    """A method whose network is trained over shuffled batches by Adam; its settings are stated by each."""

    extra: ClassVar[str | None] = "neural"
    model: ClassVar[type[NetworkModel]]
    epochs: int
    batch: int
    learning_rate: float
    l2: float

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse to begin without torch as well."""
        require_torch(self.name)
        super().check(train, seed)

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> NetworkModel:
        """Train the network on one thread; needs the extra `neural`."""
        require_rows(train, self.name)
        self.check(train, seed)
        from murmura.lab.neural.training_loop import Fit

        read = self.model.reads.of(train)

        def seen(epoch: int, network: Arrays) -> bool:
            return watch is None or watch(epoch, self.model(train, network, read, self))

        settings = self.epochs, self.batch, self.learning_rate, self.l2
        network = self.trained(read, Fit(*settings, seed, progress, None if watch is None else seen))
        return self.model(train, network, read, self)

    @abstractmethod
    def trained(self, read: Any, fit: Fit) -> Arrays:
        """The parameters of the network, fitted to what was read."""
