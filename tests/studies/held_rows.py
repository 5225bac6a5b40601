"""What a worker process has in its memory, for tests."""

import gc
import json
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from murmura.core.catalogue import Split
from murmura.core.interactions import Interactions
from murmura.studies.compare.run import FittedFiles, TrainingPart, fit_held

FILE = "held.json"
KILLED = "MURMURA_TEST_KILLED"  # names the file that the first to be killed leaves


def pairs(rows: Interactions) -> set[tuple[int, int]]:
    """Who had what."""
    return set(zip(rows.user.tolist(), rows.item.tolist()))


def fit_and_look(model: str, settings: dict[str, Any], seed: int) -> FittedFiles:
    """The fit; one more file has every row that is anywhere in the worker."""
    done = fit_held(model, settings, seed)
    found = set().union(*(pairs(one) for one in gc.get_objects() if isinstance(one, Interactions)))
    return replace(done, files={**done.files, FILE: json.dumps(sorted(found)).encode()})


def fit_after_a_kill(model: str, settings: dict[str, Any], seed: int) -> FittedFiles:
    """The fit; the first worker that has made one is killed before it can say so."""
    done = fit_held(model, settings, seed)
    try:
        Path(os.environ[KILLED]).touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return done


@dataclass(frozen=True, eq=False)
class SentWhole(TrainingPart):
    """An impostor: the split goes with the training part."""

    split: Split
