"""Collaborative NMF: non-negative factors of the known ratings, with biases (FedSPLIT, section 3.2).

A rating is estimated as W_i . H_j + b_W_i + b_H_j + mu, over the known ratings alone (equations 5 to 13; the
rules go back to Luo, Zhou, Xia and Zhu, IEEE TII 2014). Where we depart from the printed equations:

- a bias moves after every rating, not once per pass by the sum (equations 10, 11): at the printed steps the sum
  diverges, because a user with 1,000 ratings then moves 1,000 times too far;
- alpha and beta count a factor once per rating (alpha |ratings of i| W_i in the denominator), as Surprise and
  the package the paper builds on; equations 12 and 13 omit the count;
- in a denominator an estimate counts at least FLOOR times its rating, and no bias goes beyond the largest
  rating: a pass multiplies a factor by at most 1 / FLOOR, and nothing is ever divided by zero;
- random starts are divided by sqrt(k): otherwise the first estimates grow with k, the biases fall below zero to
  make up for them, and from k = 15 on the factors diverge.

With the biases and one factor held still, the rule for the other factor never raises equation 9 while no
estimate is below its floor: it minimises the majorant of Lee and Seung, whose curvature the constant part
mu + b_W + b_H >= 0 only increases. In one pass both factors move from the same old values, as in Surprise;
theory promises nothing for that. Where the constant part is below zero they overshoot each other to and fro,
ever further: a pass whose error is RISE times the smallest so far halves the power of all later steps, from the
quotient itself to its square root and so on. Groups of MovieLens do not come near it (docs/papers/fedsplit.md).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from murmura.core.arrays import Floats, Ints
from murmura.core.rng import Words
from murmura.core.settings import Count, settings
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse

Weight = Annotated[float, Field(gt=0, le=1)]  # 0 would let one factor grow while the other shrinks
Step = Annotated[float, Field(gt=0, lt=1)]

FLOOR = 0.1  # an estimate counts in a denominator at least this part of its rating
RISE = 1.5  # a pass with so many times the smallest error of those before it makes later steps smaller
NONE = np.zeros(0)  # errors before the first pass
TINY = 1e-250  # a numerator below counts as none: its denominator might round to 0


class Factors(NamedTuple):
    """What a factorisation learns; row j of H is the paper's column j."""

    W: Floats  # (users, k)
    H: Floats  # (items, k)
    b_w: Floats  # (users,)
    b_h: Floats  # (items,)


