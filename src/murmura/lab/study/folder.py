"""A study on disk: its plan, every trial, a comparison for each data set, openings of its test part.

runs/<id>/
  config.yaml                    the plan
  trials/<data set>.json         every trial of every method, with what it took and why it failed
  <data set>/                    a comparison of what was chosen, as `murmura report` and others read it
  <data set>/openings.json       for how many choices the test part was opened, here and in folders beside
  <data set>/<run>/effort.json   CPU seconds of a fit on the whole training part
  table.csv, .md, .tex           one line per method; rows.csv, .md, .tex: one per data set and method
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.engine.part_files import wrong_folder
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.run_folder import Run
from murmura.lab.study.study_plan import StudyPlan, plan_of
from murmura.studies.compare.folder import ComparisonFolder, read_runs
from murmura.studies.search.folder import Trial

TRIALS, OPENINGS, EFFORT = "trials", "openings.json", "effort.json"
Trials = dict[str, list[Trial]]  # by the label of the method


@dataclass(frozen=True, eq=False)
class StudyFolder:
    """A study, finished or not."""

    run: Run

    @staticmethod
    def open(folder: Path) -> StudyFolder:
        """The study in a folder; refuses another folder."""
        if "methods" not in Run.open(folder).config:
            raise wrong_folder(folder, "a study", "is not", "`murmura study`")
        return StudyFolder(Run(folder))

    @cached_property
    def plan(self) -> StudyPlan:
        """What was asked for."""
        return plan_of(self.run.config)

    def of(self, name: str) -> Run:
        """The folder of a data set."""
        return Run(self.run.path / name)

    def trials(self, name: str) -> Trials:
        """What was tried on a data set so far."""
        found = Run(self.run.path / TRIALS).read_object(f"{name}.json")
        try:
            return {label: [Trial.of(one) for one in own] for label, own in found.items()}
        except (KeyError, TypeError, ValueError):
            file = self.run.path / TRIALS / f"{name}.json"
            raise RunError(f"{file} is damaged: delete it and run the study again.") from None

    def record_trials(self, name: str, trials: Mapping[str, Sequence[Trial]]) -> None:
        """Keep all that was tried on a data set so far."""
        kept = Run(self.run.path / TRIALS)
        kept.path.mkdir(exist_ok=True)
        kept.write_json(f"{name}.json", {label: [one.plain() for one in own] for label, own in trials.items()})

    def comparison(self, name: str) -> ComparisonFolder | None:
        """What was chosen, scored on the test part; None before that, or where nothing could be chosen."""
        return read_runs(self.of(name).path) if self.of(name).has("config.yaml") else None

    def openings(self, name: str) -> int:
        """For how many choices the test part of a data set was opened; 0 before it was."""
        return int(self.of(name).read_object(OPENINGS).get("openings", 0))

    def record_opening(self, name: str, about: Mapping[str, Any]) -> None:
        """Count the opening that comes now; `about` has the fingerprints of the data and of its parts."""
        if self.of(name).has(OPENINGS):
            return
        same = ("fingerprint", "parts")
        base, choices = self.run.path.parent, set[str]()
        for file in (*base.glob(f"*/{OPENED}"), *base.glob(f"*/*/{OPENED}")):
            found = Run(file.parent).read_object(OPENED)
            if file.parent != self.of(name).path and all(found.get(key) == about[key] for key in same):
                choices.add(json.dumps(found.get("choice"), sort_keys=True))
        choices.discard(json.dumps({"models": self.of(name).config["models"]}, sort_keys=True))
        self.of(name).write_json(OPENINGS, {"openings": 1 + len(choices)})
