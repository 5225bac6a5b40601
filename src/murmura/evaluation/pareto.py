"""The Pareto front of a cost and a gain (thesis, 4.6.4 and figure 4.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def pareto_front(
    among: Iterable[T], cost: Callable[[T], float | None], gain: Callable[[T], float | None]
) -> list[T]:
    """Those no other beats: none costs at most as much, gains at least as much, and differs.

    Cheapest first; equal ones are all on it, in their order. Whoever has no cost or no gain takes no part.
    """
    known = [
        (price, worth, one)
        for one in among
        if (price := cost(one)) is not None and (worth := gain(one)) is not None
        if math.isfinite(price) and math.isfinite(worth)
    ]
    front: list[tuple[float, float, T]] = []
    for price, worth, one in sorted(known, key=lambda three: (three[0], -three[1])):
        if not front or worth > front[-1][1] or (price, worth) == front[-1][:2]:
            front.append((price, worth, one))
    return [one for *_, one in front]