class CnmfRates(NamedTuple):
    """The paper's symbols: regularisation of W, H, b_W and b_H, and the steps of the biases."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    eta_w: float
    eta_h: float


@settings
class CnmfSettings:
    """The settings of a factorisation under the paper's names; these values are Surprise's."""

    factors: Count = 15  # k
    alpha: Weight = 0.06  # ridge of the user factors
    beta: Weight = 0.06  # ridge of the item factors
    gamma: Weight = 0.02  # ridge of the user biases
    delta: Weight = 0.02  # ridge of the item biases
    eta_w: Step = 0.005  # learning rate of the user biases
    eta_h: Step = 0.005  # learning rate of the item biases
    epochs: Count = 500  # passes over the ratings

    @property
    def rates(self) -> CnmfRates:
        """As the compiled loop takes them."""
        return CnmfRates(self.alpha, self.beta, self.gamma, self.delta, self.eta_w, self.eta_h)


def random_factors(words: Words, n_users: int, n_items: int, k: int) -> Factors:
    """Factors uniform in (0, 1) / sqrt(k), one word each, W before H; biases zero."""
    start = (words.astype(np.float64) + 0.5) * 2.0**-32 / np.sqrt(k)
    W, H = start[: n_users * k].reshape(n_users, k), start[n_users * k :].reshape(n_items, k)
    return Factors(W, H, np.zeros(n_users), np.zeros(n_items))


def words_needed(n_users: int, n_items: int, k: int) -> int:
    """How many words `random_factors` reads."""
    return (n_users + n_items) * k


class _Frame(NamedTuple):
    """What stays the same during a factorisation."""

    mu: float
    limit: float  # no bias goes beyond it
    users: bool  # whether W and b_W move
    items: bool  # whether H and b_H move
    ratings: Sparse
    rates: CnmfRates
    counts: Floats  # (items,) ratings of each
    sums: Floats  # (items, 2 k) room for the numerators and denominators of H
    own: Floats  # (2 k,) room for those of one row of W


def factorise(
    ratings: Sparse,
    factors: Factors,
    mu: float,
    rates: CnmfRates,
    iterations: int,
    users: bool = True,
    items: bool = True,
    before: Floats = NONE,
) -> tuple[Factors, Floats]:
    """Go over the ratings (by user, above 0) `iterations` times: new factors, and squared errors of each pass.

    A pass's errors are those it met on its way, before the step each of them caused. Users and items without a
    rating get zero factors and keep their bias; with `users` or `items` off that side stays as it is. `before`
    are the errors of passes made already: in pieces or at once, the result is the same.
    """
    new = Factors(*(np.array(part, np.float64, order="C") for part in factors))
    counts = np.bincount(ratings.column, minlength=len(new.b_h)).astype(np.float64)
    sums, own = np.zeros((len(new.b_h), 2 * new.H.shape[1])), np.zeros(2 * new.W.shape[1])
    errors = np.concatenate((before, np.zeros(iterations)))
    limit = float(ratings.value.max(initial=0.0))
    frame = _Frame(float(mu), limit, users, items, ratings, rates, counts, sums, own)
    _passes(frame, new, errors, len(before))
    return new, errors[len(before) :]


@compiled(fast=True)
def _passes(frame: _Frame, factors: Factors, errors: Floats, done: int) -> None:
    lowest, power = np.inf, 1.0
    for n in range(len(errors)):
        if n >= done:
            errors[n] = _pass(frame, factors, power)
        if errors[n] > RISE * lowest:
            lowest, power = errors[n], 0.5 * power
        lowest = min(lowest, errors[n])


@compiled(fast=True)
def _pass(frame: _Frame, factors: Factors, power: float) -> float:
    """All ratings once; the squared errors met."""
    start, rates, sums, own = frame.ratings.start, frame.rates, frame.sums, frame.own
    sums[:] = 0.0
    total = 0.0
    for i in range(factors.W.shape[0]):
        own[:] = 0.0
        total += _user_pass(i, frame, factors)
        if frame.users:  # nobody but i reads W_i, so it may move before the pass is over
            _multiply(factors.W[i], own, rates.alpha * (start[i + 1] - start[i]), power)
    if frame.items:
        for j in range(factors.H.shape[0]):
            factors.b_h[j] = min(max(factors.b_h[j], -frame.limit), frame.limit)
            _multiply(factors.H[j], sums[j], rates.beta * frame.counts[j], power)
    return total


@compiled(fast=True)
def _user_pass(i: int, frame: _Frame, factors: Factors) -> float:
    """One user's ratings: move the biases, add to the numerators (first k) and denominators (last k)."""
    W, H, b_w, b_h = factors
    ratings, rates, sums, own = frame.ratings, frame.rates, frame.sums, frame.own
    k = np.uint64(W.shape[1])  # unsigned: no check for places counted from the end
    total, b_i = 0.0, b_w[i]
    for place in range(ratings.start[i], ratings.start[i + 1]):
        j, r = np.uint64(ratings.column[place]), ratings.value[place]
        estimate = 0.0
        for f in range(k):
            estimate += W[i, f] * H[j, f]
        estimate += frame.mu + b_i + b_h[j]
        error = r - estimate
        total += error * error
        if frame.users:
            b_i += rates.eta_w * (error - rates.gamma * b_i)
        if frame.items:
            b_h[j] += rates.eta_h * (error - rates.delta * b_h[j])
        estimate = max(estimate, FLOOR * r)
        for f in range(k):
            own[f] += H[j, f] * r
            own[k + f] += H[j, f] * estimate
        for f in range(k):
            sums[j, f] += W[i, f] * r
            sums[j, k + f] += W[i, f] * estimate
    b_w[i] = min(max(b_i, -frame.limit), frame.limit)
    return total


@compiled
def _multiply(row: Any, sums: Any, decay: float, power: float) -> None:
    """row *= numerator / (denominator + decay row); without a numerator a factor becomes 0, not 0 / 0."""
    k = len(row)
    for f in range(k):
        ratio = sums[f] / (sums[k + f] + decay * row[f]) if sums[f] > TINY else 0.0
        row[f] *= ratio if power == 1.0 else ratio**power


def fit_users(
    ratings: Sparse, H: Floats, b_h: Floats, mu: float, rates: CnmfRates, iterations: int = 100
) -> tuple[Floats, Floats]:
    """W and b_W of people with these ratings, everything about items held still: in 100 passes they settle."""
    people, k = len(ratings.start) - 1, H.shape[1]
    start = Factors(np.full((people, k), 0.5 / np.sqrt(k)), H, np.zeros(people), b_h)
    found, _ = factorise(ratings, start, mu, rates, iterations, items=False)
    return found.W, found.b_w


def predict(factors: Factors, mu: float, users: Ints, items: Ints) -> Floats:
    """Equation 7 for pairs of a user and an item."""
    W, H, b_w, b_h = factors
    estimates: Floats = np.einsum("nf,nf->n", W[users], H[items]) + b_w[users] + b_h[items] + mu
    return estimates
