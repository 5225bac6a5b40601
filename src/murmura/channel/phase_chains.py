"""The channel that a phase needs: proved where it makes a claim, else clipped and rounded."""

from __future__ import annotations

from murmura.channel.chain import Chain
from murmura.channel.layout import VectorLayout
from murmura.channel.noise import NoiseSource
from murmura.channel.proven_chain import ProvenChain
from murmura.channel.ring import Ring
from murmura.channel.rounded_chain import rounded_chain
from murmura.channel.weighted_chain import weighted_chain
from murmura.core.channel import ChannelSettings
from murmura.core.claims import WeightedClaim
from murmura.core.contract import FederationInfo, Phase
from murmura.core.errors import SettingError


def chain(
    settings: ChannelSettings,
    phase: Phase,
    info: FederationInfo,
    cohort: int,
    multiplier: float = 0.0,
    source: NoiseSource | None = None,
) -> Chain:
    """The channel of a phase whose sums are of at most `cohort` devices; refuses what it cannot carry.

    Each aggregator adds noise of `multiplier` times the clip to every number; a simulation draws it by
    `source`.
    """
    weighted = isinstance(phase.claim, WeightedClaim)
    if weighted and settings.channel == "secure-sum":
        return weighted_chain(settings, phase, info, cohort, multiplier, source)
    if phase.claim is None or weighted or not settings.on:
        return rounded_chain(settings, phase, info, cohort, multiplier, source)
    if settings.channel == "ckks":
        raise SettingError(
            f"channel 'ckks' carries numbers below 2**32, but those of phase '{phase.name}' have 64 bits; take "
            "'secure-sum'."
        )
    layout = VectorLayout.of(settings, phase, info)
    ring = Ring(64, layout.words)
    return ProvenChain(settings, phase.name, layout, ring, cohort, phase.claim, bool(phase.follows))
