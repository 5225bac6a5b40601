"""What a level of pi or epsilon costs the lists of who chooses it, and what an audit then finds of her.

A. Ferrara's thesis, section 4.4.4, leaves it to people how much they share. So that a choice has a price on
both sides, a level of pi is chosen here by a random part of the people while all others share everything: their
own lists are held against those which the same people get when they share everything, and the attacks of an
audit are judged on them alone. Noise is the same for all, so an epsilon is everyone's. Lists are scored on the
validation part: nothing here opens the test part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms import algorithm
from murmura.core.arrays import Bools, Floats
from murmura.core.errors import SettingError
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import field_names
from murmura.engine.experiment import score
from murmura.engine.prepared import Selection
from murmura.engine.run_folder import Run
from murmura.evaluation.measure import Evaluation
from murmura.evaluation.significance import Interval, bootstrap_interval
from murmura.lab.audits.attack import Attack
from murmura.lab.audits.attacked_training import AttackedTraining
from murmura.lab.audits.audit import chosen_attacks, require_attackable
from murmura.lab.audits.judge import AttackScores
from murmura.lab.audits.sums.canaries import TrainingAttack
from murmura.lab.audits.sums.sum_attack import TracingAttack
from murmura.runtimes.simulation import FederatedMethod, simulated
from murmura.studies.configuration import located
from murmura.studies.fit.run import prepare_run, read_config

FILE = "levels.json"  # what the run's folder keeps
PI, EPSILON = (0.1, 0.25, 0.5, 0.75, 1.0), (8.0, 4.0, 1.0)
CHOOSE = 0.2  # the share of the people who choose a level of pi, while the others share everything
FOUND = "pm-AUC"  # how often the strongest attack tells her item from an equally popular one; .5: a coin


@dataclass(frozen=True)
class PrivacyLevel:
    """One level, with its price on both sides."""

    pi: float
    epsilon: float | None
    people: int  # who chose it and have held-out items
    without: float  # what their lists are worth when all share everything, without noise
    lists: float  # and at this level
    loss: Interval  # the difference, person by person
    everyone: float  # what everyone's lists are worth where everyone chooses it
    attack: str  # the strongest one
    found: Interval  # FOUND over the people who chose it

    def flat(self) -> dict[str, Any]:
        """One flat object, as --json prints it and the page reads it."""
        about = {"pi": self.pi, "epsilon": self.epsilon, "people": self.people, "attack": self.attack}
        numbers = {"without": self.without, "lists": self.lists, "everyone": self.everyone}
        for name, one in (("loss", self.loss), ("found", self.found)):
            numbers |= {name: one.mean, f"{name} low": one.low, f"{name} high": one.high}
        return {**about, **{key: round(value, 5) for key, value in numbers.items()}}


@dataclass(frozen=True, eq=False)
class _Trained:
    """A training at some settings: its people's choices, lists and what attacks found."""

    pi: Floats
    evaluation: Evaluation
    found: dict[str, Floats]  # attack -> FOUND of every client, NaN of who is no victim


def price_levels(
    folder: Path,
    pi: Sequence[float] = PI,
    epsilon: Sequence[float] = EPSILON,
    names: Sequence[str] = (),
    metric: str = "",
    data_dir: Path | None = None,
    progress: Progress = SILENT,
    on_message: Callable[[str], None] = lambda text: None,
) -> list[PrivacyLevel]:
    """Every level of pi without noise, and every epsilon where all is shared; kept in the run's folder.

    `on_message` is told why a method can bear no noise.
    """
    config = read_config(folder)
    name, run = str(config.model["name"]), Run.open(folder)
    require_attackable(name)
    prepared, settings = prepare_run(config, located(run, data_dir))
    selection = prepared.selection()
    metric = (
        metric or f"{'nDCG' if selection.protocol.name == 'kgflex' else 'P'}@{selection.protocol.cutoffs[0]}"
    )
    open_ = {**settings, "pi": 1.0, "epsilon": None}

    def trained(**changes: Any) -> _Trained:
        given = {**open_, **changes}
        form = (
            algorithm(name).noisy if given["epsilon"] else None
        )  # what it learns with noise, where that differs
        if form is not None:
            plain = {*field_names(algorithm(name).method)} - {*field_names(form)}
            given = {key: value for key, value in given.items() if key not in plain}
        made = simulated(name, given, config.workers)
        return _trained(made, selection, config.seed, _item_attacks(made, names), progress)

    base, found = trained(), list[PrivacyLevel]()
    for share in pi:
        own = base if share == 1.0 else trained(pi={share: CHOOSE, 1.0: 1 - CHOOSE})
        alike = base if share == 1.0 else trained(pi=share)
        found.append(_level(share, None, base, own, alike, own.pi == share, metric))
    for bound in epsilon:
        try:
            noisy = trained(channel="secure-sum", epsilon=bound)
        except SettingError as error:
            on_message(f"epsilon {bound:g} is left out: {error}")
            continue
        found.append(_level(1.0, bound, base, noisy, noisy, noisy.pi == 1.0, metric))
    run.write_json(FILE, {"method": name, "metric": metric, "levels": [one.flat() for one in found]})
    return found


def _item_attacks(ready: FederatedMethod, names: Sequence[str]) -> list[Attack]:
    """Attacks that claim items of somebody: those have FOUND."""
    every = chosen_attacks(ready, names)
    of_items = [one for one in every if not isinstance(one, TrainingAttack | TracingAttack)]
    if not of_items:
        raise SettingError(f"a level needs an attack on the items of somebody, but {ready.name} has none.")
    return of_items


def _trained(
    ready: FederatedMethod, selection: Selection, seed: int, attacks: Sequence[Attack], progress: Progress
) -> _Trained:
    seen = AttackedTraining.recorded(ready, selection.split.train, seed, attacks, progress)
    outcome = score(seen.fitted, selection.split, selection.protocol)
    found = {}
    for one in map(seen.attacked, attacks):
        if isinstance(one.verdict, AttackScores) and FOUND in one.verdict.per_client:
            found[one.attack.name] = one.verdict.per_client[FOUND]
    return _Trained(seen.fitted.plan.choices.pi, outcome.evaluation, found)


def _level(
    pi: float, epsilon: float | None, base: _Trained, own: _Trained, alike: _Trained, chose: Bools, metric: str
) -> PrivacyLevel:
    """The lists of who chose it against what the same people have in `base`; the attack that finds most."""
    if metric not in base.evaluation.per_user:
        raise SettingError(f"--metric must be one of {', '.join(base.evaluation.per_user)}, but is '{metric}'.")
    hers = chose[base.evaluation.users]
    without, lists = (one.evaluation.per_user[metric][hers] for one in (base, own))
    attack, values = max(
        ((name, of[chose & ~np.isnan(of)]) for name, of in own.found.items()),
        key=lambda one: one[1].mean() if len(one[1]) else -np.inf,
    )
    loss, found = map(bootstrap_interval, (without - lists, values))
    mean = float(alike.evaluation.values[metric])
    return PrivacyLevel(
        pi, epsilon, int(hers.sum()), float(without.mean()), float(lists.mean()), loss, mean, attack, found
    )
