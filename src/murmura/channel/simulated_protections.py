"""What only simulations take in place of two aggregators (`lab.protections`), imported when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from murmura.channel.chain import Chain
from murmura.channel.noise_terms import NoiseTerms
from murmura.core.contract import Total
from murmura.core.plugins import imported

_LAB = "murmura.lab.protections"
# what makes the channel of a phase whose noise is another than that of two aggregators, and its terms
mechanism_chain: Callable[[], Callable[..., Chain]] = partial(imported, f"{_LAB}.mechanisms:mechanism_chain")
mechanism_terms: Callable[[], Callable[..., NoiseTerms]] = partial(
    imported, f"{_LAB}.mechanisms:mechanism_terms"
)
# what takes the sum of an exchange by another protocol
protected_sum: Callable[[], Callable[..., Total | None]]
protected_sum = partial(imported, f"{_LAB}.sum_protocol:protected_sum")
