"""One training under attack: every letter recorded in memory, read by every attack, judged, and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmura.audit.attack import Attack, ItemAttack, Known, Observed, RatingAttack
from murmura.audit.fedsplit_ratings import HintsAlone
from murmura.audit.hints import SHARES, Guessed, guess
from murmura.audit.insiders import claims_of
from murmura.audit.judge import Verdict, judge
from murmura.audit.references import Chance, Popularity
from murmura.audit.registry import attack, attacks_on
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.record import Letter
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.core.settings import as_dict
from murmura.engine.fitted import Fitted
from murmura.runtimes.simulation import Simulated

OWN = Purpose.OWN + 6  # the stream of guesses and hints


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdict on one attack."""

    attack: ItemAttack
    of: str  # "client" or "person"
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class Attacked:
    """What came of one training."""

    clients: int
    letters: int
    grouped: bool  # whether clients are groups, which another seed draws anew
    judged: tuple[Judged, ...]
    guessed: tuple[Guessed, ...]


def chosen_attacks(ready: Simulated, names: Sequence[str]) -> list[Attack]:
    """The attacks of these names, or all that apply; refuses those against another method."""
    algorithm = ready.preset.algorithm().name
    chosen = [attack(name) for name in names] or list(attacks_on(algorithm))
    for one in chosen:
        if algorithm not in one.against:
            raise SettingError(
                f"the attack '{one.name}' must be against {algorithm}, but is against {', '.join(one.against)}."
            )
    if not chosen:
        raise SettingError(f"{ready.name} must have an attack against its letters to be audited, but has none.")
    return chosen


def attacked(
    ready: Simulated, train: Interactions, seed: int, attacks: Sequence[Attack], progress: Progress = SILENT
) -> Attacked:
    """Train with the letters recorded, attack them, and judge; beside them those who read no letter."""
    letters: list[Letter] = []
    fitted = ready.fit(train, seed, progress, record=letters.append)
    observed, known = Observed(tuple(letters)), _known(fitted)
    items = [one for one in attacks if isinstance(one, ItemAttack)]
    ratings = [one for one in attacks if isinstance(one, RatingAttack)]
    guessed: Sequence[Guessed] = ()
    if ratings and observed.phase("factors"):
        stream = Rng(server_secret(seed), 1).stream(OWN)
        guessed = guess([*ratings, HintsAlone()], observed, known, fitted.plan.people, stream, SHARES)
    return Attacked(
        known.public.clients,
        len(letters),
        fitted.plan.groups is not None,
        _judged(items, observed, known, fitted, seed),
        tuple(guessed),
    )


def _known(fitted: Fitted) -> Known:
    plan = fitted.plan
    popularity = np.bincount(plan.people.item, minlength=plan.public.items)
    people = plan.data.n_users if plan.groups is None else int((plan.groups >= 0).sum())
    return Known(plan.public, as_dict(plan.algorithm), popularity, people)


def _judged(
    attacks: Sequence[ItemAttack], observed: Observed, known: Known, fitted: Fitted, seed: int
) -> tuple[Judged, ...]:
    """Every attack, then those who read no letter, about the same victims."""
    rng, made = Rng(server_secret(seed)), list[Judged]()
    for one in attacks:
        claims = claims_of(one, observed, known, fitted.plan.people, rng.stream(OWN))
        made.append(Judged(one, claims.of, _verdict(fitted, known, claims)))
    for of in ("client", "person"):
        if of in {one.of for one in made}:
            for reference in (Popularity(of), Chance(of)):
                claims = reference.claims(observed, known, rng.stream(OWN))
                made.append(Judged(reference, of, _verdict(fitted, known, claims)))
    return tuple(made)


def _verdict(fitted: Fitted, known: Known, claims: Any) -> Verdict:
    return judge(claims, fitted.plan.people, known.popularity, known.public.listed)
