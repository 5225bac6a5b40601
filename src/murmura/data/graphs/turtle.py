"""Turtle, read with rdflib (extra `graphs`), which nothing else imports."""

from __future__ import annotations

import logging

from murmura.core.errors import DataError, MissingExtraError
from murmura.data.tables.text_file import TextFile

_BASE = "http://relative.invalid/"  # of addresses without one; rdflib's own would be this computer's folder


def read_turtle(text: TextFile) -> list[tuple[str, str, str]]:
    """Subject, predicate and object of every triple, ascending; a mistake is named with its line."""
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
        name = f"_:{text.path.name}/{node}" if isinstance(node, BNode) else str(node)
        return name.encode(errors="replace").decode()  # half of a surrogate pair is no character

    return sorted((written(s), written(p), written(o)) for s, p, o in graph)
