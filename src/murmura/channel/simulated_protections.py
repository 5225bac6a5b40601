"""What only simulations take in place of two aggregators (`lab.protections`), imported when asked for."""

from __future__ import annotations

from collections.abc import Callable

from murmura.channel.chain import Chain
from murmura.channel.noise_terms import NoiseTerms
from murmura.core.contract import Total
from murmura.core.plugins import imported


def mechanism_chain() -> Callable[..., Chain]:
    """What makes the channel of a phase whose noise is another than that of two aggregators."""
    made: Callable[..., Chain] = imported("murmura.lab.protections.mechanisms:mechanism_chain")
    return made


def mechanism_terms() -> Callable[..., NoiseTerms]:
    """What makes the terms of such noise."""
    made: Callable[..., NoiseTerms] = imported("murmura.lab.protections.mechanisms:mechanism_terms")
    return made


def protected_sum() -> Callable[..., Total | None]:
    """What takes the sum of an exchange by another protocol."""
    made: Callable[..., Total | None] = imported("murmura.lab.protections.sum_protocol:protected_sum")
    return made
