"""Yahoo! Movies, the subset of KGFlex (Anelli et al., RecSys 2021): ratings, links, numbered features."""

from __future__ import annotations

import numpy as np

from murmura.core.catalogue import Catalogue, Dataset
from murmura.data.sources.item_features import column_for, number_ids, relation_for, side_columns, side_rows
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side
from murmura.data.tables.checked_table import interactions_of
from murmura.data.tables.text_layout import ColumnKind, TextLayout

RATINGS = TextLayout(
    "\t",
    {"user": 0, "item": 1, "value": 2},
    {"user": ColumnKind.NUMBER_ID, "item": ColumnKind.NUMBER_ID, "value": ColumnKind.VALUE},
    header=False,
    width=3,
)


def read(folder: SourceFolder) -> Dataset:
    """`dataset.tsv`, `item-features.map.tsv` (an item, then its features) and `mappingLinkedData.tsv`."""
    interactions = interactions_of([folder.rows("dataset.tsv", RATINGS)])
    items = interactions.items
    links, features = None, None
    linked = folder.optional("mappingLinkedData.tsv")
    if linked is not None:
        ids, texts = side_columns(linked, "\t", 2)
        links = column_for(items, number_ids(linked, ids), texts)
    mapped = folder.optional("item-features.map.tsv")
    if mapped is not None:
        rows = list(side_rows(mapped, "\t", 1))
        owner = np.repeat(number_ids(mapped, [row[0] for row in rows]), [len(row) - 1 for row in rows])
        features = relation_for(items, owner, [label for row in rows for label in row[1:]])
    return folder.dataset(interactions, Catalogue(items, features=features, links=links))


YAHOO_MOVIES = Source(
    "yahoo-movies", "Yahoo! Movies, the subset of KGFlex (RecSys 2021)",
    "Yahoo! Research Webscope", "research use; ask Yahoo! Webscope for the original",
    "https://github.com/sisinflab/KGFlex",
    (
        SourceFile("dataset.tsv", "dcfe5ed44628d18d19bb6bbdbc7ce7d018a7bb5f7a146f231ad207d8769ce84f"),
        side("item-features.map.tsv", "017d01e1c7695a19fb91004c64f58fe2eacd414c31d0362eb5502ece22fce0f8"),
        side("mappingLinkedData.tsv", "33ddcc56312d04ee3f4dc87f7aaa4635722fab0368461fafddccb7ebe75e6fd6"),
    ),
    read,
)  # fmt: skip
