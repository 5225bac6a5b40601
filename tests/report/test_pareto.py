"""The Pareto front against its definition, pair by pair."""

from hypothesis import given
from hypothesis import strategies as st

from murmura.report.plots.comparison import pareto_front

FEW = st.integers(0, 6).map(float)  # few values: many ties


def by_definition(points: list[tuple[float, float]]) -> set[int]:
    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return a[0] <= b[0] and a[1] >= b[1] and a != b

    return {n for n, one in enumerate(points) if not any(beats(other, one) for other in points)}


@given(st.lists(st.tuples(FEW, FEW), max_size=12))
def test_it_is_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    front = pareto_front([cost for cost, _ in points], [gain for _, gain in points])
    assert set(front) == by_definition(points)
    assert len(set(front)) == len(front)
    prices = [points[place] for place in front]
    assert prices == sorted(prices)  # cheapest first, and dearer ones gain more


def test_a_known_front() -> None:
    assert pareto_front([3, 1, 2, 2, 9], [5, 1, 4, 4, 4]) == [1, 2, 3, 0]
    assert pareto_front([], []) == []
