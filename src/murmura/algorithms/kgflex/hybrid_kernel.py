"""The hybrid's compiled path: that of KGFlex and that of FCF, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from murmura.algorithms.fcf.kernel import FCFPaperKernel
from murmura.algorithms.kgflex.kernel import KGFlexKernel
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.message import MessageSpec
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update

if TYPE_CHECKING:
    from murmura.algorithms.kgflex.hybrid import KGFlexHybrid


class HybridKernel:
    """Both parts over the same clients."""

    weighs: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = False

    def __init__(self, algorithm: KGFlexHybrid) -> None:
        self.algorithm = algorithm
        self.features, self.vectors = KGFlexKernel(algorithm), FCFPaperKernel(algorithm.vectors())

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Sums of floating-point numbers; a channel clips both tables as one, which the parts cannot."""
        return not channel

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        return {**self.features.init_clients(info, people), **self.vectors.init_clients(info, people)}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """What the clients of a round send of either part."""
        tables: dict[str, SparseRows] = {}
        rows: dict[str, int] = {}
        parts: tuple[Kernel, Kernel] = (self.features, self.vectors)
        for part, table in zip(parts, cohort.phase.sends.tables):
            alone = replace(cohort, phase=replace(cohort.phase, sends=MessageSpec((table,))))
            total, sent = part.cohort_sum(alone, states, tally)
            tables |= total.update.tables
            rows |= sent
        return Total(Update(tables), len(cohort.clients)), rows

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """p_u of everyone against the final vectors."""
        features = self.features.ready_clients(context, states, people, workers)
        return {**features, **self.vectors.ready_clients(context, states, people, workers)}

    def score(self, context: RoundContext, states: States, users: Ints) -> Floats:
        """The blend of a block of users."""
        parts = (part.score(context, states, users) for part in (self.features, self.vectors))
        return self.algorithm.blend(context.info, *parts)
