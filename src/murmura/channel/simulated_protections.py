"""What only simulations take in place of two aggregators: where each is; imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable

from murmura.channel.chain import Chain
from murmura.channel.noise_terms import NoiseTerms
from murmura.channel.sum_protocol import SumProtocol
from murmura.core.plugins import imported

# by the name that the setting `channel` gives them
PROTOCOLS = {
    "shares": "murmura.lab.protections.secret_sharing:three_shares",
    "masks": "murmura.lab.protections.pairwise_masks:PairwiseMasks",
    "ckks": "murmura.lab.protections.ckks:Ckks",
}


def sum_protocol(name: str) -> SumProtocol:
    """Another protocol for the same sum."""
    made: SumProtocol = imported(PROTOCOLS[name])()
    return made


def mechanism_chain() -> Callable[..., Chain]:
    """What makes the channel of a phase whose noise is another than that of two aggregators."""
    made: Callable[..., Chain] = imported("murmura.lab.protections.mechanisms:mechanism_chain")
    return made


def mechanism_terms() -> Callable[..., NoiseTerms]:
    """What makes the terms of such noise."""
    made: Callable[..., NoiseTerms] = imported("murmura.lab.protections.mechanisms:mechanism_terms")
    return made
