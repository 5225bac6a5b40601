"""FedSPLIT as the presets run it: the paper's method with every option of ours, all off by default."""

from __future__ import annotations

from murmura.algorithms.fedsplit.cover import FedSplitCover
from murmura.algorithms.fedsplit.finish import FedSplitFinish
from murmura.algorithms.fedsplit.judging import FedSplitJudge
from murmura.core.settings import settings


@settings
class FedSplitExtended(FedSplitCover, FedSplitJudge, FedSplitFinish):
    """FedSPLIT with another item bias, finish, cover of unrated items, or judgement of updates."""

    @property
    def covered(self) -> bool:
        """Groups alone send no update that could be covered."""
        return super().covered and self.finish != "local"
