"""The run folder: everything one run was, did and found, as plain files.

runs/<id>/
  config.yaml           the whole configuration
  environment.json      versions, commit, processor, BLAS, when
  data.json             counts and the fingerprint of the data and of its cut
  place.json            where files named in config.yaml were looked for on this machine; no report shows it
  rounds.csv            one line per epoch or round: loss, bytes, participants, time (methods that have them)
  metrics.json          the metrics on the held-out part
  per_user.csv          the same per user, own ids
  confusion.csv         where samples were classified: label by label, how many got which answer
  recommendations.tsv   the lists, own ids
  model.npz             the model, where it was kept
  ledger.json           what left the devices (federated methods)
  audit.json            what attacks on the updates found, where it was audited
  item_rows.csv         how often a row of each item left a device (federated methods)
  reasons.csv           of a few people the terms of their first item's score (methods whose scores are sums)
  items.csv             of a comparison: how often each item occurs in training and test; so categories.csv
  order.json            which order of times was seen, and by whom it is used, where anybody uses it
  status.json           running, done, interrupted or failed

A file is there completely or not at all. `report` reads this folder and nothing else. Whoever writes holds the
folder's lock (`murmura.core.locks`) meanwhile.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from threadpoolctl import threadpool_info

from murmura.core.arrays import Floats, Ids
from murmura.core.errors import RunError
from murmura.core.locks import is_empty
from murmura.core.version import __version__
from murmura.engine.part_files import PartFiles, printable
from murmura.evaluation.registry import is_cost

PARTS = ("numpy", "scipy", "numba", "polars", "pydantic")
MODEL, LISTS, ITEM_ROWS = "model.npz", "recommendations.tsv", "item_rows.csv"
FILES = ("name", "features", "mapping", "labels", "attributes", "item_names")  # of data, what may be a file


@dataclass(frozen=True, eq=False)
class RoundTable:
    """`rounds.csv`: one line per epoch or round; a field that is not a number is NaN."""

    columns: tuple[str, ...]
    values: Floats  # (lines, columns)


@dataclass(frozen=True)
class Run(PartFiles):
    """One run folder, for writing and reading. Only a `done` one has metrics; they are read once."""

    seed: int = 0  # where the folder is of one model with one seed

    @staticmethod
    def create(path: Path, config: dict[str, Any]) -> Run:
        """A new folder, or the same configuration's unfinished one; refuses another configuration's."""
        run = Run(path)
        if (path / "config.yaml").exists():
            if _identity(run.config) != _identity(config):
                raise RunError(
                    f"{path} must be new or hold a run of the same configuration, but it holds another; "
                    "choose another --out or delete it."
                )
            return run
        if path.exists() and (not path.is_dir() or not is_empty(path)):
            raise RunError(
                f"{path} must be a new or empty folder, but something else is there; choose another --out."
            )
        path.mkdir(parents=True, exist_ok=True)
        shown, places = _apart(config)
        run.write_json("place.json", places)
        run.write("config.yaml", yaml.safe_dump(shown, sort_keys=False, allow_unicode=True))
        return run

    @staticmethod
    def open(path: Path) -> Run:
        """An existing run folder."""
        if not (path / "config.yaml").is_file():
            raise RunError(
                f"{path} must be a run folder, but it has no config.yaml; give the folder a run printed."
            )
        return Run(path)

    @property
    def config(self) -> dict[str, Any]:
        """The configuration the run was started with."""
        try:
            found = yaml.safe_load((self.path / "config.yaml").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            why = getattr(error, "problem", None) or error  # YAML's own words are many lines
            raise RunError(
                f"{self.path / 'config.yaml'} cannot be read ({why}); give an unchanged folder."
            ) from None
        if not isinstance(found, dict):
            raise RunError(f"{self.path / 'config.yaml'} must hold settings, but holds {type(found).__name__}.")
        return found

    @property
    def status(self) -> str:
        """As the run marked it; "new" before it did, "missing" before its folder exists."""
        unmarked = "new" if self.has("config.yaml") else "missing"
        return printable(self.read_object("status.json").get("status", unmarked))

    @property
    def at(self) -> str:
        """When that was marked."""
        return printable(self.read_object("status.json").get("at", ""))

    @property
    def error(self) -> str:
        """Why it failed or was interrupted."""
        return printable(self.read_object("status.json").get("error", ""))

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        return self.status == "done"

    def mark(self, status: str, **details: Any) -> None:
        """Say how far the run is."""
        self.write_json("status.json", {"status": status, "at": now(), **details})

    @contextmanager
    def running(self, then: str = "done") -> Iterator[None]:
        """Say that it is running, and at the end what it `then` is; where it is stopped or fails, say that."""
        self.mark("running")
        try:
            yield
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt | GeneratorExit)
            self.mark("interrupted" if stopped else "failed", error=str(error))
            raise
        self.mark(then)

    @property
    def places(self) -> dict[str, Path]:
        """Where it was started (`folder`), and where data sets were (`data`), as far as the folder says so."""
        try:
            found = self.read("place.json")
        except RunError:  # it is a hint: without it there are other places to look
            return {}
        pairs = found.items() if isinstance(found, dict) else ()
        return {str(key): Path(value) for key, value in pairs if isinstance(value, str)}

    def write_data(self, about: dict[str, Any]) -> None:
        """Keep counts and fingerprints of the data; refuses to go on with other data than it began with."""
        if self.has("data.json") and self.read("data.json").get("fingerprint") != about.get("fingerprint"):
            raise RunError(
                f"{self.path} must go on with the data it began with, but their fingerprint differs; give the "
                "same data, or choose another --out."
            )
        self.write_json("data.json", about)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every metric and cost that is defined."""
        if self.done and not self.has("metrics.json"):
            raise RunError(f"{self.path} has no metrics.json, but says that it is done; run it again.")
        return self.read_numbers("metrics.json") if self.done else {}

    @cached_property
    def _users(self) -> tuple[Ids, dict[str, Floats]]:
        if not self.done or not self.has("per_user.csv"):
            return np.empty(0, np.str_), {}
        header, values, ids = self.read_grid("per_user.csv", skip=1)
        if len(set(ids)) != len(ids):
            raise RunError(
                f"{self.path / 'per_user.csv'} must name every user once, but repeats one; run it again."
            )
        return np.array(ids, np.str_), {key: values[:, place] for place, key in enumerate(header)}

    @property
    def users(self) -> Ids:
        """(users,) their own ids as text."""
        return self._users[0]

    @property
    def per_user(self) -> dict[str, Floats]:
        """ "P@10" -> (users,)."""
        return self._users[1]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """How long its parts took."""
        return self.read_numbers("seconds.json") if self.done else {}

    @cached_property
    def rounds(self) -> RoundTable | None:
        """What it wrote in training, finished or not."""
        if not self.has("rounds.csv"):
            return None
        header, values, _ = self.read_grid("rounds.csv")
        return RoundTable(tuple(header), values) if len(values) else None

    @cached_property
    def ledger(self) -> dict[str, Any] | None:
        """What left the devices; None of a centralised method."""
        return self.read_object("ledger.json") if self.done and self.has("ledger.json") else None

    @property
    def federated(self) -> bool:
        """Whether something left the devices: a ledger, or a cost beside the metrics."""
        return self.ledger is not None or any(map(is_cost, self.metrics))

    def read_lists(self) -> list[tuple[str, int, str, str]]:
        """User, rank, item and score of every line, own ids: too long to keep for every run of a comparison."""
        return self.read_columns(LISTS, "\t", user=str, rank=int, item=str, score=str)

    @cached_property
    def item_rows(self) -> dict[str, int] | None:
        """How often a row of each item left a device; None of a centralised method."""
        if not self.has(ITEM_ROWS):
            return None
        return dict(self.read_columns(ITEM_ROWS, item=str, sent=int))


