"""What is left over of one person's upload when all others of a sum are taken off.

Sums are exact, so it does not matter what the others sent: a cohort of hers and of so many who send nothing,
through the same channel with the same noise, leaves the same over.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from murmura.channel.chain import Chain
from murmura.channel.noise import simulated_noise
from murmura.core.contract import RoundContext, Total
from murmura.core.observed_sum import ObservedSum
from murmura.core.update import SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.engine.visit import visit

AGAIN = 2**62  # added to a seed: the noise of another release


def left_over(fitted: FederatedModel, asked: ObservedSum, victim: int, releases: int) -> ObservedSum:
    """Her upload in an exchange like this one, with the noise of one release, or of two that differ by her."""
    plan, people = fitted.plan, fitted.plan.people
    context = RoundContext(asked.info, asked.phase.name, asked.round, asked.model)
    state = {name: stack[victim] for name, stack in fitted.states.items()}
    history, rng = people.history(victim, asked.round), people.rng(victim, asked.round)
    chain = plan.chains.get(asked.phase.name)
    made = visit(plan.algorithm, asked.phase, context, state, history, rng, chain)
    update = made.update
    if chain is not None and made.vector is not None:
        seed = plan.seed + AGAIN + 2 * victim
        sums = made.vector.astype(np.int64)
        update = _released(chain, sums, len(asked.clients) - 1, seed, asked.round).update
        if releases == 2:
            without = _released(chain, 0 * sums, len(asked.clients) - 1, seed + 1, asked.round).update
            update = _minus(update, without)
    return replace(asked, clients=np.array([victim], np.int32), total=Total(update, 1))


def _released(chain: Chain, sums: np.ndarray, others: int, seed: int, round: int) -> Total:
    """The sum of so many more who send nothing, with noise of its own."""
    sums = sums.copy()
    sums[0] += others
    source = simulated_noise(seed) if chain.noisy else None
    return replace(chain, source=source).sum_up(sums, round)


def _minus(one: Update, other: Update) -> Update:
    tables = {}
    for name, rows in one.tables.items():
        taken = other.tables[name]
        tables[name] = SparseRows(rows.index, rows.values.astype(np.float64)) + SparseRows(
            taken.index, -taken.values.astype(np.float64)
        )
    return Update(tables)
