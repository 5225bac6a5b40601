"""Attacks on the updates of FPL and FCF: what a server reads that sees each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates

PHASE = "train"
TOLERANCE = 1e-4  # of the largest multiple: far above single precision, far below what an own item leaves


def fcf_items(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """Items for which an upload says something else than that they are not hers, by the clearest upload.

    Attacks on the updates of FCF (Ammad-ud-din et al., arXiv 1901.09888): what one upload says.

    FPL answers for a few drawn items. FCF answers for all of hers, or for all there are, in every upload; so
    one is enough (thesis, section 4.6.1, says that FPL leaks less than FCF; it has no attack).

    own items alone     the rows that come are the rows of what she has
    all items           f(u, i) = c (x - p_u . q_i) p_u: every row is a multiple of p_u, and of an item that she
                        does not have the multiple is -p_u . q_i. Whoever takes that off has 0 left there, and
                        elsewhere what she has
    """
    scores, listed = known.no_scores(), known.info.listed
    for sent in observed.phase(PHASE):
        mine = scores[sent.client]
        if "alpha" in known.settings:  # the paper's form answers for all items on offer
            mine[listed] = np.maximum(mine[listed], beyond_absence(sent, known))
        else:
            mine[sent.update.tables["items"].index] = 1.0
    return ItemClaims(scores, scores > TOLERANCE)


def beyond_absence(sent: SentUpdate, known: AdversaryKnowledge) -> Floats:
    """(listed,) what is left of every row's multiple, over the largest: 0 where she does not have the item."""
    rows = sent.update.tables["items"].values.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1)
    if not norms.max(initial=0.0) > 0:
        return np.zeros(len(rows))
    way = rows[norms.argmax()] / norms.max()  # p_u / |p_u|, or minus that
    multiple, along = rows @ way, sent.model["Q"][known.info.listed].astype(np.float64) @ way
    clear = np.abs(along) > np.median(np.abs(along))  # where rounding disturbs the quotient least
    square = np.median(-multiple[clear] / along[clear])  # |p_u|^2: most people have less than half of all items
    left: Floats = np.abs(multiple + square * along) / np.abs(multiple).max()
    return left


SMALLEST = 1e-6  # a bias gradient below is too small to divide by
TOLERANCES = {"float32": 2e-5, "float64": 1e-8}  # a few roundings of numbers around 1


class UploadNegatives(NamedTuple):
    """The rows of an upload whose bias falls: negatives, as if each had been drawn once.

    Attacks on the updates of FPL: what one row of an upload says (FedeRank, ECIR 2021: equations 1 to 5).

    A triple (u, i, j) with g = 1 - sigma(x_ui - x_uj) moves the row of the negative j by -g p_u - lambda_j q_j
    and its bias by -g. Whoever reads a row of a negative that was drawn once, and knows the model it answered,
    has g, p_u and the score of the positive it was compared with, whether that positive's row is sent or not.

    signs       only a positive's bias ever rises
    absence     negatives are drawn among the items somebody does not have: what never comes is perhaps hers
    inversion   p_u read off one upload, then used as its owner would: rank all items by b_i + p_u . q_i
    residuals   a negative's row carries the score of the positive it was compared with: as
                g = 1 / (1 + exp(x_ui - x_uj)), x_ui = x_uj + ln((1 - g) / g), and with p_u the server computes
                the score of every item: the only one with that score is the positive, sent or not. So it works
                at pi = 0, where no row of a positive ever leaves
    """

    item: Ints  # (n,)
    g: Floats  # (n,)
    p: Floats  # (n, factors) the sender's vector when she drew it


def negatives(sent_update: SentUpdate, known: AdversaryKnowledge) -> UploadNegatives:
    """Read p_u off every row of a negative."""
    rows, k = sent_update.update.tables["items"], int(known.settings["factors"])
    values = rows.values.astype(np.float64)
    falls = values[:, k] < -SMALLEST
    item, values = rows.index[falls], values[falls]
    decay = float(known.settings["alpha"]) / 200  # lambda_j
    p = (values[:, :k] + decay * sent_update.model["Q"][item].astype(np.float64)) / values[:, k : k + 1]
    return UploadNegatives(item, -values[:, k], p)


def fpl_signs(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """Items whose bias somebody raised are hers, rather the often raised; of the others the seldom lowered."""
    raised, lowered = known.no_scores(), known.no_scores()
    k = int(known.settings["factors"])
    for sent_update in observed.phase(PHASE):
        rows = sent_update.update.tables["items"]
        raised[sent_update.client, rows.index] += rows.values[:, k] > 0
        lowered[sent_update.client, rows.index] += rows.values[:, k] < 0
    scores = np.where(raised > 0, len(observed.updates) + raised, -lowered)
    return ItemClaims(scores, raised > 0)


def fpl_absence(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """Items by how seldom their row was sent, of people who share no positive; nothing is certain."""
    scores = known.no_scores()
    for sent_update in observed.phase(PHASE):
        scores[sent_update.client, sent_update.update.tables["items"].index] -= 1
    return ItemClaims(scores, np.zeros(scores.shape, np.bool_))


def fpl_inversion(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """The recommender turned round: somebody's own ranking of all items, from her last upload."""
    scores = known.no_scores()
    for sent_update in observed.phase(PHASE):
        rows = negatives(sent_update, known)
        if len(rows.item):
            p = rows.p[np.argmax(rows.g)]  # the row that rounding disturbs least
            scores[sent_update.client] = sent_update.model["b"] + sent_update.model["Q"] @ p
    return ItemClaims.best(scores, known, "client")


def fpl_residuals(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """Every row of every upload votes for the item whose score is the hidden positive's; a vote is enough."""
    votes = known.no_scores()
    for sent_update in observed.phase(PHASE):
        np.add.at(votes[sent_update.client], matches(sent_update, known), 1)
    return ItemClaims(votes, votes > 0)


def matches(sent_update: SentUpdate, known: AdversaryKnowledge) -> Ints:
    """The item each negative was compared with, where exactly one has the right score."""
    rows = negatives(sent_update, known)
    Q, b = sent_update.model["Q"].astype(np.float64), sent_update.model["b"].astype(np.float64)
    listed = known.info.listed
    own = b[rows.item] + np.einsum("nf,nf->n", rows.p, Q[rows.item])
    with np.errstate(invalid="ignore", divide="ignore"):
        hidden = own + np.log((1 - rows.g) / rows.g)  # a row of several draws may have g above 1: NaN
    away = np.abs(rows.p @ Q[listed].T + b[listed] - hidden[:, None])
    near = away <= TOLERANCES[str(known.settings["precision"])]
    only = near.sum(axis=1) == 1
    found: Ints = listed[near[only].argmax(axis=1)]
    return found


FCF_TITLE = "rows that come, or that differ from those of items somebody does not have"
ATTACKS = (
    ItemAttack("fcf-items", FCF_TITLE, fcf_items, against=("fcf", "fcf-paper")),
    ItemAttack("fpl-signs", "items whose bias gradient is positive", fpl_signs, against=("fpl",)),
    ItemAttack("fpl-absence", "items whose row never comes", fpl_absence, against=("fpl",)),
    ItemAttack(
        "fpl-inversion", "p_u from a negative's row, then her own ranking", fpl_inversion, against=("fpl",)
    ),
    ItemAttack(
        "fpl-residuals", "the hidden positive's score in a negative's row", fpl_residuals, against=("fpl",)
    ),
)
