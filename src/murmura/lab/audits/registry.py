"""Every attack by its name on the command line: a new one is one class and one row here.

docs/audit.md describes each under the same name; a test refuses a row without a description.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from murmura.core.errors import SettingError
from murmura.core.plugins import unknown_name

if TYPE_CHECKING:
    from murmura.core.contract import Algorithm
    from murmura.lab.audits.attack import Attack

ATTACKS: dict[str, str] = {
    "fcf-items": "individual_updates:FcfItems",
    "fedsplit-items": "fedsplit_updates:FedSplitItems",
    "fedsplit-learned": "fedsplit_updates:FedSplitLearned",
    "fedsplit-members": "fedsplit_updates:FedSplitMembers",
    "fedsplit-ratings": "fedsplit_updates:FedSplitRatings",
    "fedsplit-svd-ratings": "fedsplit_svd_updates:FedSplitSvdRatings",
    "fpl-signs": "individual_updates:FplSigns",
    "fpl-absence": "individual_updates:FplAbsence",
    "fpl-inversion": "individual_updates:FplInversion",
    "fpl-residuals": "individual_updates:FplResiduals",
    "sum-participation": "sums.matched_filters:SumParticipation",
    "sum-matched": "sums.matched_filters:SumMatched",
    "sum-tracing": "sums.matched_filters:SumTracing",
    "sum-tracing-whitened": "sums.matched_filters:SumTracingWhitened",
    "sybil-residual": "sums.differencing:SybilResidual",
    "co-rare-rows": "sums.matched_filters:CoRareRows",
    "co-difference": "sums.differencing:CoDifference",
    "model-membership": "sums.matched_filters:ModelMembership",
    "canaries": "sums.canaries:CanaryAudit",
    "promotion": "poisoning_attacks:Promotion",
    "promotion-adaptive": "poisoning_attacks:AdaptivePromotion",
    "promotion-forged": "poisoning_attacks:ForgedPromotion",
    "demotion": "poisoning_attacks:Demotion",
    "demotion-adaptive": "poisoning_attacks:AdaptiveDemotion",
    "drift": "poisoning_attacks:Drift",
    "drift-adaptive": "poisoning_attacks:AdaptiveDrift",
    "freeze": "poisoning_attacks:Freeze",
    "freeze-adaptive": "poisoning_attacks:AdaptiveFreeze",
}


def attack(name: str) -> Attack:
    """The attack of that name."""
    if name not in ATTACKS:
        raise SettingError(unknown_name("attack", name, tuple(ATTACKS)))
    module, _, cls = ATTACKS[name].partition(":")
    found: Attack = getattr(import_module(f"murmura.lab.audits.{module}"), cls)()
    return found


def attacks_on(algorithm: Algorithm, sums: bool = False) -> tuple[Attack, ...]:
    """Every attack that fits the updates of an algorithm; without any, or if `sums` are read, on sums.

    An adversary who reads single updates has no use for their sums.
    """
    fitting = [found for found in map(attack, ATTACKS) if found.fits(algorithm)]
    single = [found for found in fitting if found.reads == "updates"]
    return tuple(found for found in fitting if found.reads == "sums") if sums or not single else tuple(single)
