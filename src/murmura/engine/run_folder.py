"""The run folder: everything one run was, did and found, as plain files.

runs/<id>/
  config.yaml           the whole configuration
  environment.json      versions, machine, seed, when, how long
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

import csv
import io
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from murmura.core.errors import RunError
from murmura.core.files import write_whole
from murmura.core.locks import is_empty
from murmura.core.version import __version__

PARTS = ("numpy", "scipy", "numba", "polars", "pydantic")
MODEL = "model.npz"
FILES = ("name", "features", "mapping", "labels", "attributes", "item_names")  # of data, what may be a file


@dataclass(frozen=True)
class Run:
    """One run folder, open for writing or reading."""

    path: Path

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
        """`done`, `running`, `interrupted` or `failed`; `new` before anything was written."""
        return str(self.read("status.json")["status"]) if self.has("status.json") else "new"

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
            told = self.read("place.json")
        except RunError:  # it is a hint: without it there are other places to look
            return {}
        found = told.items() if isinstance(told, dict) else ()
        return {str(key): Path(value) for key, value in found if isinstance(value, str)}

    def write_data(self, about: dict[str, Any]) -> None:
        """Keep counts and fingerprints of the data; refuses to go on with other data than it began with."""
        if self.has("data.json") and self.read("data.json").get("fingerprint") != about.get("fingerprint"):
            raise RunError(
                f"{self.path} must go on with the data it began with, but their fingerprint differs; give the "
                "same data, or choose another --out."
            )
        self.write_json("data.json", about)

    def has(self, name: str) -> bool:
        """Whether a part is there."""
        return (self.path / name).is_file()

    def read(self, name: str) -> Any:
        """A JSON part."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(
                f"{self.path} has no {name}; the run has not come that far: run it to its end."
            ) from None
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise RunError(f"{self.path / name} is damaged ({error}); run it again.") from None

    def write(self, name: str, text: str) -> None:
        """A text part, complete or not at all."""
        write_whole(self.path / name, text.encode())

    def write_json(self, name: str, value: Any) -> None:
        """A JSON part."""
        self.write(name, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def write_table(
        self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ","
    ) -> None:
        """A CSV or TSV part."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        self.write(name, text.getvalue())

    def read_table(self, name: str, separator: str = ",") -> tuple[list[str], list[list[str]]]:
        """A CSV or TSV part: its header and its rows as text."""
        if not self.has(name):
            raise RunError(f"{self.path} has no {name}; the run has not come that far: run it to its end.")
        with (self.path / name).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file, delimiter=separator)
        return header, rows


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


def environment() -> dict[str, Any]:
    """What the run ran on; no host name, no user name."""
    return {
        "murmura": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in PARTS},
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "command": ["murmura", *sys.argv[1:]] if sys.argv[:1] and "murmura" in sys.argv[0] else None,
    }
