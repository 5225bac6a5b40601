"""One person's upload, left over when all others are taken off a sum, and her items read from it.

Sybils (Douceur: The Sybil attack, IPTPS 2002): all others of a cohort are the attacker's, who knows what they
sent. Differences (Dinur and Nissim: Revealing information while preserving privacy, PODS 2003): two releases
that differ by one person. Sums are exact, so what is left over is her upload after clip and rounding, and the
noise that was added: of one release, or of two. What an own item's row looks like is learned from strangers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.contract import Algorithm
from murmura.core.population import ObservedSum
from murmura.core.rng import Stream
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.judge import auc
from murmura.lab.audits.sums.sum_attack import RowSpace, SumAttack, SumKnowledge, tiny_phases


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


class UploadAttack(SumAttack):
    """Reads what is left over of one person; `releases` is how many noises are in it."""

    releases: ClassVar[Literal[1, 2]]

    def claims(self, left_over: Mapping[int, ObservedSum], known: SumKnowledge, stream: Stream) -> ItemClaims:
        """Asserted are items whose rows look rather like own ones."""
        scores, asserted = known.no_scores(), np.zeros(known.no_scores().shape, np.bool_)
        reader: RowReader | None = None
        for victim, left in left_over.items():
            space = RowSpace.of(left.phase, left.info)
            assert space is not None
            reader = reader or RowReader.learned(known, left, space, stream)
            scores[victim] = space.item_scores(reader.scores(space.dense(left.total.update).astype(np.float64)))
            asserted[victim] = scores[victim] > reader.threshold
        return ItemClaims(scores, asserted, asked=known.asked())


class SybilResidual(UploadAttack):
    """All others of her cohort are the attacker's."""

    name: ClassVar[str] = "sybil-residual"
    title: ClassVar[str] = "the sum of a round minus the attacker's own: all others of the cohort are"
    releases: ClassVar[Literal[1, 2]] = 1

    def fits(self, algorithm: Algorithm) -> bool:
        """Whatever adds rows of items up, in rounds or once."""
        return any(
            phase.combine == "sum" and table.space in ("item", "feature")
            for phase in tiny_phases(algorithm)
            for table in phase.sends.tables
        ) and not any(phase.combine == "each" for phase in tiny_phases(algorithm))


class CoDifference(UploadAttack):
    """Two releases of the same people but for her."""

    name: ClassVar[str] = "co-difference"
    title: ClassVar[str] = "two releases that differ by one person"
    against: ClassVar[tuple[str, ...]] = ("cooccurrence", "private-cooccurrence")
    releases: ClassVar[Literal[1, 2]] = 2
