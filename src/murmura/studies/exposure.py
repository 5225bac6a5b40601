"""Releases of exact sums that tell on people who have an item with which another one always occurs."""

from __future__ import annotations

from collections.abc import Mapping

from murmura.algorithms.cooccurrence.cooccurrence import RARE, SAFE
from murmura.channel.ledger import EXPOSED


def exposure_sentence(costs: Mapping[str, Mapping[str, float | None]]) -> str:
    """Which of the models tell on people, with the numbers their releases gave; "" where none does.

    `costs` has the values beside accuracy by the model's label, means over seeds.
    """
    told = []
    for label, values in costs.items():
        rare, exposed = values.get(RARE), values.get(EXPOSED)
        if not exposed:
            continue
        whose = "1 person" if exposed == 1 else f"any of {_plain(exposed)} people"
        few = f" (items with fewer than {SAFE} owners take part: {_plain(rare)})" if rare else ""
        told.append(
            f"The release of {label} has no noise: who knows the rarest item in it of {whose} learns "
            f"another one for certain{few}."
        )
    return " ".join(told)


def _plain(mean: float) -> str:
    return f"{mean:,.1f}".removesuffix(".0")
