"""What each setting of a class means, in one line: the comment beside it in the source, written once."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import textwrap
import tokenize
from functools import cache


def meanings(cls: type) -> dict[str, str]:
    """Setting -> the comment at the end of its line, else that above it; "" where there is none."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        found |= {name: text for name, text in _of_class(one).items() if text}
    return {field.name: found.get(field.name, "") for field in dataclasses.fields(cls)}


@cache
def _of_class(cls: type) -> dict[str, str]:
    try:
        text = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):  # made at run time, or without its source
        return {}
    comments = {
        token.start[0]: (token.string.lstrip("# ").rstrip(), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    body = ast.parse(text).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        node.target.id: _joined(comments, node.lineno, node.end_lineno or node.lineno)
        for node in body.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _joined(comments: dict[int, tuple[str, bool]], first: int, last: int) -> str:
    """The comment inside a field's lines or at their end; without one the lines of comment right above it."""
    found = [comments[line][0] for line in range(first, last + 1) if line in comments]
    if found:
        return " ".join(found)
    while (above := comments.get(first - 1)) is not None and above[1]:
        found, first = [above[0], *found], first - 1
    return " ".join(found)
