"""One person's upload, left over when all others are taken off a sum; exact pairs; her items read from them.

Sybils (Douceur: The Sybil attack, IPTPS 2002): all others of a cohort are the attacker's, who knows what they
sent. Differences (Dinur and Nissim: Revealing information while preserving privacy, PODS 2003): two releases
that differ by one person. Sums are exact, so what is left over is her upload after clip and rounding, and the
noise that was added: of one release, or of two. What an own item's row looks like is learned from strangers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.contract import Algorithm
from murmura.core.errors import DataError
from murmura.core.population import ObservedSum
from murmura.core.rng import Stream
from murmura.kernels.packing import PackedPairs
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.judge import auc
from murmura.lab.audits.sums.sum_attack import (
    ObservedSums,
    RowSpace,
    SumAttack,
    SumItemAttack,
    SumKnowledge,
    tiny_phases,
)


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
    """Reads what is left over of one person; `releases` is how many noises are in it."""

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
    pairs = PackedPairs.of(sums[0].info.counts, least)
    words = np.concatenate([one.total.update.tables["pairs"].values[:, 0] for one in sums]).astype(np.uint32)
    return pairs.items, pairs.counts.astype(np.float64), pairs.unpack(words)


RARE_TITLE = "her rarest item known: what occurs with it in exact pairs"
SYBIL_TITLE = "the sum of a round minus the attacker's own: all others of the cohort are"
PAIRS = ("cooccurrence", "private-cooccurrence")
ATTACKS = (
    UploadAttack("sybil-residual", SYBIL_TITLE, 1, suits=adds_up_items),
    SumItemAttack("co-rare-rows", RARE_TITLE, co_rare_rows, against=("cooccurrence",), tells="rarest"),
    UploadAttack("co-difference", "two releases that differ by one person", 2, against=PAIRS),
)
