"""Which tables and figures are kept, and from which run: `<name>.json` beside the CSV of each.

A checkout has them in docs/results/reproductions; an installed package does not carry them.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from murmura.core.errors import RunError
from murmura.core.version import __version__
from murmura.engine.run import Run
from murmura.studies.papers.experiments import Experiment, experiment
from murmura.studies.papers.reproduce import ExperimentPlace

PLACE = Path("docs") / "results" / "reproductions"
SECTION = "## "  # before the name of a data set in <name>.md


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
