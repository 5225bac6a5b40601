"""Tables 2 and 3 of FedSPLIT with every group tuned: groupings, tuning, one comparison on the test part.

Every group tunes its own factorisation on its own ratings (FedSPLIT, section 4.1), with the paper's ranges,
trials and folds: a trial fits five times on four fifths of a group's training ratings, with at most 100 passes,
and is judged by the squared error on the rest. A study lives in memory; what a group chose is kept in a file.

<folder>/
  tuned/<key>.json      what a group of a grouping chose, or the centralised model
  patterns/<key>.json   K of the joint factorisation of a grouping
  runs-<n>-<key>/       the comparison of n groupings: `murmura report` reads it

Every key is a hash of all that the file or folder was made from: other data or another tuning never meets it.
What is finished is not repeated: a killed run goes on with the same call, and more groupings tune only the
groups that are new. Each comparison opens the test part in a folder of its own, for choices that training rows
alone have made.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import FEDSPLIT, FedSplit
from murmura.algorithms.fedsplit.groups import mark, unable
from murmura.algorithms.preset import ONCE
from murmura.core.arrays import Floats, Ints
from murmura.core.catalogue import Dataset
from murmura.core.errors import RunError
from murmura.core.interactions import Interactions
from murmura.core.locks import is_empty, locked
from murmura.core.rng import Purpose, Rng, Words, server_secret
from murmura.core.settings import Count, as_dict, field_names, settings
from murmura.core.update import SentUpdate
from murmura.engine.fit import fit
from murmura.engine.part_files import PartFiles
from murmura.engine.plan import Plan
from murmura.kernels.factorisation.cnmf_steps import (
    CnmfSettings,
    factorise,
    predict,
    random_factors,
    words_needed,
)
from murmura.kernels.factorisation.nmf import nmf
from murmura.kernels.sparse import Sparse
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod
from murmura.studies.compare.comparison_plan import ComparisonEntry
from murmura.studies.compare.comparison_plan import plan as plan_comparison
from murmura.studies.compare.run import compare
from murmura.studies.methods import resolved_settings
from murmura.studies.search.space import Range
from murmura.studies.search.tpe import distributions, open_study
from murmura.studies.worker_pool import as_finished, processes

RANGES = {
    "alpha": (0.04, 0.08), "beta": (0.04, 0.08), "gamma": (0.01, 0.04), "delta": (0.01, 0.04),
    "eta_w": (0.002, 0.009), "eta_h": (0.002, 0.009),
}  # fmt: skip
MOST = 20  # factors
T = TypeVar("T")
RANKS = tuple(range(2, 31, 2))  # K of the joint factorisation, as in the paper
PATIENCE = 3  # ranks without a better one before a search for a rank ends
ALL = "all-ratings"  # the name of the centralised model's choice
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnmf-groups": ("cnmf-groups", {}),
    "fedsplit": ("fedsplit", {}),
    "fedsplit-seen": ("fedsplit", {"bias": "seen"}),
}
StatusListener = Callable[[str], None]
Tuned = tuple[Ints, dict[str, CnmfSettings]]  # the group of everyone, and what the groups chose


@settings
class Tuning:
    """How long a group searches."""

    trials: Count = 100
    folds: Annotated[int, Field(ge=2)] = 5
    passes: Count = 100  # of a trial
    epochs: Count = 500  # of the factorisation with what was chosen
    seed: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True, eq=False)
class GroupRatings:
    """The rows one group, or everyone, holds: what a trial is fitted and judged on."""

    name: str
    person: Ints  # ascending
    item: Ints
    value: Floats
    mu: float

    def key(self, tuning: Tuning) -> str:
        """What the choice is kept under: a hash of everything it depends on."""
        digest = hashlib.sha256(json.dumps([as_dict(tuning), self.mu]).encode())
        for column in (self.person, self.item, self.value):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class GroupChoice:
    """What a group chose, by how many folds; with none there was nothing to choose by."""

    settings: CnmfSettings
    folds: int
    loss: float | None  # held-out squared error; None without folds

    def __str__(self) -> str:
        if self.loss is None:
            return "too few ratings to tune, takes the method's own settings"
        return f"k = {self.settings.factors}, held-out MSE {self.loss:.4f} in {self.folds} folds"


class Folds:
    """Ratings cut into parts, at most one for each, held out once; starts are the same for every trial."""

    def __init__(self, ratings: GroupRatings, tuning: Tuning) -> None:
        _, person = np.unique(ratings.person, return_inverse=True)
        items, column = np.unique(ratings.item, return_inverse=True)
        self.people, self.items, self.passes, self.mu = person.max() + 1, len(items), tuning.passes, ratings.mu
        count = min(tuning.folds, len(person))
        dealt = np.random.default_rng([tuning.seed, len(person)]).permutation(len(person)) % count
        self.parts = [_cut(person, column, ratings.value, dealt == fold) for fold in range(count)]
        stream = Rng(server_secret(tuning.seed)).stream(Purpose.INIT)
        self.words: Words = stream.words(words_needed(self.people, self.items, self.most))

    @property
    def most(self) -> int:
        """The largest k: one less than the people, and at most MOST."""
        return int(min(self.people, MOST + 1)) - 1

    def loss(self, chosen: CnmfSettings) -> float:
        """The mean over folds of the squared error on what was held out."""
        k = min(chosen.factors, self.most)
        words = self.words[: words_needed(self.people, self.items, k)]
        start, losses = random_factors(words, self.people, self.items, k), []
        for train, person, column, value in self.parts:
            found, _ = factorise(train, start, self.mu, chosen.rates, self.passes)
            losses.append(float(np.square(value - predict(found, self.mu, person, column)).mean()))
        return float(np.mean(losses))


Part = tuple[Sparse, Ints, Ints, Floats]


def _cut(person: Any, column: Any, value: Floats, out: Any) -> Part:
    rows = np.concatenate(([0], np.cumsum(np.bincount(person[~out], minlength=person.max() + 1))))
    train = Sparse.of(rows, column[~out], value[~out])
    return train, person[out].astype(np.int32), column[out].astype(np.int32), value[out]


def tune(ratings: GroupRatings, tuning: Tuning) -> GroupChoice:
    """The settings with the smallest loss of `trials`; FedSPLIT's own where fewer than two people rated."""
    if len(np.unique(ratings.person)) < 2:
        own = {name: getattr(FedSplit(), name) for name in field_names(CnmfSettings)}
        return GroupChoice(CnmfSettings(**{**own, "epochs": tuning.epochs}), 0, None)
    study, folds = open_study(None, "lower", "tuning groups"), Folds(ratings, tuning)
    from optuna.distributions import IntDistribution
    from optuna.samplers import TPESampler

    study.sampler = TPESampler(seed=tuning.seed)
    axes = distributions({name: Range(low, high, log=True) for name, (low, high) in RANGES.items()})
    axes["factors"] = IntDistribution(min(2, folds.most), folds.most)
    for _ in range(tuning.trials):
        trial = study.ask(axes)
        study.tell(trial, folds.loss(CnmfSettings(**trial.params, epochs=tuning.passes)))
    chosen = CnmfSettings(**study.best_params, epochs=tuning.epochs)
    return GroupChoice(chosen, len(folds.parts), float(study.best_value))


