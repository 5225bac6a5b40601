"""Attacks on the updates of FedSPLIT groups: which items a group has rated, and how."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Bools, Floats, Ints
from murmura.core.contract import History
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate
from murmura.kernels.factorisation.cnmf_steps import CnmfRates, Factors, fit_users, predict
from murmura.kernels.sparse import Sparse
from murmura.lab.audits.attack import (
    AdversaryKnowledge,
    ItemAttack,
    ItemClaims,
    ObservedUpdates,
    RatingAttack,
    RatingQuestion,
)


def known_values(hints: History, person: Ints, item: Ints) -> Floats:
    """The known ratings among those asked for; NaN for the others."""
    width = int(max(item.max(initial=0), hints.item.max(initial=0))) + 1
    keys, known = person.astype(np.int64) * width + item, hints.owners.astype(np.int64) * width + hints.item
    values = np.full(len(keys), np.nan)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], keys), max(0, len(known) - 1))
    if len(known):
        found = known[order][place] == keys
        values[found] = hints.value[order][place[found]]
    return values


def balanced(
    estimates: Floats, person: Ints, item: Ints, hints: History, totals: Floats, counts: Floats
) -> Floats:
    """Estimates moved so that, with the known ratings, those of each item add up to what the update says.

    Left as they are: known ratings, and items of which the update counts other ratings than are asked for.
    """
    items, known = len(totals), known_values(hints, person, item)
    revealed = ~np.isnan(known)
    rest = totals - np.bincount(item, np.where(revealed, known, estimates), minlength=items)
    unknown = np.bincount(item[~revealed], minlength=items)
    whole = (np.bincount(item, minlength=items) == np.rint(counts)) & (unknown > 0)
    shift = np.where(whole, rest / np.maximum(unknown, 1), 0.0)
    moved: Floats = estimates + np.where(revealed, 0.0, shift[item])
    return moved


def moves(sent_update: SentUpdate, items: int, factors: int) -> Floats:
    """How far each item is from where an unrated one rests: at zero, or at the bias of a public prior."""
    table = sent_update.update.tables["items"].dense(items)
    if "prior" not in sent_update.model:
        largest: Floats = np.abs(table).max(axis=1)
        return largest
    rest: Floats = sent_update.model["prior"][:, 0].astype(np.float64)
    return np.abs(table[:, factors] - rest)


def fedsplit_items(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """A group's items are those whose factors or bias differ from where an unrated item rests: any move tells.

    Which items a FedSPLIT group, or one member of it, has rated, read off its one update.

    The paper's own audit (section 4.4) gives the adversary the positions of the ratings and asks for their
    values. It does not ask for the positions, which an update shows: only a rated item's factors and bias ever
    move, so whatever differs from where it would rest has been rated. What several members rated is more likely
    that of one of them: an update of singular vectors, or one with counts, says how many members rated an item;
    in any other one the items that several rated have larger factors.
    """
    scores = known.no_scores()
    for sent_update in observed.phase("factors"):
        scores[sent_update.client] = moves(sent_update, known.info.items, known.settings["factors"])
    return ItemClaims(scores, scores > 0)


def fedsplit_members(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """What any one member has rated: of what has moved the items with most ratings or largest sums of H."""
    scores, items, k = known.no_scores(), known.info.items, known.settings["factors"]
    for sent_update in observed.phase("factors"):
        table = sent_update.update.tables["items"].dense(items)
        counts = table.shape[1] > k + 1  # in the last column, behind H and b_H
        sums = table[:, -1] if counts else table[:, :k].sum(axis=1)
        scores[sent_update.client] = np.where(moves(sent_update, items, k) > 0, sums, 0.0)
    return ItemClaims.best(scores, known, "person")


RIDGE = 1.0
STEPS = 15
SURE = 0.9  # an item is asserted from this probability on


def fedsplit_learned(observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
    """A logistic regression on rows of updates, taught by every second group: the log odds of every item.

    Which items a FedSPLIT group has rated, by an adversary that has learned what rated rows look like.

    It knows every second group inside out (its own, or bribed ones), and fits a logistic regression on the rows
    of their updates: how far the bias is from the prior's, how large and how uneven the factors are, how
    popular the item is, their squares and products. It is the yardstick for covers such as decoys, against
    which comparing with a resting value finds nothing.
    """
    listed, scores = known.info.listed, known.no_scores()
    rows = {one.client: features(one, known)[listed] for one in observed.phase("factors")}
    inside = [client for client in rows if client in known.insiders]
    if inside:
        X = np.concatenate([rows[client] for client in inside])
        y = np.concatenate([np.isin(listed, known.insiders[client]) for client in inside])
        weights = logistic(X, y.astype(np.float64))
        for client, own in rows.items():
            scores[client, listed] = own @ weights
    return ItemClaims(scores, scores >= np.log(SURE / (1 - SURE)))


def features(sent_update: SentUpdate, known: AdversaryKnowledge) -> Floats:
    """One row per item: a constant, six numbers and their products, on the update's own scale."""
    k = int(known.settings["factors"])
    table = sent_update.update.tables["items"].dense(known.info.items)
    H, b = table[:, :k], table[:, k]
    H = H[:, H.any(axis=0)]
    prior = sent_update.model["prior"][:, 0] if "prior" in sent_update.model else np.zeros(len(b))
    away = b - prior
    columns = [away, np.abs(away), H.sum(axis=1), H.max(axis=1, initial=0.0), H.std(axis=1)]
    columns.append(np.log1p(known.popularity.astype(np.float64)))
    scaled = np.column_stack([_standard(column, known.info.listed) for column in columns])
    first, second = np.triu_indices(scaled.shape[1])
    return np.column_stack([np.ones(len(scaled)), scaled, scaled[:, first] * scaled[:, second]])


