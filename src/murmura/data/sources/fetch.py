"""Bring a source from its owner to the data folder, checked; or say what to get and where to put it.

A file comes over HTTP into a `.part` beside its place, resumed where it stopped, checked, then renamed.
"""

from __future__ import annotations

import hashlib
import urllib.request
import zlib
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError, URLError
from zipfile import BadZipFile, ZipFile

from murmura.core.errors import DataError, MurmuraError
from murmura.core.files import whole_file
from murmura.core.progress import SILENT, Progress
from murmura.data.sources.source import Source, SourceFile

CHUNK = 2**16
TIMEOUT = 30  # seconds without a byte
MOST = 2**33  # bytes one member of an archive may unpack to


class DownloadError(MurmuraError):
    """A download did not succeed; the text is the reason, to be put into a sentence."""


def fetch(source: Source, data_dir: Path, progress: Progress = SILENT) -> list[Path]:
    """Download what is missing or differs; answers the files that are now in place. Nothing is half-written."""
    folder = data_dir / source.name
    wanted = []
    for file in source.files:
        path = folder / file.name
        if not path.is_file() or (file.sha256 is not None and file_sha256(path) != file.sha256):
            wanted.append(file)
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


def download(url: str, path: Path, sha256: str | None, progress: Progress) -> None:
    """Fetch `url` to `path`; a `.part` left by an earlier attempt is continued, a wrong one thrown away."""
    part = path.with_name(path.name + ".part")
    resumed = part.exists() and part.stat().st_size > 0
    _receive(url, part, progress)
    if resumed and sha256 is not None and file_sha256(part) != sha256:
        part.unlink()  # the beginning was of another file: once more from the start
        _receive(url, part, progress)
    if sha256 is not None and (found := file_sha256(part)) != sha256:
        part.unlink()
        raise DownloadError(f"its sha256 must be {sha256[:12]}…, but is {found[:12]}…")
    part.replace(path)


def file_sha256(path: Path) -> str:
    """The sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _receive(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "murmura", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        request = urllib.request.Request(url, headers=headers)
        with cast(HTTPResponse, urllib.request.urlopen(request, timeout=TIMEOUT)) as answer:
            if answer.status != 206:
                have = 0  # the server sends the whole file
            length = answer.headers.get("Content-Length")
            _store(answer, part, have, int(length) if length and length.isdigit() else None, progress)
    except HTTPError as error:
        error.close()
        if error.code == 416 and have:  # nothing after what we have: it is whole, or of another file
            return
        raise DownloadError(f"the server answers {error.code} {error.reason}") from None
    except URLError as error:
        raise DownloadError(f"the server cannot be reached: {error.reason}") from None
    except (HTTPException, OSError, ValueError) as error:
        raise DownloadError(f"the connection broke ({error}); run it again to resume") from None


def _store(answer: HTTPResponse, part: Path, have: int, length: int | None, progress: Progress) -> None:
    progress.begin(part.stem, have + (length or 0))
    progress.advance(have)
    got = 0
    part.parent.mkdir(parents=True, exist_ok=True)  # only now: a refused download leaves nothing behind
    try:
        with part.open("ab" if have else "wb") as file:
            while piece := answer.read(CHUNK):
                file.write(piece)
                got += len(piece)
                progress.advance(len(piece))
    finally:
        progress.end()
    if length is not None and got < length:
        raise OSError(f"{got:,} of {length:,} bytes arrived")