def saved(folder: Path, keys: Iterable[str], kind: type[T]) -> dict[str, T]:
    """What this or an earlier call kept under these keys."""
    files = PartFiles(folder)
    found = {key: files.read_typed(f"{key}.json", kind, "", "tune again") for key in keys}
    return {key: one for key, one in found.items() if one is not None}


def make_all(
    work: Callable[..., Any], tasks: Mapping[str, tuple[Any, ...]], folder: Path, workers: int, kind: type[T]
) -> Iterator[tuple[str, T]]:
    """Have work done side by side; each answer is kept under its key as soon as it is found."""
    with processes(workers) as pool:
        for key, made in as_finished(pool, ((key, partial(work, *task)) for key, task in tasks.items())):
            PartFiles(folder).write_json(f"{key}.json", made.result())
            yield key, saved(folder, [key], kind)[key]


def tune_all(
    groups: Mapping[str, GroupRatings], tuning: Tuning, folder: Path, workers: int
) -> Iterator[tuple[str, GroupChoice]]:
    """What every group chose, as they finish; each is kept in `folder` under its key."""
    longest_first = sorted(groups, key=lambda key: -len(groups[key].value))  # no worker is left alone with it
    tasks = {key: (groups[key], tuning) for key in longest_first}
    return make_all(_tuned, tasks, folder, workers, GroupChoice)


