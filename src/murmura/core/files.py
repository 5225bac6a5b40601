"""Files that are there completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
