"""One file over HTTP: into a `.part` beside its place, resumed where it stopped, checked, then renamed."""

from __future__ import annotations

import hashlib
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError, URLError

from murmura.core.errors import MurmuraError
from murmura.core.progress import Progress

CHUNK = 2**16
TIMEOUT = 30  # seconds without a byte


class DownloadError(MurmuraError):
    """A download did not succeed; the text is the reason, to be put into a sentence."""


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
    try:
        with _open(url, have) as answer:
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


def _open(url: str, have: int) -> HTTPResponse:
    headers = {"User-Agent": "murmura", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)
    return cast(HTTPResponse, urllib.request.urlopen(request, timeout=TIMEOUT))


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