def _tuned(group: GroupRatings, tuning: Tuning) -> dict[str, Any]:
    choice = tune(group, tuning)
    return {"tuning": as_dict(tuning), **vars(choice), "settings": as_dict(choice.settings)}


@dataclass(frozen=True)
class TuningRequest:
    """What is run: how many groupings, how each group is tuned."""

    groupings: int
    tuning: Tuning
    workers: int


def tuned_table(
    dataset: Dataset, request: TuningRequest, folder: Path, listener: StatusListener, source: dict[str, Any]
) -> Path:
    """Tune everything on training rows, then open the test part once and compare; the comparison's folder."""
    _refuse_other(folder)
    with locked(folder):
        plan = plan_comparison(dataset, "fedsplit", {"cnmf": {}}, source=source)
        train = plan.prepared.split.train
        everyone = _everyone(train)
        groupings = [_groups(train, number) for number in range(request.groupings)]
        own = [_ratings(train, groups) for groups in groupings]
        tuned = _choices(
            [everyone, *(one for ratings in own for one in ratings)], request, folder / "tuned", listener
        )

        def chosen(one: GroupRatings) -> CnmfSettings:
            return tuned[one.key(request.tuning)].settings

        chosen_by = [{one.name: chosen(one) for one in ratings} for ratings in own]
        ranks = _ranks(train, list(zip(groupings, chosen_by)), folder / "patterns", request.workers, listener)
        listener(f"K of the joint factorisations: {', '.join(map(str, ranks))}")
        entries = [ComparisonEntry("cnmf", "cnmf", as_dict(chosen(everyone)))]
        for number, (K, settings) in enumerate(zip(ranks, chosen_by)):
            given = {"grouping_seed": number, "factors": MOST, "patterns": K, "tuned": settings}
            entries += [
                ComparisonEntry(f"{label}-{number}", name, resolved_settings(name, {**given, **own}))
                for label, (name, own) in ROWS.items()
            ]
        whole = replace(plan, entries=tuple(entries))
        key = _key(whole.config(whole.entries, whole.seeds, whole.seed), whole.prepared.describe())
        runs = folder / f"runs-{request.groupings}-{key}"
        for line in compare(whole, runs, workers=request.workers):
            listener(f"{line.label}: MSE {line.values['MSE']:.4f}")
        return runs


def _refuse_other(folder: Path) -> None:
    """Refuse a place that is no folder, or holds anything but an earlier tuning."""
    if folder.exists() and not (folder / "tuned").is_dir() and (not folder.is_dir() or not is_empty(folder)):
        raise RunError(
            f"{folder} must be new, empty or hold an earlier tuning, but something else is there; "
            "choose another --out."
        )


