"""Facebook Books, the subset of KGFlex (Anelli et al., RecSys 2021): likes, 1- and 2-hop DBpedia features."""

from __future__ import annotations

from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.interactions import Vocabulary
from murmura.data.sources.item_features import column_for, number_ids, relation_for, side_columns
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side
from murmura.data.sources.yahoo_movies import RATINGS
from murmura.data.tables.checked_table import interactions_of


def read(folder: SourceFolder) -> Dataset:
    """`dataset.tsv`, `item_features.tsv`, `predicate_mapping.tsv` and `mappingLinkedData.tsv`."""
    interactions = interactions_of([folder.rows("dataset.tsv", RATINGS)])
    items = interactions.items
    links = None
    linked = folder.optional("mappingLinkedData.tsv")
    if linked is not None:
        ids, texts = side_columns(linked, "\t", 2)
        links = column_for(items, number_ids(linked, ids), texts)
    return folder.dataset(interactions, Catalogue(items, features=_features(folder, items), links=links))


def _features(folder: SourceFolder, items: Vocabulary) -> Relation | None:
    """A feature is a (predicate, object) pair, written `predicate=object`; `p~q` is a predicate of two hops."""
    mapped, predicates = folder.optional("item_features.tsv"), folder.optional("predicate_mapping.tsv")
    if mapped is None:
        return None
    ids, predicate, thing = side_columns(mapped, "\t", 3)
    if predicates is not None:
        name, code = side_columns(predicates, "\t", 2)
        name_of = dict(zip(code, name))
        predicate = predicate.replace(list(name_of), list(name_of.values()))
    return relation_for(items, number_ids(mapped, ids), predicate + "=" + thing)


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
    read, files_at="https://raw.githubusercontent.com/sisinflab/KGFlex/master/data/facebook-books",
)  # fmt: skip