def _standard(column: Floats, listed: Ints) -> Floats:
    own = column[listed]
    standard: Floats = np.clip((column - own.mean()) / (own.std() + 1e-12), -6, 6)
    return standard


def logistic(X: Floats, y: Floats) -> Floats:
    """Weights of a logistic regression with a ridge, by Newton's steps."""
    w = np.zeros(X.shape[1])
    penalty = RIDGE * np.eye(X.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(X @ w, -30, 30)))
        slope = X.T @ (y - p) - penalty @ w
        curve = (X * (p * (1 - p))[:, None]).T @ X + penalty
        w = w + np.linalg.solve(curve, slope)
    return w


PRIOR_RATINGS = 5.0  # a person's known ratings are averaged with so many of mu


def fedsplit_ratings(observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
    """W and b_W fitted to the known ratings; somebody of whom none is known is estimated by mu + b_H.

    What a FedSPLIT group's update adds to ratings somebody knows already (the paper's section 4.4).

    The adversary has H, b_H and mu, knows how many people are in the group and some of their ratings, and fits
    W and b_W to those (equations 12 and 10, H and b_H held still); equation 7 then estimates the others. An
    update with counts, and mean ratings in place of b_H, says more: what the ratings of an item add up to.
    """
    sent_update = next(one for one in observed.phase("factors") if one.client == asked.client)
    k, mu = int(known.settings["factors"]), float(sent_update.model["mu"][0])
    table = sent_update.update.tables["items"].dense(known.info.items)
    rates = CnmfRates(*(float(known.settings[name]) for name in CnmfRates._fields))
    H, b_h = table[:, :k], table[:, k]
    hints = Sparse.of_users(asked.hints.owners, asked.hints.item, asked.hints.value, asked.people)
    W, b_w = fit_users(hints, H, b_h, mu, rates)
    guesses = predict(Factors(W, H, b_w, b_h), mu, asked.person, asked.item)
    if known.settings.get("bias") != "means":
        return guesses
    counts, clip = table[:, k + 1], known.settings.get("clip")
    totals = counts * (mu + table[:, k])
    said = counts if clip is None else np.where(np.abs(table[:, k]) < clip, counts, -1)  # not a bound's
    return balanced(guesses, asked.person, asked.item, asked.hints, totals, said)


def hints_alone(observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
    """Reads mu and no update: everyone rates like mu, moved towards the mean of what is known of her."""
    mu = float(observed.phase("factors")[0].model["mu"][0])
    hints, people = asked.hints, asked.people
    counts = np.bincount(hints.owners, minlength=people)
    sums = np.bincount(hints.owners, hints.value, minlength=people)
    means: Floats = (sums + PRIOR_RATINGS * mu) / (counts + PRIOR_RATINGS)
    return means[asked.person]


BIAS_VARIANCE = 0.2  # of people's biases, in squared stars, before anything is known
EXACT = 1e-8  # the least variance of what k vectors leave out
SLACK = 1e-6  # the variance of sums: an update's numbers are rounded


@dataclass(frozen=True, eq=False)
class _Rows:
    """The ratings that are asked for and that the update speaks of, one row each."""

    person: Ints
    item: Ints
    value: Floats  # less mu; NaN where it is not known

    @property
    def revealed(self) -> Bools:
        known: Bools = ~np.isnan(self.value)
        return known


@dataclass(frozen=True, eq=False)
class _GroupVectors:
    """A group's update, taken apart, and how much of the group it leaves out."""

    ratings: Floats  # (items, k) P_x
    mask: Floats  # (items, k) P_m / c
    sums: Floats  # (items,) of X
    counts: Floats  # (items,)
    shrink: float
    people: int

    @cached_property
    def lost(self) -> float:
        """The share of who rated what that k vectors leave out; taken for the variance of e."""
        return max(EXACT, 1 - float((self.mask**2).sum()) / max(1.0, float(self.counts.sum())))

    @cached_property
    def lost_of_mask(self) -> float:
        """The variance of one number of M beside what k vectors say."""
        numbers = self.people * float((self.counts > 0).sum())
        return max(EXACT, self.lost * float(self.counts.sum()) / max(1.0, numbers))


def fedsplit_svd_ratings(observed: ObservedUpdates, known: AdversaryKnowledge, asked: RatingQuestion) -> Floats:
    """mu + b_u + X, as far as singular vectors tell; mu + b_u for an item they do not speak of.

    A group's update holds P, the item parts of J = [X, c M] = U P' (`fedsplit_svd`). The adversary lacks U, one
    row of k numbers for each person, but the premise of the paper's section 4.4 gives it away: who knows which
    items somebody rated knows her row of M, and M_u = P_m U_u / c are many equations for k unknowns. X_u = P_x
    U_u + e_u then are her ratings less mu and less her bias b_u, where e is what k vectors leave out. Two sums
    are said exactly: the update has what X of an item adds up to, and as b_u is a shrunk mean, X_u adds up to
    b_u times the shrinkage. All of this together is one Gaussian least squares per group. Nothing is left out,
    and every rating follows, where a group has no more than k people and they differ in what they rated.
    """
    sent_update = next(one for one in observed.phase("factors") if one.client == asked.client)
    k, mu = int(known.settings["factors"]), float(sent_update.model["mu"].reshape(-1)[0])
    table, person, item = sent_update.update.tables["items"].dense(known.info.items), asked.person, asked.item
    shrink, people = float(known.settings["shrink_bias"]), asked.people
    said = _GroupVectors(table[:, :k], table[:, k : 2 * k], table[:, -2], table[:, -1], shrink, people)
    spoken = said.counts[item] > 0
    rows = _Rows(person[spoken], item[spoken], known_values(asked.hints, person, item)[spoken] - mu)
    with threadpool_limits(1, "blas"):
        theta, rest = _joint(said, rows, *_alone(said, rows))
    guesses: Floats = mu + theta[person, k]
    guesses[spoken] += np.einsum("nk,nk->n", said.ratings[rows.item], theta[rows.person, :k]) + rest
    return guesses


def _alone(sent: _GroupVectors, rows: _Rows) -> tuple[Floats, Floats]:
    """Everyone's precision and mean of (U_u, b_u), each from her own row of M and her own known ratings."""
    k, wide = sent.ratings.shape[1], sent.ratings.shape[1] + 1
    start = np.diag(np.append(np.ones(k), 1 / BIAS_VARIANCE))  # U has orthonormal columns: no number above 1
    start[:k, :k] += sent.mask.T @ sent.mask / sent.lost_of_mask
    precision, mean = np.tile(start, (sent.people, 1, 1)), np.zeros((sent.people, wide))
    for one in range(sent.people):
        own, revealed = rows.person == one, (rows.person == one) & rows.revealed
        lines = np.column_stack([sent.ratings[rows.item[revealed]], np.ones(revealed.sum())])
        side = lines.T @ rows.value[revealed] / sent.lost
        side[:k] += sent.mask[rows.item[own]].sum(axis=0) / sent.lost_of_mask
        precision[one] += lines.T @ lines / sent.lost
        mean[one] = np.linalg.solve(precision[one], side)
    return precision, mean


@dataclass(frozen=True, eq=False)
class _Sums:
    """What must add up: a line for each item, then one for each person.

    A line has factors of everyone's (U_u, b_u) and a right-hand side; beside it stands what the vectors leave
    out of the ratings that are not known, which an item's line and a person's line share.
    """

    place: Ints  # (items,) the line of an item; -1: it has none
    linked: Bools  # (people,) whose own line counts
    lines: Floats  # (lines, people, k + 1)
    right: Floats  # (lines,)
    items: Floats  # variances of the items' lines
    people: Floats  # variances of the people's lines
    across: Floats  # (items' lines, people) their covariances

    def inverse(self, of: Floats) -> Floats:
        """The inverse of the covariance of all lines, times something."""
        m, items = len(self.items), self.items[:, None]
        schur = np.diag(self.people) - self.across.T @ (self.across / items)
        lower = np.linalg.solve(schur, of[m:] - self.across.T @ (of[:m] / items))
        return np.vstack([(of[:m] - self.across @ lower) / items, lower])


def _sums(sent: _GroupVectors, rows: _Rows) -> _Sums:
    """An item's line counts where all its ratings are asked for, a person's where all her items' do."""
    people, k, revealed = sent.people, sent.ratings.shape[1], rows.revealed
    asked = np.bincount(rows.item, minlength=len(sent.counts))
    whole = np.flatnonzero((asked > 0) & (asked == np.rint(sent.counts)))
    place = np.full(len(sent.counts), -1, np.int32)
    place[whole] = np.arange(len(whole))
    m, line = len(whole), place[rows.item]
    summed = line >= 0
    linked = np.bincount(rows.person, minlength=people) > 0
    linked &= np.bincount(rows.person[~summed], minlength=people) == 0
    one = np.pad(sent.ratings[rows.item], ((0, 0), (0, 1)))
    one[revealed] = np.append(np.zeros(k), -1.0)  # X of a known rating is r - mu - b_u
    lines = np.zeros((m + people, people, k + 1))
    lines[line[summed], rows.person[summed]] = one[summed]
    np.add.at(lines, (m + rows.person, rows.person), one)
    lines[m + np.arange(people), np.arange(people), k] -= sent.shrink
    value = np.where(revealed, rows.value, 0.0)
    right = np.append(sent.sums[whole], np.zeros(people))
    np.subtract.at(right, line[summed], value[summed])
    np.subtract.at(right, m + rows.person, value)
    lines[m:] *= linked[:, None, None]
    right[m:] *= linked
    open_rows = summed & ~revealed
    across = np.zeros((m, people))
    across[line[open_rows], rows.person[open_rows]] = sent.lost
    items, persons = across.sum(axis=1) + SLACK, across.sum(axis=0) * linked + SLACK
    return _Sums(place, linked, lines, right, items, persons, across * linked)


def _joint(sent: _GroupVectors, rows: _Rows, precision: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """(U_u, b_u) of all, and e of every row, when items and people add up."""
    (people, wide), sums = mean.shape, _sums(sent, rows)
    flat = sums.lines.reshape(len(sums.lines), -1)
    gap = (sums.right - flat @ mean.reshape(-1))[:, None]
    weighed = sums.inverse(flat)
    total = flat.T @ weighed
    for one in range(people):
        here = slice(one * wide, (one + 1) * wide)
        total[here, here] += precision[one]
    step = np.linalg.solve(total, weighed.T @ gap)
    pull = sums.inverse(gap - flat @ step)[:, 0]
    line, m = sums.place[rows.item], len(sums.items)
    rest = np.where(line >= 0, pull[line], 0.0) + pull[m + rows.person] * sums.linked[rows.person]
    moved: Floats = mean + step.reshape(people, wide)
    return moved, np.where(rows.revealed, 0.0, sent.lost * rest)


HINTS_ALONE = RatingAttack("hints", "no update read: the mean of a person's known ratings", hints_alone)
FEDSPLIT, BOTH = ("fedsplit",), ("fedsplit", "fedsplit-svd")
LEARNED_TITLE = "items of a group: rows that look rated, learned from the other half of the groups"
VECTORS_TITLE = "ratings, from singular vectors, who rated what and those known already"
RATINGS_TITLE = "ratings, from the update and those known already"
ATTACKS = (
    ItemAttack("fedsplit-items", "items of a group: what has moved in H or b_H", fedsplit_items, against=BOTH),
    ItemAttack("fedsplit-learned", LEARNED_TITLE, fedsplit_learned, learns=True, against=FEDSPLIT),
    ItemAttack(
        "fedsplit-members", "items of one member: counts, or column sums of H", fedsplit_members, against=BOTH
    ),
    RatingAttack("fedsplit-ratings", RATINGS_TITLE, fedsplit_ratings, against=FEDSPLIT),
    RatingAttack("fedsplit-svd-ratings", VECTORS_TITLE, fedsplit_svd_ratings, against=("fedsplit-svd",)),
)
