"""A knowledge graph: its triples, as columns of text, and the features of items that are found in it.

An address stands without its brackets, a literal as its text alone, a blank node as `_:file/name`. Turtle is
read with rdflib (extra `graphs`), which nothing else imports.

A feature is a chain of up to n predicates from an item, and where it ends. Anelli et al., "Sparse Feature
Factorization for Recommender Systems with Knowledge Graphs" (RecSys 2021): F_i = {<p, o> | i -p-> o,
1 <= hops(p) <= n}, equation 6.1 of Ferrara's thesis; what is left out and why is its section 6.5.2. A chain
that meets an entity twice, the item's own above all, says nothing new and ends there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from murmura.core.arrays import Ints
from murmura.core.catalogue import Relation
from murmura.core.errors import DataError, MissingExtraError
from murmura.core.features import HOP, predicate_of
from murmura.data.tables.column_kinds import TextLayout, quoted
from murmura.data.tables.side_file import TRIPLES, SideFile, relation_of
from murmura.data.tables.text_file import read_text

_BASE = "http://relative.invalid/"  # of addresses without one; rdflib's own would be this computer's folder
BLANK = "_:"  # how a node without a name begins
_SCHEMA = dict.fromkeys(TRIPLES, pl.String)

# the grammar of https://www.w3.org/TR/n-triples/, line by line
_ESCAPE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_PLAIN = r'[^\x00-\x20<>"{}|^`\\]*'
_IRI = rf"<([A-Za-z][A-Za-z0-9+.-]*:{_PLAIN}(?:(?:{_ESCAPE}){_PLAIN})*)>"
_NODE = r"_:(\w(?:[\w.·-]*[\w·-])?)"
_TEXT = rf'"([^"\\\r\n]*(?:(?:\\[tbnrf"\'\\]|{_ESCAPE})[^"\\\r\n]*)*)"'
_TAIL = rf"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^{_IRI})?"
_THING = rf"(?:{_IRI}|{_NODE}|{_TEXT}{_TAIL})"
_TRIPLE = rf"^[ \t]*(?:{_IRI}|{_NODE})[ \t]*{_IRI}[ \t]*{_THING}[ \t]*\.[ \t]*(?:#.*)?$"
_NOTHING = r"^[ \t]*(?:#.*)?$"
_ESCAPED = re.compile(r"\\(?:u(.{4})|U(.{8})|(.))")
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, eq=False)
class Graph:
    """Triples in the order of their files, repeats included, and what is to be said about the files."""

    triples: pl.DataFrame  # subject, predicate, object
    notes: tuple[str, ...] = ()


def is_graph(path: Path) -> bool:
    """Whether a file or folder is a graph by its name; a table of triples shows only in its header."""
    return path.is_dir() or _suffix(path) in READERS


def read_graph(path: Path, skip_bad: bool = False) -> Graph:
    """A graph in one file, or in all files of a folder whose names say that they are one."""
    files = sorted(file for file in path.iterdir() if _suffix(file) in READERS) if path.is_dir() else [path]
    if not files:
        raise DataError(
            f"{path}: the folder must hold files of a graph ({', '.join(READERS)}), but has none; name a file."
        )
    read = [SideFile(read_text(file), TextLayout("\t"), skip_bad=skip_bad) for file in files]
    triples = joined([READERS[_suffix(one.text.path)](one) for one in read])
    return whole_graph(path, triples, [note for one in read for note in one.notes])


def whole_graph(path: Path, triples: pl.DataFrame, notes: Sequence[str] = ()) -> Graph:
    """The graph of these triples; refused when there are none, and repeats are noted."""
    if not len(triples):
        raise DataError(f"{path}: the graph must have at least one triple, but has none; name another file.")
    repeats = len(triples) - triples.n_unique()
    again = (f"{path.name}: {repeats:,} of {len(triples):,} triples are repeats and count once.",)
    return Graph(triples, (*notes, *(again if repeats else ())))


def joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The triples of several files, one after the other."""
    return pl.concat([pl.DataFrame(schema=_SCHEMA), *parts])


