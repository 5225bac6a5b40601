"""What somebody who mistyped a name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str, like: float = 0.6) -> str:
    """The question with the nearest known name, or what is said where none is `like` it."""
    lower = {one.casefold(): one for one in reversed(list(known))}  # capitals are no difference
    near = difflib.get_close_matches(name.casefold(), lower, n=1, cutoff=like)
    return f"did you mean '{lower[near[0]]}'?" if near else otherwise
