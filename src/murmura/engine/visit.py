"""One client's visit: the algorithm's step, checks of what leaves, what it discloses, the channel's vector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import Chain
from murmura.core.arrays import Bools
from murmura.core.contract import Algorithm, ClientState, History, Phase, RoundContext
from murmura.core.errors import FederationError
from murmura.core.features import ItemFeatures
from murmura.core.rng import Rng
from murmura.core.update import Update


@dataclass(frozen=True, eq=False)
class Visit:
    """What came of one visit."""

    state: ClientState
    update: Update  # without the rows that its channel drops
    shown: Bools  # (rows,) which rows of the history it discloses
    vector: NDArray[Any] | None = None  # what leaves, where it goes through a channel


def visit(
    algorithm: Algorithm,
    phase: Phase,
    context: RoundContext,
    state: ClientState,
    history: History,
    rng: Rng,
    chain: Chain | None,
) -> Visit:
    """What the client keeps and what leaves it; an error carries a note of the stage it happened in."""
    with stage("client_step"):
        state, update = algorithm.client_step(context, state, history, rng)
    with stage("check of what leaves"):
        phase.sends.check(update)
        check_consent(phase, update, history, context.info.features)
    vector = None
    if chain is not None:
        with stage("channel"):
            update = chain.layout.inside(update, context.round)
            vector = chain.device(update, rng, context.round)
    with stage("client_discloses"):
        shown = algorithm.client_discloses(phase, update, history, rng)
    return Visit(state, update, shown, vector)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Note on an error where it happened."""
    try:
        yield
    except Exception as error:
        error.add_note(name)
        raise


def check_consent(phase: Phase, update: Update, history: History, features: ItemFeatures | None) -> None:
    """Refuse an update with a row of an item not shared, or of a feature that no shared item has."""
    unshared = history.item[history.consent == 0]
    for table in phase.sends.tables:
        if table.space == "feature" and features is not None:
            shared = features.of_items(history.item[history.consent > 0])
            if not np.isin(update.tables[table.name].index, shared).all():
                raise FederationError(
                    f"the table '{table.name}' must hold features of shared items alone, but holds others."
                )
        if table.space == "item" and np.isin(update.tables[table.name].index, unshared).any():
            raise FederationError(
                f"the table '{table.name}' must not hold a row of an item its owner does not share, but does."
            )
