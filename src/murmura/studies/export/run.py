"""Lists and splits for other tools, and the lists of others scored on our split."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from murmura.core.errors import RunError
from murmura.core.locks import locked
from murmura.data.list_files import format_named, read_lists, write_lists
from murmura.data.splits.split_files import write_split
from murmura.engine.run_folder import LISTS
from murmura.studies.leaks.check import Evidence


def export_run(
    folder: Path, form: str, out: Path | None = None, data_dir: Path | None = None, parts: bool = True
) -> list[Path]:
    """Write the lists of every finished run of a folder, and the split, as another tool reads them.

    The split holds the test rows: writing it opens the test part for what the folder was run with. With
    `parts=False` only lists are written, and nothing is opened.
    """
    wanted, evidence = format_named(form), Evidence.of(folder, data_dir)
    place = out or folder / f"export-{form}"
    if not evidence.trained:
        raise RunError(f"{folder} must hold a finished run with lists, but has none; run it to its end.")
    prepared, split = evidence.prepared, None
    if parts and evidence.choice is not None:
        with locked(folder):
            split = prepared.open(evidence.run, evidence.choice)
    train, written = prepared.split.train, []
    for one in evidence.trained:
        kept = one.run.path
        written.append(place / f"{kept.name}{wanted.suffix}")
        write_lists(written[-1], read_lists(kept / LISTS, train, "murmura"), train, form, kept.name)
    if split is not None:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", Path(prepared.data).stem)
        written += write_split(place, split, form, name, prepared.protocol.relevant_from)
        if form == "recbole":
            written.append(_recbole_settings(place, name, written))
    return written


def _recbole_settings(place: Path, name: str, written: list[Path]) -> Path:
    """What RecBole must be told to take the split as it is."""
    parts = [part for part in ("train", "valid", "test") if place / f"{name}.{part}.inter" in written]
    told = {"dataset": name, "benchmark_filename": parts, "field_separator": "\t"}
    path = place / "recbole.yaml"
    path.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    return path