def edge_list(file: SideFile, predicate: str = "") -> pl.DataFrame:
    """A subject and an object in each line, after a space or a tab; the predicate is the file's name."""
    cut = TextLayout("\t" if b"\t" in file.text.content else " ")
    subject, thing = replace(file, layout=cut).columns(2, strict=True)
    named = predicate or file.text.path.name.split(".edgelist")[0]
    return _frame(subject, pl.repeat(named, len(subject), dtype=pl.String, eager=True), thing)


def read_ntriples(file: SideFile) -> pl.DataFrame:
    """The triples of an N-Triples file; a line that is none is bad."""
    lines = pl.DataFrame(list(file.text.lines()), {"number": pl.Int64, "line": pl.String}, orient="row")
    lines = lines.filter(~pl.col("line").str.contains(_NOTHING))
    parts = lines["line"].str.extract_groups(_TRIPLE).struct.unnest()
    if b"\\" in file.text.content:
        parts = parts.select(pl.all().map_elements(_unescaped, pl.String))
    node = f"{BLANK}{file.text.path.name}/"
    triples = parts.select(
        subject=pl.coalesce("1", node + pl.col("2")),
        predicate="3",
        object=pl.coalesce("4", node + pl.col("5"), "6"),
    )
    good = triples.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    if not good.all() and not file.skip_bad:
        number, line = lines.row(good.arg_min() or 0)
        raise DataError(
            f"{file.text.path}, line {number}: a triple must be '<subject> <predicate> <object> .', but is "
            f"{quoted(line)}; correct the line or skip bad ones (skip_bad, --skip-bad)."
        )
    file.bad["no triple"] += int((~good).sum())
    return triples.filter(good)


def table_of_triples(file: SideFile) -> pl.DataFrame:
    """The triples of a table: subject, predicate, object."""
    return _frame(*file.columns(3, strict=True))


def read_turtle(file: SideFile) -> pl.DataFrame:
    """Subject, predicate and object of every triple, ascending; a mistake is named with its line."""
    text = file.text
    try:
        from rdflib import BNode, Graph
        from rdflib.plugins.parsers.notation3 import BadSyntax
    except ImportError:
        raise MissingExtraError("a graph in Turtle", "graphs") from None

    logging.getLogger("rdflib.term").setLevel(logging.ERROR)  # it prints a traceback for an odd literal
    graph = Graph()
    try:
        graph.parse(data=text.content, format="turtle", publicID=_BASE)
    except BadSyntax as error:
        raise DataError(
            f"{text.path}, line {error.lines + 1}: the file must be Turtle, but here it is not "
            f"({error._why}); correct the line."
        ) from None
    except (IndexError, ValueError, AssertionError, RecursionError) as error:  # what its parser trips over
        raise DataError(
            f"{text.path}: the file must be Turtle, but it ends too early or nests too deep "
            f"({type(error).__name__}); correct it."
        ) from None

    def written(node: object) -> str:
        name = f"{BLANK}{text.path.name}/{node}" if isinstance(node, BNode) else str(node)
        return name.encode(errors="replace").decode()  # half of a surrogate pair is no character

    triples = sorted((written(s), written(p), written(o)) for s, p, o in graph)
    return pl.DataFrame(triples, schema=_SCHEMA, orient="row")


READERS: dict[str, Callable[[SideFile], pl.DataFrame]] = {
    ".nt": read_ntriples,
    ".ttl": read_turtle,
    ".edgelist": edge_list,
}


def _suffix(path: Path) -> str:
    kept = path.name.lower().removesuffix(".gz")
    return Path(kept).suffix


def _frame(subject: pl.Series, predicate: pl.Series, thing: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(dict(zip(TRIPLES, (subject, predicate, thing))), schema=_SCHEMA)


def _unescaped(text: str) -> str | None:
    """A part without its escapes; None where one is of no character, such as half of a surrogate pair."""
    try:
        plain = _ESCAPED.sub(_character, text)
        plain.encode()
    except (ValueError, OverflowError):
        return None
    return plain


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _CONTROL.get(found[3], found[3])


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
