"""An audit: a federation is trained again with every update recorded, attacked, and judged.

Training is a function of its settings and seed, so a run that kept no individual update can still be audited:
the same updates leave again, are read in memory, and are forgotten. Only what was found is written down. Of a
comparison every federated entry is audited: what its updates give away, beside what it is worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from murmura.algorithms import ALGORITHMS
from murmura.core.arrays import Floats
from murmura.core.contract import Algorithm
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.locks import locked
from murmura.core.plugins import unknown_name
from murmura.core.progress import SILENT, Progress
from murmura.engine.plan import federation_info
from murmura.engine.prepared import PreparedData
from murmura.engine.run_folder import Run
from murmura.evaluation.significance import Interval, bootstrap_intervals
from murmura.lab.audits import (
    fedsplit_updates,
    individual_updates,
    model_extraction,
    poisoned_training,
    rival_updates,
)
from murmura.lab.audits.attack import Attack
from murmura.lab.audits.attacked_training import AttackedTraining, AttackResult
from murmura.lab.audits.attributes import Labels, labels_of_file
from murmura.lab.audits.colluding_clients import PoisoningAttack
from murmura.lab.audits.fedsplit_updates import HINTS_ALONE
from murmura.lab.audits.judge import AttackScores, known_mean
from murmura.lab.audits.poisoned_training import DEFAULT, Intervals, PoisoningFinding, PoisoningPlan, poison
from murmura.lab.audits.sums import canaries, matched_filters
from murmura.lab.audits.sums.canaries import CanaryScores
from murmura.runtimes.simulation import FederatedMethod, simulated
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.configuration import data_of, located, refuse_other_data
from murmura.studies.fit.run import prepare_run, read_config

# every attack by its name on the command line, in the order in which they are made; docs/audit.md has them all
KINDS = (
    individual_updates,
    rival_updates,
    fedsplit_updates,
    matched_filters,
    canaries,
    model_extraction,
    poisoned_training,
)
ATTACKS: dict[str, Attack] = {one.name: one for kind in KINDS for one in kind.ATTACKS}


def attack(name: str) -> Attack:
    """The attack of that name."""
    if name not in ATTACKS:
        raise SettingError(unknown_name("attack", name, tuple(ATTACKS)))
    return ATTACKS[name]


def attacks_on(algorithm: Algorithm, sums: bool = False) -> tuple[Attack, ...]:
    """Every attack that fits the updates of an algorithm; without any, or if `sums` are read, on sums.

    An adversary who reads single updates has no use for their sums.
    """
    fitting = [found for found in ATTACKS.values() if found.fits(algorithm)]
    single = [found for found in fitting if found.reads == "updates"]
    return tuple(found for found in fitting if found.reads == "sums") if sums or not single else tuple(single)


FILE = "audit.json"
ENTRIES = "entries"  # in the file of a comparison: label -> what was found
HINTS = HINTS_ALONE.name  # the reference of guessed ratings
EPSILON, CLAIMED = "epsilon at least", "claimed epsilon"


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
    findings: tuple[Finding, ...] = ()
    points: tuple[HintFinding, ...] = ()
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
    poisoning_plan: PoisoningPlan = DEFAULT,
    labels: Path | None = None,
) -> Audit:
    """Audit the federated method of a run folder, on its data and from its seed on, and keep the result.

    With a file of users' `labels` every attack on items is asked for those, too.

    Attacks by `poisoning_plan` are judged on the test part, which is opened for the run's own choice.
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
            train = prepared.split.train
            known = labels_of_file(labels, train.users) if labels else {}
            found = audit(ready, train, config.seed, reading, progress, seeds, known)
        else:
            clients = seeds * federation_info(ready.preset.algorithm(), prepared.split.train).clients
            found = Audit(name, config.seed, seeds, clients, 0, False, reads_sums(ready))
        if poisoning:
            split, rules = prepared.open(run, {"model": config.model}), prepared.protocol
            poisonings = [
                one
                for seed in range(config.seed, config.seed + seeds)
                for one in poison(ready, split, seed, poisoning, poisoning_plan, rules.relevant_from, progress)
            ]
            found = replace(found, poisonings=tuple(poisonings))
        run.write_json(FILE, found.plain())
    return found


def reads_sums(ready: FederatedMethod) -> bool:
    """Whether a secure sum keeps everyone from reading single updates."""
    return ready.preset.channel_settings().channel == "secure-sum"


