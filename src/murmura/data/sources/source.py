"""What is known about a public data set: whose it is, where it lies, how it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.data.tables.column_kinds import TextLayout
from murmura.data.tables.side_file import SideFile
from murmura.data.tables.text_file import TextFile, read_raw, read_text, unpacked
from murmura.data.tables.text_table import interactions_of, left_out, read_table

ANYBODYS = ("train.txt", "test.txt")  # names of files that many data sets have


@dataclass(frozen=True)
class SourceFile:
    """One file of a source; `required` ones must be there, the others only add knowledge about items."""

    name: str
    sha256: str | None = None
    required: bool = True


def side(name: str, sha256: str | None = None) -> SourceFile:
    """A file that may be absent: it only adds knowledge about items."""
    return SourceFile(name, sha256, required=False)


@dataclass(frozen=True)
class Source:
    """A public data set: its owner, its terms, its files and how they become a Dataset."""

    name: str  # of its folder under the data folder, too
    title: str
    owner: str
    licence: str
    url: str  # the owner's page about it
    files: tuple[SourceFile, ...]
    read: Callable[[SourceFolder], Dataset]
    archive: str | None = None  # where a zip file with all files lies
    files_at: str | None = None  # or where the files lie one by one
    how: str = ""  # what to do when it cannot be downloaded
    like: Callable[[Path], Source | None] | None = None  # the source of another folder of such files

    @property
    def own_names(self) -> bool:
        """Whether the names of its files are its own: those of others are told by what is in them."""
        return not any("*" in file.name or file.name in ANYBODYS for file in self.files)

    def load(self, folder: Path, skip_bad: bool) -> Dataset:
        """The data set in a folder; where a required file is absent, says what to get and where to put it."""
        if missing := self.missing(folder):
            raise DataError(
                f"{self.name} needs {', '.join(missing)}, but {folder} has no such file: {self.advice(folder)}."
            )
        return self.read(SourceFolder(folder, self, skip_bad))

    def missing(self, folder: Path) -> list[str]:
        """The required files that are not in `folder`."""
        return [file.name for file in self.files if file.required and not _present(folder / file.name)]

    def fits(self, folder: Path) -> bool:
        """Whether a folder holds what this source needs, and something of it at all."""
        return not self.missing(folder) and any(_present(folder / file.name) for file in self.files)

    def advice(self, folder: Path) -> str:
        """What to get, from whom, and where to put it."""
        names = ", ".join(file.name for file in self.files if file.required) or "it"
        get = self.how or f"get it from {self.owner} ({self.url})"
        return f"{get} and put {names} into {folder}"


@dataclass
class SourceFolder:
    """The folder of a source while it is being read: every file that is opened is checked and noted."""

    path: Path
    source: Source
    skip_bad: bool = False
    notes: list[str] = field(default_factory=list)

    def text(self, name: str, encoding: str = "utf-8") -> TextFile:
        """A file that must be there; a sha256 other than the owner's is noted, not refused."""
        path = self._place(name)
        text = read_text(path, encoding)
        if path == self.path / name:
            self._note_other(name, text.sha256)
        return text

    def content(self, name: str) -> bytes:
        """The bytes of a file that is no text, unpacked; a sha256 of them other than the owner's is noted."""
        path = self._place(name)
        content = unpacked(path, read_raw(path), text=False)
        self._note_other(name, hashlib.sha256(content).hexdigest())
        return content

    def _place(self, name: str) -> Path:
        """The file, or the gzip file of that name where only that is there."""
        path = self.path / name
        packed = path.with_name(path.name + ".gz")
        return packed if packed.exists() and not path.exists() else path

    def _note_other(self, name: str, sha256: str) -> None:
        known = {file.name: file.sha256 for file in self.source.files}.get(name)
        if known and sha256 != known:
            self.notes.append(f"{name} differs from the owner's file (sha256 {sha256[:12]}…).")

    def matching(self, pattern: str) -> list[str]:
        """The names, without .gz, of the files that fit a pattern like `*.tsv`, in order."""
        found = [path.name for end in ("", ".gz") for path in self.path.glob(pattern + end)]
        return sorted({name.removesuffix(".gz") for name in found})

    def rows(self, name: str, layout: TextLayout) -> pl.DataFrame:
        """The interactions of a file; what had to be left out is noted by reason and count."""
        text = self.text(name, layout.encoding)
        table = read_table(text, layout, self.skip_bad)
        self.notes.extend(left_out(text.path.name, table.bad))
        return table.frame

    def interactions(self, name: str, layout: TextLayout) -> Interactions:
        """The rows of the one file of interactions."""
        return interactions_of([self.rows(name, layout)])

    def dataset(self, interactions: Interactions, catalogue: Catalogue) -> Dataset:
        """The finished data set, with everything that was noted on the way."""
        return Dataset(self.source.name, interactions, catalogue, tuple(self.notes), folder=self.path)

    def optional(self, name: str, layout: TextLayout | None = None) -> SideFile | None:
        """A file that adds knowledge about items, found out how it is cut or as said; its absence is noted."""
        if not _present(self.path / name):
            self.notes.append(f"{name} is not in {self.path}: what it says about items is unknown.")
            return None
        text = self.text(name, layout.encoding if layout else "utf-8")
        return SideFile(text, layout) if layout else SideFile.of(text)


def begins(folder: Path, header: str) -> bool:
    """Whether a tab-separated file of a folder begins with this header."""
    for path in folder.glob("*.tsv"):
        with path.open("rb") as file:
            if file.read(len(header)) == header.encode():
                return True
    return False


def _present(path: Path) -> bool:
    """Whether a file, plain or gzipped, is there; a name with * means any such file."""
    return any(True for end in ("", ".gz") for _ in path.parent.glob(path.name + end))
