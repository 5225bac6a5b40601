"""Tables 2 and 3 of FedSPLIT with every group tuned: groupings, tuning, one comparison on the test part.

<folder>/
  tuned/<key>.json      what a group of a grouping chose, or the centralised model
  patterns/<key>.json   K of the joint factorisation of a grouping
  runs-<n>-<key>/       the comparison of n groupings: `murmura report` reads it

Every key is a hash of all that the file or folder was made from. What is finished is not repeated: a killed run
goes on with the same call, and more groupings tune only the groups that are new. Each comparison opens the test
part in a folder of its own, for choices that training rows alone have made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms.fedsplit.fedsplit import FedSplit
from murmura.algorithms.fedsplit.local import mark, unable
from murmura.algorithms.fedsplit.presets import FEDSPLIT
from murmura.algorithms.preset import ONCE
from murmura.core.arrays import Ints
from murmura.core.catalogue import Dataset
from murmura.core.errors import RunError
from murmura.core.files import write_whole
from murmura.core.interactions import Interactions
from murmura.core.locks import is_empty, locked
from murmura.core.settings import as_dict
from murmura.core.update import SentUpdate
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.factorisation.cnmf import CnmfSettings
from murmura.kernels.factorisation.nmf import best_rank
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod
from murmura.studies.compare import ComparisonEntry, compare
from murmura.studies.compare import plan as plan_comparison
from murmura.studies.groups.tuning import (
    MOST,
    GroupChoice,
    GroupRatings,
    Tuning,
    read_choices,
    stored_choices,
    tune_all,
)
from murmura.studies.methods import whole_settings
from murmura.studies.worker_pool import processes

RANKS = tuple(range(2, 31, 2))  # K of the joint factorisation, as in the paper
ALL = "all-ratings"  # the name of the centralised model's choice
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnmf-groups": ("cnmf-groups", {}),
    "fedsplit": ("fedsplit", {}),
    "fedsplit-seen": ("fedsplit", {"bias": "seen"}),
}
StatusListener = Callable[[str], None]
Tuned = tuple[Ints, dict[str, CnmfSettings]]  # the group of everyone, and what the groups chose


@dataclass(frozen=True)
class TuningRequest:
    """What is run: how many groupings, how each group is tuned."""

    groupings: int
    tuning: Tuning
    workers: int


def tuned_table(
    dataset: Dataset, request: TuningRequest, folder: Path, heard: StatusListener, source: dict[str, Any]
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
            [everyone, *(one for ratings in own for one in ratings)], request, folder / "tuned", heard
        )

        def chosen(one: GroupRatings) -> CnmfSettings:
            return tuned[one.key(request.tuning)].settings

        chosen_by = [{one.name: chosen(one) for one in ratings} for ratings in own]
        ranks = _ranks(train, list(zip(groupings, chosen_by)), folder / "patterns", request.workers)
        heard(f"K of the joint factorisations: {', '.join(map(str, ranks))}")
        entries = [ComparisonEntry("cnmf", "cnmf", as_dict(chosen(everyone)))]
        for number, (K, settings) in enumerate(zip(ranks, chosen_by)):
            given = {"grouping_seed": number, "factors": MOST, "patterns": K, "tuned": settings}
            entries += [
                ComparisonEntry(f"{label}-{number}", name, whole_settings(name, {**given, **own}))
                for label, (name, own) in ROWS.items()
            ]
        whole = replace(plan, entries=tuple(entries))
        key = _key(whole.config(whole.entries, whole.seeds, whole.seed), whole.prepared.describe())
        runs = folder / f"runs-{request.groupings}-{key}"
        for line in compare(whole, runs, workers=request.workers):
            heard(f"{line.label}: MSE {line.values['MSE']:.4f}")
        return runs


def _refuse_other(folder: Path) -> None:
    """Refuse a place that is no folder, or holds anything but an earlier tuning."""
    if folder.exists() and not (folder / "tuned").is_dir() and (not folder.is_dir() or not is_empty(folder)):
        raise RunError(
            f"{folder} must be new, empty or hold an earlier tuning, but something else is there; "
            "choose another --out."
        )


def _choices(
    tasks: list[GroupRatings], request: TuningRequest, folder: Path, heard: StatusListener
) -> dict[str, GroupChoice]:
    """What everyone chose, by key; says what was kept before it tunes the others."""
    groups = {one.key(request.tuning): one for one in tasks}
    tuned = stored_choices(groups, folder)
    left = {key: one for key, one in groups.items() if key not in tuned}
    heard(f"{len(tuned)} of {len(groups)} choices are kept in {folder}; {len(left)} are left to tune.")
    for key, choice in tune_all(left, request.tuning, folder, request.workers):
        tuned[key] = choice
        heard(f"[{len(tuned)}/{len(groups)}] {groups[key].name}: {choice}")
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


def _ranks(train: Interactions, tuned: list[Tuned], folder: Path, workers: int) -> list[int]:
    """K of every grouping; one that is kept in the folder is not looked for again."""
    files = []
    for number, (groups, chosen) in enumerate(tuned):
        settings = {name: as_dict(one) for name, one in chosen.items()}
        files.append(folder / f"{_key(train.fingerprint, groups.tolist(), settings, number, RANKS)}.json")
    left = [number for number, file in enumerate(files) if not file.is_file()]
    folder.mkdir(parents=True, exist_ok=True)
    with processes(workers) as pool:
        asked = {number: pool.submit(_rank, train, *tuned[number], number) for number in left}
        for number, future in asked.items():
            write_whole(files[number], json.dumps({"K": future.result()}).encode())
    return [read_choices(file, lambda kept: int(kept["K"])) for file in files]


def _rank(train: Interactions, groups: Ints, tuned: dict[str, CnmfSettings], number: int) -> int:
    """The K that predicts held-out entries of the groups' updates best."""
    updates: list[SentUpdate] = []
    method = FedSplit(factors=MOST, patterns=1, joint_epochs=1, tuned=tuned)
    fit(Plan(method, train, ONCE, groups=groups), runtime=InProcess(), record=updates.append)
    columns = []
    for sent_update in updates:
        if sent_update.phase == "factors":
            rows = sent_update.update.tables["items"]
            H = np.zeros((train.n_items, MOST), np.float32)
            H[rows.index] = rows.values[:, :MOST]
            columns.append(H[:, H.any(axis=0)])
    return best_rank(np.hstack(columns), RANKS, np.random.default_rng([number, 17]))