def _choices(
    tasks: list[GroupRatings], request: TuningRequest, folder: Path, listener: StatusListener
) -> dict[str, GroupChoice]:
    """What everyone chose, by key; says what was kept before it tunes the others."""
    groups = {one.key(request.tuning): one for one in tasks}
    tuned = saved(folder, groups, GroupChoice)
    left = {key: one for key, one in groups.items() if key not in tuned}
    listener(f"{len(tuned)} of {len(groups)} choices are kept in {folder}; {len(left)} are left to tune.")
    ratings, started = sum(len(one.value) for one in left.values()), time.perf_counter()
    done = 0
    for key, choice in tune_all(left, request.tuning, folder, request.workers):
        tuned[key] = choice
        done += len(groups[key].value)  # a trial's time grows with the ratings
        forecast = (time.perf_counter() - started) * (ratings - done) / done / 60
        listener(
            f"[{len(tuned)}/{len(groups)}] {groups[key].name}: {choice}; about {forecast:.0f} minutes left"
        )
    return tuned


def _key(*parts: Any) -> str:
    """A hash of plain values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _everyone(train: Interactions) -> GroupRatings:
    """All ratings at once: what the centralised model is tuned on."""
    rows = train.by_user
    return GroupRatings(ALL, train.user[rows.order], rows.index, rows.value, float(train.value.mean()))


def _groups(train: Interactions, number: int) -> Ints:
    groups = FederatedMethod(FEDSPLIT(grouping_seed=number)).groups(train, number)
    assert groups is not None
    return groups.of


def _ratings(train: Interactions, groups: Ints) -> list[GroupRatings]:
    """What every group of two or more tunes on, under the mark its choice is kept by."""
    plan = Plan(FedSplit(), train, ONCE, groups=groups)
    histories = [plan.people.history(client, 1) for client in range(plan.info.clients)]
    able = [history for history in histories if not unable(history)]
    mu = float(np.mean([history.value.mean() for history in able]))  # equation 14
    return [GroupRatings(mark(one), one.owners, one.item, one.value, mu) for one in able]


def _ranks(
    train: Interactions, tuned: list[Tuned], folder: Path, workers: int, listener: StatusListener
) -> list[int]:
    """K of every grouping, each kept as soon as it is found; one that is kept is not looked for again."""
    tasks = {}
    for number, (groups, chosen) in enumerate(tuned):
        settings = {name: as_dict(one) for name, one in chosen.items()}
        key = _key(train.fingerprint, groups.tolist(), settings, number, RANKS)
        tasks[key] = (train, groups, chosen, number)
    known = saved(folder, tasks, dict[str, int])
    left = {key: task for key, task in tasks.items() if key not in known}
    if left:
        listener(
            f"looking for K of {len(left)} of {len(tasks)} joint factorisations: minutes each on large data."
        )
    known |= make_all(_rank, left, folder, workers, dict[str, int])
    return [known[key]["K"] for key in tasks]


def _rank(train: Interactions, groups: Ints, tuned: dict[str, CnmfSettings], number: int) -> dict[str, int]:
    """The K that predicts held-out entries of the groups' updates best, as it is kept."""
    updates: list[SentUpdate] = []
    method = FedSplit(factors=MOST, patterns=1, joint_epochs=1, tuned=tuned)
    fit(Plan(method, train, ONCE, groups=groups), runtime=InProcess(), record=updates.append)
    columns = []
    for sent_update in updates:
        if sent_update.phase == "factors":
            H = sent_update.update.tables["items"].dense(train.n_items, np.float32)[:, :MOST]
            columns.append(H[:, H.any(axis=0)])
    return {"K": best_rank(np.hstack(columns), RANKS, np.random.default_rng([number, 17]))}


def best_rank(
    X: NDArray[Any], ranks: tuple[int, ...], random: np.random.Generator, folds: int = 5, iterations: int = 1000
) -> int:
    """The K whose factors predict held-out entries best: a fifth of the entries at random, `folds` times.

    Ranks are tried in the order given; PATIENCE in a row that are worse than the best one end the search.
    """
    masks = [random.random(X.shape) >= 0.2 for _ in range(folds)]
    losses: list[float] = []
    for K in ranks:
        losses.append(0.0)
        for known in masks:
            found = nmf(X, K, iterations, known=known)
            losses[-1] += float(np.square((X - found.W @ found.H)[~known]).mean())
        if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            break
    return ranks[int(np.argmin(losses))]
