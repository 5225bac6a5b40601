"""Features of items from a knowledge graph: every chain of up to n predicates, and where it ends.

Anelli et al., "Sparse Feature Factorization for Recommender Systems with Knowledge Graphs" (RecSys 2021):
F_i = {<p, o> | i -p-> o, 1 <= hops(p) <= n}, equation 6.1 of Ferrara's thesis; what is left out and why is its
section 6.5.2. A chain that meets an entity twice, the item's own above all, says nothing new and ends there.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from murmura.core.arrays import Ints
from murmura.core.catalogue import Relation
from murmura.core.features import HOP, predicate_of
from murmura.data.graphs.graph_triples import BLANK
from murmura.data.tables.side_file import relation_of

PREFIXES = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "gold": "http://purl.org/linguistics/gold/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}
# what says nothing about the content of an item; the authors' code looks at the first hop only
EXCLUDED = (
    "dbo:wikiPageWikiLink", "owl:sameAs", "rdf:type", "gold:hypernym", "rdfs:seeAlso", "dbp:wordnet_type",
    "dbo:wikiPageExternalLink", "dbo:thumbnail", "prov:wasDerivedFrom", "dbp:wikiPageUsesTemplate",
)  # fmt: skip
FREQUENT = 11  # "more than 10" items in the authors' code; the thesis drops features of fewer than 10


def explore(
    triples: pl.DataFrame,
    item: Ints,
    entity: pl.Series,
    hops: int = 2,
    least: int = FREQUENT,
    exclude: Sequence[Sequence[str]] = (EXCLUDED,),
) -> Relation:
    """The features of items, each of which stands in the graph as an entity (or as several).

    Args:
        triples: The graph: subject, predicate, object.
        item: The items, by their codes.
        entity: Where each stands in the graph.
        hops: How far to go from each item.
        least: How many items must have a feature.
        exclude: The predicates to pass over, per hop; a hop that is not listed takes every predicate.
    """
    graph = _Graph(triples, least, exclude)
    start = pl.DataFrame({"item": item, "e0": graph.codes(entity)}).drop_nulls()
    found = [pl.DataFrame(schema={"item": pl.Int32, "label": pl.String})]
    # features of different predicates never meet: one at a time saves memory
    for chains in graph.step(start, 0).partition_by("p0"):
        found.append(graph.features(chains, 0))
        for hop in range(1, hops):
            chains = graph.step(chains, hop)
            found.append(graph.features(chains, hop))
    every = pl.concat(found)
    return relation_of(every["item"].to_numpy(), every["label"])


class _Graph:
    """A graph as codes. A chain of links is a row: an item, entities e0, e1, ... and predicates p0, p1, ..."""

    def __init__(self, triples: pl.DataFrame, least: int, exclude: Sequence[Sequence[str]]) -> None:
        self.least, self.exclude = least, exclude
        self.entities = pl.concat([triples["subject"], triples["object"]]).unique().sort()
        self.predicates = triples["predicate"].unique().sort()
        self.written = pl.Series([predicate_of(name) for name in self.predicates], dtype=pl.String)
        self.named = ~self.entities.str.starts_with(BLANK)  # a blank node is only passed through
        triples = triples.unique()
        predicate = triples["predicate"].cast(pl.Enum(self.predicates)).to_physical()
        links = {name: self.codes(triples[name]) for name in ("subject", "object")}
        self.links = pl.DataFrame({**links, "predicate": predicate})

    def codes(self, names: pl.Series) -> pl.Series:
        """The place of each text among the entities, null where it is none of them."""
        return names.cast(pl.Enum(self.entities), strict=False).to_physical()

    def step(self, chains: pl.DataFrame, hop: int) -> pl.DataFrame:
        """Every chain one link further, over the predicates to follow, to an entity it has not passed."""
        excluded = self.exclude[hop] if hop < len(self.exclude) else ()
        parts = (name.partition(":") for name in excluded)
        full = [PREFIXES[prefix] + rest for prefix, _, rest in parts if prefix in PREFIXES]
        follow = ~self.predicates.is_in([*excluded, *full])
        links = self.links.filter(follow.gather(self.links["predicate"]))
        links = links.rename({"predicate": f"p{hop}", "object": f"e{hop + 1}"})
        longer = chains.join(links, left_on=f"e{hop}", right_on="subject")
        return longer.filter(pl.col(f"e{hop + 1}") != pl.col(f"e{passed}") for passed in range(hop + 1))

    def features(self, chains: pl.DataFrame, hop: int) -> pl.DataFrame:
        """The items and labels of what these chains end at, where so many items share it."""
        path, end = [f"p{place}" for place in range(hop + 1)], f"e{hop + 1}"
        pairs = chains.filter(self.named.gather(chains[end])).select("item", *path, end).unique()
        pairs = pairs.filter(pl.len().over(*path, end) >= self.least)
        found = pairs.select(*path, end).unique()
        paths = zip(*(self.written.gather(found[place]) for place in path))
        ends = (" ".join(name.split()) for name in self.entities.gather(found[end]))
        labels = [f"{HOP.join(names)}={name}" for names, name in zip(paths, ends)]
        found = found.with_columns(label=pl.Series(labels, dtype=pl.String))
        return pairs.join(found, on=[*path, end]).select("item", "label")
