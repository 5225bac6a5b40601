"""Filters for somebody's update in a sum of many, and the attacks that use them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.population import ObservedSum
from murmura.core.rng import Stream
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.sums.sum_attack import (
    ObservedSums,
    RowSpace,
    ShadowClients,
    SumItemAttack,
    SumKnowledge,
    TracingAttack,
)

FLOOR = 1e-4  # of the mean square of all rows: a row that hardly varies is not taken to vary less
RIDGE = 1e-6  # of the mean variance of the columns


@dataclass(frozen=True, eq=False)
class WhitenedSums:
    """Deviations of the rows of every round, ready to be projected.

    The matched filter for a row in a sum of many: deviations from what is usual, in units of how they vary.

    D_ri is how far row i of the sum of round r is from its mean over rounds and s_i how far that usually is. C
    is the covariance of the columns of D_ri / s_i over all rows and rounds; without `columns` it is taken to be
    I. If somebody's update adds e_i to row i, the best linear statistic for her presence is sum_i <D_ri / s_i,
    C^-1 e_i / s_i>, whose variance without her is sum_i <e_i / s_i, C^-1 e_i / s_i> if rows vary alone (Turin:
    An introduction to matched filters, 1960).
    """

    rows: Singles  # (rounds, rows, width) C^-1 D_ri / s_i
    scale: Floats  # (rows,) s_i
    inverse: Floats  # (width, width) C^-1

    @staticmethod
    def of(tables: Singles, columns: bool = False) -> WhitenedSums:
        """Of the sums of all rounds: (rounds, rows, width); `columns`: how they vary together counts too."""
        away = tables - tables.mean(axis=0, dtype=np.float64).astype(np.float32)
        square = np.square(away, dtype=np.float32).mean(axis=(0, 2), dtype=np.float64)
        scale = np.sqrt(square + FLOOR * square.mean() + np.finfo(np.float32).tiny)
        away /= scale[:, None].astype(np.float32)
        if not columns:
            return WhitenedSums(away, scale, np.eye(away.shape[2]))
        flat = away.reshape(-1, away.shape[2])
        covariance = (flat.T @ flat).astype(np.float64) / len(flat)
        ridge = RIDGE * np.trace(covariance) / len(covariance) + np.finfo(np.float32).tiny
        inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
        return WhitenedSums(away @ inverse.astype(np.float32), scale, inverse)

    def statistic(self, round: int, index: Ints, values: Floats) -> float:
        """How much of these rows is in the sum of a round, in standard deviations; 0 of no rows."""
        unit = values / self.scale[index][:, None]
        variance = float(np.einsum("iw,wv,iv->", unit, self.inverse, unit))
        if variance <= 0:
            return 0.0
        return float((self.rows[round, index] * unit).sum() / np.sqrt(variance))

    def along(self, round: int, direction: Floats) -> Floats:
        """How far every row of a round is moved in one direction, in standard deviations: (rows,)."""
        variance = float(direction @ self.inverse @ direction)
        unit = direction / np.sqrt(variance) if variance > 0 else 0 * direction
        found: Floats = self.rows[round].astype(np.float64) @ unit
        return found


def sum_matched(observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
    """The mean projection in her rounds minus that in the others, on what the known half of her history adds.

    Half of a history known: the rest by a matched filter on the sums of the rounds its owner was in. Nothing is
    asserted. What the sums say of her taste, whether she is in them or not, is in both.

    A shadow client with the known half answers the public model of every such round. What it sends for an own
    item is what the unknown own items must have added to their rows (Nasr, Shokri and Houmansadr: Comprehensive
    privacy analysis of deep learning, S&P 2019, for gradients that are read singly).
    """
    space, sums = observed.space, WhitenedSums.of(observed.tables)
    shadows, there = known.shadows(stream), observed.presence(known.victims).astype(np.float64)
    there -= there.mean(axis=1, keepdims=True)
    scores = known.public.no_scores()
    for shadow, victim in enumerate(known.victims.tolist()):
        moved = np.zeros(space.rows)
        for place in np.flatnonzero(there[shadow]).tolist():
            way = own_row(shadows, shadow, observed.training[place], space)
            moved += there[shadow, place] * sums.along(place, way)
        scores[victim] = space.item_scores(moved)
    return ItemClaims(scores, np.zeros(scores.shape, np.bool_), asked=known.asked())


DRAWS = 8  # shadows of a victim whose answers are averaged: it is the history that tells, not the dice


def sum_tracing(observed: ObservedSums, known: SumKnowledge, stream: Stream, columns: bool) -> Floats:
    """The matched filter for what shadows of her send for her own items, in every round.

    A history known: was its owner in this round? In units of the people of a round and then of the rounds of a
    person; with `columns` the filter knows how the columns of a row vary together: a stronger attacker.

    Dwork, Smith, Steinke, Ullman and Vadhan: Robust traceability from trace amounts (FOCS 2015): a correlation
    of somebody's own data with a released mean tells whether she is in it. Her data is here what a shadow of
    her sends when it answers the public model of the round.
    """
    space, sums = observed.space, WhitenedSums.of(observed.tables, columns)
    draws = DRAWS if _dice_count(known, observed, stream) else 1
    shadows, found = known.shadows(stream, draws), np.zeros((len(known.victims), len(observed.training)))
    for n, victim in enumerate(known.victims.tolist()):
        own, at = space.of_items(known.known_items[victim]), np.full(space.rows, -1)
        at[own] = np.arange(len(own))
        for place, asked in enumerate(observed.training):
            rows = np.zeros((len(own), space.width))
            for shadow in range(n * draws, (n + 1) * draws):
                sent = shadows.visit(shadow, asked).tables[space.table]
                mine = at[sent.index] >= 0
                rows[at[sent.index[mine]]] += sent.values[mine]
            found[n, place] = sums.statistic(place, own, rows / draws)
    return standardised(standardised(found, axis=0), axis=1)


def _dice_count(known: SumKnowledge, observed: ObservedSums, stream: Stream) -> bool:
    """Whether two shadows of one person differ in what they send."""
    two, asked, table = known.shadows(stream, 2), observed.training[0], observed.space.table
    one, other = (two.visit(shadow, asked).tables[table] for shadow in range(2))
    return not (np.array_equal(one.index, other.index) and np.array_equal(one.values, other.values))


def standardised(values: Floats, axis: int) -> Floats:
    """Minus the median, over the median distance from it; where there are fewer than three, as they are."""
    if values.shape[axis] < 3:
        return values
    away = values - np.median(values, axis=axis, keepdims=True)
    spread = np.median(np.abs(away), axis=axis, keepdims=True)
    found: Floats = away / np.where(spread > 0, spread, 1.0)
    return found


def own_row(shadows: ShadowClients, shadow: int, asked: ObservedSum, space: RowSpace) -> Floats:
    """The mean of the rows of its own items that a shadow sends in a round: (width,)."""
    sent = shadows.visit(shadow, asked).tables[space.table]
    own = np.isin(sent.index, space.of_items(shadows.people.history(shadow, 0).item))
    if not own.any():
        return np.zeros(space.width)
    mean: Floats = sent.values[own].mean(axis=0, dtype=np.float64)
    return mean


def sum_participation(observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
    """An item's row, projected on what an own item adds, correlated with somebody's presence over rounds.

    Who was in a round, against what the sum of the round holds; nothing is certain, so nothing is asserted.

    Homer et al.: Resolving individuals contributing trace amounts of DNA to highly complex mixtures (PLoS
    Genetics, 2008), turned round: with the cohorts of many rounds known, an item whose row moves in the rounds
    somebody is in is rather hers. What an own item's row looks like the adversary learns from made-up people.
    """
    space, sums = observed.space, WhitenedSums.of(observed.tables)
    strangers = known.strangers(stream)
    moved = np.empty((len(observed.training), space.rows))
    for place, asked in enumerate(observed.training):
        rows = [own_row(strangers, one, asked, space) for one in range(strangers.people.clients)]
        moved[place] = sums.along(place, np.mean(rows, axis=0))
    moved -= moved.mean(axis=0)
    moved /= np.sqrt((moved**2).mean(axis=0)) + np.finfo(np.float64).tiny
    there = observed.presence(known.victims).astype(np.float64)
    there -= there.mean(axis=1, keepdims=True)
    scores = known.public.no_scores()
    scores[known.victims] = space.item_scores(there @ moved)
    return ItemClaims(scores, np.zeros(scores.shape, np.bool_), asked=known.asked())


MATCHED_TITLE = "the other half of a history, from rounds its owner was in"
TRACING_TITLE = "was she in this round? Her history known, rows taken to vary alone"
WHITENED_TITLE = "the same, with how columns vary together"
ATTACKS = (
    SumItemAttack("sum-participation", "items whose rows move in the rounds somebody is in", sum_participation),
    SumItemAttack("sum-matched", MATCHED_TITLE, sum_matched, tells="half"),
    TracingAttack("sum-tracing", TRACING_TITLE, partial(sum_tracing, columns=False)),
    TracingAttack("sum-tracing-whitened", WHITENED_TITLE, partial(sum_tracing, columns=True)),
)
