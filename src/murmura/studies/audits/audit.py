"""An audit: a federation is trained again with every update recorded, attacked, and judged.

Training is a function of its settings and seed, so a run that kept no individual update can still be audited:
the same updates leave again, are read in memory, and are forgotten. Only what was found is written down. Of a
comparison every federated entry is audited: what its updates give away, beside what it is worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from murmura.algorithms import ALGORITHMS
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
from murmura.audit.poisoning.attack import PoisoningAttack
from murmura.audit.reference_attacks import ChanceReference, PopularityReference
from murmura.audit.registry import ATTACKS, attack
from murmura.audit.sums.canaries import CanaryScores
from murmura.audit.sums.observed import ObservedSums
from murmura.core.arrays import Floats
from murmura.core.errors import RunError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.locks import locked
from murmura.core.observed_sum import ObservedSum
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.core.settings import as_dict
from murmura.core.update import SentUpdate
from murmura.engine.federated_model import FederatedModel
from murmura.engine.plan import federation_info
from murmura.engine.protocol import PreparedData
from murmura.engine.run import Run
from murmura.evaluation.intervals import Interval, bootstrap_intervals
from murmura.runs.comparison import ComparisonFolder, ModelRuns
from murmura.runtimes.simulation import FederatedMethod, simulated
from murmura.studies.audits.chosen_attacks import all_attacks, attack_fits, chosen_attacks, reads_sums
from murmura.studies.audits.poisonings import USUAL, Intervals, PoisoningFinding, PoisoningPlan, poison
from murmura.studies.audits.sum_attacks import CLAIMED, EPSILON, AttackResult, SumAudit
from murmura.studies.config import data_of, located, refuse_other_data
from murmura.studies.single_run import prepare_run, read_config

FILE = "audit.json"
ENTRIES = "entries"  # in the file of a comparison: label -> what was found
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
    values: Intervals
    roc: tuple[tuple[float, float], ...] = ()  # of the first training: false alarms, and what is found at them


@dataclass(frozen=True)
class HintFinding:
    """One share of hints: what guesses of ratings were worth."""

    attack: str
    kind: str
    share: float
    values: Intervals


@dataclass(frozen=True)
class Audit:
    """Everything one audit says."""

    method: str
    seed: int
    seeds: int
    clients: int  # of all seeds together
    letters: int
    grouped: bool  # whether a client is a group of people
    summed: bool  # whether a secure sum keeps everyone from reading what was attacked here
    findings: tuple[Finding, ...]
    points: tuple[HintFinding, ...]
    poisonings: tuple[PoisoningFinding, ...] = ()

    @property
    def read_sums(self) -> bool:
        """Whether sums were attacked and not single updates."""
        return all(attack(one.attack).reads == "sums" for one in self.findings if one.attack in ATTACKS)

    def plain(self) -> dict[str, Any]:
        """As the run folder keeps it."""
        kept: dict[str, Any] = TypeAdapter(Audit).dump_python(self)
        return kept


def audit_run(
    folder: Path,
    names: Sequence[str] = (),
    data_dir: Path | None = None,
    progress: Progress = SILENT,
    seeds: int = 1,
    lies: PoisoningPlan = USUAL,
) -> Audit:
    """Audit the federated method of a run folder, on its data and from its seed on, and keep the result.

    Attacks by `lies` are judged on the test part, which is opened for the run's own choice.
    """
    config = read_config(folder)
    name = str(config.model["name"])
    require_attackable(name)
    run = Run.open(folder)
    prepared, settings = prepare_run(config, located(run, data_dir))
    if run.has("data.json"):
        refuse_other_data(prepared, run)
    ready = simulated(name, settings, config.workers)
    poisoning = [one for one in map(attack, names) if isinstance(one, PoisoningAttack)]
    reading = [name for name in names if name not in {one.name for one in poisoning}]
    with locked(folder):
        if reading or not poisoning:
            found = audit(ready, prepared.split.train, config.seed, reading, progress, seeds)
        else:
            found = _unread(ready, prepared, config.seed, seeds)
        if poisoning:
            split, rules = prepared.open(run, {"model": config.model}), prepared.protocol
            poisonings = [
                one
                for seed in range(config.seed, config.seed + seeds)
                for one in poison(ready, split, seed, poisoning, lies, rules.relevant_from, progress)
            ]
            found = replace(found, poisonings=tuple(poisonings))
        run.write_json(FILE, found.plain())
    return found


def _unread(ready: FederatedMethod, prepared: PreparedData, seed: int, seeds: int) -> Audit:
    """An audit in which nobody reads an update."""
    clients = federation_info(ready.preset.algorithm(), prepared.split.train).clients
    return Audit(ready.name, seed, seeds, seeds * clients, 0, False, reads_sums(ready), (), ())


def require_attackable(name: str) -> None:
    """Refuse a method whose data never leaves in messages."""
    if name not in ALGORITHMS:
        raise SettingError(
            f"an audit needs a federated method, whose clients send something, but '{name}' is none; "
            f"take one of {', '.join(ALGORITHMS)}."
        )


def audit(
    ready: FederatedMethod,
    train: Interactions,
    seed: int,
    names: Sequence[str] = (),
    progress: Progress = SILENT,
    seeds: int = 1,
) -> Audit:
    """Train, attack (no attack named: with all that apply) and judge, once for each of `seeds` seeds.

    Groups are drawn anew by every seed and are all victims of their own; of people the mean over seeds counts.
    """
    chosen = chosen_attacks(ready, names)
    runs = [attack_training(ready, train, one, chosen, progress) for one in range(seed, seed + seeds)]
    findings = [_finding(same, runs[0].grouped) for same in zip(*(run.results for run in runs))]
    points = [
        HintFinding(
            same[0].attack, same[0].kind, same[0].share, _pooled([one.per_client for one in same], True)
        )
        for same in zip(*(run.guesses for run in runs))
    ]
    clients, updates = sum(run.clients for run in runs), sum(run.updates for run in runs)
    counted = ready.name, seed, seeds, clients, updates, runs[0].grouped, reads_sums(ready)
    return Audit(*counted, tuple(findings), tuple(points))


def _finding(same: Sequence[AttackResult], grouped: bool) -> Finding:
    """One attack on several trainings."""
    first, verdicts = same[0], [one.verdict for one in same]
    named = first.attack.name, first.attack.title, first.of
    guessed = [one for one in verdicts if isinstance(one, CanaryScores)]
    if guessed:
        together = sum(guessed[1:], guessed[0])
        claimed = math.nan if together.claimed is None else together.claimed
        correct = together.right[-1] / together.guesses[-1]
        proven = {EPSILON: together.at_least, CLAIMED: claimed, "correct": correct}
        return Finding(*named, together.canaries, 1.0, {key: Interval(value) for key, value in proven.items()})
    judged = [one for one in verdicts if isinstance(one, AttackScores)]
    matched, victims = float(np.mean([one.matched for one in judged])), sum(one.victims for one in judged)
    values = _pooled([one.per_client for one in judged], grouped)
    return Finding(*named, victims, matched, values, judged[0].roc)


def _pooled(columns: Sequence[dict[str, Floats]], grouped: bool) -> dict[str, Interval]:
    """Intervals over the clients of all runs; where they are the same people, over their means."""
    made = {}
    for key in columns[0]:
        table = [one[key] for one in columns]
        if grouped or len(table) == 1:
            made[key] = np.concatenate(table)
        else:
            known = ~np.isnan(table)
            total = np.where(known, table, 0.0).sum(axis=0)
            made[key] = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), math.nan)
    return bootstrap_intervals(made)


def audit_folder(
    folder: Path, names: Sequence[str] = (), data_dir: Path | None = None, progress: Progress = SILENT
) -> dict[str, Audit]:
    """Audit the entries of the comparison in a folder, on its data and with its seeds."""
    comparison = ComparisonFolder.open(folder)
    prepared = data_of(comparison.run, data_dir)
    with locked(folder):
        return audit_entries(comparison, prepared, names, progress)


def audit_entries(
    comparison: ComparisonFolder, prepared: PreparedData, names: Sequence[str] = (), progress: Progress = SILENT
) -> dict[str, Audit]:
    """Audit every entry there is an attack against, and keep each in the folder, whose lock the caller holds.

    Those the folder has already are not repeated. Where it has an audit with other attacks, that one is kept.
    """
    chosen = [(model.label, *_attackable(model, names)) for model in comparison.models]
    if not any(attacks for *_, attacks in chosen):
        those = f"the attacks {', '.join(names)}" if names else "an attack"
        raise SettingError(
            f"a comparison must have an entry that {those} can be made on to be audited, "
            f"but has {', '.join(label for label, *_ in chosen)}."
        )
    run, before = comparison.run, read_audits(comparison.run)  # refuses a damaged file
    keeps = not before or keeps_attacks(run, names)
    found = before if before and keeps else {}
    for label, ready, attacks in chosen:
        if ready is not None and attacks and label not in found:
            seeds = comparison.seeds
            found[label] = audit(ready, prepared.split.train, seeds.start, attacks, progress, len(seeds))
            if keeps:
                entries = {each: one.plain() for each, one in found.items()}
                run.write_json(FILE, {"attacks": sorted(names), ENTRIES: entries})
    return found


def keeps_attacks(run: Run, names: Sequence[str]) -> bool:
    """Whether what a comparison's folder keeps is an audit with these attacks; none named: with all."""
    return bool(run.has(FILE) and run.read(FILE).get("attacks") == sorted(names))


