"""Attacks on the updates of other authors' methods: what a server reads that sees each of them."""

from __future__ import annotations

import numpy as np

from murmura.core.rng import Stream
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates

PHASE = "train"
SMALLEST = 1e-9  # of the longest row: below it a row did not move


def head_sides(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """The rows that moved to the rarer side, by a client's first upload.

    Against PFedRec (IJCAI 2023), FedMF with BCE, FedRecon (NeurIPS 2021) and CoLR (2024). Under binary
    cross-entropy every row moves along the client's head or vector, up for an own item, down for a drawn one:
    the rows are one direction times a number, and the first singular vector is that direction. Negatives are
    several for each own item, so the own ones are the minority sign.
    """
    scores = known.no_scores()
    done = set[int]()
    for sent in observed.phase(PHASE):
        rows = sent.update.tables["items"]
        if sent.client in done or not len(rows):
            continue
        done.add(sent.client)
        moved = rows.values[:, : int(known.settings.get("rank", rows.values.shape[1]))].astype(np.float64)
        length = np.linalg.norm(moved, axis=1)
        _, _, directions = np.linalg.svd(moved, full_matrices=False)
        along = moved @ directions[0]
        if (along > 0).sum() > (along < 0).sum():
            along = -along
        scores[sent.client, rows.index] = np.where(length > SMALLEST * length.max(), along, 0.0)
    return ItemClaims(scores, scores > 0)


def filled_intersections(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """The items whose row came in each of a client's uploads.

    Attacks FedRec (IEEE Intelligent Systems 2021), whose rated items stand among unrated ones with made-up
    ratings: these are drawn anew in every round, the rated ones recur.
    """
    scores, uploads = known.no_scores(), np.zeros(known.info.clients)
    for sent in observed.phase(PHASE):
        scores[sent.client, sent.update.tables["items"].index] += 1
        uploads[sent.client] += 1
    return ItemClaims(scores, (scores == uploads[:, None]) & (uploads[:, None] > 0))


ATTACKS = (
    ItemAttack(
        "head-sides",
        "rows that moved to the rarer side of one direction",
        head_sides,
        against=("pfedrec", "fedrecon", "colr"),
    ),
    ItemAttack("filled-intersections", "rows that came every time", filled_intersections, against=("fedrec",)),
)
