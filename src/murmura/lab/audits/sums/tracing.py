"""A history known: was its owner in this round?

Dwork, Smith, Steinke, Ullman and Vadhan: Robust traceability from trace amounts (FOCS 2015): a correlation of
somebody's own data with a released mean tells whether she is in it. Her data is here what a copy of her sends
when it answers the public model of the round.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.rng import Stream
from murmura.lab.audits.sums.observed import ObservedSums
from murmura.lab.audits.sums.sum_attack import SumKnowledge, TracingAttack
from murmura.lab.audits.sums.whitened import WhitenedSums

DRAWS = 8  # copies of a victim whose answers are averaged: it is the history that tells, not the dice


class SumTracing(TracingAttack):
    """The matched filter for what copies of her send for her own items, in every round."""

    name: ClassVar[str] = "sum-tracing"
    title: ClassVar[str] = "was she in this round? Her history known, rows taken to vary alone"
    columns: ClassVar[bool] = False  # whether the filter knows how the columns of a row vary together

    def traces(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> Floats:
        """The statistic, in units of the people of a round and then of the rounds of a person."""
        space, sums = observed.space, WhitenedSums.of(observed.tables, self.columns)
        draws = DRAWS if _dice_count(known, observed, stream) else 1
        copies, found = known.copies(stream, draws), np.zeros((len(known.victims), len(observed.training)))
        for n, victim in enumerate(known.victims.tolist()):
            own, at = space.of_items(known.told[victim]), np.full(space.rows, -1)
            at[own] = np.arange(len(own))
            for place, asked in enumerate(observed.training):
                rows = np.zeros((len(own), space.width))
                for copy in range(n * draws, (n + 1) * draws):
                    sent = copies.visit(copy, asked).tables[space.table]
                    mine = at[sent.index] >= 0
                    rows[at[sent.index[mine]]] += sent.values[mine]
                found[n, place] = sums.statistic(place, own, rows / draws)
        return standardised(standardised(found, axis=0), axis=1)


class SumTracingWhitened(SumTracing):
    """The same with a filter that knows how the columns of a row vary together: a stronger attacker."""

    name: ClassVar[str] = "sum-tracing-whitened"
    title: ClassVar[str] = "the same, with how columns vary together"
    columns: ClassVar[bool] = True


def _dice_count(known: SumKnowledge, observed: ObservedSums, stream: Stream) -> bool:
    """Whether two copies of one person differ in what they send."""
    two, asked, table = known.copies(stream, 2), observed.training[0], observed.space.table
    one, other = (two.visit(copy, asked).tables[table] for copy in range(2))
    return not (np.array_equal(one.index, other.index) and np.array_equal(one.values, other.values))


def standardised(values: Floats, axis: int) -> Floats:
    """Minus the median, over the median distance from it; where there are fewer than three, as they are."""
    if values.shape[axis] < 3:
        return values
    away = values - np.median(values, axis=axis, keepdims=True)
    spread = np.median(np.abs(away), axis=axis, keepdims=True)
    found: Floats = away / np.where(spread > 0, spread, 1.0)
    return found
