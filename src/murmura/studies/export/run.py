"""Lists and splits for other tools, and the lists of others scored on our split."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import yaml

from murmura.core.errors import RunError
from murmura.core.locks import locked
from murmura.core.settings import as_dict
from murmura.data.list_files import format_named, read_lists, write_lists
from murmura.data.splits.split_files import write_split
from murmura.engine.experiment import record_lists, record_scores, score_lists
from murmura.engine.run_folder import LISTS, Run, environment
from murmura.evaluation.measure import check_cutoffs
from murmura.evaluation.registry import chosen_metrics
from murmura.studies.configuration import DataConfig
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
        kept = one.part.path
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


def evaluate_lists(
    file: Path,
    data: DataConfig,
    protocol_name: str,
    folder: Path,
    form: str = "auto",
    cutoffs: tuple[int, ...] | None = None,
    metrics: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Score a file of lists on the test part of a split of ours; the folder keeps the result.

    The file is the choice the test part is opened for: another file needs another folder.
    """
    prepared = data.prepare(protocol_name)
    rules, at = prepared.protocol, cutoffs or prepared.protocol.cutoffs
    wanted = chosen_metrics(metrics, rules.scores)
    lists = read_lists(file, prepared.split.data, form)
    check_cutoffs(at, lists)  # before anything is written
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    chosen = {"lists": {"file": file.name, "sha256": digest}}
    with locked(folder):
        run = Run.create(folder, {"data": as_dict(data), "protocol": protocol_name, **chosen})
        run.write_json("data.json", prepared.describe())
        run.write_json("environment.json", environment())
        split = prepared.open(run, chosen)
        found = score_lists(lists, split, rules, at, wanted)
        record_lists(run, lists, split)
        record_scores(run, found, {}, split)
        run.mark("done")
    values: dict[str, Any] = run.read("metrics.json")
    return values
