"""Other protocols than two aggregators for the same sum, in simulations: what each costs, and who sees what."""

from __future__ import annotations

from collections.abc import Callable

from murmura.channel.secure_aggregation.sum_protocol import SumProtocol


def _shares() -> SumProtocol:
    from murmura.channel.secure_aggregation.additive import AdditiveShares

    return AdditiveShares(3)


def _masks() -> SumProtocol:
    from murmura.channel.secure_aggregation.pairwise_masks import PairwiseMasks

    return PairwiseMasks()


def _ckks() -> SumProtocol:
    from murmura.channel.secure_aggregation.ckks import Ckks

    return Ckks()


# by the name that the setting `channel` gives them; a simulation that takes none loads none
PROTOCOLS: dict[str, Callable[[], SumProtocol]] = {"shares": _shares, "masks": _masks, "ckks": _ckks}
