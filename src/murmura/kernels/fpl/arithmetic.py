"""The arithmetic of FPL, compiled: gradients of one triple, and a client's passes over a frozen model.

What is called for every triple takes arrays, never a tuple of them: each array of a tuple that is handed over
is counted up and down again, and some twenty such counts take longer than the triple itself.

The reference implementation is `algorithms.fpl`; sums may be added in another order. Everything is generic in
the precision of the model: float32 to run, float64 to compare with the reference.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np

from murmura.core.arrays import Floats
from murmura.kernels.client_blocks import Disclosed, FlatPopulation, Index, Sums, Values, open_row
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.triples import Draws


class FplRates(NamedTuple):
    """Learning rate and regularisation, in the precision of the model."""

    alpha: Any  # of the step of a round
    user: Any
    positive: Any
    negative: Any
    one: Any
    local: Any  # alpha of passes over a model that stays as it is
    decay: float  # alpha of round t is alpha / (1 + decay t)


class FplModel(NamedTuple):
    """What is learned, and how fast: the vectors of clients and items, and the biases of items."""

    P: Values  # (clients, factors)
    Q: Values  # (items, factors)
    b: Values  # (items,)
    rates: FplRates


class VisitRules(NamedTuple):
    """What clients do in a visit."""

    triples: Floats  # (clients,) how many a visit makes on average; a coin rounds it
    warm: int
    frozen: bool  # p_u stays until the end of the visit
    counted: bool  # a row ends with the sum of the weights of those who sent it


class Workspace(NamedTuple):
    """All that one worker reads and writes; everything but the draws is everybody's."""

    model: FplModel
    people: FlatPopulation
    rules: VisitRules
    draws: Draws
    tally: Disclosed


@compiled
def rates_at(rates: FplRates, step: Any, round_: int, b: Values) -> tuple[FplRates, Any]:
    """The rates with the client's learning rate of a round, and the server's, in the precision of b."""
    alpha, user, positive, negative, one, local, decay = rates
    scratch = np.empty(2, b.dtype)
    scratch[0], scratch[1] = alpha / (1.0 + decay * round_), step / (1.0 + decay * round_)
    return FplRates(scratch[0], user, positive, negative, one, local, decay), scratch[1]


@compiled(fast=True, inline=True)
def weigh(x: Any, weight: Any) -> Any:
    """x times the weight, if there is one."""
    if weight is None:
        return x
    return weight * x


@compiled(fast=True, inline=True)
def pull(p: Values, Q: Values, i: Index, j: Index, margin: Any, one: Any) -> Any:
    """1 - sigma(x_ui - x_uj); `margin` is b_i - b_j."""
    for f in range(len(p)):
        margin += p[f] * (Q[i, f] - Q[j, f])
    return one / (one + exp(margin))


@compiled(fast=True, inline=True)
def move_user(p: Values, Q: Values, i: Index, j: Index, g: Any, alpha: Any, decay: Any) -> None:
    """p_u after one triple."""
    for f in range(len(p)):
        p[f] += alpha * (g * (Q[i, f] - Q[j, f]) - decay * p[f])


@compiled(fast=True, inline=True)
def move_apart(moved: Values, p: Values, Q: Values, i: Index, j: Index, g: Any, alpha: Any, decay: Any) -> None:
    """What one triple adds to the p_u of the end, while p_u itself stays."""
    for f in range(len(p)):
        moved[f] += alpha * (g * (Q[i, f] - Q[j, f]) - decay * p[f])


@compiled(fast=True, inline=True)
def add_gradient(
    sums: Values, place: int, p: Values, Q: Values, item: Index, g: Any, decay: Any, weight: Any
) -> None:
    """Add one triple's gradient of an item, weighted, to its row of sums, the bias after the factors."""
    n = len(p)
    for f in range(n):
        sums[place, f] += weigh(g * p[f] - decay * Q[item, f], weight)
    sums[place, n] += weigh(g, weight)


@compiled(fast=True, inline=True)
def add_both(
    sums: Values,
    place_i: int,
    place_j: int,
    p: Values,
    Q: Values,
    i: Index,
    j: Index,
    g: Any,
    rates: FplRates,
    weight: Any,
) -> None:
    """`add_gradient` of both items and `move_user`, the usual case.

    A loop for each: one that writes several rows at once cannot run in lanes, as they might be the same row.
    """
    n = len(p)
    for f in range(n):
        sums[place_i, f] += weigh(g * p[f] - rates.positive * Q[i, f], weight)
    for f in range(n):
        sums[place_j, f] -= weigh(g * p[f] + rates.negative * Q[j, f], weight)
    for f in range(n):
        p[f] += rates.alpha * (g * (Q[i, f] - Q[j, f]) - rates.user * p[f])
    sums[place_i, n] += weigh(g, weight)
    sums[place_j, n] -= weigh(g, weight)


@compiled
def local_passes(p: Values, n: int, work: Workspace) -> None:
    """Move p over n drawn triples, the model as it is."""
    _, Q, b, rates = work.model
    item, row, negative = work.people.item, work.draws.row, work.draws.negative
    for t in range(n):
        i, j = item[row[t]], negative[t]
        g = pull(p, Q, i, j, b[i] - b[j], rates.one)
        move_user(p, Q, i, j, g, rates.local, rates.user)


@compiled
def user_ascent(p: Values, moved: Values, weight: Any, n: int, work: Workspace, used: int, sums: Sums) -> int:
    """Add the weighted gradients of n triples to their items' rows and move p_u; the rows in use afterwards.

    Frozen (the papers' equations) p_u stays and `moved` becomes the p_u of the end.
    """
    _, Q, b, rates = work.model
    row, negative, send, _ = work.draws
    item, frozen, (slot, touched, values, _, _, _) = work.people.item, work.rules.frozen, sums
    if frozen:
        moved[:] = p
    for t in range(n):
        i, j = item[row[t]], negative[t]
        g = pull(p, Q, i, j, b[i] - b[j], rates.one)
        if send[t]:
            used = open_row(i, used, slot, touched, values)
        used = open_row(j, used, slot, touched, values)
        if send[t] and not frozen:
            add_both(values, slot[i], slot[j], p, Q, i, j, g, rates, weight)
            continue
        if send[t]:
            add_gradient(values, slot[i], p, Q, i, g, rates.positive, weight)
        add_gradient(values, slot[j], p, Q, j, -g, rates.negative, weight)
        if frozen:
            move_apart(moved, p, Q, i, j, g, rates.alpha, rates.user)
        else:
            move_user(p, Q, i, j, g, rates.alpha, rates.user)
    return used
