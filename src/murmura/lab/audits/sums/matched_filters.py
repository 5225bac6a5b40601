"""Filters for somebody's update in a sum of many, and the attacks that use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.contract import Algorithm
from murmura.core.errors import DataError
from murmura.core.population import ObservedSum
from murmura.core.rng import Stream
from murmura.kernels.packing import PackedPairs
from murmura.lab.audits.attack import Attack, ItemClaims
from murmura.lab.audits.sums.sum_attack import (
    ObservedSums,
    RowSpace,
    ShadowClients,
    SumItemAttack,
    SumKnowledge,
    Tells,
    TracingAttack,
    tiny_phases,
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


class SumMatched(SumItemAttack):
    """Rows of her rounds, projected on what the known half of her history adds to its own.

    Half of a history known: the rest by a matched filter on the sums of the rounds its owner was in.

    A shadow client with the known half answers the public model of every such round. What it sends for an own
    item is what the unknown own items must have added to their rows (Nasr, Shokri and Houmansadr: Comprehensive
    privacy analysis of deep learning, S&P 2019, for gradients that are read singly).
    """

    name: ClassVar[str] = "sum-matched"
    title: ClassVar[str] = "the other half of a history, from rounds its owner was in"
    tells: ClassVar[Tells] = "half"

    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """The mean projection in her rounds minus that in the others; nothing is asserted.

        What the sums say of her taste, whether she is in them or not, is in both.
        """
        space, sums = observed.space, WhitenedSums.of(observed.tables)
        shadows, there = known.shadows(stream), observed.presence(known.victims).astype(np.float64)
        there -= there.mean(axis=1, keepdims=True)
        scores = known.no_scores()
        for shadow, victim in enumerate(known.victims.tolist()):
            moved = np.zeros(space.rows)
            for place in np.flatnonzero(there[shadow]).tolist():
                way = own_row(shadows, shadow, observed.training[place], space)
                moved += there[shadow, place] * sums.along(place, way)
            scores[victim] = space.item_scores(moved)
        return ItemClaims(scores, np.zeros(scores.shape, np.bool_), asked=known.asked())


DRAWS = 8  # shadows of a victim whose answers are averaged: it is the history that tells, not the dice


class SumTracing(TracingAttack):
    """The matched filter for what shadows of her send for her own items, in every round.

    A history known: was its owner in this round?

    Dwork, Smith, Steinke, Ullman and Vadhan: Robust traceability from trace amounts (FOCS 2015): a correlation
    of somebody's own data with a released mean tells whether she is in it. Her data is here what a shadow of
    her sends when it answers the public model of the round.
    """

    name: ClassVar[str] = "sum-tracing"
    title: ClassVar[str] = "was she in this round? Her history known, rows taken to vary alone"
    columns: ClassVar[bool] = False  # whether the filter knows how the columns of a row vary together

    def traces(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> Floats:
        """The statistic, in units of the people of a round and then of the rounds of a person."""
        space, sums = observed.space, WhitenedSums.of(observed.tables, self.columns)
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


class SumTracingWhitened(SumTracing):
    """The same with a filter that knows how the columns of a row vary together: a stronger attacker."""

    name: ClassVar[str] = "sum-tracing-whitened"
    title: ClassVar[str] = "the same, with how columns vary together"
    columns: ClassVar[bool] = True


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


class SumParticipation(SumItemAttack):
    """An item's row, projected on what an own item adds, correlated with somebody's presence over rounds.

    Who was in a round, against what the sum of the round holds.

    Homer et al.: Resolving individuals contributing trace amounts of DNA to highly complex mixtures (PLoS
    Genetics, 2008), turned round: with the cohorts of many rounds known, an item whose row moves in the rounds
    somebody is in is rather hers. What an own item's row looks like the adversary learns from made-up people.
    """

    name: ClassVar[str] = "sum-participation"
    title: ClassVar[str] = "items whose rows move in the rounds somebody is in"

    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """The correlation of presence and projected row; nothing is certain, so nothing is asserted."""
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
        scores = known.no_scores()
        scores[known.victims] = space.item_scores(there @ moved)
        asked_items = known.asked()
        return ItemClaims(scores, np.zeros(scores.shape, np.bool_), asked=asked_items)


class ModelMembership(Attack):
    """How well her own items fit a model that was trained with her, or without.

    The final model alone: was somebody in its training at all? A control: it should tell nearly nothing.

    Yeom, Giacomelli, Fredrikson and Jha: Privacy risk in machine learning (CSF 2018): members fit a model
    better. A person is folded into the public model with all her items, as anybody can who knows them, and
    scored by how far her own items then stand above the mean of all, in standard deviations. Some people fit
    any model better: the same in a model without her is taken off (Watson, Guo, Cormode and Sablayrolles: On
    the importance of difficulty calibration in membership inference attacks, ICLR 2022).
    """

    name: ClassVar[str] = "model-membership"
    title: ClassVar[str] = "was she in the training? Her history and the final model known, nothing else"
    reads: ClassVar[Literal["updates", "sums"]] = "sums"

    def fits(self, algorithm: Algorithm) -> bool:
        """Whatever ranks items and reads no single update."""
        phases = tiny_phases(algorithm)
        ranks = type(algorithm).client_score is not Algorithm.client_score
        return ranks and bool(phases) and all(phase.combine == "sum" for phase in phases)

    def score(self, scores: NDArray[np.floating], own: Ints, listed: Ints) -> float:
        """Higher: rather a member."""
        offered = scores[listed].astype(np.float64)
        spread = float(offered.std())
        return float((scores[own].mean() - offered.mean()) / spread) if spread > 0 else 0.0


class CoRareRows(SumItemAttack):
    """Her rarest item that takes part is known: the others by how often they occur with it.

    The row of an item with one owner is that owner's list: exact pairs tell on those who have rare items.

    As in released tables of small cells (Sweeney: k-anonymity, IJUFKS 2002). Who knows one rare item of hers
    reads with whom it occurs; of an item with c owners, what occurs with it c times is everyone's of them.
    """

    name: ClassVar[str] = "co-rare-rows"
    title: ClassVar[str] = "her rarest item known: what occurs with it in exact pairs"
    against: ClassVar[tuple[str, ...]] = ("cooccurrence",)
    tells: ClassVar[Tells] = "rarest"

    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """The share of the rare item's owners that have another one too; asserted where it is all of them."""
        items, counts, G = released_pairs(observed, int(known.public.settings["least"]))
        place = {item: n for n, item in enumerate(items.tolist())}
        scores = known.no_scores()
        for victim in known.victims.tolist():
            (rare,) = known.known_items[victim].tolist()
            scores[victim, items] = G[place[rare]] / counts[place[rare]]
        return ItemClaims(scores, scores >= 1, asked=known.asked())


def released_pairs(observed: ObservedSums, least: int) -> tuple[Ints, Floats, Floats]:
    """The items that take part, how often each occurs, and how often each pair does: (n,), (n,), (n, n)."""
    sums = [one for one in observed.sums if one.phase.name.startswith("pairs") and one.phase.sends.tables]
    if not sums or sums[0].info.counts is None:
        raise DataError("rare rows are read from exact sums of pairs, but this training has released none.")
    pairs = PackedPairs.of(sums[0].info.counts, least)
    words = np.concatenate([one.total.update.tables["pairs"].values[:, 0] for one in sums]).astype(np.uint32)
    return pairs.items, pairs.counts.astype(np.float64), pairs.unpack(words)
