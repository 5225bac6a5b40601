"""What a group of FedSPLIT computes on its own machine, and what the server makes of the groups' updates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints
from murmura.core.contract import History
from murmura.core.rng import Stream
from murmura.core.update import SparseRows
from murmura.kernels.factorisation.cnmf_steps import (
    CnmfRates,
    CnmfSettings,
    factorise,
    fit_users,
    random_factors,
    words_needed,
)
from murmura.kernels.factorisation.nmf import nmf
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
    ratings = Sparse.of_users(history.owners, column.astype(np.int32), history.value, people)
    k, n = min(method.factors, wide, len(history.people) - 1), len(items)
    start = random_factors(stream.words(words_needed(people, n, k)), people, n, k)
    found, _ = factorise(ratings, start, mu, method.rates, method.epochs)
    counts = np.bincount(column).astype(np.float64)
    residual = np.bincount(column, history.value - mu) / counts
    padding = ((0, 0), (0, wide - k))
    return LocalModel(
        np.pad(found.W, padding), found.b_w, items, np.pad(found.H, padding), found.b_h, counts, residual
    )


def join(
    history: History, patterns: Floats, b: Floats, mu: float, rates: CnmfRates, people: int
) -> tuple[Floats, Floats]:
    """W and b_W of people who were not there: patterns, item biases and mean stay as they are.

    The rule is for ratings above 0; others tell it nothing.
    """
    history = history.rows(history.value > 0)
    ratings = Sparse.of_users(history.owners, history.item, history.value, people)
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


Matrix = NDArray[Any]

LARGEST = 1e6  # no number of an update is larger: sums and products of such stay finite
SURE = 0.01  # no group counts for more than if its own error were this


def too_large(values: Matrix) -> str | None:
    """Why an update with these numbers is left out, in one sentence; None takes it."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        return f"the numbers of an update must be at most {LARGEST:g} in size, but one is {largest:g}."
    return None


@dataclass(frozen=True, eq=False)
class GroupFactors:
    """What one group sent of the items it has rated."""

    items: Ints  # (n,)
    H: Matrix  # (n, factors) columns beyond the group's own k are zero
    b: Matrix  # (n,)
    counts: Matrix  # (n,) ratings of each item, 1 where they are not sent
    weight: float = 1.0  # how much it counts beside the others

    @staticmethod
    def of(rows: SparseRows, factors: int, counted: bool, weight: float = 1.0) -> GroupFactors:
        """From the rows of the table: factors, bias, perhaps count."""
        counts = rows.values[:, factors + 1] if counted else np.ones(len(rows), rows.values.dtype)
        return GroupFactors(rows.index, rows.values[:, :factors], rows.values[:, factors], counts, weight)


def combine_biases(
    updates: Iterable[GroupFactors], items: int, over_all: bool, shrink: float
) -> tuple[Floats, Floats]:
    """The bias of every item, and the ratings (or groups) each has.

    Weighed by counts over the groups that sent the item, plus `shrink` ratings of zero; or, `over_all`, summed
    and divided by the number of groups (equation 16): a group that never saw the item counts as a zero.
    """
    total, seen, groups = np.zeros(items), np.zeros(items), 0.0
    for factors in updates:
        total[factors.items] += factors.weight * factors.counts * factors.b
        seen[factors.items] += factors.weight * factors.counts
        groups += factors.weight
    return total / (groups if over_all else np.maximum(seen + shrink, np.finfo(np.float64).tiny)), seen


def joint_patterns(
    updates: Mapping[int, GroupFactors], items: int, patterns: int, iterations: int
) -> tuple[Matrix, dict[int, Matrix]]:
    """X = [H1, H2, ...] ~ patterns M (equations 15 and 17): (items, K), and every group's own (K, factors)."""
    used = {client: np.flatnonzero(factors.H.any(axis=0)) for client, factors in updates.items()}
    first = next(iter(updates.values())).H
    X = np.zeros((items, sum(map(len, used.values()))), first.dtype)
    at = 0
    for client, factors in updates.items():
        X[factors.items, at : at + len(used[client])] = np.sqrt(factors.weight) * factors.H[:, used[client]]
        at += len(used[client])
    K = min(patterns, *X.shape)  # more have nothing to say; they stay zero
    found = nmf(X, K, iterations)
    wide = np.zeros((items, patterns), first.dtype)
    wide[:, :K] = found.W
    parts, at = {}, 0
    for client, columns in used.items():
        parts[client] = np.zeros((patterns, first.shape[1]), first.dtype)
        parts[client][:K, columns] = found.H[:, at : at + len(columns)] / np.sqrt(updates[client].weight)
        at += len(columns)
    return wide, parts


def aligned(patterns: Matrix, parts: Mapping[int, Matrix], seen: Floats) -> Floats:
    """The same patterns turned to the principal axes of what the groups sent, for a ridge to treat fairly.

    patterns M = U s V': the axes U, as long as their weight s / s_1, centred over ratings so that they do not
    double the user bias. Strong axes are then penalised little, and those that are mostly noise a lot.
    """
    M = np.hstack([*parts.values()]).astype(np.float64)
    Q, R = np.linalg.qr(patterns.astype(np.float64))
    turn, s, _ = np.linalg.svd(R @ M, full_matrices=False)
    axes = (Q @ turn) * (np.sqrt(len(patterns)) * s / max(s[0], np.finfo(np.float64).tiny))
    wide = np.zeros(patterns.shape)
    wide[:, : axes.shape[1]] = axes - (seen / max(seen.sum(), 1.0)) @ axes
    return wide
