"""A toy that uses the order: what follows a person's last item in the row of all items comes first."""

from typing import ClassVar

import numpy as np

from murmura.baselines.base import Baseline
from murmura.baselines.unpersonalised import PopularityModel
from murmura.core.arrays import Floats, Ints
from murmura.core.interactions import Interactions
from murmura.core.model import Watch
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings


class LastSeenModel(PopularityModel):
    """`count` is the last item of every user, of equal times that of the later row."""

    def score(self, users: Ints) -> Floats:
        items = np.arange(self.train.n_items)
        return -((items[None, :] - self.count[users][:, None]) % self.train.n_items).astype(np.float64)

    def score_history(self, items: Ints) -> Floats:
        return np.zeros(self.train.n_items)


@settings
class LastSeen(Baseline):
    """Looks at times, and at the order of rows where times are equal."""

    name = "last-seen"
    model = LastSeenModel
    seeded = False
    uses_order: ClassVar[bool] = True

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> LastSeenModel:
        assert train.time is not None
        last = np.zeros(train.n_users)
        for row in np.argsort(train.time, kind="stable").tolist():
            last[train.user[row]] = train.item[row]
        return LastSeenModel(train, last)
