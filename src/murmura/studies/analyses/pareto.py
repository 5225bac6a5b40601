"""The Pareto front of cost and gain: the choices no other choice beats (thesis, 4.6.4 and figure 4.6)."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(cost: Sequence[float], gain: Sequence[float]) -> list[int]:
    """The places that no other place beats: none costs at most as much, gains at least as much, and differs.

    Cheapest first; equal ones are all on it, in their order.
    """
    order = sorted(range(len(cost)), key=lambda place: (cost[place], -gain[place], place))
    front: list[int] = []
    for place in order:
        better = not front or gain[place] > gain[front[-1]]
        equal = bool(front) and (cost[place], gain[place]) == (cost[front[-1]], gain[front[-1]])
        if better or equal:
            front.append(place)
    return front
