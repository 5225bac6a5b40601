"""Files that are there completely or not at all, and archives of arrays and plain values.

An archive is a zip of `<name>.npy` members (numpy opens it) and one `meta.json`. It has no pickle, and equal
content gives equal bytes.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.errors import MurmuraError, RunError


@contextmanager
def whole_file(path: Path, refuse: type[MurmuraError] = RunError, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A file to write into: flushed to disk, it takes the name `path` only when everything went well."""
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        part = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
        part.replace(path)
    except OSError as error:
        raise refuse(
            f"{path} cannot be written ({error.strerror}); free space or choose another place."
        ) from None
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, refuse: type[MurmuraError] = RunError, mode: int = 0o644) -> None:
    """Write `content` as the file `path`, completely or not at all."""
    with whole_file(path, refuse, mode) as file:
        file.write(content)


_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # a fixed date: equal content, equal bytes


def write_archive(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    meta: Mapping[str, Any],
    refuse: type[MurmuraError] = RunError,
) -> None:
    """One file, complete or not at all."""
    with whole_file(path, refuse) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(meta, indent=1, sort_keys=True, allow_nan=False)
        archive.writestr(zipfile.ZipInfo("meta.json", _LONG_AGO), text)
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _LONG_AGO), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(arrays[name], order="C"), allow_pickle=False)


def read_archive(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the plain values; refuses a file that is damaged or something else."""
    try:
        with zipfile.ZipFile(path) as archive:
            meta = dict(json.loads(archive.read("meta.json")))
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise RunError(
            f"{path} must be an archive Murmura wrote, but cannot be read ({error}); delete it."
        ) from None
    return arrays, meta


def prefixed(**groups: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """model={"Q": ...} as {"model.Q": ...}."""
    return {f"{name}.{inner}": array for name, inside in groups.items() for inner, array in inside.items()}


def group(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    """The opposite, for one group."""
    start = f"{name}."
    return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}


def flat_answers(answers: Mapping[int, Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The answers to single clients, as {"7.M": ...}."""
    return prefixed(**{str(client): answer for client, answer in answers.items()})


def answers_of(flat: Mapping[str, NDArray[Any]]) -> dict[int, dict[str, NDArray[Any]]]:
    """The opposite."""
    found: dict[int, dict[str, NDArray[Any]]] = {}
    for name, array in flat.items():
        client, _, key = name.partition(".")
        found.setdefault(int(client), {})[key] = array
    return dict(sorted(found.items()))
