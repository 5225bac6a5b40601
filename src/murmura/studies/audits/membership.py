"""Who was in a training, by the final model alone: it is trained again without some of the people, by coins."""

from __future__ import annotations

import numpy as np

from murmura.audit.judge import AttackScores, judge_traces
from murmura.audit.sums.membership import ModelMembership
from murmura.core.arrays import Floats, Ints
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Stream
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.simulation import FederatedMethod


def membership_scores(
    attack: ModelMembership,
    ready: FederatedMethod,
    train: Interactions,
    seed: int,
    victims: Ints,
    stream: Stream,
    progress: Progress = SILENT,
) -> AttackScores:
    """Leave each victim out of the training or not, by a fair coin, and tell them apart by what came of it.

    How well somebody fits is measured beside how well she fits a model without any of the victims.
    """
    inside = stream.coins(np.full(len(victims), 0.5))
    if inside.all() or not inside.any():
        raise DataError(
            f"people in and out of a training are told apart, but {len(victims)} coins gave one kind alone; "
            "take more people or another seed."
        )
    fits = []
    for left_out in (victims[~inside], victims):
        fitted = ready.fit(train.rows(~np.isin(train.user, left_out)), seed, progress)
        fits.append(_fits(attack, fitted, train, victims))
    found = fits[0] - fits[1]
    return judge_traces(found[:, None], inside[:, None], victims, train.n_users)


def _fits(attack: ModelMembership, fitted: FederatedModel, train: Interactions, victims: Ints) -> Floats:
    """How well each victim's items fit a model she is folded into."""
    rows, found = train.by_user, np.zeros(len(victims))
    for n, victim in enumerate(victims.tolist()):
        own = rows.order[rows.start[victim] : rows.start[victim + 1]]
        items, time = train.item[own], None if train.time is None else train.time[own]
        found[n] = attack.score(fitted.score_history(items, time), items, fitted.plan.info.listed)
    return found
