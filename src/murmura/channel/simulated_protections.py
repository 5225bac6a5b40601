"""What only simulations take in place of two aggregators (`lab.protections`), imported when asked for."""

from __future__ import annotations

from collections.abc import Callable

from murmura.channel.chain import Chain
from murmura.channel.noise_terms import NoiseTerms
from murmura.core.plugins import imported
from murmura.core.rng import Words


def mechanism_chain() -> Callable[..., Chain]:
    """What makes the channel of a phase whose noise is another than that of two aggregators."""
    made: Callable[..., Chain] = imported("murmura.lab.protections.mechanisms:mechanism_chain")
    return made


def mechanism_terms() -> Callable[..., NoiseTerms]:
    """What makes the terms of such noise."""
    made: Callable[..., NoiseTerms] = imported("murmura.lab.protections.mechanisms:mechanism_terms")
    return made


def protected_sum() -> Callable[..., tuple[Words, tuple[int, ...], int] | None]:
    """What adds up vectors by another protocol; its docstring says what it takes and gives."""
    made: Callable[..., tuple[Words, tuple[int, ...], int] | None]
    made = imported("murmura.lab.protections.sum_protocol:protected_sum")
    return made
