"""Features of items from a knowledge graph: every chain of up to n predicates, and where it ends.

Anelli et al., "Sparse Feature Factorization for Recommender Systems with Knowledge Graphs" (RecSys 2021):
F_i = {<p, o> | i -p-> o, 1 <= hops(p) <= n}, equation 6.1 of Ferrara's thesis; what is left out and why is its
section 6.5.2. A chain that meets an entity twice, the item's own above all, says nothing new and ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.catalogue import Relation
from murmura.core.features import HOP, predicate_of
from murmura.core.settings import settings
from murmura.data.graphs.graph_triples import BLANK

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


@settings
class Exploration:
    """How far to go from each item, which predicates to pass over, and which features to keep."""

    hops: Annotated[int, Field(ge=1)] = 2
    feature_items: Annotated[int, Field(ge=1)] = FREQUENT  # how many items must have a feature
    # per hop; a hop that is not listed takes every predicate
    exclude: tuple[tuple[str, ...], ...] = (EXCLUDED,)


@dataclass(frozen=True, eq=False)
class _Links:
    """A graph as codes: entity e has the links start[e] : start[e + 1]."""

    entities: pl.Series  # ascending
    predicates: pl.Series  # ascending
    start: Longs  # (entities + 1,)
    predicate: Ints  # (links,)
    end: Ints  # (links,)

    @staticmethod
    def of(triples: pl.DataFrame) -> _Links:
        triples = triples.unique()
        entities = pl.concat([triples["subject"], triples["object"]]).unique().sort()
        predicates = triples["predicate"].unique().sort()
        subject, end = _codes(triples["subject"], entities), _codes(triples["object"], entities)
        predicate = _codes(triples["predicate"], predicates)
        order = np.lexsort((end, predicate, subject))
        start = np.concatenate([[0], np.cumsum(np.bincount(subject, minlength=len(entities)))])
        return _Links(entities, predicates, start.astype(np.int64), predicate[order], end[order])

    def allowed(self, excluded: tuple[str, ...]) -> Bools:
        """Which predicates may be followed."""
        parts = (name.partition(":") for name in excluded)
        full = [PREFIXES[prefix] + rest for prefix, _, rest in parts if prefix in PREFIXES]
        return (~self.predicates.is_in([*excluded, *full])).to_numpy()


@dataclass(frozen=True, eq=False)
class _Chains:
    """Where chains of links stand: from which item, over which predicates, through which entities."""

    item: Ints  # (chains,)
    kind: Ints  # (chains,) into `kinds`
    kinds: tuple[str, ...]  # the predicates of a chain, as a label has them
    passed: Ints  # (chains, hops + 1) the last is where it ends

    def rows(self, kept: Bools) -> _Chains:
        return _Chains(self.item[kept], self.kind[kept], self.kinds, self.passed[kept])


def explore(triples: pl.DataFrame, item: Ints, entity: pl.Series, rules: Exploration) -> Relation:
    """The features of items, each of which stands in the graph as an entity (or as several).

    Args:
        triples: The graph: subject, predicate, object.
        item: The items, by their codes.
        entity: Where each stands in the graph.
        rules: How far to go and what to leave out.
    """
    links = _Links.of(triples)
    allowed = [links.allowed(names) for names in rules.exclude[: rules.hops]]
    allowed += [np.ones(len(links.predicates), np.bool_)] * (rules.hops - len(allowed))
    place = _codes(entity, links.entities)
    here = place >= 0
    start = _Chains(item[here], np.zeros(here.sum(), np.int32), ("",), place[here][:, None])
    found = _Found(links.entities)
    first = _step(links, start, allowed[0])
    # features of different predicates never meet: one at a time saves memory
    for kind in range(len(first.kinds)):
        chains = first.rows(first.kind == kind)
        found.keep(chains, rules.feature_items)
        for follow in allowed[1:]:
            chains = _step(links, chains, follow)
            found.keep(chains, rules.feature_items)
    return found.relation()


class _Found:
    """The features that enough items have."""

    def __init__(self, entities: pl.Series) -> None:
        self.entities = entities
        self.named = ~entities.str.starts_with(BLANK).to_numpy()
        self.labels: list[str] = []
        self.item: list[Ints] = []
        self.label: list[Ints] = []

    def keep(self, chains: _Chains, least: int) -> None:
        """Take the ends of these chains that so many items share; a blank node is only passed through."""
        end = chains.passed[:, -1]
        named = self.named[end]
        feature, code = np.unique(
            chains.kind[named].astype(np.int64) * len(self.entities) + end[named], return_inverse=True
        )
        pairs = np.unique(np.stack([code, chains.item[named]], axis=1), axis=0)
        frequent = np.bincount(pairs[:, 0], minlength=len(feature)) >= least
        kept = pairs[frequent[pairs[:, 0]]]
        place = np.cumsum(frequent) - 1 + len(self.labels)
        kind, thing = np.divmod(feature[frequent], len(self.entities))
        names = self.entities.gather(thing).to_list()
        self.labels += [f"{chains.kinds[k]}={' '.join(name.split())}" for k, name in zip(kind, names)]
        self.item.append(kept[:, 1].astype(np.int32))
        self.label.append(place[kept[:, 0]].astype(np.int32))

    def relation(self) -> Relation:
        """All of them, labels ascending."""
        order = np.argsort(np.array(self.labels, object), kind="stable")
        place = np.argsort(order).astype(np.int32)
        item, label = (np.concatenate([np.empty(0, np.int32), *parts]) for parts in (self.item, self.label))
        return Relation(tuple(self.labels[at] for at in order), item, place[label])


def _step(links: _Links, chains: _Chains, follow: Bools) -> _Chains:
    """Every chain one link further, over the predicates to follow, to an entity it has not passed."""
    last = chains.passed[:, -1]
    many = links.start[last + 1] - links.start[last]
    chain = np.repeat(np.arange(len(last)), many)
    link = np.arange(len(chain)) - np.repeat(np.cumsum(many) - many, many) + links.start[last[chain]]
    new = follow[links.predicate[link]]
    for passed in chains.passed.T:
        new &= links.end[link] != passed[chain]
    chain, link = chain[new], link[new]
    predicates = len(links.predicates)
    joint = chains.kind[chain].astype(np.int64) * predicates + links.predicate[link]
    kinds, kind = np.unique(joint, return_inverse=True)
    names = [predicate_of(name) for name in links.predicates.gather(kinds % predicates).to_list()]
    before = [chains.kinds[at] for at in kinds // predicates]
    joined = tuple(f"{path}{HOP}{name}" if path else name for path, name in zip(before, names))
    passed = np.concatenate([chains.passed[chain], links.end[link][:, None]], axis=1)
    return _Chains(chains.item[chain], kind.astype(np.int32), joined, passed)


def _codes(column: pl.Series, names: pl.Series) -> Ints:
    """The place of each text among the names, -1 where it is none of them."""
    codes = column.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int32)
    return codes.fill_null(-1).to_numpy()
