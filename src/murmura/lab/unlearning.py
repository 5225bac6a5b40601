"""Who leaves can be taken out of sums that still exist, so that the model is the one they were never part of.

One-shot sums (`fed-ease`, `fed-item-knn`) are whole numbers that the server keeps: what people sent is
subtracted, exactly. Rounds of training keep no sums; there a contribution is bounded (clip, noise), and only a
new training leaves it out.

**Never fewer at once than the minimum of a sum.** A model that was published is known; the difference between
it and the one without a single person is that person's list. Leavers are put together until they are as many as
a sum needs, or wait for a release before which as many have come and gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import Phase, RoundContext, ServerState, Total
from murmura.core.errors import SettingError
from murmura.core.update import RunningSum
from murmura.engine.federation import Federation


def unlearned(f: Federation, clients: Sequence[int]) -> ServerState:
    """The server of this federation as if these clients had never been in it; refuses too few at once."""
    leaving = np.unique(np.asarray(clients, np.int32))
    check_batch(len(leaving), f.plan.channel.minimum_cohort if f.plan.channel.on else 1)
    if f.plan.itinerary.training:  # what they sent is not worked out before it is known to be of use
        return f.plan.algorithm.server_unlearn(f.server, {})
    gone = {phase.name: _sum(f, phase, done, leaving) for done, phase in enumerate(f.plan.itinerary.setup)}
    return f.plan.algorithm.server_unlearn(f.server, gone)


def check_batch(leaving: int, minimum: int) -> None:
    """Refuse to take so few out of a release that the difference would tell of them."""
    if leaving < minimum:
        raise SettingError(
            f"at least {minimum} people must leave a release together, but {leaving} do: the difference of the "
            "two releases would be theirs; wait for others, or for the next release."
        )


def _sum(f: Federation, phase: Phase, done: int, clients: Ints) -> Total:
    """What these clients sent in an exchange: their steps are pure, so they can be taken again."""
    total, algorithm, people = RunningSum(), f.plan.algorithm, f.plan.people
    round = f.plan.itinerary.at(done).round
    for client in f.takes_part(phase, clients).tolist():
        history, rng = people.history(client, round), people.rng(client, round)
        context = RoundContext(f.plan.info, phase.name, round, f.received_model(phase))
        total.add(algorithm.client_step(context, f.client(client), history, rng)[1])
    return Total(total.update(), total.count)
