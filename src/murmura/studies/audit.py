"""An audit: a federation is trained again with every letter recorded, attacked, and judged.

Training is a function of its settings and seed, so a run that kept no individual update can still be audited:
the same letters leave again, are read in memory, and are forgotten. Only what was found is written down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import ALGORITHMS
from murmura.audit.attack import Attack, ItemAttack, Known, Observed, RatingAttack
from murmura.audit.fedsplit_ratings import HintsAlone
from murmura.audit.hints import SHARES, Guessed, guess
from murmura.audit.insiders import claims_of
from murmura.audit.judge import Verdict, judge
from murmura.audit.references import Chance, Popularity
from murmura.audit.registry import attack, attacks_on
from murmura.core.errors import RunError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.record import Letter
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.core.settings import as_dict
from murmura.engine.fitted import Fitted
from murmura.engine.run import Run
from murmura.evaluation.intervals import Interval, bootstrap_intervals
from murmura.runtimes.simulation import Simulated
from murmura.studies.methods import method
from murmura.studies.single import prepare_run, read_config

FILE = "audit.json"
LEVEL = 0.95
HINTS = HintsAlone.name  # the reference of guessed ratings
OWN = Purpose.OWN + 6  # the stream of guesses and hints


@dataclass(frozen=True)
class Finding:
    """What one attack found about clients or people."""

    attack: str
    title: str
    of: str  # "client" or "person"
    victims: int
    matched: float
    values: dict[str, Interval]


@dataclass(frozen=True)
class Point:
    """One share of hints: what guesses of ratings were worth."""

    attack: str
    kind: str
    share: float
    values: dict[str, Interval]


@dataclass(frozen=True)
class Audit:
    """Everything one audit says."""

    method: str
    seed: int
    clients: int
    letters: int
    findings: tuple[Finding, ...]
    points: tuple[Point, ...]

    def plain(self) -> dict[str, Any]:
        """As the run folder keeps it."""
        return {
            "method": self.method,
            "seed": self.seed,
            "clients": self.clients,
            "letters": self.letters,
            "findings": [_flat(one) for one in self.findings],
            "points": [_flat(one) for one in self.points],
        }


def audit_run(
    folder: Path, names: Sequence[str] = (), data_dir: Path | None = None, progress: Progress = SILENT
) -> Audit:
    """Audit the federated method of a run folder on its data and with its seed, and keep the result there."""
    config = read_config(folder)
    name = str(config.model["name"])
    require_attackable(name)
    run, (prepared, settings) = Run.open(folder), prepare_run(config, data_dir)
    if run.has("data.json") and prepared.describe()["fingerprint"] != run.read("data.json")["fingerprint"]:
        raise RunError(
            f"the data must be what {folder} was fitted on, but its fingerprint differs; fix --data-dir."
        )
    ready = method(name, settings, config.workers)
    assert isinstance(ready, Simulated)
    found = audit(ready, prepared.split.train, config.seed, names, progress)
    run.write_json(FILE, found.plain())
    return found


def require_attackable(name: str) -> None:
    """Refuse a method whose data never leaves in messages."""
    if name not in ALGORITHMS:
        raise SettingError(
            f"an audit needs a federated method, whose clients send something, but '{name}' is none; "
            f"take one of {', '.join(ALGORITHMS)}."
        )


def audit(
    ready: Simulated, train: Interactions, seed: int, names: Sequence[str] = (), progress: Progress = SILENT
) -> Audit:
    """Train with the letters recorded, attack them (no attack named: with all that apply), and judge."""
    chosen = _chosen(ready, names)
    letters: list[Letter] = []
    fitted = ready.fit(train, seed, progress, record=letters.append)
    observed, known = Observed(tuple(letters)), _known(fitted)
    items = [one for one in chosen if isinstance(one, ItemAttack)]
    ratings = [one for one in chosen if isinstance(one, RatingAttack)]
    findings = _item_findings(items, observed, known, fitted, seed)
    points = _rating_points(ratings, observed, known, fitted, seed) if ratings else ()
    return Audit(ready.name, seed, known.public.clients, len(letters), findings, points)


def _chosen(ready: Simulated, names: Sequence[str]) -> list[Attack]:
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


def _known(fitted: Fitted) -> Known:
    plan = fitted.plan
    popularity = np.bincount(plan.people.item, minlength=plan.public.items)
    people = plan.data.n_users if plan.groups is None else int((plan.groups >= 0).sum())
    return Known(plan.public, as_dict(plan.algorithm), popularity, people)


def _item_findings(
    attacks: Sequence[ItemAttack], observed: Observed, known: Known, fitted: Fitted, seed: int
) -> tuple[Finding, ...]:
    """Every attack, then those who read no letter, about the same victims."""
    rng = Rng(server_secret(seed))
    judged: list[tuple[ItemAttack, str, Verdict]] = []
    for one in attacks:
        claims = claims_of(one, observed, known, fitted.plan.people, rng.stream(OWN))
        judged.append((one, claims.of, _verdict(fitted, known, claims)))
    for of in ("client", "person"):
        if of in {what for _, what, _ in judged}:
            for reference in (Popularity(of), Chance(of)):
                claims = reference.claims(observed, known, rng.stream(OWN))
                judged.append((reference, of, _verdict(fitted, known, claims)))
    return tuple(
        Finding(
            one.name, one.title, of, verdict.victims, verdict.matched, bootstrap_intervals(verdict.per_client)
        )
        for one, of, verdict in judged
    )


def _verdict(fitted: Fitted, known: Known, claims: Any) -> Verdict:
    return judge(claims, fitted.plan.people, known.popularity, known.public.listed)


def _rating_points(
    attacks: Sequence[RatingAttack], observed: Observed, known: Known, fitted: Fitted, seed: int
) -> tuple[Point, ...]:
    stream = Rng(server_secret(seed), 1).stream(OWN)
    found: list[Guessed] = guess([*attacks, HintsAlone()], observed, known, fitted.plan.people, stream, SHARES)
    return tuple(Point(one.attack, one.kind, one.share, bootstrap_intervals(one.per_client)) for one in found)


def read_audit(run: Run) -> Audit | None:
    """The audit a run folder keeps, if it has one."""
    if not run.has(FILE):
        return None
    kept = run.read(FILE)
    try:
        findings = tuple(Finding(**{**one, "values": _intervals(one["values"])}) for one in kept["findings"])
        points = tuple(Point(**{**one, "values": _intervals(one["values"])}) for one in kept["points"])
        return Audit(**{**kept, "findings": findings, "points": points})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{run.path / FILE} is damaged ({error}); run `murmura audit {run.path}` again."
        ) from None


def _flat(one: Finding | Point) -> dict[str, Any]:
    """Plain values; an interval is mean, low and high, None where it is not defined."""
    values = {
        key: [None if math.isnan(x) else x for x in (found.mean, found.low, found.high)]
        for key, found in one.values.items()
    }
    return {**one.__dict__, "values": values}


def _intervals(values: dict[str, list[float | None]]) -> dict[str, Interval]:
    found = {}
    for key, three in values.items():
        mean, low, high = (math.nan if x is None else float(x) for x in three)
        found[key] = Interval(mean, low, high, LEVEL)
    return found
