"""Data sets of graph papers, published with their split: Wang et al. (SIGIR 2019), He et al. (SIGIR 2020).

The leaderboard BARS (Zhu et al., SIGIR 2022) has the same splits: Gowalla_m1, Yelp18_m1, AmazonBooks_m1.
`--protocol published` trains and tests on them as they were cut.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.interactions import Interactions
from murmura.data.adjacency import NAMES, TEST, TRAIN, VALIDATION, has_adjacency, read_adjacency
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side


def read(folder: SourceFolder) -> Dataset:
    """All rows, each once, whatever part they are in."""
    files = [read_adjacency(folder.text(name)) for name in NAMES if (folder.path / name).is_file()]
    pairs = np.unique(np.concatenate([np.stack([rows.user, rows.item]) for rows in files], axis=1), axis=1)
    rows = Interactions.of(pairs[0], pairs[1])
    return folder.dataset(rows, Catalogue(rows.items))


def like(folder: Path) -> Source | None:
    """The source of a folder with any split in this form."""
    return _published(folder.name, folder.name) if has_adjacency(folder) else None


def _published(name: str, title: str, train: str | None = None, test: str | None = None) -> Source:
    return Source(
        name, title, "its publishers", "the owners' terms of the rows; cite the papers",
        "https://github.com/kuandeng/LightGCN",
        (SourceFile(TRAIN, train), SourceFile(TEST, test), side(VALIDATION)), read,
        how="get the split of the LightGCN paper (https://github.com/kuandeng/LightGCN)", like=like,
    )  # fmt: skip


GOWALLA = _published(
    "gowalla",
    "Gowalla check-ins, split of NGCF and LightGCN (BARS: Gowalla_m1)",
    "7244696fdeb23911319cf7b689f2e15a3c4c92549c873a5677b44e3f13cc3e62",
    "099a2a73924e4b754dc6efd730d764f492321b53c38eb93298850c83acf57be3",
)
YELP18 = _published("yelp18", "Yelp 2018, split of NGCF and LightGCN (BARS: Yelp18_m1)")
AMAZON_BOOK = _published("amazon-book", "Amazon books, split of NGCF and LightGCN (BARS: AmazonBooks_m1)")
