"""Foursquare check-ins by city (Yang et al., ACM TIST 2016), as FPL joined them to countries (SAC 2021)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.errors import DataError
from murmura.data.sources.source import Source, SourceFile, SourceFolder, begins
from murmura.data.tables.column_kinds import ColumnKind, TextLayout
from murmura.data.tables.side_file import relation_of
from murmura.data.tables.text_table import interactions_of
from murmura.lab.sources.amazon import FEDBPR_FILES

CHECK_INS = TextLayout(
    "\t",
    {"user": "user_id", "item": "venue_id", "time": "utc", "category": "type"},
    {"user": ColumnKind.NUMBER_ID, "item": ColumnKind.TEXT_ID, "category": ColumnKind.LABEL},
    header=True,
    repeats=True,  # people come back
)
_LOST = "\x1a"  # what the owner's export left of each byte outside ASCII: 'Café' is 'Caf\x1a\x1a' or 'Caf\x1a'


def read(folder: SourceFolder) -> Dataset:
    """All city files of a folder, joined in the order of their names.

    The catalogue's categories are the nine root categories of the papers; its features are the venue types.
    """
    frames = [folder.rows(name, CHECK_INS) for name in _cities(folder)]
    interactions = interactions_of(frames)
    names = [clean(name) for frame in frames for name in frame["category"].to_list()]
    types = relation_of(interactions.item, names)
    roots, named = _roots(folder, types), types.prefixed("venueType=")
    return folder.dataset(interactions, Catalogue(interactions.items, categories=roots, features=named))


def clean(name: str) -> str:
    """The name of a venue type with its lost accent restored; 'Café' is the only one that had any."""
    return name.rstrip(_LOST) + "é" if name.endswith(_LOST) else name


def root_of() -> dict[str, str]:
    """The root category of every venue type we know."""
    table = files("murmura.lab.sources").joinpath("foursquare_roots.tsv").read_text("utf-8")
    return dict(line.split("\t") for line in table.splitlines()[1:])


def _roots(folder: SourceFolder, types: Relation) -> Relation:
    known = root_of()
    roots = sorted(set(known.values()))
    code = np.array([roots.index(known[name]) if name in known else -1 for name in types.labels], np.int32)
    strange = [name for name in types.labels if name not in known]
    if strange:
        have = "venue type has" if len(strange) == 1 else "venue types have"
        more = ", …" if len(strange) > 5 else ""
        folder.notes.append(f"{len(strange)} {have} no root category: {', '.join(strange[:5])}{more}.")
    label = code[types.label]
    pairs = np.unique(np.stack([types.item, label], axis=1)[label >= 0], axis=0)
    return Relation(tuple(roots), pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32))


def _cities(folder: SourceFolder) -> list[str]:
    listed = [file.name for file in folder.source.files if "*" not in file.name]
    found = folder.matching("*.tsv")
    if not (listed or found):
        raise DataError(f"{folder.path}: it must hold city files (*.tsv), but has none; put them there.")
    return listed or found


_OWNER = "D. Yang (check-ins), SisInfLab, Politecnico di Bari (city files)"
_TERMS = "research use; cite Yang et al. (ACM TIST 2016)"
_PAGE = "https://github.com/sisinflab/FedBPR"
_ITALY = {
    "Bologna": "e61d8e40928cafa48ef37326839b6eeac01878fdc9bd61b24b08c264045d7b78",
    "Florence": "46c8645e78cb91fb3afa6d67f8ca4f966b98c210896004b77c00d14541c6b0e7",
    "Milan": "7e2765f2b91fb99a9048fe660133693191109c1cb93043525381dd0aa906b849",
    "Rome": "d8aea9391ff46e679a6629138194d863490086a3632794e2323ee1db868e15a3",
    "Turin": "97c7bafc13ab1e2f010f7dcb9bb9013e25080ea90cab34194e8bd6561f0c7929",
    "Venice": "709c94b36fcebc85e16f68b29c805c8ce784ef61bc2bf3b2e6024a41c24cc514",
}


def country(name: str) -> Source:
    """The source of a folder of city files for which nobody offers a download."""
    return Source(
        name, f"Foursquare check-ins by city ({name})", _OWNER, _TERMS, _PAGE, (SourceFile("*.tsv"),), read,
        how="write one tab-separated file per city (user_id, venue_id, type, utc) from D. Yang's check-ins "
        "(https://sites.google.com/site/yangdingqi/home/foursquare-dataset)",
    )  # fmt: skip


def like(folder: Path) -> Source | None:
    """The source of a folder of anybody's city files."""
    return country(folder.name) if begins(folder, "user_id\tvenue_id\ttype\tutc") else None


ITALY = Source(
    "foursquare-italy", "Foursquare check-ins, six Italian cities (FPL, SAC 2021)", _OWNER, _TERMS, _PAGE,
    tuple(SourceFile(f"{city}.tsv", sha256) for city, sha256 in _ITALY.items()),
    read, files_at=FEDBPR_FILES, like=like,
)  # fmt: skip


BRAZIL = country("foursquare-brazil")
CANADA = country("foursquare-canada")
