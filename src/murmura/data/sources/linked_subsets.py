"""The subsets of KGFlex (Anelli et al., RecSys 2021): Yahoo! Movies with numbered features, Facebook Books with
1- and 2-hop DBpedia features; both with links.
"""

from __future__ import annotations

from murmura.core.arrays import Ids
from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.interactions import Vocabulary
from murmura.data.graphs.feature_table import listed_features, predicate_and_object, read_mapping
from murmura.data.sources.item_features import column_for, number_ids, relation_for, side_columns
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side
from murmura.data.tables.column_kinds import ColumnKind, TextLayout
from murmura.data.tables.text_table import interactions_of

RATINGS = TextLayout(
    "\t",
    {"user": 0, "item": 1, "value": 2},
    {"user": ColumnKind.NUMBER_ID, "item": ColumnKind.NUMBER_ID, "value": ColumnKind.VALUE},
    header=False,
    width=3,
)


def read_yahoo(folder: SourceFolder) -> Dataset:
    """`dataset.tsv`, `item-features.map.tsv` (an item, then its features) and `mappingLinkedData.tsv`."""
    interactions = interactions_of([folder.rows("dataset.tsv", RATINGS)])
    items = interactions.items
    links, features = _links(folder, items), None
    mapped = folder.optional("item-features.map.tsv")
    if mapped is not None:
        pairs = listed_features(mapped)
        features = relation_for(items, number_ids(mapped, pairs.item), pairs.label)
    return folder.dataset(interactions, Catalogue(items, features=features, links=links))


def read_facebook(folder: SourceFolder) -> Dataset:
    """`dataset.tsv`, `item_features.tsv`, `predicate_mapping.tsv` and `mappingLinkedData.tsv`."""
    interactions = interactions_of([folder.rows("dataset.tsv", RATINGS)])
    items = interactions.items
    links = _links(folder, items)
    return folder.dataset(interactions, Catalogue(items, features=_features(folder, items), links=links))


def _features(folder: SourceFolder, items: Vocabulary) -> Relation | None:
    """A feature is a (predicate, object) pair, written `predicate=object`; `p~q` is a predicate of two hops."""
    mapped, predicates = folder.optional("item_features.tsv"), folder.optional("predicate_mapping.tsv")
    if mapped is None:
        return None
    names = {}
    if predicates is not None:
        name, code = side_columns(predicates, "\t", 2)
        names = dict(zip(code, name))
    pairs = predicate_and_object(side_columns(mapped, "\t", 3), names)
    return relation_for(items, number_ids(mapped, pairs.item), pairs.label)


def _links(folder: SourceFolder, items: Vocabulary) -> Ids | None:
    """The DBpedia entity of every item."""
    linked = folder.optional("mappingLinkedData.tsv")
    if linked is None:
        return None
    ids, texts = read_mapping(linked)
    return column_for(items, number_ids(linked, ids), texts)


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
