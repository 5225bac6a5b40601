"""Bring a source from its owner to the data folder, checked; or say what to get and where to put it."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from murmura.core.errors import DataError
from murmura.core.files import whole_file
from murmura.core.progress import SILENT, Progress
from murmura.data.sources.download import DownloadError, download, file_sha256
from murmura.data.sources.source import Source, SourceFile

MOST = 2**33  # bytes one member of an archive may unpack to


def fetch(source: Source, data_dir: Path, progress: Progress = SILENT) -> list[Path]:
    """Download what is missing or differs; answers the files that are now in place. Nothing is half-written."""
    folder = data_dir / source.place
    wanted = [file for file in source.files if not _good(folder / file.name, file)]
    if not wanted:
        return [folder / file.name for file in source.files]
    try:
        if source.archive is not None:
            _from_archive(source, folder, wanted, progress)
        elif source.files_at is not None:
            _one_by_one(source.files_at, folder, wanted, progress)
        else:
            raise DownloadError("nobody offers it for download")
    except (DownloadError, OSError) as problem:
        raise DataError(
            f"{source.name} cannot be fetched ({problem}): {source.advice(folder)} (terms: {source.licence})."
        ) from None
    return [folder / file.name for file in source.files if (folder / file.name).exists()]


def _good(path: Path, file: SourceFile) -> bool:
    """Whether a file is there and, where the owner's sha256 is known, is the owner's."""
    return path.is_file() and (file.sha256 is None or file_sha256(path) == file.sha256)


def _one_by_one(place: str, folder: Path, wanted: list[SourceFile], progress: Progress) -> None:
    """Required files first; one that only adds knowledge may fail."""
    for file in sorted(wanted, key=lambda file: not file.required):
        url = f"{place}/{file.name}"
        try:
            download(url, folder / file.name, file.sha256, progress)
        except DownloadError as problem:
            if file.required:
                raise DownloadError(f"{url}: {problem}") from None


def _from_archive(source: Source, folder: Path, wanted: list[SourceFile], progress: Progress) -> None:
    url = source.archive or ""
    path = folder / url.rsplit("/", 1)[-1]
    try:
        download(url, path, None, progress)
    except DownloadError as problem:
        raise DownloadError(f"{url}: {problem}") from None
    try:
        with ZipFile(path) as archive:
            contents = {file.name: _member(archive, file) for file in wanted}
        for name, content in contents.items():
            if content is not None:
                with whole_file(folder / name, DataError) as out:
                    out.write(content)
    except (BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise DownloadError(f"{url}: the archive is damaged ({error})") from None
    finally:
        path.unlink(missing_ok=True)


def _member(archive: ZipFile, file: SourceFile) -> bytes | None:
    """The content of a file of the archive, whatever folder it lies in there; checked."""
    found = [info for info in archive.infolist() if info.filename.rsplit("/", 1)[-1] == file.name]
    if not found and file.required:
        raise DownloadError(f"the archive has no {file.name}")
    if not found:
        return None
    if found[0].file_size > MOST:
        raise DownloadError(f"{file.name} would unpack to {found[0].file_size:,} bytes")
    content = archive.read(found[0])
    digest = hashlib.sha256(content).hexdigest()
    if file.sha256 is not None and digest != file.sha256:
        raise DownloadError(f"the sha256 of {file.name} must be {file.sha256[:12]}…, but is {digest[:12]}…")
    return content
