"""One training under attack: every update recorded in memory, read by every attack, judged, and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.audit.attack import (
    AdversaryKnowledge,
    Attack,
    ItemAttack,
    ObservedUpdates,
    RatingAttack,
    claims_of,
)
from murmura.audit.fedsplit.group_ratings import HintsAlone
from murmura.audit.judge import AttackScores, judge
from murmura.audit.known_ratings import SHARES, GuessScores, guess
from murmura.audit.reference_attacks import ChanceReference, PopularityReference
from murmura.audit.registry import attack, attacks_on
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.core.settings import as_dict
from murmura.core.update import SentUpdate
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.simulation import FederatedMethod

OWN = Purpose.OWN + 6  # the stream of guesses and hints


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The verdict on one attack."""

    attack: ItemAttack
    of: str  # "client" or "person"
    verdict: AttackScores


@dataclass(frozen=True, eq=False)
class TrainingAudit:
    """What came of one training."""

    clients: int
    updates: int
    grouped: bool  # whether clients are groups, which another seed draws anew
    results: tuple[AttackResult, ...]
    guesses: tuple[GuessScores, ...]


def chosen_attacks(ready: FederatedMethod, names: Sequence[str]) -> list[Attack]:
    """The attacks of these names, or all that apply; refuses those against another method."""
    algorithm = ready.preset.algorithm().name
    chosen = [attack(name) for name in names] or list(attacks_on(algorithm))
    for one in chosen:
        if algorithm not in one.against:
            raise SettingError(
                f"the attack '{one.name}' must be against {algorithm}, but is against {', '.join(one.against)}."
            )
    if not chosen:
        raise SettingError(f"{ready.name} must have an attack against its updates to be audited, but has none.")
    return chosen


def attack_training(
    ready: FederatedMethod,
    train: Interactions,
    seed: int,
    attacks: Sequence[Attack],
    progress: Progress = SILENT,
) -> TrainingAudit:
    """Train with the updates recorded, attack them, and judge; beside them those who read no update."""
    updates: list[SentUpdate] = []
    fitted = ready.fit(train, seed, progress, record=updates.append)
    observed, known = ObservedUpdates(tuple(updates)), _known(fitted)
    items = [one for one in attacks if isinstance(one, ItemAttack)]
    ratings = [one for one in attacks if isinstance(one, RatingAttack)]
    guessed: Sequence[GuessScores] = ()
    if ratings and observed.phase("factors"):
        stream = Rng(server_secret(seed), 1).stream(OWN)
        guessed = guess([*ratings, HintsAlone()], observed, known, fitted.plan.people, stream, SHARES)
    return TrainingAudit(
        known.info.clients,
        len(updates),
        fitted.plan.groups is not None,
        _judged(items, observed, known, fitted, seed),
        tuple(guessed),
    )


def _known(fitted: FederatedModel) -> AdversaryKnowledge:
    plan = fitted.plan
    popularity = np.bincount(plan.people.item, minlength=plan.info.items)
    people = plan.data.n_users if plan.groups is None else int((plan.groups >= 0).sum())
    return AdversaryKnowledge(plan.info, as_dict(plan.algorithm), popularity, people)


def _judged(
    attacks: Sequence[ItemAttack],
    observed: ObservedUpdates,
    known: AdversaryKnowledge,
    fitted: FederatedModel,
    seed: int,
) -> tuple[AttackResult, ...]:
    """Every attack, then those who read no update, about the same victims."""
    rng, made = Rng(server_secret(seed)), list[AttackResult]()
    for one in attacks:
        claims = claims_of(one, observed, known, fitted.plan.people, rng.stream(OWN))
        made.append(AttackResult(one, claims.of, _verdict(fitted, known, claims)))
    for of in ("client", "person"):
        if of in {one.of for one in made}:
            for reference in (PopularityReference(of), ChanceReference(of)):
                claims = reference.claims(observed, known, rng.stream(OWN))
                made.append(AttackResult(reference, of, _verdict(fitted, known, claims)))
    return tuple(made)


def _verdict(fitted: FederatedModel, known: AdversaryKnowledge, claims: Any) -> AttackScores:
    return judge(claims, fitted.plan.people, known.popularity, known.info.listed)
