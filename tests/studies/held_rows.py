"""What a worker process has in its memory, for tests."""

import gc
import json
from dataclasses import dataclass, replace
from typing import Any

from murmura.core.interactions import Interactions
from murmura.core.split import Split
from murmura.studies.side_by_side import FittedFiles, TrainingPart, fit_held

FILE = "held.json"


def pairs(rows: Interactions) -> set[tuple[int, int]]:
    """Who had what."""
    return set(zip(rows.user.tolist(), rows.item.tolist()))


def fit_and_look(model: str, settings: dict[str, Any], seed: int) -> FittedFiles:
    """The fit; one more file has every row that is anywhere in the worker."""
    done = fit_held(model, settings, seed)
    found = set().union(*(pairs(one) for one in gc.get_objects() if isinstance(one, Interactions)))
    return replace(done, files={**done.files, FILE: json.dumps(sorted(found)).encode()})


@dataclass(frozen=True, eq=False)
class SentWhole(TrainingPart):
    """An impostor: the split goes with the training part."""

    split: Split
