"""What somebody who mistyped a name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str, like: float = 0.6) -> str:
    """The question with the nearest known name, or what is said where none is `like` it."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=like)
    return f"did you mean '{near[0]}'?" if near else otherwise
