"""What a run of a paper's table wrote, set beside what is kept of it on other data sets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from murmura.core.errors import RunError
from murmura.core.files import write_whole
from murmura.studies.papers.experiments import Experiment
from murmura.studies.papers.kept import SECTION, KeptResult, kept_results, shares_with, written


@dataclass(frozen=True)
class _Folder:
    """What a folder has of an experiment; everything but the heads by data set."""

    results: dict[str, KeptResult]
    header: str = ""  # of the CSV
    lines: Mapping[str, str] = field(default_factory=dict)
    head: str = ""  # of the page
    sections: Mapping[str, str] = field(default_factory=dict)


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
    if stays and (old.header != new.header or not stays <= old.sections.keys()):
        raise RunError(
            f"{place / shown.name}.csv and .md must have today's columns and a section for each data set, but "
            f"have not: run {shown.name} on {', '.join(sorted(stays))} again."
        )
    found = dict.fromkeys(stays, old) | dict.fromkeys(new.results, new)
    listed = dict.fromkeys((*shown.data, *shown.also, *old.results, *new.results))
    order = [data for data in listed if data in found]
    files = {
        f"{shown.name}.csv": new.header + "".join(found[data].lines.get(data, "") for data in order),
        f"{shown.name}.md": "\n".join([new.head, *(found[data].sections[data] for data in order)]),
        f"{shown.name}.json": written(shown, [found[data].results[data] for data in order]),
        **_beside(shown, out, new.results),
    }
    for name, text in files.items():
        write_whole(place / name, text.encode())
    return [place / name for name in files]


def _beside(shown: Experiment, out: Path, new: Iterable[str]) -> dict[str, str]:
    """Guesses of an audit, and the trials of a run: they are kept once, with the experiment whose run it is."""
    kinds = {
        data: ["shares", "trials"] if shares_with(shown, data).name == shown.name else ["shares"]
        for data in new
    }
    names = [f"{shown.name}-{data}-{kind}.csv" for data in kinds for kind in kinds[data]]
    return {name: (out / name).read_text(encoding="utf-8") for name in names if (out / name).is_file()}


def _read(name: str, folder: Path) -> _Folder:
    results = kept_results(name, folder)
    if not results:
        return _Folder({})
    lines: dict[str, str] = {}
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    for row in rows:
        data = row[header.index("data")]
        lines[data] = lines.get(data, "") + _line(row)
    page = (folder / f"{name}.md").read_text(encoding="utf-8")
    head, *parts = re.split(rf"^(?={SECTION})", page, flags=re.MULTILINE)
    sections = {part.partition("\n")[0].removeprefix(SECTION): part.rstrip("\n") + "\n" for part in parts}
    return _Folder(results, _line(header), lines, head.rstrip("\n") + "\n", sections)


def _line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
