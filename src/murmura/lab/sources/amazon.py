"""Amazon product ratings (McAuley et al., SIGIR 2015): Digital Music as in FedeRank, or any ratings file."""

from __future__ import annotations

from pathlib import Path

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError
from murmura.data.sources.source import Source, SourceFile, SourceFolder, begins
from murmura.data.tables.column_kinds import ColumnKind, TextLayout, quoted_names

# ids are text even where they look like numbers: their order decides ties, and the papers' was that of text
_KINDS = {
    "user": ColumnKind.TEXT_ID,
    "item": ColumnKind.TEXT_ID,
    "value": ColumnKind.VALUE,
    "time": ColumnKind.SECONDS,
}
_NAMES = {"user": "user_id", "item": "item_id", "value": "rating", "time": "utc"}
RATINGS = TextLayout("\t", _NAMES, _KINDS, header=True)
ORIGINAL = TextLayout(",", {"user": 0, "item": 1, "value": 2, "time": 3}, _KINDS, width=4)


def read(folder: SourceFolder) -> Dataset:
    """One file of ratings: tab-separated with the header above, or McAuley's `ratings_*.csv` without header."""
    name = _file(folder)
    layout = ORIGINAL if name.endswith(".csv") else RATINGS
    interactions = folder.interactions(name, layout)
    return folder.dataset(interactions, Catalogue(interactions.items))


def _file(folder: SourceFolder) -> str:
    """The file the source names, or the one that fits its pattern."""
    pattern = folder.source.files[0].name
    if "*" not in pattern:
        return pattern
    found = folder.matching(pattern)
    if len(found) != 1:
        raise DataError(
            f"{folder.path}: it must hold one file {pattern}, but holds {quoted_names(found)}; keep one."
        )
    return found[0]


def like(folder: Path) -> Source | None:
    """The source of a folder with the ratings of any product category."""
    headed = begins(folder, "user_id\titem_id\trating\tutc")
    if not headed and not any(folder.glob("ratings_*.csv*")):
        return None
    pattern = "*.tsv" if headed else "ratings_*.csv"
    return Source(
        folder.name, f"Amazon ratings ({folder.name})", "J. McAuley, UC San Diego", _TERMS,
        "https://cseweb.ucsd.edu/~jmcauley/datasets/amazon/links.html", (SourceFile(pattern),), read,
    )  # fmt: skip


_TERMS = "research use; cite McAuley et al. (SIGIR 2015)"
FEDBPR_FILES = (
    "https://raw.githubusercontent.com/sisinflab/FedBPR/52539e07da390f7fc5e2101e01b1dacefb348e52/raw_datasets"
)
_SHA256 = "f2f01d03c9f62d703f6d883ca6cd7029af09de62fbf25399e13a1c31475cab47"

DIGITAL_MUSIC = Source(
    "amazon-digital-music", "Amazon Digital Music, users with at least 20 ratings (FedeRank, ECIR 2021)",
    "J. McAuley, UC San Diego", _TERMS,
    "https://github.com/sisinflab/FedBPR",
    (SourceFile("AmazonDigitalMusic.tsv", _SHA256),),
    read, files_at=FEDBPR_FILES, like=like,
)  # fmt: skip
