"""Attacks on released sums: filters for somebody's update in a sum of many, lone uploads, and exact pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.contract import Algorithm
from murmura.core.errors import DataError
from murmura.core.population import ObservedSum
from murmura.core.rng import Stream
from murmura.kernels.proofs.pair_words import RankedItems
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.judge import auc
from murmura.lab.audits.sums.sum_attack import (
    ObservedSums,
    RowSpace,
    ShadowClients,
    SumAttack,
    SumItemAttack,
    SumKnowledge,
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


@dataclass(frozen=True, eq=False)
class RowReader:
    """How much a row looks like an own item's: its length, or its share of one direction."""

    direction: Floats | None  # (width,) None: the length
    threshold: float  # between what own rows and others score

    @staticmethod
    def learned(known: SumKnowledge, asked: ObservedSum, space: RowSpace, stream: Stream) -> RowReader:
        """The reader that tells the own rows of made-up people best from others."""
        strangers = known.strangers(stream)
        tables, own = [], []
        for one in range(strangers.people.clients):
            tables.append(space.dense(strangers.visit(one, asked)).astype(np.float64))
            mine = np.zeros(space.rows, np.bool_)
            mine[space.of_items(strangers.people.history(one, 0).item)] = True
            own.append(mine)
        mean = np.mean([table[mine].mean(axis=0) for table, mine in zip(tables, own)], axis=0)
        best, most = RowReader(None, 0.0), -1.0
        for direction in (None, mean):
            read = RowReader(direction, 0.0)
            scores = [read.scores(table) for table in tables]
            found = float(np.mean([auc(one, mine) for one, mine in zip(scores, own)]))
            if found > most:
                mine, other = np.concatenate(own), np.concatenate(scores)
                best, most = RowReader(direction, float(other[mine].mean() + other[~mine].mean()) / 2), found
        return best

    def scores(self, rows: Floats) -> Floats:
        """(rows,)"""
        if self.direction is None:
            length: Floats = np.sqrt((rows**2).sum(axis=1))
            return length
        along: Floats = rows @ self.direction
        return along


@dataclass(frozen=True, eq=False)
class UploadAttack(SumAttack):
    """Reads one person's upload, left over when all others are taken off a sum.

    Sybils (Douceur: The Sybil attack, IPTPS 2002): all others of a cohort are the attacker's, who knows what
    they sent. Differences (Dinur and Nissim: Revealing information while preserving privacy, PODS 2003): two
    releases that differ by one person. Sums are exact, so what is left over is her upload after clip and
    rounding, and the noise that was added: of one release, or of two; `releases` is how many. What an own
    item's row looks like is learned from strangers.
    """

    releases: Literal[1, 2]

    def claims(self, left_over: Mapping[int, ObservedSum], known: SumKnowledge, stream: Stream) -> ItemClaims:
        """Asserted are items whose rows look rather like own ones."""
        scores = known.public.no_scores()
        asserted, reader = np.zeros(scores.shape, np.bool_), None
        for victim, left in left_over.items():
            space = RowSpace.of(left.phase, left.info)
            assert space is not None
            reader = reader or RowReader.learned(known, left, space, stream)
            scores[victim] = space.item_scores(reader.scores(space.dense(left.total.update).astype(np.float64)))
            asserted[victim] = scores[victim] > reader.threshold
        return ItemClaims(scores, asserted, asked=known.asked())


def adds_up_items(algorithm: Algorithm) -> bool:
    """Whether an algorithm adds rows of items up, in rounds or once, and nobody reads single updates."""
    phases = tiny_phases(algorithm)
    spaces = {table.space for phase in phases if phase.combine == "sum" for table in phase.sends.tables}
    return bool(spaces & {"item", "feature"}) and not any(phase.combine == "each" for phase in phases)


def co_rare_rows(observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
    """The share of her rarest known item's owners that have another one too; asserted where it is all of them.

    The row of an item with one owner is that owner's list: exact pairs tell on those who have rare items.

    As in released tables of small cells (Sweeney: k-anonymity, IJUFKS 2002). Who knows one rare item of hers
    reads with whom it occurs; of an item with c owners, what occurs with it c times is everyone's of them.
    """
    items, counts, G = released_pairs(observed, int(known.public.settings["least"]))
    place = {item: n for n, item in enumerate(items.tolist())}
    scores = known.public.no_scores()
    for victim in known.victims.tolist():
        (rare,) = known.known_items[victim].tolist()
        scores[victim, items] = G[place[rare]] / counts[place[rare]]
    return ItemClaims(scores, scores >= 1, asked=known.asked())


def released_pairs(observed: ObservedSums, least: int) -> tuple[Ints, Floats, Floats]:
    """The items that take part, how often each occurs, and how often each pair does: (n,), (n,), (n, n)."""
    sums = [one for one in observed.sums if one.phase.name.startswith("pairs") and one.phase.sends.tables]
    if not sums or sums[0].info.counts is None:
        raise DataError("rare rows are read from exact sums of pairs, but this training has released none.")
    ranked = RankedItems.of(sums[0].info.counts, least)
    words = np.concatenate([one.total.update.tables["pairs"].values[:, 0] for one in sums])
    return ranked.items, ranked.counts.astype(np.float64), ranked.pairs.unpack(words)


MATCHED_TITLE = "the other half of a history, from rounds its owner was in"
TRACING_TITLE = "was she in this round? Her history known, rows taken to vary alone"
WHITENED_TITLE = "the same, with how columns vary together"
RARE_TITLE = "her rarest item known: what occurs with it in exact pairs"
SYBIL_TITLE = "the sum of a round minus the attacker's own: all others of the cohort are"
PAIRS = ("cooccurrence", "private-cooccurrence")
ATTACKS = (
    SumItemAttack("sum-participation", "items whose rows move in the rounds somebody is in", sum_participation),
    SumItemAttack("sum-matched", MATCHED_TITLE, sum_matched, tells="half"),
    TracingAttack("sum-tracing", TRACING_TITLE, partial(sum_tracing, columns=False)),
    TracingAttack("sum-tracing-whitened", WHITENED_TITLE, partial(sum_tracing, columns=True)),
    UploadAttack("sybil-residual", SYBIL_TITLE, 1, suits=adds_up_items),
    SumItemAttack("co-rare-rows", RARE_TITLE, co_rare_rows, against=("cooccurrence",), tells="rarest"),
    UploadAttack("co-difference", "two releases that differ by one person", 2, against=PAIRS),
)