def _attackable(model: ModelRuns, names: Sequence[str]) -> tuple[FederatedMethod | None, list[str]]:
    """An entry's method, and which of these attacks (none named: of all) are against it."""
    if model.name not in ALGORITHMS:
        return None, []
    ready = simulated(model.name, model.settings)
    algorithm = ready.preset.algorithm()
    if names:
        return ready, [one for one in names if attack_fits(ready, attack(one), algorithm)]
    return ready, [one.name for one in all_attacks(ready, algorithm)]


def read_audits(run: Run) -> dict[str, Audit]:
    """What a folder keeps of audits: of its method, or of every entry of a comparison by its label."""
    if not run.has(FILE):
        return {}
    kept = run.read(FILE)
    try:
        entries = kept[ENTRIES] if ENTRIES in kept else {str(kept["method"]): kept}
        return TypeAdapter(dict[str, Audit]).validate_python(entries)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RunError(
            f"{run.path / FILE} is damaged: it is no audit; delete it and run `murmura audit {run.path}` again."
        ) from None


@dataclass(frozen=True, eq=False)
class TrainingAudit:
    """What came of one training."""

    clients: int
    updates: int
    grouped: bool  # whether clients are groups, which another seed draws anew
    results: tuple[AttackResult, ...]
    guesses: tuple[GuessScores, ...]


