"""Tables 2 and 3 of FedSPLIT with every group tuned: groupings, tuning, one comparison on the test part.

<folder>/
  tuned/             what every group of every grouping chose, and the centralised model: one file each
  letters-<n>.json   K of the joint factorisation of grouping n
  runs/              the comparison: `murmura report` reads it

What is finished is not repeated: a killed run goes on with the same call.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from murmura.algorithms.fedsplit import FedSplit
from murmura.algorithms.fedsplit_local import mark, owners, unable
from murmura.algorithms.fedsplit_presets import ONCE, FedSplitPrinted
from murmura.core.catalogue import Dataset
from murmura.core.files import write_whole
from murmura.core.interactions import Interactions
from murmura.core.record import Letter
from murmura.core.settings import as_dict
from murmura.engine.fit import fit, make_plan
from murmura.engine.plan import Plan
from murmura.kernels.cnmf import CnmfSettings
from murmura.kernels.nmf import best_rank
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import Simulated
from murmura.studies.compare import Comparison, Entry, compare
from murmura.studies.compare import plan as plan_comparison
from murmura.studies.group_results import GroupTable, read_groups
from murmura.studies.group_tuning import MOST, Ratings, Tuning, tune_all

RANKS = tuple(range(2, 31, 2))  # K of the joint factorisation, as in the paper
Heard = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What is run: how many groupings, how each group is tuned."""

    groupings: int
    tuning: Tuning
    workers: int


def tuned_table(
    dataset: Dataset, asked: Asked, folder: Path, heard: Heard, source: dict[str, Any]
) -> GroupTable:
    """Tune everything on training rows, then open the test part once and compare."""
    plan = plan_comparison(dataset, "fedsplit", {"cnmf": {}}, source=source)
    train = plan.prepared.split.train
    entries = [_central(train, asked, folder, heard)]
    for number in range(asked.groupings):
        entries += _grouping(train, asked, folder, number, heard)
    whole = Comparison(prepared=plan.prepared, entries=tuple(entries), cutoffs=plan.cutoffs, source=plan.source)
    for line in compare(whole, folder / "runs", workers=asked.workers):
        heard(f"{line.label}: MSE {line.values['MSE']:.4f}")
    return read_groups(folder / "runs")


def _central(train: Interactions, asked: Asked, folder: Path, heard: Heard) -> Entry:
    rows = train.by_user
    everyone = Ratings("central", train.user[rows.order], rows.index, rows.value, float(train.value.mean()))
    for _, chosen, loss in tune_all([everyone], asked.tuning, folder / "tuned", 1):
        heard(f"all ratings: k = {chosen.factors}, held-out MSE {loss:.4f}")
    return Entry("cnmf", "cnmf", as_dict(chosen))


def _grouping(train: Interactions, asked: Asked, folder: Path, number: int, heard: Heard) -> list[Entry]:
    """One grouping: its tuned groups alone, and with FedSPLIT."""
    preset = FedSplitPrinted(grouping_seed=number)
    groups = Simulated(preset).groups(train, number)
    assert groups is not None
    plan = make_plan(FedSplit(), None, train, ONCE, None, 0, groups.of)
    tuned = {
        name: chosen
        for name, chosen, _ in tune_all(_ratings(plan), asked.tuning, folder / "tuned", asked.workers)
    }
    K = _rank(train, plan, tuned, folder / f"letters-{number}.json", number)
    heard(f"grouping {number}: {len(tuned)} groups tuned, K = {K}")
    own = {"grouping_seed": number, "factors": MOST, "patterns": K, "tuned": tuned}
    return [_entry(name, number, own) for name in ("cnmf-groups", "fedsplit")]


def _entry(name: str, number: int, own: dict[str, Any]) -> Entry:
    from murmura.studies.methods import method_class

    return Entry(f"{name}-{number}", name, as_dict(method_class(name)(**own)))


def _ratings(plan: Plan) -> list[Ratings]:
    """What every group of two or more tunes on, under the mark its choice is kept by."""
    histories = [plan.people.history(client, 1) for client in range(plan.clients)]
    able = [history for history in histories if not unable(history)]
    mu = float(np.mean([history.value.mean() for history in able]))  # equation 14
    return [Ratings(mark(one), owners(one), one.item, one.value, mu) for one in able]


def _rank(train: Interactions, plan: Plan, tuned: dict[str, CnmfSettings], file: Path, number: int) -> int:
    """The K that predicts held-out entries of the groups' letters best."""
    if file.is_file():
        return int(json.loads(file.read_text(encoding="utf-8"))["K"])
    letters: list[Letter] = []
    method = FedSplit(factors=MOST, patterns=1, joint_epochs=1, tuned=tuned)
    fit(method, None, train, ONCE, runtime=InProcess(), groups=plan.groups, record=letters.append)
    columns = []
    for letter in letters:
        if letter.phase == "factors":
            rows = letter.update.tables["items"]
            H = np.zeros((train.n_items, MOST), np.float32)
            H[rows.index] = rows.values[:, :MOST]
            columns.append(H[:, H.any(axis=0)])
    K = best_rank(np.hstack(columns), RANKS, np.random.default_rng([number, 17]))
    write_whole(file, json.dumps({"K": K}).encode())
    return K