def _identity(config: dict[str, Any]) -> dict[str, Any]:
    """What makes two runs the same: everything but where the data lies; its fingerprint is checked instead."""
    data = config.get("data")
    if not isinstance(data, dict):
        return config
    named = {key: Path(data[key]).name for key in FILES if isinstance(data.get(key), str)}
    return {**config, "data": {key: value for key, value in {**data, **named}.items() if key != "dir"}}


def _apart(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A configuration that can be shown, and apart from it where this machine has files and data sets."""
    from murmura.data.sources.registry import data_folder

    data = config.get("data")
    given = data.get("dir") if isinstance(data, dict) else None
    folder = data_folder(given)
    if isinstance(data, dict) and given is not None:
        config = {**config, "data": {key: value for key, value in data.items() if key != "dir"}}
    return config, {"folder": str(Path.cwd()), **({} if folder is None else {"data": str(folder.resolve())})}


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _processor() -> str:
    """The model of the processor, as Linux names it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _blas() -> str | None:
    """The library that multiplies matrices, and the processor it was made for: sums have its order."""
    found = (one for one in threadpool_info() if one["user_api"] == "blas")
    keys = ("internal_api", "version", "architecture")
    return next((" ".join(str(one[key]) for key in keys if one.get(key)) for one in found), None)


@cache
def _commit() -> str | None:
    """The commit this package is a checkout of; None where it is none, or git is missing."""

    def git(*words: str) -> str | None:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        return None if done.returncode else done.stdout.strip()

    try:
        tracked = git("ls-files", "--error-unmatch", Path(__file__).name)
        return tracked and git("describe", "--always", "--dirty", "--abbrev=40", "--exclude", "*")
    except (OSError, subprocess.TimeoutExpired):
        return None


def environment() -> dict[str, Any]:
    """What the run ran on; no host name, no user name."""
    return {
        "murmura": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in PARTS},
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": _blas(),
        "commit": _commit(),
        "at": now(),
        "command": ["murmura", *sys.argv[1:]] if sys.argv[:1] and "murmura" in sys.argv[0] else None,
    }
