"""A split on disk: one byte per row, and the fingerprint of the data it belongs to."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from murmura.core.errors import DataError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions
from murmura.core.split import TEST, TRAIN, VALIDATION, Split

FORMAT = "murmura-split-1"


def save_split(path: Path, split: Split) -> None:
    """Write the parts, the name and the data's fingerprint to an `.npz` file, whole or not at all."""
    about = {
        "format": FORMAT,
        "name": split.name,
        "rows": len(split.data),
        "train": int((split.part == TRAIN).sum()),
        "validation": int((split.part == VALIDATION).sum()),
        "test": int((split.part == TEST).sum()),
        "fingerprint": split.data.fingerprint,
    }
    with whole_file(path, DataError) as file:
        np.savez_compressed(file, part=split.part, about=np.array(json.dumps(about)))


def load_split(path: Path, data: Interactions) -> Split:
    """The split that was saved, over the same data; refuses any other data."""
    about, part = _read(path)
    if about.get("fingerprint") != data.fingerprint:
        raise DataError(
            f"{path}: the split belongs to data with fingerprint {str(about.get('fingerprint'))[:12]}…, but "
            f"this data has {data.fingerprint[:12]}…; load and filter the data as it was, or split it again."
        )
    if part.dtype != np.uint8 or part.shape != (len(data),) or (part > TEST).any():
        raise DataError(f"{path}: the split must say the part of {len(data)} rows, but does not; split again.")
    return Split(str(about.get("name")), data, part)


def describe_split(path: Path) -> dict[str, Any]:
    """What a split file says about itself."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Any], Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            about, part = json.loads(str(kept["about"])), kept["part"]
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; make it with `murmura data split`.") from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, BadZipFile, zlib.error, NotImplementedError):
        raise DataError(f"{path}: it must be a saved split, but cannot be read as one; split again.") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(f"{path}: it must be a saved split ({FORMAT}), but is something else; split again.")
    return about, part
