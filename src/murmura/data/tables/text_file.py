"""Bytes in: a file, plain or gzipped, becomes text in UTF-8, or one sentence says why it cannot."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from murmura.core.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"  # of workbooks too
SMALL = 64 * 2**20  # bytes any gzip file may grow to
MOST = 200  # a larger gzip file may grow to this many times its size: ratings shrink about 5 times
CHUNK = 2**20


@dataclass(frozen=True)
class TextFile:
    """The content of a file as UTF-8 bytes without byte order mark; `sha256` is of the file as it lies."""

    path: Path
    content: bytes
    sha256: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line with its number from 1, without its end."""
        for number, line in enumerate(io.BytesIO(self.content), 1):
            yield number, line.decode().removesuffix("\n").removesuffix("\r")


def read_text(path: Path, encoding: str = "utf-8") -> TextFile:
    """Read, unpack and decode a file; refuses what is absent, a folder, empty, cut short or not text."""
    raw = read_raw(path)
    content = unpacked(path, raw)
    if not content or content.isspace():
        raise DataError(f"{path}: the file must hold rows, but it is empty; get it again or name another.")
    return TextFile(path, _as_utf8(path, content, encoding), hashlib.sha256(raw).hexdigest())


def read_own_text(path: Path) -> tuple[TextFile, tuple[str, ...]]:
    """A file of one's own, in whatever its programme saved it, and a note where that is not UTF-8."""
    raw = read_raw(path)
    if raw.startswith(ZIP_MAGIC):
        raise DataError(
            f"{path}: the file must be text or Parquet, but it is a workbook or a zip file; save its table as "
            "CSV."
        )
    content = unpacked(path, raw)
    encoding = _encoding_of(content)
    if encoding == "utf-8":
        return read_text(path), ()
    whole = content.decode(encoding, errors="replace").encode()
    note = f"{path.name}: read as {encoding}, as it is not UTF-8."
    return TextFile(path, whole, hashlib.sha256(raw).hexdigest()), (note,)


def _encoding_of(content: bytes) -> str:
    """UTF-8 where it can be, UTF-16 where it begins so, and otherwise what Windows saves in western Europe."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and len(content) % 2 == 0:
        try:
            content.decode("utf-16")
        except UnicodeDecodeError:
            return "utf-8"  # which says on which line it is damaged
        return "utf-16"
    try:
        content.decode()
    except UnicodeDecodeError:
        return "utf-8" if b"\0" in content else "windows-1252"
    return "utf-8"


def read_raw(path: Path) -> bytes:
    """The bytes of a file as they lie there."""
    if path.is_dir():
        raise DataError(f"{path}: it must be a file, but it is a folder; name a file inside it.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the name and the data folder.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: the file cannot be read ({reason}); check the path and its rights.") from None


def line_of(content: bytes, offset: int) -> int:
    """The line, counted from 1, that holds the byte at `offset`."""
    return content.count(b"\n", 0, offset) + 1


def unpacked(path: Path, raw: bytes, text: bool = True) -> bytes:
    """The content of a file; that of a gzip file is refused when cut short or growing beyond bounds."""
    if not raw.startswith(GZIP_MAGIC):
        return raw
    limit = max(SMALL, MOST * len(raw))
    parts: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            while piece := file.read(CHUNK):
                parts.append(piece)
                size += len(piece)
                if size > limit:
                    raise DataError(
                        f"{path}: the gzip file must unpack to at most {limit:,} bytes, but holds more; "
                        "unpack it yourself if you trust it."
                    )
    except EOFError:
        raise _damaged(path, parts, "is cut short", text) from None
    except (OSError, zlib.error) as error:
        raise _damaged(path, parts, f"is damaged ({error})", text) from None
    return b"".join(parts)


def _damaged(path: Path, parts: list[bytes], how: str, text: bool) -> DataError:
    if not text:
        return DataError(f"{path}: the gzip file {how}; download it again.")
    line = sum(part.count(b"\n") for part in parts) + 1
    return DataError(f"{path}, line {line}: the gzip file {how} here; download it again.")


def _as_utf8(path: Path, content: bytes, encoding: str) -> bytes:
    zero = content.find(b"\0")
    if zero >= 0:
        raise DataError(
            f"{path}, line {line_of(content, zero)}: the file must be {encoding} text, but holds a zero byte; "
            f"save it as {encoding} text."
        )
    if content.isascii():
        return content
    try:
        decoded = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {line_of(content, error.start)}: the file must be {encoding} text, but byte "
            f"0x{content[error.start]:02x} is not; save it as {encoding}."
        ) from None
    if encoding == "utf-8":
        return content.removeprefix(b"\xef\xbb\xbf")
    return decoded.encode()
