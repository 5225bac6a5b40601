"""The subsets of KGFlex (Anelli et al., RecSys 2021): Yahoo! Movies with numbered features, Facebook Books with
1- and 2-hop DBpedia features; both with links.
"""

from __future__ import annotations

from murmura.core.arrays import Ids
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.interactions import Interactions
from murmura.data.graphs.feature_files import listed_features, predicate_and_object, read_mapping
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side
from murmura.data.tables.column_kinds import ColumnKind, TextLayout
from murmura.data.tables.side_file import column_for, relation_of

RATINGS = TextLayout(
    "\t",
    {"user": 0, "item": 1, "value": 2},
    {"user": ColumnKind.NUMBER_ID, "item": ColumnKind.NUMBER_ID, "value": ColumnKind.VALUE},
    width=3,
)
TABS = TextLayout("\t")


def read_yahoo(folder: SourceFolder) -> Dataset:
    """`dataset.tsv`, `item-features.map.tsv` (an item, then its features) and `mappingLinkedData.tsv`."""
    data, links = _rows_and_links(folder)
    mapped, features = folder.optional("item-features.map.tsv", TABS), None
    if mapped is not None:
        ids, labels = listed_features(mapped)
        features = relation_of(mapped.codes(data.items, ids), labels)
    return folder.dataset(data, Catalogue(data.items, features=features, links=links))


def read_facebook(folder: SourceFolder) -> Dataset:
    """`dataset.tsv`, `item_features.tsv`, `predicate_mapping.tsv` and `mappingLinkedData.tsv`.

    A feature is a (predicate, object) pair, written `predicate=object`; `p~q` is a predicate of two hops.
    """
    data, links = _rows_and_links(folder)
    mapped, features = folder.optional("item_features.tsv", TABS), None
    predicates = folder.optional("predicate_mapping.tsv", TABS)
    if mapped is not None:
        names = {code: name for name, code in zip(*predicates.columns(2))} if predicates is not None else {}
        ids, labels = predicate_and_object(mapped.columns(3), names)
        features = relation_of(mapped.codes(data.items, ids), labels)
    return folder.dataset(data, Catalogue(data.items, features=features, links=links))


def _rows_and_links(folder: SourceFolder) -> tuple[Interactions, Ids | None]:
    """The ratings, and the DBpedia entity of every item."""
    data, linked = folder.interactions("dataset.tsv", RATINGS), folder.optional("mappingLinkedData.tsv")
    if linked is None:
        return data, None
    ids, texts = read_mapping(linked)
    return data, column_for(data.items, linked.codes(data.items, ids), texts)


YAHOO_MOVIES = Source(
    "yahoo-movies", "Yahoo! Movies, the subset of KGFlex (RecSys 2021)",
    "Yahoo! Research Webscope", "research use; ask Yahoo! Webscope for the original",
    "https://github.com/sisinflab/KGFlex",
    (
        SourceFile("dataset.tsv", "dcfe5ed44628d18d19bb6bbdbc7ce7d018a7bb5f7a146f231ad207d8769ce84f"),
        side("item-features.map.tsv", "017d01e1c7695a19fb91004c64f58fe2eacd414c31d0362eb5502ece22fce0f8"),
        side("mappingLinkedData.tsv", "33ddcc56312d04ee3f4dc87f7aaa4635722fab0368461fafddccb7ebe75e6fd6"),
    ),
    read_yahoo,
)  # fmt: skip

FACEBOOK_BOOKS = Source(
    "facebook-books", "Facebook Books, the subset of KGFlex (RecSys 2021)",
    "SisInfLab, Politecnico di Bari", "research use; cite Anelli et al. (RecSys 2021)",
    "https://github.com/sisinflab/KGFlex",
    (
        SourceFile("dataset.tsv", "9c4aee95c6d5c64762bb5e734ba309b7f7a53c6e6c5bca17c6ab1dd21afd6834"),
        side("item_features.tsv", "401bac901b2c8935bbbee07b6ae9fc878e1fea78ea3fdf598309064ca36ee8bb"),
        side("predicate_mapping.tsv", "b9f1e521275ec91a05138d943916d2d69bacc715f98a791eee9abcbe41044cef"),
        side("mappingLinkedData.tsv", "0f3369cce610c01b66ac32ea1e85605e0605e395ce978b8fcd5603c82ad254c3"),
    ),
    read_facebook, files_at="https://raw.githubusercontent.com/sisinflab/KGFlex/master/data/facebook-books",
)  # fmt: skip
