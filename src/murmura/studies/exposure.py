"""Releases of exact sums that tell on people: items with few owners take part, and the table says how many."""

from __future__ import annotations

from collections.abc import Mapping

from murmura.algorithms.cooccurrence.cooccurrence import EXPOSED, RARE, SAFE


def exposure_sentence(costs: Mapping[str, Mapping[str, float | None]]) -> str:
    """Which of the models leak, with the numbers their releases gave; "" where none does.

    `costs` has the values beside accuracy by the model's label, means over seeds.
    """
    told = []
    for label, values in costs.items():
        rare, exposed = values.get(RARE), values.get(EXPOSED)
        if rare is None or exposed is None or not rare:
            continue
        people = "1 person is" if exposed == 1 else f"{_plain(exposed)} people are"
        told.append(
            f"The release of {label} leaks: {people} the only owner of an item that takes part, whose row in "
            f"the sums is the owner's whole list; items with fewer than {SAFE} owners that take part: "
            f"{_plain(rare)}; least={SAFE} keeps them out."
        )
    return " ".join(told)


def _plain(mean: float) -> str:
    return f"{mean:,.1f}".removesuffix(".0")
