"""The Pareto front against its definition, pair by pair."""

import math

from hypothesis import given
from hypothesis import strategies as st

from murmura.evaluation.registry import pareto_front

FEW = st.integers(0, 6).map(float)  # few values: many ties


def by_definition(points: list[tuple[float, float]]) -> set[int]:
    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return a[0] <= b[0] and a[1] >= b[1] and a != b

    return {n for n, one in enumerate(points) if not any(beats(other, one) for other in points)}


def front_of(points: list[tuple[float, float]]) -> list[int]:
    return pareto_front(range(len(points)), lambda n: points[n][0], lambda n: points[n][1])


@given(st.lists(st.tuples(FEW, FEW), max_size=12))
def test_it_is_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    front = front_of(points)
    assert set(front) == by_definition(points)
    assert len(set(front)) == len(front)
    prices = [points[place] for place in front]
    assert prices == sorted(prices)  # cheapest first, and dearer ones gain more


def test_a_known_front() -> None:
    assert front_of([(3, 5), (1, 1), (2, 4), (2, 4), (9, 4)]) == [1, 2, 3, 0]
    assert front_of([]) == []


def test_who_has_no_cost_or_no_gain_takes_no_part() -> None:
    known: dict[str, tuple[float | None, float | None]] = {"a": (1, 1), "b": (None, 9), "c": (0, math.nan)}
    assert pareto_front(known, lambda one: known[one][0], lambda one: known[one][1]) == ["a"]
