"""The triples of a knowledge graph, as columns of text: N-Triples, Turtle, tab-separated, one edge list each.

An address stands without its brackets, a literal as its text alone, a blank node as `_:file/name`. Turtle is
read with rdflib (extra `graphs`), which nothing else imports.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from murmura.core.errors import DataError, MissingExtraError
from murmura.data.tables.column_kinds import TextLayout, quoted
from murmura.data.tables.side_file import TRIPLES, SideFile
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
