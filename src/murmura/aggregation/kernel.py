"""The compiled twin of a weighted method: the inner one's, with the weights of each cohort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from murmura.aggregation import messages
from murmura.aggregation.messages import CRITERIA, OURS, WEIGHT, Shares, Standing
from murmura.aggregation.weighted import T, Weighted, of_inner
from murmura.core.arrays import Floats
from murmura.core.contract import Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, Kernel, ScoringKernel
from murmura.core.population import Population, States, Tally
from murmura.core.update import Update


@dataclass(eq=False)
class WeightedKernel(Kernel):
    """Sums of shares without a channel: the stages of one measure the whole message, which no part does."""

    method: Weighted
    inner: ScoringKernel
    _values: dict[int, Floats] = field(default_factory=dict)  # client -> criteria, where its history stays
    _population: Population | None = None  # whose values these are

    init_clients = of_inner("init_clients")
    ready_clients = of_inner("ready_clients")
    score = of_inner("score")

    def inside(self, given: T) -> T:
        """As the inner kernel is shown it."""
        return self.method.inside(given)

    def covers(self, phase: Phase, channel: bool) -> bool:
        """What weighting adds travels as it is; the rest is up to the inner kernel."""
        ours = any(table.name in OURS for table in phase.sends.tables)
        if not ours:
            return self.inner.covers(phase, channel)
        return not channel and (phase.name == CRITERIA or self.inner.covers(self.inside(phase), False))

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sums of criteria; or the inner sum of updates, each times its client's share."""
        n, cap = len(cohort.clients), self.method.weighting.weight_cap
        model = messages.inner_tables(cohort.model)
        inside = replace(cohort, info=self.inside(cohort.info), model=model)
        if not any(table.name in OURS for table in cohort.phase.sends.tables):
            return self.inner.cohort_sum(inside, states, tally)
        values = self._measured(cohort)
        if cohort.phase.name == CRITERIA:
            sums = messages.row(values.sum(axis=0) * messages.SMALL)
            return Total(Update({CRITERIA: sums}), n), {CRITERIA: n}
        share = self.method.client_shares(values, Standing.read(cohort.model))
        inside = replace(inside, phase=self.inside(cohort.phase), weights=share)
        total, rows = self.inner.cohort_sum(inside, states, tally)
        sent = {**total.update.tables, WEIGHT: Shares.of(share, cap).row(cap)}
        return Total(Update(sent, total.update.scalars), n), {**rows, WEIGHT: n}

    def _measured(self, cohort: CohortRound) -> Floats:
        """The criteria of a cohort, (cohort, criteria); those of a history that stays are measured once."""
        people = cohort.people
        if people is not self._population or people.per_round:
            self._values, self._population = {}, people
        context = RoundContext(cohort.info, cohort.phase.name, cohort.round, cohort.model)
        for client in cohort.clients.tolist():
            if client not in self._values:
                history = people.history(client, cohort.round)
                self._values[client] = self.method.client_criteria(context, history, None)
        return np.stack([self._values[client] for client in cohort.clients.tolist()])
