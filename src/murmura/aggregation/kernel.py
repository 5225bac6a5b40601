"""The compiled twin of a weighted method: the inner one's, with the weights of each cohort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.aggregation import messages
from murmura.aggregation.messages import CRITERIA, OURS, WEIGHT, Shares, Standing
from murmura.aggregation.weighted import Weighted
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, Kernel, ScoringKernel
from murmura.core.population import Population, States, Tally
from murmura.core.update import Update


@dataclass(eq=False)
class WeightedKernel(Kernel):
    """Sums of shares without a channel: the stages of one measure the whole message, which no part does."""

    method: Weighted
    inner: ScoringKernel
    _values: dict[int, Floats] = field(default_factory=dict)  # client -> criteria, where its history stays
    _people: Population | None = None  # whose values these are

    def covers(self, phase: Phase, channel: bool) -> bool:
        """What weighting adds travels as it is; the rest is up to the inner kernel."""
        ours = any(table.name in OURS for table in phase.sends.tables)
        if not ours:
            return self.inner.covers(phase, channel)
        return not channel and (phase.name == CRITERIA or self.inner.covers(messages.inner_phase(phase), False))

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        return self.inner.init_clients(self.method.inner_info(info), people)

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sums of criteria; or the inner sum of updates, each times its client's share."""
        n, cap = len(cohort.clients), self.method.weighting.weight_cap
        model = messages.inner_tables(cohort.model)
        inside = replace(cohort, info=self.method.inner_info(cohort.info), model=model)
        if not any(table.name in OURS for table in cohort.phase.sends.tables):
            return self.inner.cohort_sum(inside, states, tally)
        values = self._measured(cohort)
        if cohort.phase.name == CRITERIA:
            sums = messages.row(values.sum(axis=0) * messages.SMALL)
            return Total(Update({CRITERIA: sums}), n), {CRITERIA: n}
        share = self.method.client_shares(values, Standing.read(cohort.model))
        inside = replace(inside, phase=messages.inner_phase(cohort.phase), weights=share)
        total, rows = self.inner.cohort_sum(inside, states, tally)
        sent = {**total.update.tables, WEIGHT: Shares.of(share, cap).row(cap)}
        return Total(Update(sent, total.update.scalars), n), {**rows, WEIGHT: n}

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""
        return self.inner.ready_clients(self.method.inner_context(context), states, people, workers)

    def score(self, context: RoundContext, states: States, users: Ints) -> NDArray[Any]:
        """`client_score` of a block of clients: (users, items)."""
        return self.inner.score(self.method.inner_context(context), states, users)

    def _measured(self, cohort: CohortRound) -> Floats:
        """The criteria of a cohort, (cohort, criteria); those of a history that stays are measured once."""
        people = cohort.people
        if people is not self._people or people.per_round:
            self._values, self._people = {}, people
        context = RoundContext(cohort.info, cohort.phase.name, cohort.round, cohort.model)
        for client in cohort.clients.tolist():
            if client not in self._values:
                history = people.history(client, cohort.round)
                self._values[client] = self.method.client_criteria(context, history, None)
        return np.stack([self._values[client] for client in cohort.clients.tolist()])
