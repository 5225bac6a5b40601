"""Which tables and figures are kept, and from which run: `<name>.json` beside the CSV of each.

A checkout has them in docs/results/reproductions; an installed package does not carry them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from murmura.core.errors import RunError
from murmura.core.version import __version__
from murmura.engine.run_folder import Run
from murmura.lab.papers.experiments import Experiment, experiment
from murmura.lab.papers.reproduce import ExperimentPlace

PLACE = Path("docs") / "results" / "reproductions"
TABLES = "-tables.csv"  # ends the name of the file with what a page shows


@dataclass(frozen=True)
class KeptResult:
    """What an experiment's numbers on one data set come from."""

    data: str
    date: str  # on which its run ended
    code: str  # the commit that wrote it; the version, where it was no checkout
    seeds: int
    fits: int = 0
    cpu_minutes: float = 0.0
    quick: bool = False
    calculated: bool = False  # from the size of the data as printed: nothing was trained
    counted: bool = False  # in the data set itself: nothing was trained
    fewest: int = 0  # seeds of the rows that have fewer than the others; 0: all have as many

    def text(self) -> str:
        """In a few words."""
        if self.calculated:
            return f"calculated from its printed size ({self.date}, {self.code})"
        if self.counted:
            return f"counted ({self.date}, {self.code})"
        what = "only --quick" if self.quick else "kept"
        seeds = f"{self.seeds} seed{'s' if self.seeds > 1 else ''}"
        seeds = f"{self.fewest} to {seeds}" if self.fewest else seeds
        return f"{what}: {self.date}, {self.code}, {self.minutes} CPU min, {seeds}"

    @property
    def minutes(self) -> str:
        """CPU minutes, with a decimal where they are few."""
        return f"{self.cpu_minutes:.0f}" if self.cpu_minutes >= 10 else f"{self.cpu_minutes:.1f}"


def checkout(package: Path | None = None) -> Path | None:
    """The sources' folder; None where the package is installed."""
    root = (package or Path(str(resources.files("murmura")))).parents[1]
    return root if (root / PLACE).is_dir() else None


def code_version(root: Path | None) -> str:
    """The commit of a checkout, or the version of the package."""
    if root is None:
        return f"version {__version__}"
    asked = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return f"version {__version__}"


def result_of(place: ExperimentPlace) -> KeptResult:
    """What the files of a run say of it."""
    total, seeds = place.kept.spent, place.experiment.seeds
    fewest = min((row.seeds or seeds for row in place.experiment.rows.values()), default=seeds)
    return KeptResult(
        data=Path(place.data).stem,
        date=str(Run(place.runs).read("status.json")["at"])[:10],
        code=code_version(checkout()),
        seeds=seeds,
        fits=round(total.fits),
        cpu_minutes=round(total.cpu / 60, 1),
        quick=place.folder.name.endswith("-quick"),
        fewest=fewest if fewest < seeds else 0,
    )


def written(shown: Experiment, found: list[KeptResult]) -> str:
    """The text of `<name>.json`."""
    return json.dumps({"experiment": shown.name, "results": [asdict(one) for one in found]}, indent=1) + "\n"


def kept_results(name: str, folder: Path) -> dict[str, KeptResult]:
    """What is kept of an experiment in a folder: data set -> its run."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["results"]
        results = TypeAdapter(list[KeptResult]).validate_python(found)
    except (ValueError, KeyError, TypeError, ValidationError):
        raise RunError(f"{path} is damaged: run `murmura reproduce run {name}` and keep its files.") from None
    return {one.data: one for one in results}


def cost_before(ran: Experiment, data: str) -> KeptResult | None:
    """The kept whole run of an experiment on a data set, which says how long it will take."""
    root = checkout()
    if root is None:
        return None
    known = kept_results(ran.name, root / PLACE).get(data)
    return known if known and not (known.quick or known.calculated or known.counted) else None


def shares_with(shown: Experiment, data: str) -> Experiment:
    """The experiment whose run is shown on a data set: on one the paper does not have, the first it names."""
    bases = [] if shown.rows else list(shown.same_run_as.values())
    whose = shown.same_run_as.get(data) or next(iter(bases), None)
    return shown if whose is None else experiment(whose)


@dataclass(frozen=True)
class _Folder:
    """What a folder has of an experiment."""

    results: dict[str, KeptResult]
    tables: Mapping[str, tuple[list[str], list[list[str]]]] = field(default_factory=dict)  # CSV: header, rows


def keep(shown: Experiment, out: Path, place: Path) -> list[Path]:
    """Put what a run wrote into `out` beside what `place` has of other data sets; returns the files.

    Of a data set that is kept already, the new result takes the place of the old one.
    """
    new, old = _read(shown.name, out), _read(shown.name, place)
    if not new.results or any(one.quick for one in new.results.values()):
        has = "one with --quick" if new.results else "none"
        raise RunError(
            f"{out} must hold a whole run of {shown.name}, but has {has}: `murmura reproduce run` makes it."
        )
    stays = old.results.keys() - new.results.keys()
    changed = [name for name in old.tables if old.tables[name][0] != new.tables[name][0]]
    if stays and changed:
        raise RunError(
            f"{place / changed[0]} must have today's columns, but has not: run {shown.name} on "
            f"{', '.join(sorted(stays))} again."
        )
    found = dict.fromkeys(stays, old) | dict.fromkeys(new.results, new)
    listed = dict.fromkeys((*shown.data, *shown.also, *old.results, *new.results))
    order = [data for data in listed if data in found]
    texts = {
        f"{shown.name}.json": written(shown, [found[data].results[data] for data in order]),
        **_beside(shown, out, new.results),
    }
    kept = Run(place)
    for name, (header, _) in new.tables.items():
        column = header.index("data")
        rows = [row for data in order for row in found[data].tables[name][1] if row[column] == data]
        kept.write_table(name, header, rows)
    for name, text in texts.items():
        kept.write(name, text)
    return [place / name for name in (*new.tables, *texts)]


def _beside(shown: Experiment, out: Path, new: Iterable[str]) -> dict[str, str]:
    """Guesses of an audit, and the trials of a run: they are kept once, with the experiment whose run it is."""
    names = [
        f"{shown.name}-{data}-{kind}.csv"
        for data in new
        for kind in ("shares", "trials")
        if kind == "shares" or shares_with(shown, data).name == shown.name
    ]
    return {name: (out / name).read_text(encoding="utf-8") for name in names if (out / name).is_file()}


def _read(name: str, folder: Path) -> _Folder:
    results = kept_results(name, folder)
    names = [f"{name}.csv", f"{name}{TABLES}"] if results else []
    return _Folder(results, {one: Run(folder).read_table(one) for one in names})
