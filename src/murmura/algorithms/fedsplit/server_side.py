"""What the server of FedSPLIT makes of the groups' updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints
from murmura.core.update import SparseRows
from murmura.kernels.factorisation.nmf import nmf

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
