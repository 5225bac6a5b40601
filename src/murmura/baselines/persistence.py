"""A fitted model as one file: arrays without pickle, and a header that says what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from murmura.baselines import BASELINES, baseline
from murmura.baselines.base import Baseline
from murmura.core.errors import DataError, MurmuraError, RunError
from murmura.core.files import group, prefixed, read_archive, write_archive
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.model import Arrays, Model
from murmura.core.settings import as_dict, from_dict

FORMAT, VERSION = "murmura-model", 2
_COLUMNS = ("user", "item", "value", "time")


def save_model(path: Path | str, method: Baseline, model: Model, *, rows: bool = True) -> None:
    """Write the method, its settings, the training part and what was learned; whole, or not at all.

    Without `rows` the training part is left out: whoever loads it has it.
    """
    train = model.train
    header = {"format": FORMAT, "version": VERSION, "model": method.name, "settings": as_dict(method)}
    arrays: Arrays = prefixed(model=model.arrays())
    if rows:
        columns = {name: column for name in _COLUMNS if (column := getattr(train, name)) is not None}
        arrays |= prefixed(train=columns) | {"users": train.users.labels, "items": train.items.labels}
    write_archive(Path(path), arrays, header, DataError)


def load_model(path: Path | str, train: Interactions | None = None) -> tuple[Baseline, Model]:
    """The method with its settings, and the fitted model, as they were saved; `train` where it was left out."""
    header, arrays = _read(Path(path))
    try:
        method = from_dict(baseline(header["model"]), header["settings"])
        if train is None:
            train = _training_part(arrays)
        return method, method.model.restore(train, group(arrays, "model"), method)
    except (MurmuraError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not a usable model: {error}; fit and save it again.") from None


def _training_part(arrays: Arrays) -> Interactions:
    if "users" not in arrays:
        raise DataError("it was saved without its training part, which its run folder finds")
    users, items, rows = Vocabulary(arrays["users"]), Vocabulary(arrays["items"]), group(arrays, "train")
    return Interactions(users, items, rows["user"], rows["item"], rows["value"], rows.get("time"))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays; a foreign or damaged file is refused before anything is built."""
    if not path.is_file():
        raise DataError(
            f"a model must be a file that save_model wrote, but {path} is not there; check the path."
        )
    try:
        arrays, header = read_archive(path)
    except RunError:
        arrays, header = {}, {}
    if header.get("format") != FORMAT:
        raise DataError(
            f"a model must be a file that save_model wrote, but {path} is damaged or foreign; fit it again."
        )
    if header.get("version") != VERSION or header.get("model") not in BASELINES:
        raise DataError(
            f"{path} must be a version {VERSION} model that this Murmura knows, but it is version "
            f"{header.get('version')} of '{header.get('model')}'; use the Murmura that wrote it."
        )
    return header, arrays
