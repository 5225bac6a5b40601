"""Facebook Books, the subset of KGFlex (Anelli et al., RecSys 2021): likes, 1- and 2-hop DBpedia features."""

from __future__ import annotations

from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.interactions import Vocabulary
from murmura.data.knowledge import column_for, number_ids, relation_for, side_rows
from murmura.data.rows import interactions_of
from murmura.data.source import Folder, Source, SourceFile, side
from murmura.data.yahoo_movies import RATINGS


def read(folder: Folder) -> Dataset:
    """`dataset.tsv`, `item_features.tsv`, `predicate_mapping.tsv` and `mappingLinkedData.tsv`."""
    interactions = interactions_of([folder.rows("dataset.tsv", RATINGS)])
    items = interactions.items
    links = None
    linked = folder.optional("mappingLinkedData.tsv")
    if linked is not None:
        rows = list(side_rows(linked, "\t", 2))
        links = column_for(items, number_ids(linked, [row[0] for row in rows]), [row[1] for row in rows])
    return folder.dataset(interactions, Catalogue(items, features=_features(folder, items), links=links))


def _features(folder: Folder, items: Vocabulary) -> Relation | None:
    """A feature is a (predicate, object) pair, written `predicate=object`; `p~q` is a predicate of two hops."""
    mapped, predicates = folder.optional("item_features.tsv"), folder.optional("predicate_mapping.tsv")
    if mapped is None:
        return None
    name_of = {row[1]: row[0] for row in side_rows(predicates, "\t", 2)} if predicates else {}
    rows = list(side_rows(mapped, "\t", 3))
    labels = [f"{name_of.get(predicate, predicate)}={thing}" for _, predicate, thing, *_ in rows]
    return relation_for(items, number_ids(mapped, [row[0] for row in rows]), labels)


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