def attack_training(
    ready: FederatedMethod,
    train: Interactions,
    seed: int,
    attacks: Sequence[Attack],
    progress: Progress = SILENT,
) -> TrainingAudit:
    """Train with what is attacked recorded, attack it, and judge; beside it those who read nothing."""
    updates, sums = list[SentUpdate](), list[ObservedSum]()
    on_sums = [one for one in attacks if one.reads == "sums"]
    fitted = ready.fit(
        train,
        seed,
        progress,
        record=updates.append if len(on_sums) < len(attacks) else None,
        record_sums=sums.append if on_sums else None,
    )
    observed, known = ObservedUpdates(tuple(updates)), _known(fitted)
    whole = SumAudit(ready, train, seed, fitted, ObservedSums(tuple(sums)), known)
    summed = [whole.attacked(one) for one in on_sums]
    items = [one for one in attacks if isinstance(one, ItemAttack)]
    ratings = [one for one in attacks if isinstance(one, RatingAttack)]
    guessed: Sequence[GuessScores] = ()
    if ratings and observed.phase("factors"):
        stream = Rng(server_secret(seed), 1).stream(OWN)
        guessed = guess([*ratings, HintsAlone()], observed, known, fitted.plan.people, stream, SHARES)
    return TrainingAudit(
        known.info.clients,
        len(updates) or len(sums),
        fitted.plan.groups is not None,
        (*summed, *_judged(items, observed, known, fitted, seed, {one.of for one in summed})),
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
    asked: Set[str],
) -> tuple[AttackResult, ...]:
    """Every attack, then those who read nothing, about the same victims and about those `asked` about."""
    rng, made = Rng(server_secret(seed)), list[AttackResult]()
    for one in attacks:
        claims = claims_of(one, observed, known, fitted.plan.people, rng.stream(OWN))
        made.append(AttackResult(one, claims.of, _verdict(fitted, known, claims)))
    for of in ("client", "person"):
        if of in {one.of for one in made} | asked:
            for reference in (PopularityReference(of), ChanceReference(of)):
                claims = reference.claims(observed, known, rng.stream(OWN))
                made.append(AttackResult(reference, of, _verdict(fitted, known, claims)))
    return tuple(made)


def _verdict(fitted: FederatedModel, known: AdversaryKnowledge, claims: Any) -> AttackScores:
    return judge(claims, fitted.plan.people, known.popularity, known.info.listed)
