"""Was a held-out row used before its time? Run folders are checked by making them again without those rows.

A model that comes out the same, place by place, in a process that has the training rows and nothing else cannot
have used a held-out row: not as a positive, not to spare it as a negative, not in any other way. A trial of a
search that scores the same there was scored on the validation part alone. For methods that draw negatives the
draws are counted too: held-out items must come as often as chance says, with a bound that is not asymptotic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.errors import MissingExtraError
from murmura.core.interactions import Interactions
from murmura.core.model import Method, RankedLists
from murmura.engine.experiment import list_rows
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.prepared import PreparedData, Selection
from murmura.engine.run_folder import Run, environment
from murmura.lab.leaks.isolated_process import Call, isolated
from murmura.studies.evidence import Evidence
from murmura.studies.methods import method
from murmura.studies.scorer import Scorer
from murmura.studies.search.folder import Trial
from murmura.studies.search.grid import TrialJob, run_job

VERSIONS = ("murmura", "python", "numpy", "scipy", "numba", "machine")
LeakVerdict = Literal["clean", "leak", "unproven"]
Found = tuple[LeakVerdict, str]  # and why
UNLIKELY = 1e-6  # a clean sampler is called leaky in at most this share of checks
ENOUGH = 60.0  # expected held-out draws: then drawing none has a chance of 2 e^-60
MOST_DRAWS = 2_000_000
STEEPEST = 60.0  # |t| at most: e^-60 stands for "never"


def same_versions(run: Run) -> bool:
    """Whether a run was made by what runs here."""
    stated = run.read("environment.json") if run.has("environment.json") else {}
    now = environment()
    return all(stated.get(key) == now[key] for key in VERSIONS)


@dataclass(frozen=True)
class LeakCheck:
    """One thing that was looked at, and what was found."""

    run: str
    what: str
    verdict: LeakVerdict
    why: str


def check_leaks(folder: Path, data_dir: Path | None = None, trials: int = 3) -> Iterator[LeakCheck]:
    """Check a folder of fit, compare, sweep, search or reproduce; some `trials` of a search are redone."""
    evidence = Evidence.of(folder, data_dir)
    name, same = evidence.run.path.name, _data(evidence)
    yield LeakCheck(name, "data", *same)
    if same[0] != "clean":
        return  # of other data nothing can be said
    yield LeakCheck(name, "positives", *_positives(evidence.prepared))
    if evidence.choice is not None:
        yield LeakCheck(name, "opening", *_opening(evidence.run, evidence.choice))
    with isolated(evidence.files) as call:
        for one in evidence.trained:
            yield from _trained(one, call)
        if evidence.trials:
            yield LeakCheck(name, "selection", *_argmax(evidence))
            selection = evidence.prepared.selection()
            for trial in evidence.some_trials(trials):
                again = f"{trial.model} {json.dumps(trial.settings)}"
                yield LeakCheck(again, "trial", *_redone(evidence, trial, selection, call))


def _data(evidence: Evidence) -> Found:
    run, now = evidence.run, evidence.prepared.describe()
    stated = run.read("data.json") if run.has("data.json") else {}
    if stated and all(stated.get(key, now[key]) == now[key] for key in ("fingerprint", "parts")):
        return "clean", f"the data and its cut are those of the run ({now['split']})"
    return "unproven", "the data or its cut is not that of the run; fix --data-dir"


def _positives(prepared: PreparedData) -> Found:
    both = prepared.sealed.overlap
    if both:
        return "leak", f"{both} held-out pairs are training rows too"
    return "clean", f"none of {prepared.describe()['test rows']} held-out pairs is a training row"


def _opening(run: Run, choice: dict[str, Any]) -> Found:
    if not run.has(OPENED):
        return "clean", "the test part has not been opened here"
    kept = run.read(OPENED)
    if kept.get("choice") != json.loads(json.dumps(choice)):
        return "leak", "the test part was opened for another choice than this one"
    return "clean", f"opened once, at {kept.get('at')}, for this choice"


def _trained(one: Scorer, call: Call) -> Iterator[LeakCheck]:
    name = one.run.path.name
    try:
        ready = method(one.name, one.settings)
        yield LeakCheck(name, "refit", *_refit(one, ready, call))
        negatives = _negatives(ready, one.prepared, one.run.seed)
        if negatives is not None:
            yield LeakCheck(name, "negatives", *negatives)
    except MissingExtraError as error:
        yield LeakCheck(name, "refit", "unproven", str(error))


def _refit(one: Scorer, ready: Method, call: Call) -> Found:
    """The kept lists, and those of a process without held-out rows."""
    kept, train = one.run.read_lists(), one.prepared.split.train
    users = train.users.index(dict.fromkeys(user for user, *_ in kept), "user")
    job = ready, train, one.run.seed, users, max(rank for _, rank, *_ in kept)
    reply = call(fitted_lists, *job)
    if reply.touched:
        return "leak", f"the method opens {reply.touched[0]} while it is fitted"
    if reply.error:
        try:
            fitted_lists(*job)
        except Exception:
            return "unproven", f"the fit cannot be repeated: {reply.error}"
        return "leak", f"the fit fails when the held-out rows are taken away: {reply.error}"
    alone: RankedLists = reply.value
    if kept == _text(alone, train):
        return "clean", f"{len(users)} lists come out the same without held-out rows"
    with_data = fitted_lists(*job)
    same = np.array_equal(alone.item, with_data.item) and np.array_equal(alone.score, with_data.score)
    if kept == _text(with_data, train) or not same:
        return "leak", "the lists change when the held-out rows are taken away"
    if same_versions(one.run):
        return "leak", "the kept lists are not what the training rows give"
    return "unproven", "the kept lists cannot be made again: other versions made them"


def fitted_lists(ready: Method, train: Interactions, seed: int, users: Ints, k: int) -> RankedLists:
    """Fit and rank: the job of the process without held-out rows."""
    return ready.fit(train, seed).recommend(users, k)


def _text(lists: RankedLists, train: Interactions) -> list[tuple[str, int, str, str]]:
    """As a run folder keeps them."""
    return [(str(user), rank, str(item), score) for user, rank, item, score in list_rows(lists, train)]


def _negatives(ready: Method, prepared: PreparedData, seed: int) -> Found | None:
    """Draw epochs of negatives until held-out items must have come up, and count them; None: it draws none."""
    draw, train = getattr(ready, "drawn_negatives", None), prepared.split.train
    if draw is None or draw(train, seed, 1) is None:
        return None
    hits, epoch, n, p = 0, 0, np.zeros(train.n_users, np.int64), np.zeros(train.n_users)
    while float(n @ p) < ENOUGH and int(n.sum()) < MOST_DRAWS:
        epoch += 1
        found, drawn, p = prepared.sealed.count(*draw(train, seed, epoch))
        if not drawn.any():
            break
        hits, n = hits + found, n + drawn
    chance, expected = chance_of(hits, n, p), float(n @ p)
    said = f"{hits} of {int(n.sum()):,} drawn negatives are held out, {expected:.1f} are expected"
    if chance < UNLIKELY:
        return "leak", f"{said}: chance at most {chance:.1g}"
    return ("unproven", f"{said}: too few to tell") if chance_of(0, n, p) >= UNLIKELY else ("clean", said)


def chance_of(hits: int, n: Longs, p: Floats) -> float:
    """An upper bound of the chance that Σ Binomial(n_u, p_u) is as far from its mean as `hits`: two-sided.

    It holds for every number of draws, without a normal approximation. Chernoff (1952): for a sum S of
    independent coins, P(S >= s) <= exp(Σ log(1 - p + p e^t) - t s) for every t >= 0, and P(S <= s) likewise for
    every t <= 0; the best t is looked for, and any t gives a true bound.
    """
    from scipy.optimize import minimize_scalar

    n, p = np.asarray(n, np.float64), np.asarray(p, np.float64)
    mean = float(n @ p)
    if hits == mean:
        return 1.0

    def exponent(t: float) -> float:
        return float(n @ np.log1p(p * np.expm1(t))) - t * hits

    side = (0.0, STEEPEST) if hits > mean else (-STEEPEST, 0.0)
    found = minimize_scalar(exponent, bounds=side, method="bounded", options={"xatol": 1e-9})
    one_sided = min(0.0, float(found.fun), exponent(side[0]), exponent(side[1]))
    return min(1.0, 2.0 * float(np.exp(one_sided)))


def _argmax(evidence: Evidence) -> Found:
    """The choice is what the trials say."""
    wrong = [label for label, (value, top) in evidence.chosen_trials().items() if value < top]
    if wrong:
        return "leak", f"{wrong[0]} is not the best of its trials on validation"
    return "clean", f"the best of {len(evidence.trials)} trials on validation was chosen"


def _redone(evidence: Evidence, trial: Trial, selection: Selection, call: Call) -> Found:
    """One trial, again, where there is nothing but the selection."""
    reply = call(run_job, selection, TrialJob(trial.model, trial.settings, evidence.metric, evidence.seed))
    if reply.touched:
        return "leak", f"the method opens {reply.touched[0]} while it is fitted"
    if reply.error:
        return "unproven", f"it cannot be repeated: {reply.error}"
    value = reply.value[0].value
    if abs(value - trial.value) <= 0.5e-6:
        return "clean", f"scores {trial.value:.6f} without the test part as well"
    verdict: LeakVerdict = "leak" if same_versions(evidence.run) else "unproven"
    return verdict, f"kept as {trial.value:.6f}, but the validation part gives {value:.6f}"