def fitting_attacks(ready: FederatedMethod, names: Sequence[str] = ()) -> list[Attack]:
    """Of these attacks, or of all on what can be read, those that can be made on a method.

    Those on sums are about clients that are one person each. Canaries that nobody named are put in only where
    there is a channel whose noise is its own. Lists are copied on request alone: the model is public anyway.
    """
    algorithm, channel = ready.preset.algorithm(), ready.preset.channel_settings()
    bare = not channel.on or channel.as_if is not None
    every = attacks_on(algorithm, reads_sums(ready))
    unasked = (model_extraction.EXTRACTION, *((canaries.CANARIES_IN_SUMS,) if bare else ()))
    defaults = (one for one in every if one not in unasked)
    given, alone = map(attack, names) if names else defaults, ready.preset.grouping() is None
    return [one for one in given if one.fits(algorithm) and (alone or one.reads == "updates")]


def chosen_attacks(ready: FederatedMethod, names: Sequence[str]) -> list[Attack]:
    """The attacks of these names, or all that apply; refuses those against another method."""
    chosen, own = fitting_attacks(ready, names), ready.preset.algorithm().name
    for one in map(attack, names):
        if one.name not in {fitting.name for fitting in chosen}:
            against = ", ".join(one.against) or "methods that add rows of items up in rounds"
            raise SettingError(f"the attack '{one.name}' must be against {own}, but is against {against}.")
    if not chosen:
        raise SettingError(f"{ready.name} must have an attack against its updates to be audited, but has none.")
    return chosen


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
    labels: Labels = {},  # noqa: B006
) -> Audit:
    """Train, attack (no attack named: with all that apply) and judge, once for each of `seeds` seeds.

    Groups are drawn anew by every seed and are all victims of their own; of people the mean over seeds counts.
    """
    chosen = chosen_attacks(ready, names)
    grouped = ready.preset.grouping() is not None
    if labels and grouped:
        raise SettingError(
            f"labels must be guessed of clients of one user each, but {ready.name} has groups; leave them out."
        )
    trainings = range(seed, seed + seeds)
    seen = (AttackedTraining.recorded(ready, train, one, chosen, progress, labels) for one in trainings)
    each = [(one.public.info.clients, one.letters, one.results(chosen), one.guesses(chosen)) for one in seen]
    clients, letters, results, guesses = zip(*each)
    findings = [_finding(same, grouped) for same in zip(*results)]
    points = [
        HintFinding(
            same[0].attack, same[0].kind, same[0].share, _pooled([one.per_client for one in same], True)
        )
        for same in zip(*guesses)
    ]
    counted = ready.name, seed, seeds, sum(clients), sum(letters), grouped, reads_sums(ready)
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
    alone = grouped or len(columns) == 1
    tables = {key: [one[key] for one in columns] for key in columns[0]}
    return bootstrap_intervals(
        {key: np.concatenate(table) if alone else known_mean(np.array(table)) for key, table in tables.items()}
    )


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
    models, train = comparison.models, prepared.split.train
    methods = {one.label: simulated(one.name, one.settings) for one in models if one.name in ALGORITHMS}
    chosen = {label: [one.name for one in fitting_attacks(ready, names)] for label, ready in methods.items()}
    if not any(chosen.values()):
        those = f"the attacks {', '.join(names)}" if names else "an attack"
        raise SettingError(
            f"a comparison must have an entry that {those} can be made on to be audited, "
            f"but has {', '.join(model.label for model in models)}."
        )
    run, before = comparison.run, read_audits(comparison.run)  # refuses a damaged file
    keeps = not before or keeps_attacks(run, names)
    found, seeds = before if keeps else {}, comparison.seeds
    for label, attacks in chosen.items():
        if attacks and label not in found:
            found[label] = audit(methods[label], train, seeds.start, attacks, progress, len(seeds))
            if keeps:
                entries = {each: one.plain() for each, one in found.items()}
                run.write_json(FILE, {"attacks": sorted(names), ENTRIES: entries})
    return found


def keeps_attacks(run: Run, names: Sequence[str]) -> bool:
    """Whether what a comparison's folder keeps is an audit with these attacks; none named: with all."""
    return bool(run.has(FILE) and run.read(FILE).get("attacks") == sorted(names))


def read_audits(run: Run) -> dict[str, Audit]:
    """What a folder keeps of audits: of its method, or of every entry of a comparison by its label."""
    several = ENTRIES in run.read_object(FILE)
    again = f"run `murmura audit {run.path}` again"
    if several:
        return run.read_typed(FILE, dict[str, Audit], ENTRIES, again) or {}
    one = run.read_typed(FILE, Audit, "", again)
    return {one.method: one} if one else {}
