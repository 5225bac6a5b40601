"""Fetching, against a real server on the loopback: sha256, resume, refusal; nothing is half-written."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from murmura.core.errors import DataError
from murmura.core.progress import SilentProgress
from murmura.data.sources.fetch import fetch
from murmura.data.sources.movielens import ML_1M, read_1m
from murmura.data.sources.source import Source, SourceFile, side

CONTENT = b"".join(b"%d\t%d\t1\t%d\n" % (n, n % 7, n) for n in range(40_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Shelf(BaseHTTPRequestHandler):
    """Serves `files`; knows ranges unless told otherwise; may hang up after some bytes."""

    files: ClassVar[dict[str, bytes]] = {}
    ranges: ClassVar[bool] = True
    stop_after: ClassVar[int | None] = None
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        content = self.files.get(self.path)
        if content is None:
            self.send_error(403 if self.path == "/licensed" else 404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = len(content) if self.stop_after is None else start + self.stop_after
        self.wfile.write(content[start:end])

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    Shelf.files, Shelf.ranges, Shelf.stop_after, Shelf.asked = {"/a.tsv": CONTENT}, True, None, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def source(address: str | None, *files: SourceFile, archive: str | None = None) -> Source:
    return Source(
        "thing", "A thing", "its owner", "ask first", "http://owner.example", files, read_1m,
        files_at=address, archive=archive,
    )  # fmt: skip


class Heard(SilentProgress):
    """A progress listener that remembers."""

    def __init__(self) -> None:
        self.total, self.done = 0, 0

    def begin(self, task: str, total: int) -> None:
        self.total += total

    def advance(self, steps: int = 1) -> None:
        self.done += steps


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_downloaded_checked_and_reported(address: str, tmp_path: Path) -> None:
    heard = Heard()
    found = fetch(source(address, SourceFile("a.tsv", SHA256)), tmp_path, heard)
    assert found == [tmp_path / "thing" / "a.tsv"]
    assert found[0].read_bytes() == CONTENT
    assert names(tmp_path) == ["a.tsv"]
    assert heard.done == heard.total == len(CONTENT)
    assert fetch(source(address, SourceFile("a.tsv", SHA256)), tmp_path) == found
    assert len(Shelf.asked) == 1  # it was there and right: nothing is asked again


def test_a_broken_download_is_resumed(address: str, tmp_path: Path) -> None:
    Shelf.stop_after = 100_000
    thing = source(address, SourceFile("a.tsv", SHA256))
    with pytest.raises(DataError, match=r"thing cannot be fetched \(.*run it again to resume"):
        fetch(thing, tmp_path)
    assert names(tmp_path) == ["a.tsv.part"]  # kept to go on from; the name itself is never half-written
    Shelf.stop_after = None
    fetch(thing, tmp_path)
    assert (tmp_path / "thing" / "a.tsv").read_bytes() == CONTENT
    assert names(tmp_path) == ["a.tsv"]
    assert Shelf.asked == [None, "bytes=100000-"]


def test_a_server_without_ranges_sends_it_all_again(address: str, tmp_path: Path) -> None:
    part = tmp_path / "thing" / "a.tsv.part"
    part.parent.mkdir()
    part.write_bytes(CONTENT[:500])
    Shelf.ranges = False
    fetch(source(address, SourceFile("a.tsv", SHA256)), tmp_path)
    assert (tmp_path / "thing" / "a.tsv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "left", [b"x" * 500, b"x" * (len(CONTENT) + 10), CONTENT], ids=["other", "longer", "whole"]
)
def test_a_part_of_another_file_is_thrown_away(address: str, tmp_path: Path, left: bytes) -> None:
    part = tmp_path / "thing" / "a.tsv.part"
    part.parent.mkdir()
    part.write_bytes(left)
    fetch(source(address, SourceFile("a.tsv", SHA256)), tmp_path)
    assert (tmp_path / "thing" / "a.tsv").read_bytes() == CONTENT
    assert names(tmp_path) == ["a.tsv"]


def test_a_wrong_sha256_is_refused_and_nothing_stays(address: str, tmp_path: Path) -> None:
    thing = source(address, SourceFile("a.tsv", "0" * 64))
    with pytest.raises(DataError, match=f"its sha256 must be 000000000000…, but is {SHA256[:12]}…"):
        fetch(thing, tmp_path)
    assert names(tmp_path) == []


def test_a_file_that_differs_from_the_owners_is_replaced(address: str, tmp_path: Path) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "a.tsv").write_bytes(b"old")
    fetch(source(address, SourceFile("a.tsv", SHA256)), tmp_path)
    assert (tmp_path / "thing" / "a.tsv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("file", "reason"), [("licensed", "the server answers 403 Forbidden"), ("gone", "the server answers 404")]
)
def test_when_it_cannot_it_says_what_to_get_and_where_to_put_it(
    address: str, tmp_path: Path, file: str, reason: str
) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        fetch(source(address, SourceFile(file)), tmp_path)
    told = str(caught.value)
    assert f"get it from its owner (http://owner.example) and put {file} into {tmp_path / 'thing'}" in told
    assert "terms: ask first" in told
    assert not (tmp_path / "thing").exists()


def test_no_network_and_no_offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(DataError, match="the server cannot be reached"):
        fetch(source("http://127.0.0.1:9", SourceFile("a.tsv")), tmp_path)
    with pytest.raises(DataError, match="nobody offers it for download"):
        fetch(source(None, SourceFile("a.tsv")), tmp_path)
    assert names(tmp_path) == []


def test_a_side_file_may_fail(address: str, tmp_path: Path) -> None:
    found = fetch(source(address, side("gone"), SourceFile("a.tsv", SHA256)), tmp_path)
    assert found == [tmp_path / "thing" / "a.tsv"]


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"some-folder/{name}.tsv", content)
    return packed.getvalue()


def test_an_archive_is_unpacked_to_the_files_we_know(address: str, tmp_path: Path) -> None:
    Shelf.files = {"/all.zip": zipped(a=CONTENT, other=b"not ours")}
    thing = source(None, SourceFile("a.tsv", SHA256), side("b.tsv"), archive=f"{address}/all.zip")
    assert fetch(thing, tmp_path) == [tmp_path / "thing" / "a.tsv"]
    assert names(tmp_path) == ["a.tsv"]


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (zipped(a=b"other"), "the sha256 of a.tsv must be"),
        (zipped(b=CONTENT), "the archive has no a.tsv"),
        (zipped(a=CONTENT)[:-30], "the archive is damaged"),
        (b"<html>please log in</html>", "the archive is damaged"),
    ],
    ids=["sha", "member", "cut", "page"],
)
def test_a_bad_archive_leaves_nothing(address: str, tmp_path: Path, packed: bytes, reason: str) -> None:
    Shelf.files = {"/all.zip": packed}
    with pytest.raises(DataError, match=reason):
        fetch(source(None, SourceFile("a.tsv", SHA256), archive=f"{address}/all.zip"), tmp_path)
    assert names(tmp_path) == []


def test_the_sources_say_where_their_files_lie() -> None:
    assert ML_1M.archive == "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
