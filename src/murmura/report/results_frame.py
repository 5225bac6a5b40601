"""What a folder has found, as a frame of pandas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from murmura.core.plugins import imported
from murmura.data.frames import pandas_frame
from murmura.engine.part_files import wrong_folder
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.scorer import open_folder
from murmura.studies.search.folder import SearchFolder

Row = dict[str, Any]
STUDY = "murmura.lab.study.section:study_rows"  # imported where a folder is one of a study


def read(folder: Path | str) -> Any:
    """The results in a folder as a frame of pandas, which must be installed; finished or not.

    Of `fit` and `compare` a row for each model and seed, of `search` for each trial, of `study` for each method
    on each data set. Settings are JSON.
    """
    path = Path(folder)
    if "methods" in Run.open(path).config:
        rows = list(imported(STUDY)(path))
    elif isinstance(found := open_folder(path), ComparisonFolder):
        rows = list(_runs(found))
    elif isinstance(found, SearchFolder):
        rows = [{**asdict(one), "settings": json.dumps(one.settings)} for one in found.trials]
    else:
        commands = "`murmura fit`, `compare`, `search` or `study`"
        raise wrong_folder(path, "a folder of results", "is a reproduction", commands)
    names = dict.fromkeys(name for row in rows for name in row)
    return pandas_frame({name: [row.get(name) for row in rows] for name in names})


def _runs(found: ComparisonFolder) -> Iterator[Row]:
    for model in found.models:
        about = {"model": model.label, "method": model.name, "settings": json.dumps(model.settings)}
        for part in model.parts:
            named = {**about, "uses": ", ".join(model.uses), "seed": part.seed, "status": part.status}
            yield {**named, "error": part.error, **(part.metrics if part.done else {})}
