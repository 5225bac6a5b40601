"""Folders of compared classifiers with known accuracies and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import run_name
from tests.report.folders import DATA, ENVIRONMENT

CLIENTS = tuple(f"c{place}" for place in range(10))
Curve = Sequence[float]  # the share of its samples every client gets right, round by round


def write_classifiers(
    path: Path,
    entries: Mapping[str, Sequence[Curve]],
    settings: Mapping[str, dict[str, Any]] | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
    seeds: int = 2,
) -> Path:
    """Every entry with a curve for each of its seeds: client k of ten is 1 % of k below it.

    `answers` has for each seed of an entry the digits of every client, the same for all of them.
    """
    given = {label: {"name": "fedavg", **(settings or {}).get(label, {})} for label in entries}

    def config(labels: Sequence[str], n: int, seed: int) -> dict[str, Any]:
        rules = {"name": "mnist-shards", "filters": [], "cutoffs": [10], "classifies": True}
        own = {label: given[label] for label in labels}
        return {
            "data": {"name": "mnist"},
            "protocol": rules,
            "cutoffs": [10],
            "models": own,
            "seeds": n,
            "seed": seed,
        }

    whole = Run.create(path, config(list(entries), seeds, 0))
    whole.write_json("data.json", DATA)
    whole.write_json("environment.json", ENVIRONMENT)
    whole.write_json("status.json", {"status": "done", "at": "2026-01-02T03:04:05+00:00"})
    for label, curves in entries.items():
        for seed, curve in enumerate(curves):
            run = Run.create(path / run_name(label, seed), config([label], 1, seed))
            _write_run(run, curve, (answers or {}).get(label, ())[seed : seed + 1])
    return path


def _write_run(run: Run, curve: Curve, answers: Sequence[str]) -> None:
    local = np.array(curve)[:, None] - 0.01 * np.arange(len(CLIENTS))
    rows = [(number, *(f"{one:.6g}" for one in values)) for number, values in enumerate(local.tolist(), 1)]
    run.write_table("accuracy.csv", ("round", *CLIENTS), rows)
    metrics = {"accuracy": float(local[-1].mean()), "accuracy/rounds": float(local.mean())}
    weights = {"effective clients": 9.5, "capped": 0.0, "smallest weight": 0.8, "largest weight": 1.2}
    run.write_json("metrics.json", {**metrics, **weights})
    run.write_table("per_user.csv", ("user", "accuracy"), zip(CLIENTS, local[-1].tolist()))
    run.write_table("confusion.csv", ("class", "0", "1"), [(0, 90, 10), (1, 30, 70)])
    run.write_json("seconds.json", {"fit": 1.0})
    for digits in answers:
        run.write_table("answers.csv", ("user", "right"), [(client, digits) for client in CLIENTS])
    run.write_json("status.json", {"status": "done"})
