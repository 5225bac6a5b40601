"""What an update of singular vectors says about single ratings, with a few of them known or none at all.

A group's update holds P, the item parts of J = [X, c M] = U P' (`fedsplit_svd`). The adversary lacks U, one row
of k numbers for each person, but the premise of the paper's section 4.4 gives it away: who knows which items
somebody rated knows her row of M, and M_u = P_m U_u / c are many equations for k unknowns. X_u = P_x U_u + e_u
then are her ratings less mu and less her bias b_u, where e is what k vectors leave out. Two sums are said
exactly: the update has what X of an item adds up to, and as b_u is a shrunk mean, X_u adds up to b_u times the
shrinkage. All of this together is one Gaussian least squares per group. Nothing is left out, and every rating
follows, where a group has no more than k people and they differ in what they rated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Bools, Floats, Ints
from murmura.lab.audits.attack import AdversaryKnowledge, ObservedUpdates, RatingAttack, RatingQuestion
from murmura.lab.audits.fedsplit_updates import known_values, update_table

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
    """Everyone's row of U and bias, and what the vectors leave out, by least squares with the sums held to.

    mu + b_u + X, as far as the update tells; mu + b_u for an item it does not speak of.
    """
    sent_update = next(one for one in observed.phase("factors") if one.client == asked.client)
    k, mu = int(known.settings["factors"]), float(sent_update.model["mu"].reshape(-1)[0])
    table, person, item = update_table(sent_update, known.info.items), asked.person, asked.item
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


TITLE = "ratings, from singular vectors, who rated what and those known already"
ATTACKS = (RatingAttack("fedsplit-svd-ratings", TITLE, fedsplit_svd_ratings, against=("fedsplit-svd",)),)
