"""Random: every user is shown unseen training items, each equally likely, none twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from murmura.baselines.base import Baseline, RankingModel
from murmura.core.arrays import Floats, Ints
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.rng import Purpose, Words, client_secrets, guest_secret
from murmura.core.settings import settings
from murmura.kernels.philox import fill_uniform


@dataclass(frozen=True, eq=False)
class RandomModel(RankingModel):
    """An independent uniform score for every pair: a pure function of the seed, the user and the item."""

    seed: int
    secrets: Words  # (users, 2)

    def score(self, users: Ints) -> Floats:
        """Sorting independent uniform scores is drawing without replacement; nothing but the block is kept."""
        return self._draw(self.secrets[users])

    def score_history(self, items: Ints) -> Floats:
        """The scores of a guest: the same for every newcomer."""
        scores: Floats = self._draw(guest_secret(self.seed)[None, :])[0]
        return scores

    def arrays(self) -> Arrays:
        """The seed."""
        return {"seed": np.array([self.seed], np.uint64)}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the seed."""
        seed = int(arrays["seed"][0])
        return cls(train, seed, client_secrets(seed, train.n_users))

    def _draw(self, secrets: Words) -> Floats:
        out: Floats = np.empty((len(secrets), self.train.n_items))
        fill_uniform(np.ascontiguousarray(secrets), np.uint64(0), np.uint64(Purpose.CHOICE), np.uint64(0), out)
        return out


@settings
class Random(Baseline):
    """A list drawn without replacement for each user."""

    name = "random"
    model = RandomModel

    def learn(self, train: Interactions, seed: int, progress: Progress) -> RandomModel:
        """Remember the seed."""
        return RandomModel(train, seed, client_secrets(seed, train.n_users))
