"""What a group of FedSPLIT computes on its own machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.contract import History
from murmura.core.rng import Stream
from murmura.kernels.factorisation.cnmf_steps import (
    CnmfRates,
    CnmfSettings,
    factorise,
    fit_users,
    random_factors,
    words_needed,
)
from murmura.kernels.sparse import Sparse


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A group's factorisation: rows of people up to the largest group, rows of the items it has rated."""

    W: Floats  # (people, factors)
    b_w: Floats  # (people,)
    items: Ints  # (n,) ascending
    H: Floats  # (n, factors)
    b_h: Floats  # (n,)
    counts: Floats  # (n,) ratings of each item
    mean_residual: Floats  # (n,) the mean of r - mu over its ratings

    def everywhere(self, items: int) -> dict[str, Floats]:
        """Factors and biases of all items; zero where the group has no rating."""
        H, b_h = np.zeros((items, self.H.shape[1])), np.zeros(items)
        H[self.items], b_h[self.items] = self.H, self.b_h
        return {"H": H, "b_h": b_h}


def unable(history: History) -> str:
    """Why these rows cannot be factorised, in one sentence; "" where they can."""
    people = len(history.people)
    if people < 2:
        what = "only one person has" if people else "nobody has"
        return f"a group must have two people with ratings, but {what} any here; join after training instead."
    if history.value.min() <= 0:
        return f"ratings must be above 0, but one is {history.value.min():g}; shift the scale."
    return ""


def mark(history: History) -> str:
    """A name for these ratings that only their holder can make: a group's own settings are kept under it."""
    parts = (history.item, history.value, history.owners)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def held_out_error(
    history: History, mu: float, method: CnmfSettings, people: int, stream: Stream, share: float = 0.2
) -> float:
    """The mean squared error of the group's own factorisation on a share of its ratings, at random."""
    out = stream.coins(share, len(history))
    if not 0 < out.sum() < len(out) or unable(kept := history.rows(~out)):
        return float(np.square(history.value - mu).mean())
    local = factorise_group(kept, mu, method, people, stream)
    everywhere, asked = local.everywhere(int(history.item.max()) + 1), history.rows(out)
    who = asked.owners
    estimate = np.einsum("nf,nf->n", local.W[who], everywhere["H"][asked.item])
    estimate += local.b_w[who] + everywhere["b_h"][asked.item] + mu
    return float(np.square(asked.value - estimate).mean())


def factorise_group(
    history: History, mu: float, method: CnmfSettings, people: int, stream: Stream, wide: int | None = None
) -> LocalModel:
    """Collaborative NMF of the group's ratings; k is at most one less than the people who have any.

    Factors are padded with zeros to `wide` columns, those of the method by default.
    """
    wide = wide or method.factors
    items, column = np.unique(history.item, return_inverse=True)
    ratings = Sparse.of_people(history.owners, column.astype(np.int32), history.value, people)
    k, n = min(method.factors, wide, len(history.people) - 1), len(items)
    start = random_factors(stream.words(words_needed(people, n, k)), people, n, k)
    found, _ = factorise(ratings, start, mu, method.rates, method.epochs)
    counts = np.bincount(column).astype(np.float64)
    residual = np.bincount(column, history.value - mu) / counts
    room = ((0, 0), (0, wide - k))
    return LocalModel(
        np.pad(found.W, room), found.b_w, items, np.pad(found.H, room), found.b_h, counts, residual
    )


def join(
    history: History, patterns: Floats, b: Floats, mu: float, rates: CnmfRates, people: int
) -> tuple[Floats, Floats]:
    """W and b_W of people who were not there: patterns, item biases and mean stay as they are.

    The rule is for ratings above 0; others tell it nothing.
    """
    history = history.rows(history.value > 0)
    ratings = Sparse.of_people(history.owners, history.item, history.value, people)
    return fit_users(ratings, patterns, b, mu, rates)


def solve_ridge(
    history: History, patterns: Floats, base: Floats, ridge: float, ridge_bias: float, people: int
) -> tuple[Floats, Floats]:
    """Everyone's w and bias: the least squares of r - base_j - bias - w . patterns_j, with these ridges."""
    k = patterns.shape[1]
    W, b_w = np.zeros((people, k)), np.zeros(people)
    penalty = np.diag([ridge_bias] + [ridge] * k)
    person = history.owners
    for who in history.people.tolist():
        own = history.item[person == who]
        A = np.column_stack([np.ones(len(own)), patterns[own]])
        solved = np.linalg.solve(A.T @ A + penalty, A.T @ (history.value[person == who] - base[own]))
        b_w[who], W[who] = solved[0], solved[1:]
    return W, b_w
