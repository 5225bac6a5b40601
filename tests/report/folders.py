"""Comparison folders with known numbers, written with the real writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from murmura.core.arrays import Floats
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import run_name

ENVIRONMENT = {"murmura": "0.1.0", "python": "3.11.2", "numpy": "2.4.0", "cores": 2, "command": None}
DATA = {
    "split": "temporal",
    "users": 40,
    "items": 100,
    "rows": 1000,
    "test rows": 200,
    "fingerprint": "ab" * 32,
}


@dataclass(frozen=True)
class Made:
    """A model to be: its label, per-user values per seed, and what else its folder holds."""

    label: str
    precision: list[Floats]  # one per seed
    coverage: float = 50.0
    name: str = "ease"
    settings: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    ledger: dict[str, Any] | None = None
    status: str = "done"
    error: str = ""


def write_comparison(
    path: Path, models: list[Made], seeds: int = 1, status: str = "done", cutoffs: tuple[int, ...] = (10,)
) -> Path:
    """The folder `murmura compare` would have written."""

    def config(made: list[Made], n: int, seed: int) -> dict[str, Any]:
        return {
            "data": {"name": "made-up", "skip_bad": False},
            "protocol": {"name": "fpl", "filters": [{"step": "binarise"}], "cutoffs": [10]},
            "cutoffs": list(cutoffs),
            "models": {one.label: {"name": one.name, **one.settings} for one in made},
            "seeds": n,
            "seed": seed,
        }

    whole = Run.create(path, config(models, seeds, 0))
    whole.write_json("data.json", DATA)
    whole.write_json("environment.json", ENVIRONMENT)
    whole.write_json("status.json", {"status": status, "at": "2026-01-02T03:04:05+00:00"})
    for made in models:
        for seed, values in enumerate(made.precision):
            run = Run.create(path / run_name(made.label, seed), config([made], 1, seed))
            run.write_json("status.json", {"status": made.status, "error": made.error})
            if made.losses:
                write_rounds(run, made)
            if made.status == "done":
                write_scores(run, values, made, cutoffs)
    return path


def write_rounds(run: Run, made: Made) -> None:
    """A loss that falls, and for a federated method a disclosure that grows to its own end."""
    header = ["epoch", "loss", "note"]
    rows: list[list[Any]] = [[epoch, loss, ""] for epoch, loss in enumerate(made.losses)]
    if made.cost:
        header += ["disclosed_mean", "disclosed_q10", "disclosed_q90"]
        for row in rows:
            so_far = made.cost["disclosed"] * (1 - 0.8 ** (row[0] + 1))
            row += [so_far, 0.8 * so_far, min(1.0, 1.2 * so_far)]
    run.write_table("rounds.csv", header, rows)


def write_scores(run: Run, values: Floats, made: Made, cutoffs: tuple[int, ...] = (10,)) -> None:
    """The parts of a finished run; recall is half the precision."""
    metrics: dict[str, float | None] = {}
    mean = None if np.isnan(values).all() else float(values.mean())  # undefined is null
    for k in cutoffs:
        metrics |= {f"P@{k}": mean, f"R@{k}": mean and mean / 2, f"IC@{k}": made.coverage}
    run.write_json("metrics.json", metrics | made.cost)
    header = ["user", *(f"{m}@{k}" for k in cutoffs for m in "PR")]
    rows = [(f"u{i}", *((v, v / 2) * len(cutoffs))) for i, v in enumerate(values.tolist())]
    run.write_table("per_user.csv", header, rows)
    run.write_json("seconds.json", {"fit": 1.25, "rank": 0.5})
    if made.ledger is not None:
        run.write_json("ledger.json", made.ledger)


def drawn(seed: int, level: float, users: int = 200) -> Floats:
    """Per-user precisions like real ones: tenths, many zeros."""
    return np.random.default_rng(seed).binomial(10, level, users) / 10


def federation(path: Path) -> Path:
    """Two baselines and a sweep of a federated method, two seeds, with costs, ledgers and losses."""
    models = [
        Made("mostpop", [drawn(1, 0.05)], 107, "mostpop"),
        Made("ease", [drawn(2, 0.13)], 499, settings={"l2": 250.0}),
    ]
    for place, pi in enumerate((1.0, 0.5, 0.1)):
        models.append(
            Made(
                f"sfpl+ {pi:g}",
                [drawn(10 + place, 0.05 + 0.07 * pi), drawn(20 + place, 0.05 + 0.07 * pi)],
                300 + 100 * place,
                "sfpl+",
                {"pi": pi, "epochs": 20},
                {"disclosed": pi, "kB up/client": 120 * pi + 3, "kB down/client": 410.0},
                [0.69 * 0.93**epoch + 0.01 * place for epoch in range(20)],
                {
                    "rows_up": 1234,
                    "disclosed": {"mean": pi, "q10": 0.9 * pi},
                    "each": [x / 20 for x in range(20)],
                },
            )
        )
    return write_comparison(path, models, seeds=2)
